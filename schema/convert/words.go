package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// pythonModule and jsName match names that the policy language accepts as modules.
	pythonModule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\.\*)?$`)
	jsName       = regexp.MustCompile(
		`^((ringd|policy):[a-z][a-z0-9-]*|\./[^\s]+|(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*)$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	// hostText matches an entry that the policy language accepts, with or without a port.
	hostText = regexp.MustCompile(
		`^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:([0-9]{1,5}|\*))?$`)
	portEnd = regexp.MustCompile(`:([0-9]{1,5}|\*)$`)
	// plainWords matches words of a command that are literal in every shell.
	plainWords = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+( [A-Za-z0-9_./:@%+=,-]+)*$`)
)

func jsModule(name string) bool { return jsName.MatchString(name) && !strings.Contains(name, "..") }

func variable(name string) bool { return variableName.MatchString(name) }

// setByRingd reports whether ringd itself sets a variable for every program, whatever the policy contains.
func setByRingd(name string) bool {
	return slices.Contains([]string{"PATH", "HOME", "PWD", "OLDPWD", "SHELL", "TMPDIR"}, name)
}

func ported(host string) bool { return portEnd.MatchString(host) }

// badHost returns the reason why an entry is invalid in a policy, or "".
func badHost(text string) string {
	if !hostText.MatchString(text) {
		return "not a host name of a policy: want a lower-case name, or *. before a domain"
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// folder converts a path of settings to one of a policy. relative is the base of a relative path. why is the
// error, or "".
func folder(p, relative string) (out, why string) {
	switch {
	case strings.ContainsAny(p, "*?[]{}!\\"):
		return "", "a pattern of names; a rule of a policy covers a path and everything below it"
	case p == "":
		return "", "an empty path"
	case p == "~", strings.HasPrefix(p, "~/"):
		below := path.Clean(strings.TrimLeft(p[1:], "/")) // not joined to a root, which would remove leading ..
		if below == "." {
			return "", "the whole home folder, which no rule can name"
		}
		out = "~/" + below
	case strings.HasPrefix(p, "/"):
		out = path.Clean(p)
	case strings.HasPrefix(p, "$"), strings.HasPrefix(p, "~"):
		return "", "a variable or another user's home, which no rule can name"
	default:
		out = path.Join(relative, p)
		if out != relative && !strings.HasPrefix(out, relative+"/") {
			return "", "a path that leads out of the working folder"
		}
	}
	if strings.Contains(out, "..") && slices.Contains(strings.Split(out, "/"), "..") {
		return "", "a path with .."
	}
	return out, ""
}

// cannotGrant returns the reason why no host grants a path, or "".
func cannotGrant(p string) string {
	switch p {
	case "/":
		return "it is every file, including those of the kernel, which no host grants; name the folders that are needed"
	case "/tmp":
		return "a guest has its own writable /tmp; the host's is never granted"
	}
	for _, top := range []string{"/proc", "/sys", "/dev"} {
		if p == top || strings.HasPrefix(p, top+"/") {
			return "files of the kernel are never granted"
		}
	}
	return ""
}

// workspace is the base of relative paths.
const workspace = "$WORKSPACE"

// object decodes a JSON object into its fields.
func object(text []byte, what string) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	if err := json.Unmarshal(text, &out); err != nil || out == nil {
		return nil, fmt.Errorf("%w of %s: want a JSON object", ErrFormat, what)
	}
	return out, nil
}

// part decodes one field of the settings, with its path in the error.
func part[T any](from map[string]json.RawMessage, name, at string) (out T, err error) {
	raw, ok := from[name]
	if !ok {
		return out, nil
	}
	delete(from, name)
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("%w: %s: want %s", ErrFormat, at, kind(out))
	}
	return out, nil
}

func kind(v any) string {
	switch v.(type) {
	case []string:
		return "a list of texts"
	case map[string]json.RawMessage, map[string]string:
		return "an object"
	case bool:
		return "true or false"
	default:
		return "text"
	}
}

// reportRest reports the settings that were not converted.
func (d *draft) reportRest(from map[string]json.RawMessage, at, why string) {
	for _, name := range sortedKeys(from) {
		d.line(join(at, name), "", NoPolicy, why)
	}
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
