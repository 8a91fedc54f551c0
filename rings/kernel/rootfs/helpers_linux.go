package rootfs

import (
	"errors"
	"path"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Limits of a folder of helpers.
const (
	maxHelperEntries = 4096
	maxHelperDepth   = 4
	maxHelpers       = 320 // files that start or are loaded, of all folders
	maxSkipped       = 256 // skipped files that are reported
)

// folders makes nodes of the programs in folders of helpers: ELF programs, scripts whose interpreter is
// granted, and libraries. Other files are skipped: such a folder is useful even if only some of its files
// start. That of git holds scripts for a shell. A link in it is available if its target starts anyway.
func (r *resolver) folders(all []listed) {
	s := helpers{resolver: r, left: maxHelpers}
	for _, f := range all {
		if !r.trusted(f.rule, f.place, "") {
			continue
		}
		s.rule, s.entries, s.full = f.rule, maxHelperEntries, false
		if !f.info.dir() {
			if !s.loads(f.place) {
				s.refuse(f.rule, "list the program itself", "is a loader, which starts what it is given")
			}
			continue
		}
		s.folder(f.real, maxHelperDepth)
		for _, l := range s.links {
			if n := r.nodes[l.real]; n != nil && n.exec {
				r.follow(l)
			} else {
				s.skip(l.links[0].at, "leads to "+l.real+", which does not start")
			}
		}
		s.links = nil
	}
}

// helpers looks for programs.
type helpers struct {
	*resolver
	rule    profiles.PathRule
	left    int // programs that may still be found
	entries int // entries that may still be examined
	full    bool
	links   []place
}

func (s *helpers) folder(dir string, depth int) {
	names := s.host.list(dir)
	if s.entries -= len(names); s.entries < 0 || depth == 0 {
		s.stop("holds more than %d entries, or folders deeper than %d", maxHelperEntries, maxHelperDepth)
	}
	for _, name := range names {
		if s.full {
			return
		}
		at := path.Join(dir, name)
		p, err := s.walk(at)
		switch {
		case err != nil, s.denied.Cover(p.real):
		case p.info.dir() && len(p.links) == 0:
			s.folder(p.real, depth-1)
		case !p.info.regular():
		case s.loads(p):
		case p.info.mode&0o111 == 0:
		case len(p.links) > 0 && s.granted.Has(p.real): // it starts by itself, so also by this name
			s.links = append(s.links, p)
		case isInterpreter(name) || isInterpreter(path.Base(p.real)):
			s.skip(at, "is an interpreter, which has to be listed itself")
		case len(p.links) > 0:
			s.links = append(s.links, p)
		default:
			s.take(p)
		}
	}
}

// loads makes a node of a library, which programs load but nothing starts: an interpreter has folders of
// libraries that none of its headers names. A loader is not one of them.
func (s *helpers) loads(p place) bool {
	o, err := s.object(p)
	if err != nil || !o.library() || strings.HasPrefix(path.Base(p.real), "ld-") || path.Base(p.real) == "ld.so" {
		return false
	}
	if n := s.nodes[p.real]; n != nil && n.load {
		s.follow(p)
		return true
	}
	need, err := s.lib.closure(p, p.real, o, s.musl)
	switch {
	case err != nil:
		s.skip(p.real, "needs something that is not installed")
		return true
	case s.written.Cover(p.real), len(p.links) > 0 && path.Dir(p.real) != path.Dir(p.links[0].at):
		s.skip(p.real, "is not of this folder, or a guest may change it")
		return true
	}
	if s.left--; s.left < 0 {
		s.stop("holds more than %d programs and libraries", maxHelpers)
		return true
	}
	if !s.trusted(s.rule, p, "holds "+p.real+", which ") {
		return true
	}
	s.file(s.rule, p, false, true)
	for _, l := range need {
		if s.part(s.rule, l.place) {
			s.file(s.rule, l.place, false, true)
		}
	}
	return true
}

// take makes nodes of one program.
func (s *helpers) take(p place) {
	if n := s.nodes[p.real]; n != nil && n.exec {
		return
	}
	if s.written.Cover(p.real) {
		s.skip(p.real, "may be changed by a guest")
		return
	}
	o, err := s.object(p)
	switch {
	case errors.Is(err, errNotELF):
		if why := s.unread(p); why != "" {
			s.skip(p.real, why)
			return
		}
	case err != nil:
		s.skip(p.real, err.Error())
		return
	case s.lacks(p, o):
		s.skip(p.real, "needs something that is not installed")
		return
	}
	if s.left--; s.left < 0 {
		s.stop("holds more than %d programs and libraries", maxHelpers)
		return
	}
	s.granted[p.real] = struct{}{}
	s.executable(s.rule, p)
}

// unread says why a file that is no ELF program does not start, or returns an empty text if it does.
func (s *helpers) unread(p place) string {
	head, err := s.head(p)
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(head), "\n")
	text, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(text)
	if !ok || len(words) == 0 {
		return "is neither an ELF program nor a script that starts with #!"
	}
	if with, err := s.walk(words[0]); err != nil || !s.granted.Has(with.real) {
		return "is a script for " + clip(words[0]) + ", which is not granted"
	}
	return ""
}

// lacks reports whether a program could not be started on this host either.
func (s *helpers) lacks(p place, o *object) bool {
	musl := false
	if o.interp != "" {
		var err error
		if _, musl, err = s.lib.interpreter(o); err != nil {
			return true
		}
	}
	_, err := s.lib.closure(p, p.real, o, musl)
	return err != nil
}

func (s *helpers) skip(at, why string) {
	if len(s.skipped) < maxSkipped {
		s.skipped = append(s.skipped, Skipped{Path: at, Reason: why})
	}
}

// stop rejects the rule, once, because there are too many files.
func (s *helpers) stop(format string, args ...any) {
	if !s.full {
		s.full = true
		s.refuse(s.rule, "list the programs that are needed", format, args...)
	}
}

// isShell reports whether name is that of a shell.
func isShell(name string) bool {
	switch strings.TrimPrefix(name, "r") {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "lksh", "pdksh", "oksh", "yash", "fish", "csh", "tcsh",
		"busybox", "toybox":
		return true
	default:
		return false
	}
}

// isInterpreter reports whether name is the name of a program that runs a given text, or starts programs that its
// arguments name. Such a program has to be listed itself: a folder of helpers does not include it.
func isInterpreter(name string) bool {
	if isShell(name) || name == "ld.so" || strings.HasPrefix(name, "ld-") || strings.HasSuffix(name, ".so") ||
		strings.Contains(name, ".so.") {
		return true
	}
	switch strings.TrimRight(name, "-.0123456789") {
	case "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "lua", "luajit", "tclsh", "wish", "expect",
		"php", "guile", "gdb",
		"awk", "gawk", "mawk", "nawk", "env", "xargs", "find":
		return true
	default:
		return false
	}
}
