package command

import (
	"slices"

	"github.com/ringd/ringd/profiles/argv"
)

// Forced holds what a profile adds to each start of a program.
type Forced struct{ Args, Env []string }

// Force returns the words and the environment of a start, including what the profile forces on it and on the
// programs that it starts because of its words. of returns what is forced on a program, by its index in
// Config.Binaries; first is the program itself. If the words of a program that another one starts cannot be
// changed, ok is false and at is that program.
func Force(argv []string, first int, nested []Nested, of func(int) Forced) (out, env []string, at int, ok bool) {
	own := of(first)
	out, env = argv, slices.Clip(own.Env)
	for _, n := range nested {
		f := of(n.Binary)
		if len(f.Env) > 0 && n.Cleared {
			return nil, nil, n.Binary, false
		}
		env = append(env, f.Env...)
		if len(f.Args) == 0 {
			continue
		}
		i := within(out, n.Words)
		if i < 0 {
			return nil, nil, n.Binary, false
		}
		out = slices.Insert(slices.Clone(out), i+1, f.Args...)
	}
	if len(own.Args) > 0 {
		out = slices.Insert(slices.Clone(out), 1, own.Args...)
	}
	return out, env, 0, true
}

// within finds the only position in argv of the given consecutive words. It returns -1 if there is none, or
// more than one.
func within(argv []string, ws []argv.Word) int {
	for len(ws) > 0 && ws[len(ws)-1].Open {
		ws = ws[:len(ws)-1]
	}
	found := -1
	for i := 1; len(ws) > 0 && i+len(ws) <= len(argv); i++ {
		same := true
		for k, w := range ws {
			same = same && !w.Open && w.Text == argv[i+k]
		}
		switch {
		case same && found >= 0:
			return -1
		case same:
			found = i
		}
	}
	return found
}
