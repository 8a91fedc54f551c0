package runner

import (
	"io/fs"
	"strings"

	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/profiles"
)

// Output is the marker that programs write in a dry run which looks for program output that is run as text: a
// text that contains it is denied. A script that writes it itself only denies itself.
const Output = "\U0010FFFDoutput\U0010FFFD"

// loopCount counts the iterations of one loop of a dry run.
type loopCount struct {
	starts int // of programs, when the last iteration began
	busy   int // iterations with a start
	idle   int // iterations in a row without a start
}

// Limits of one loop in a dry run.
const (
	busyTurns = 300
	idleTurns = 5000
)

// nextTurn decides whether a loop of a dry run has another iteration: nil means yes. If a loop starts a program
// in each iteration, such as a loop that polls, nextTurn ends the loop after some iterations, because its effects
// are known by then. If a loop has only builtins and does not end, the script is denied.
func (g *runState) nextTurn(loop int) error {
	g.mu.Lock()
	t := g.turns[loop]
	if t == nil {
		t = &loopCount{starts: g.starts}
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

// opaque denies a text that contains a program's output, if Config.Output asks for that.
func (g *runState) opaque(text, by string, p *frame) error {
	if !g.c.Dry || !strings.Contains(text, Output) {
		return nil
	}
	return g.refuseAs(profiles.Decision{
		Code:    profiles.CodeShellOpaque,
		Reason:  by + " would run the output of a program as text, which cannot be checked before",
		Instead: []string{"run the command itself, with the output as an argument"},
	}, p.at, true)
}

// opaqueInput is opaque for the standard input of a shell. If there is nothing to read, its text is not known.
func (g *runState) opaqueInput(text, by string, hc interp.HandlerContext, at At) error {
	if g.c.Dry && hc.Stdin != nil && strings.TrimSpace(text) == "" {
		return g.refuse(
			profiles.Decision{
				Code:   profiles.CodeShellOpaque,
				Reason: by + " would run text from its standard input, which cannot be checked before",
			},
			at,
		)
	}
	return nil
}
