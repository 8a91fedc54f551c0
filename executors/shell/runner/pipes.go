package runner

import (
	"context"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/executors/shell/bashcompat"
)

// maxParts limits the parts of a pipe whose statuses are recorded.
const maxParts = 1000

// statuses runs the commands by which the parts of a pipe report their statuses. A script that calls them
// itself only deceives itself.
func (g *runState) statuses(ctx context.Context, hc interp.HandlerContext, args []string) error {
	switch args[0] {
	case bashcompat.Pipe:
		g.mu.Lock()
		g.piped++
		n := g.piped
		g.pipes[n] = nil
		g.mu.Unlock()
		return assignList(ctx, hc, "PIPESTATUS", append([]string{strconv.Itoa(n)}, args[1:]...))
	case bashcompat.Stage:
		if len(args) != 4 {
			return interp.ExitStatus(1)
		}
		n, _ := strconv.Atoi(args[1])
		part, err := strconv.Atoi(args[2])
		g.mu.Lock()
		if told, known := g.pipes[n]; known && err == nil && part >= 0 && part < maxParts {
			for len(told) <= part {
				told = append(told, "0")
			}
			told[part] = args[3]
			g.pipes[n] = told
		}
		g.mu.Unlock()
	case bashcompat.Piped:
		n, _ := strconv.Atoi(hc.Env.Get("PIPESTATUS").String())
		g.mu.Lock()
		told := slices.Clone(g.pipes[n])
		delete(g.pipes, n)
		g.mu.Unlock()
		if err := assignList(ctx, hc, "PIPESTATUS", told); err != nil {
			return err
		}
	}
	if status, _ := strconv.Atoi(args[len(args)-1]); status != 0 {
		return interp.ExitStatus(uint8(status)) //nolint:gosec // as a shell does
	}
	return nil
}
