package command

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// Config is what a profile says about commands. The zero Config allows builtins
// alone.
type Config struct {
	Binaries []Binary
	Patterns [][]string // denied, each with the command's basename first
}

// Binary is a listed program. The words of its patterns are those behind the
// program's name.
type Binary struct {
	Path             string
	Interpreted      bool
	Allow, Deny, Ask [][]string // a nil Allow allows every sub-command
	MaxArgs          int64      // 0: none
	SafeConfig       bool
	Helpers          []string // paths of programs that it may start itself
}

// Rules decide commands. They are immutable and safe for concurrent use. The nil
// Rules deny everything.
type Rules struct {
	binaries []binary
	byPath   map[string]int // cleaned
	byName   map[string]int // the first of a name
	patterns map[string][]pattern
}

type binary struct {
	Binary
	name             string
	allow, deny, ask []words.Pattern
}

type pattern struct {
	at    int
	text  string
	words words.Pattern
}

// New indexes a profile. A program whose path is not absolute and clean is not
// listed; a pattern without words matches nothing.
func New(cfg Config) *Rules {
	r := &Rules{byPath: make(map[string]int, len(cfg.Binaries)), byName: make(map[string]int, len(cfg.Binaries)),
		patterns: make(map[string][]pattern, len(cfg.Patterns)), binaries: make([]binary, len(cfg.Binaries))}
	for i, b := range cfg.Binaries {
		name := path.Base(b.Path)
		one := binary{Binary: b, name: name}
		if b.Allow != nil {
			one.allow = []words.Pattern{}
		}
		for _, p := range b.Allow {
			one.allow = append(one.allow, words.NewPattern(name, p))
		}
		for _, p := range b.Deny {
			one.deny = append(one.deny, words.NewPattern(name, p))
		}
		for _, p := range b.Ask {
			one.ask = append(one.ask, words.NewPattern(name, p))
		}
		r.binaries[i] = one
		if !path.IsAbs(b.Path) || path.Clean(b.Path) != b.Path || b.Path == "/" {
			continue
		}
		at := merged(b.Path)
		if _, ok := r.byPath[at]; !ok {
			r.byPath[at] = i
		}
		if _, ok := r.byName[name]; !ok {
			r.byName[name] = i
		}
	}
	for i, p := range cfg.Patterns {
		if len(p) == 0 {
			continue
		}
		name := words.Base(p[0])
		r.patterns[name] = append(r.patterns[name], pattern{at: i, text: strings.Join(p, " "), words: words.NewPattern(name, p[1:])})
	}
	return r
}

// Find gives the place in Config.Binaries of the program that a first word names:
// the first one of its basename, or for a word with a slash, which is absolute, the
// one of that path.
func (r *Rules) Find(word string) (int, bool) {
	if r == nil || word == "" || strings.IndexByte(word, 0) >= 0 {
		return 0, false
	}
	if strings.IndexByte(word, '/') < 0 {
		i, ok := r.byName[word]
		return i, ok
	}
	if word[0] != '/' {
		return 0, false
	}
	i, ok := r.byPath[merged(word)]
	return i, ok
}

// merged cleans an absolute path as on a host where /bin is /usr/bin.
func merged(p string) string {
	p = path.Clean(p)
	top, _, _ := strings.Cut(p[1:], "/")
	switch top {
	case "bin", "sbin", "lib", "lib32", "lib64", "libx32":
		return "/usr" + p
	default:
		return p
	}
}
