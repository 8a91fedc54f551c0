package programs

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

//go:embed gitkeys.txt
var gitKeysText string // go:embed needs a variable; it is never written

// gitSections returns the table of gitkeys.txt, which is parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var gitSections = sync.OnceValues(func() (map[string]*gitSection, error) { return parseGitKeys(gitKeysText) })

// gitSection is a section of git's configuration. The fields are those of gitkeys.txt.
type gitSection struct {
	starts, neverStarts, safe, unsafe []string
	off                               map[string][]string // values that disable a program, by name
}

// gitKeyKind is the effect of a setting. The zero value is an unknown key.
type gitKeyKind uint8

// The kinds.
const (
	gitKeyUnknown gitKeyKind = iota // unknown: not trusted
	gitKeyStarts                    // git starts a program because of it, or reads more configuration
	gitKeyAlias                     // git reads its value as words of git
	GitKeySafe                      // only changes what git itself shows or does
)

// GitKey returns the effect of a setting. If known is false, the value is unknown, and a key whose effect
// depends on its value gets the worse kind.
func GitKey(key, value string, known bool) gitKeyKind {
	section, name, _ := cutGitKey(key)
	all, err := gitSections()
	if section == "" || name == "" || err != nil {
		return gitKeyUnknown
	}
	if section == "alias" {
		if !known || strings.HasPrefix(strings.TrimLeft(value, " \t\n"), "!") {
			return gitKeyStarts
		}
		return gitKeyAlias
	}
	own := all[section]
	if own == nil {
		own = &gitSection{}
	}
	switch {
	case known && own.switchesOff(name, value):
		return GitKeySafe
	case slices.Contains(all["*"].starts, name) && !names(own.neverStarts, name):
		return gitKeyStarts
	case own.startsProgram(name, value, known):
		return gitKeyStarts
	case names(own.safe, name) && !names(own.unsafe, name):
		return GitKeySafe
	default:
		return gitKeyUnknown
	}
}

// names reports whether a list has a name. "*" matches every name.
func names(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// startsProgram reports whether the section says that a name starts a program.
func (s *gitSection) startsProgram(name, value string, known bool) bool {
	if slices.Contains(s.starts, "!"+name) { // only a value that begins with "!" does
		return !known || strings.HasPrefix(strings.TrimSpace(value), "!")
	}
	return slices.Contains(s.starts, name) || slices.Contains(s.starts, "*") && !slices.Contains(s.safe, name)
}

// switchesOff reports whether a value disables a program, as git documents it.
func (s *gitSection) switchesOff(name, value string) bool {
	values, ok := s.off[name]
	if !ok {
		values = s.off["*"]
	}
	trimmed := strings.ToLower(strings.TrimSpace(value))
	for _, v := range values {
		switch v {
		case "*":
			return true
		case "/dev/null": // a path: not trimmed, as git does not
			if value == v {
				return true
			}
		default:
			if trimmed == v {
				return true
			}
		}
	}
	return false
}

// cutGitKey splits a key: section and name in lower case, and the unchanged part between them.
func cutGitKey(key string) (section, name, between string) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return "", "", ""
	}
	if first < last {
		between = key[first+1 : last]
	}
	return strings.ToLower(key[:first]), strings.ToLower(key[last+1:]), between
}

// rewritesGitKey returns what a url section rewrites addresses to, or "" for other keys.
func rewritesGitKey(key string) string {
	section, name, between := cutGitKey(key)
	if section == "url" && (name == "insteadof" || name == "pushinsteadof") {
		return between
	}
	return ""
}

// parseGitKeys reads a table of sections.
func parseGitKeys(text string) (map[string]*gitSection, error) {
	rows, err := tables.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string]*gitSection{"*": {}}
	for _, row := range rows {
		s := &gitSection{off: map[string][]string{}}
		for _, f := range row.Fields {
			switch f.Key {
			case "starts":
				s.starts = f.Words()
			case "never-starts":
				s.neverStarts = f.Words()
			case "safe":
				s.safe = f.Words()
			case "unsafe":
				s.unsafe = f.Words()
			case "off":
				for _, w := range f.Words() {
					name, values, ok := strings.Cut(w, "=")
					if !ok {
						return nil, f.Errorf("%s has no values", w)
					}
					s.off[name] = strings.Split(values, "|")
				}
			default:
				return nil, f.Errorf("no such field")
			}
		}
		for _, name := range row.Names {
			out[name] = s
		}
	}
	return out, nil
}
