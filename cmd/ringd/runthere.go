package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// runThere runs the program in the daemon.
func (p runVerbs) runThere(ctx context.Context, o runOptions, req wire.RunRequest) error {
	c, err := p.Connect(o.daemon)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	run, err := c.StartRun(ctx, req)
	if err != nil {
		return cli.RefusedBy(err)
	}
	if o.detach {
		_, err := fmt.Fprintln(p.Out, cli.Clean(run.ID))
		return err
	}
	printed, told := int64(0), map[string]bool{}
	for e, err := range c.Events(ctx, run.ID, 0) {
		if err != nil {
			return p.cancelRun(ctx, c, run.ID, err)
		}
		if e.Console != nil && e.Console.Seq > printed {
			printed = e.Console.Seq
			p.Console(*e.Console, o.asJSON)
		}
		if e.Call != nil && e.Call.State == "pending" {
			p.printHeld(ctx, c, run.ID, o.placeFlags(), told)
		}
		if e.Type == wire.EventState && e.State != wire.StateRunning {
			break
		}
	}
	if run, err = c.Wait(ctx, run.ID); err != nil {
		return p.cancelRun(ctx, c, run.ID, err)
	}
	for _, e := range run.Console {
		if e.Seq > printed {
			p.Console(e, o.asJSON)
		}
	}
	return p.finish(o, run, nil)
}

// printHeld prints which call holds a program, once for each call and answerer.
func (p runVerbs) printHeld(ctx context.Context, c *client.Client, id, place string, told map[string]bool) {
	run, err := c.GetRun(ctx, id, 0)
	if err != nil {
		return // the next events show the reason
	}
	for _, call := range run.Pending {
		if key := call.ID + " " + call.For; call.Held && !told[key] {
			told[key] = true
			p.Page(p.Err).Held(run, call, place, time.Now())
		}
	}
}

// cancelRun cancels a run after the user ended the wait.
func (p runVerbs) cancelRun(ctx context.Context, c *client.Client, id string, err error) error {
	if ctx.Err() == nil {
		return cli.RefusedBy(err)
	}
	run, err := c.Cancel(context.WithoutCancel(ctx), id)
	if err != nil {
		return cli.RefusedBy(err)
	}
	return cli.Failed(cli.Interrupted, fmt.Errorf("interrupted: run %s: %s", run.ID, run.State))
}
