package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// srt converts .srt-settings.json. In srt, reads are allowed everywhere unless they are denied. Writes and
// hosts are denied unless they are allowed. Any program may start.
func (d *draft) srt(text []byte) error {
	all, err := object(text, "srt")
	if err != nil {
		return err
	}
	if err := d.srtFiles(all, ""); err != nil {
		return err
	}
	if err := d.srtCredentials(all, ""); err != nil {
		return err
	}
	if err := d.srtNetwork(all, ""); err != nil {
		return err
	}
	d.constructs(true)
	d.line("(programs)", "", Left, "srt starts whatever its command names; list programs in "+
		"spec.executors.shell.binaries")
	d.reportRest(all, "", "not part of a policy")
	return nil
}

// srtFiles converts the section filesystem of srt, which Claude Code has as well.
func (d *draft) srtFiles(from map[string]json.RawMessage, at string) error {
	at = join(at, "filesystem")
	fs, err := part[map[string]json.RawMessage](from, "filesystem", at)
	if err != nil {
		return err
	}
	lists := map[string][]string{}
	for _, name := range []string{"denyRead", "allowRead", "allowWrite", "denyWrite"} {
		if lists[name], err = part[[]string](fs, name, join(at, name)); err != nil {
			return err
		}
	}
	f := d.files()
	f.Read = append(f.Read, workspace)
	d.line("(reads)", "/", Stricter, "srt allows reading everything outside denyRead, which no host grants: only the "+
		"working folder is granted; add the other folders that are needed")
	for i, p := range lists["denyRead"] {
		d.denyPath(fmt.Sprintf("%s.denyRead[%d]", at, i), p, p, true, false)
	}
	for i, p := range lists["allowRead"] {
		d.line(fmt.Sprintf("%s.allowRead[%d]", at, i), p, Left,
			"it opens a part of a denied folder, but in a policy a denial wins")
	}
	for i, p := range lists["allowWrite"] {
		here := fmt.Sprintf("%s.allowWrite[%d]", at, i)
		path, why := folder(p, workspace)
		if why == "" && readOnlyInSrt(path) {
			why = keeps + "; grant the folders that have none of them"
		}
		if why == "" {
			why = cannotGrant(path)
		}
		if why != "" {
			d.line(here, p, Left, why)
			continue
		}
		f.Write = append(f.Write, path)
		d.line(here, p, Exact, "if the working folder is not in it: "+keeps)
	}
	for i, p := range lists["denyWrite"] {
		d.denyPath(fmt.Sprintf("%s.denyWrite[%d]", at, i), p, p, false, true)
	}
	d.reportRest(fs, at, "not part of a policy")
	return nil
}

const keeps = "of the working folder srt keeps .git/hooks, .git/config, .vscode, .idea, .mcp.json and start-up files " +
	"of shells read-only, " +
	"also in the folders below it, and a policy has no read-only part of a folder that may be written"

// readOnlyInSrt reports whether srt always keeps a part of a path read-only. srt does that for certain names in
// the working folder and everywhere below it, and for a path that ends in such a name or is below one.
func readOnlyInSrt(p string) bool {
	names := []string{".git", ".vscode", ".idea", ".claude", ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile",
		".zshrc", ".zprofile", ".profile",
		".ripgreprc", ".mcp.json"}
	return p == workspace || strings.HasPrefix(p, workspace+"/") ||
		slices.ContainsFunc(strings.Split(strings.ToLower(p), "/"),
			func(s string) bool { return slices.Contains(names, s) })
}

// srtCredentials denies the files whose content srt hides from programs.
func (d *draft) srtCredentials(from map[string]json.RawMessage, at string) error {
	at = join(at, "credentials")
	c, err := part[map[string]json.RawMessage](from, "credentials", at)
	if err != nil {
		return err
	}
	type file struct {
		Path string `json:"path"`
	}
	files, err := part[[]file](c, "files", at+".files")
	if err != nil {
		return err
	}
	for i, f := range files {
		d.denyPath(fmt.Sprintf("%s.files[%d]", at, i), f.Path, f.Path, true, true)
	}
	d.reportRest(c, at, "a guest gets no variables of the host")
	return nil
}

// denyPath converts a denied path. A denial of a policy applies to reading and writing.
func (d *draft) denyPath(at, value, p string, reads, writes bool) {
	path, why := folder(p, workspace)
	if path == "/" {
		why = "everything"
	}
	if why != "" {
		d.noRead, d.noWrite = d.noRead || reads, d.noWrite || writes
		d.line(at, value, Stricter, why+": the access that it would limit is not granted")
		return
	}
	f := d.files()
	f.Deny = append(f.Deny, path)
	d.line(at, value, Stricter, "it can be neither read nor written")
}

// srtNetwork converts the section network of srt, which Claude Code has as well.
func (d *draft) srtNetwork(from map[string]json.RawMessage, at string) error {
	at = join(at, "network")
	n, err := part[map[string]json.RawMessage](from, "network", at)
	if err != nil {
		return err
	}
	allowed, err := part[[]string](n, "allowedDomains", join(at, "allowedDomains"))
	if err != nil {
		return err
	}
	denied, err := part[[]string](n, "deniedDomains", join(at, "deniedDomains"))
	if err != nil {
		return err
	}
	d.network()
	for i, h := range allowed {
		d.host(fmt.Sprintf("%s.allowedDomains[%d]", at, i), strings.ToLower(h), false)
	}
	for i, h := range denied {
		d.host(fmt.Sprintf("%s.deniedDomains[%d]", at, i), strings.ToLower(h), true)
	}
	for _, name := range sortedKeys(n) {
		switch name {
		case "allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding", "allowMachLookup", "allowAppleEvents":
			d.line(join(at, name), "", Left, "guests cannot reach sockets of the host")
		case "httpProxyPort", "socksProxyPort", "mitmProxy":
			d.removeHosts(join(at, name), "",
				"its own proxy decides which hosts are reached, by rules that are not known")
		default:
			d.line(join(at, name), "", NoPolicy, "not part of a policy")
		}
	}
	return nil
}
