package rootfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// maxText limits the total length of the paths of a plan.
const maxText = 64 << 10

// node is one mount of the plan.
type node struct {
	info                          info
	read, write, exec, load, hide bool
	once                          bool              // init starts it, and it has no path in the guest
	list                          bool              // a folder of the guest's own
	rule                          profiles.PathRule // the rule for it
}

// resolver makes one plan.
type resolver struct {
	host
	at     Places
	temp   bool // the guest has a /tmp of its own
	path   bool // and a folder of links: ringd interprets its shells
	mounts []mountPoint

	deny    map[string]denial // by real path, including the daemon's own
	denied  paths.Set
	private paths.Set
	grants  paths.Set // folders, real, without denied ones
	reads   paths.Set
	writes  paths.Set
	loads   paths.Set // the executor's code
	written paths.Set // by any guest

	nodes   map[string]*node
	links   map[string]string
	granted paths.Set // programs that the profile names
	skipped []Skipped
	musl    bool // a program uses musl's loader, so its libraries do
	lib     loader
	refused []error
}

// denial is a path that no grant reaches.
type denial struct {
	place
	rule   profiles.PathRule
	absent bool
	own    bool // the daemon's
}

// Resolve makes the tree of a guest of k with the given program: its path, or "/proc/self/exe", or an empty
// text for none. The error joins a *Refusal for each rule that this host cannot enforce. Any other error in it
// is a fault.
//
// Links are followed once, here: a guest sees the files that were meant when the policy was prepared. A rule
// whose path leads through a link that the guest could change is rejected, since the next guest would be
// granted the link's new target. Other names of a file in other folders (hard links) are not searched: a denied
// file that has some is rejected, but those in a granted folder are not noticed.
//
// A denial covers the path. If a process outside replaces a denied file by another (such as an editor that
// renames a new file over it), the kernel removes the cover together with the old file, and a live guest sees
// the new one. A denied folder has no such gap.
//
// Sockets in a granted folder are visible but cannot be connected to: a guest cannot make sockets of that kind.
// A guest that may write into a folder with a pipe or a socket of the host can write to it, or replace it.
func Resolve(k profiles.Kernel, program string, at Places) (Plan, error) {
	r, err := newResolver(k, at)
	if err != nil {
		return Plan{}, fmt.Errorf("resolve kernel profile: %w", err)
	}
	plan := Plan{Kernel: k}
	plan.Kernel.Deny = r.denials(k.Deny)
	plan.Kernel.Read, plan.Kernel.Write = r.files(k.Read, k.Write)
	r.hide()
	plan.Kernel.Exec, plan.Kernel.Helpers = r.programs(k)
	plan.Program = r.program(program, k.Path || len(at.Code) > 0)
	plan.Kernel.Libraries = r.libraries(k.Libraries)
	r.code()
	r.shown()
	r.loaderFiles()
	r.customary()
	if err := errors.Join(r.refused...); err != nil {
		return Plan{}, err
	}
	plan.Skipped = r.skipped
	plan.Mounts, err = r.assemble()
	return plan, err
}

func newResolver(k profiles.Kernel, at Places) (*resolver, error) {
	r := &resolver{
		host: host{root: strings.TrimSuffix(at.Root, "/"), objects: map[string]objectOr{}},
		at:   at, temp: k.TempBytes > 0, path: k.Path, deny: map[string]denial{}, nodes: map[string]*node{},
		links: map[string]string{},
	}
	arch := at.Arch
	if arch == "" {
		arch = runtime.GOARCH
	}
	switch arch {
	case "amd64":
		r.machine = elf.EM_X86_64
	case "arm64":
		r.machine = elf.EM_AARCH64
	default:
		return nil, fmt.Errorf("programs of %s are not known", arch)
	}
	text := at.Mounts
	if text == nil && at.Root == "" {
		var err error
		if text, err = os.ReadFile("/proc/self/mountinfo"); err != nil {
			return nil, fmt.Errorf("what is mounted is not known: %w", err)
		}
	}
	r.mounts = readMounts(text)
	r.lib = newLoader(&r.host, arch)
	return r, nil
}

// refuse adds a refusal. Resolve continues, so that all of them are reported at once.
func (r *resolver) refuse(rule profiles.PathRule, remedy, format string, args ...any) {
	r.refused = append(
		r.refused, &Refusal{Path: rule.Path, Rule: rule.Rule, Reason: fmt.Sprintf(format, args...), Remedy: remedy},
	)
}

// expand replaces $WORKSPACE and ~.
func (r *resolver) expand(rule profiles.PathRule) (string, bool) {
	p := rule.Path
	for _, known := range []struct{ name, at, flag string }{
		{"$WORKSPACE", r.at.Workspace, "this host names no workspace"},
		{"~", r.at.Home, "this host names no home folder"},
	} {
		rest, ok := strings.CutPrefix(p, known.name)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if !clean(known.at) {
			r.refuse(rule, "use the whole path of the folder", "is not set: %s", known.flag)
			return "", false
		}
		p = path.Join(known.at, rest)
	}
	if !clean(p) {
		r.refuse(rule, "write the path from / on, without . and ..", "is no absolute, clean path")
		return "", false
	}
	return p, true
}

func clean(p string) bool {
	return len(p) < maxPath && path.IsAbs(p) && path.Clean(p) == p && strings.IndexByte(p, 0) < 0
}

// find resolves the path of a rule, and rejects the rule if it does not exist.
func (r *resolver) find(rule profiles.PathRule) (place, bool) {
	p, ok := r.expand(rule)
	if !ok {
		return place{}, false
	}
	at, err := r.walk(p)
	if err != nil {
		switch {
		case !errors.Is(err, errAbsent):
			r.refuse(rule, "give this user access to it, or remove the line from the policy", "%s", err)
		case at.real == p:
			r.refuse(rule, makeIt("mkdir -p %s", at.real)+", or remove the line from the policy", "%s", err)
		default:
			r.refuse(
				rule, makeIt("mkdir -p %s", at.real)+", or remove the line from the policy", "%s: %s", err, at.real,
			)
		}
		return place{}, false
	}
	return at, true
}

// makeIt is the remedy for a path that does not exist, with the command if a shell takes the path as it is
// written.
func makeIt(command, p string) string {
	if strings.ContainsFunc(p, func(c rune) bool {
		return !strings.ContainsRune("/._-+@", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		return "make it"
	}
	return "make it (" + fmt.Sprintf(command, p) + ")"
}

// steady rejects a path that leads through a link which the guest may change.
func (r *resolver) steady(rule profiles.PathRule, p place) bool {
	for _, l := range p.links {
		if r.written.Above(l.at) {
			r.refuse(
				rule, "name what the link leads to: "+p.real, "leads through the link %s, which a guest may change",
				l.at,
			)
			return false
		}
	}
	return true
}

// follow makes p available to the guest by its written path.
func (r *resolver) follow(p place) {
	for _, l := range p.links {
		text := l.text
		// it leads through folders that the guest may not have
		if path.Clean(text) != strings.TrimSuffix(text, "/") {
			to := text
			if !path.IsAbs(to) {
				to = path.Dir(l.at) + "/" + to
			}
			if end, err := r.walk(to); err == nil {
				text = end.real
			}
		}
		r.links[l.at] = text
	}
}

// customary makes the guest's files available by the short names of folders that are links on this host: shells
// and scripts name /bin/sh, whatever the policy says.
func (r *resolver) customary() {
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		p, err := r.walk(name)
		if err != nil || len(p.links) == 0 {
			continue
		}
		for n := range r.nodes {
			if strings.HasPrefix(n, p.real+"/") {
				r.follow(p)
				break
			}
		}
	}
}

// assemble makes the list of mounts, without redundant ones.
func (r *resolver) assemble() ([]initproto.Mount, error) {
	folders := map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[name]
		if n.once || n.list {
			continue
		}
		above := nearest(folders, name)
		if above != nil && above.hide {
			return nil, &Refusal{Path: name, Rule: above.rule.Rule, Remedy: "keep it elsewhere, or deny less than " +
				above.rule.Path,
				Reason: "is needed by every guest and lies in the folder " + above.rule.Path +
					", which is hidden from it"}
		}
		if above != nil && above.read == n.read && above.write == n.write && above.load == n.load && !n.exec {
			delete(r.nodes, name) // the mount above gives the same
		} else if n.info.dir() {
			folders[name] = n
		}
	}
	if err := r.pin(folders); err != nil {
		return nil, err
	}
	out := make([]initproto.Mount, 0, len(r.nodes)+len(r.links))
	for name, n := range r.nodes {
		if n.list && nearest(folders, name) != nil {
			continue // it is the host's, with the rights of the mount above
		}
		out = append(out, initproto.Mount{
			Path: name, Device: n.info.device, Inode: n.info.inode, Dir: n.info.dir(),
			Read: n.read, Write: n.write, Exec: n.exec, Map: n.load, Hide: n.hide, Once: n.once, List: n.list,
		})
	}
	text := 0
	for name, to := range r.links {
		if nearest(folders, name) == nil {
			out = append(out, initproto.Mount{Path: name, Link: to})
		}
	}
	for _, m := range out {
		text += len(m.Path) + len(m.Link)
	}
	if len(out) > profiles.MaxMounts || text > maxText {
		return nil, &Refusal{Path: "the profile", Remedy: "grant folders in place of many files, and fewer folders " +
			"of libraries",
			Reason: fmt.Sprintf(
				"takes %d mounts with %d bytes of paths; a guest has at most %d with %d", len(out), text,
				profiles.MaxMounts, maxText,
			)}
	}
	slices.SortFunc(out, func(a, b initproto.Mount) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// nearest returns the folder of the map that is closest above name.
func nearest(folders map[string]*node, name string) *node {
	for name != "/" && len(folders) > 0 {
		name = path.Dir(name)
		if n := folders[name]; n != nil {
			return n
		}
	}
	return nil
}

// pin makes a mount of each folder between one that the guest may write into and a mount inside of it. A mount
// point can be neither renamed nor removed. Otherwise a guest could put another folder there, and the rule of
// the next guest would hide, or grant, a folder of the first one's choice.
func (r *resolver) pin(folders map[string]*node) error {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		above := nearest(folders, name)
		if above == nil || !above.write || r.nodes[name].once {
			continue
		}
		for dir := path.Dir(name); r.nodes[dir] == nil; dir = path.Dir(dir) {
			i, err := r.stat(dir)
			if err != nil {
				return fmt.Errorf("resolve kernel profile: %s: %w", dir, err)
			}
			r.nodes[dir] = &node{info: i, read: above.read, write: true}
		}
	}
	return nil
}
