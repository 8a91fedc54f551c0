package runner

import (
	"io/fs"
	"strings"

	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/profiles"
)

// Output is what programs write in a dry run that asks what of their output is
// run as text: a text with it inside is refused. A script that writes it itself
// refuses itself.
const Output = "\U0010FFFDoutput\U0010FFFD"

// turning counts the turns of one loop of a dry run.
type turning struct {
	starts int // of programs, when the last turn began
	busy   int // turns with a start
	idle   int // turns in a row without one
}

// Bounds of one loop in a dry run.
const (
	busyTurns = 300
	idleTurns = 5000
)

// turn answers whether a loop of a dry run has another turn: nil is yes. A loop
// that starts a program in each turn, as one that waits for something does, has
// shown what it does after some of them, and is left; one of builtins alone that
// does not end refuses the script.
func (g *rig) turn(loop int) error {
	g.mu.Lock()
	t := g.turns[loop]
	if t == nil {
		t = &turning{starts: g.starts}
		g.turns[loop] = t
	}
	if g.starts == t.starts {
		t.idle++
	} else {
		t.idle, t.busy, t.starts = 0, t.busy+1, g.starts
	}
	idle, busy := t.idle, t.busy
	g.mu.Unlock()
	switch {
	case idle > idleTurns:
		return g.bound("a loop starts nothing and does not end within %d turns", idleTurns)
	case busy > busyTurns:
		return fs.ErrNotExist
	default:
		return nil
	}
}

// opaque refuses a text that a program's output is part of, where that is asked.
func (g *rig) opaque(text, by string, p *place) error {
	if !g.c.Dry || !strings.Contains(text, Output) {
		return nil
	}
	return g.refuseAs(profiles.Decision{
		Code:    profiles.CodeShellOpaque,
		Reason:  by + " would run the output of a program as text, which nobody can read before",
		Instead: []string{"run the command itself, with the output as an argument"},
	}, p.at, true)
}

// opaqueInput is opaque for what a shell reads from its standard input. Nothing
// to read is nothing known.
func (g *rig) opaqueInput(text, by string, hc interp.HandlerContext, at At) error {
	if g.c.Dry && hc.Stdin != nil && strings.TrimSpace(text) == "" {
		return g.refuse(profiles.Decision{Code: profiles.CodeShellOpaque, Reason: by + " would run text from its standard input that nobody can read before"}, at)
	}
	return nil
}
