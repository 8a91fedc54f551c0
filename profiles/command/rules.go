package command

import (
	"path"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/argv"
)

// Config holds the command rules of a profile. The zero Config allows only builtins.
type Config struct {
	Binaries []Binary
	Patterns [][]string // denied, each with the command's basename first
}

// Binary is a listed program. The words of its patterns are those after the program's name.
type Binary struct {
	Path             string
	Interpreted      bool
	Allow, Deny, Ask [][]string // a nil Allow allows every sub-command
	MaxArgs          int64      // 0: none
	SafeConfig       bool
	Helpers          []string // paths of programs that it may start itself
}

// Rules decide commands. They are immutable and safe for concurrent use. Nil Rules deny everything.
type Rules struct {
	binaries []binary
	byPath   map[string]int // by clean path
	byName   map[string]int // the first program of a name
	denied   [][]string     // Config.Patterns
	patterns map[string]*patterns
}

// binary is a listed program. Its patterns are parsed on first use, because a script calls only a few of the
// listed programs.
type binary struct {
	Binary
	name  string
	once  sync.Once
	rules rules
}

type rules struct{ allow, deny, ask []argv.Pattern }

func (b *binary) read() *rules {
	b.once.Do(func() {
		b.rules = rules{allow: read(b.name, b.Allow), deny: read(b.name, b.Deny), ask: read(b.name, b.Ask)}
	})
	return &b.rules
}

func read(name string, list [][]string) []argv.Pattern {
	if list == nil {
		return nil
	}
	out := make([]argv.Pattern, len(list))
	for i, p := range list {
		out[i] = argv.NewPattern(name, p)
	}
	return out
}

// patterns are the denied patterns of one name, parsed on first use.
type patterns struct {
	at   []int // indexes in Config.Patterns
	once sync.Once
	all  []argv.Pattern
}

func (p *patterns) read(name string, denied [][]string) []argv.Pattern {
	p.once.Do(func() {
		p.all = make([]argv.Pattern, len(p.at))
		for i, at := range p.at {
			p.all[i] = argv.NewPattern(name, denied[at][1:])
		}
	})
	return p.all
}

// New indexes a profile. A program whose path is not absolute and clean is ignored, and a pattern without
// words matches nothing. The Rules keep the Config: it must not change.
func New(cfg Config) *Rules {
	r := &Rules{byPath: make(map[string]int, len(cfg.Binaries)), byName: make(map[string]int, len(cfg.Binaries)),
		denied: cfg.Patterns, patterns: map[string]*patterns{}, binaries: make([]binary, len(cfg.Binaries))}
	for i, b := range cfg.Binaries {
		name := path.Base(b.Path)
		r.binaries[i].Binary, r.binaries[i].name = b, name
		if !path.IsAbs(b.Path) || path.Clean(b.Path) != b.Path || b.Path == "/" {
			continue
		}
		at := usrMerged(b.Path)
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
		name := argv.Base(p[0])
		of := r.patterns[name]
		if of == nil {
			of = &patterns{}
			r.patterns[name] = of
		}
		of.at = append(of.at, i)
	}
	return r
}

// Find returns the index in Config.Binaries of the program that a first word names: the first one with that
// basename, or for an absolute path the one with that path.
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
	i, ok := r.byPath[usrMerged(word)]
	return i, ok
}

// usrMerged cleans an absolute path as on a host where /bin is /usr/bin.
func usrMerged(p string) string {
	p = path.Clean(p)
	top, _, _ := strings.Cut(p[1:], "/")
	switch top {
	case "bin", "sbin", "lib", "lib32", "lib64", "libx32":
		return "/usr" + p
	default:
		return p
	}
}
