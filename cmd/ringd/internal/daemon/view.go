package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// runViews shows live, waiting and ended runs to the actors that may see them.
type runViews struct {
	cfg     *Config
	table   *runTable
	waiters *waiters
}

// GetRun returns the current state of a run. It waits at most the given time for the run to pause, to end, or
// to wait for its harness. Errors: ErrNotFound, ErrUnavailable (the end could not be stored), that of ctx,
// faults.
func (d *runViews) GetRun(ctx context.Context, actor Actor, id string, wait time.Duration) (wire.Run, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		turned, release := d.waiters.Await(id)
		run, err := d.current(ctx, waiting, actor, id)
		if err != nil || run.State != wire.StateRunning || run.AwaitsHarness() || waiting.Err() != nil {
			release()
			return run, err
		}
		select {
		case <-turned:
		case <-waiting.Done():
		}
		release()
		if ctx.Err() != nil {
			return wire.Run{}, ctx.Err()
		}
	}
}

// current returns the current state of a run. For a live run it waits for the pause or the end until waiting
// is done.
func (d *runViews) current(ctx, waiting context.Context, actor Actor, id string) (wire.Run, error) {
	for {
		r, handle := d.table.liveRun(actor, id)
		if handle != nil {
			run, kept, err := d.view(ctx, waiting, r)
			if err != nil || !kept || run.State != string(executors.StatePaused) {
				return run, err
			}
		}
		row, err := d.row(ctx, actor, id)
		if err != nil {
			return wire.Run{}, err
		}
		switch row.State {
		case store.Paused, store.Answered:
			return d.showWaiting(ctx, row)
		case store.Asked, store.Started, store.CallOpen, store.Claimed, store.Executing:
			if r == nil || handle != nil {
				r, handle = d.table.liveRun(actor, id)
			}
			switch {
			case handle != nil:
				continue // it became live meanwhile
			case r != nil:
				return view.Row(row) // it is about to become live
			}
			if again, err := d.row(ctx, actor, id); err != nil || again.State == row.State && again.Seq == row.Seq {
				return wire.Run{}, errors.Join(
					err,
					fmt.Errorf("%w: the end of run %s could not be kept", records.ErrUnavailable, id),
				)
			}
		default:
			return view.Row(row)
		}
	}
}

// showWaiting shows a run that waits in the store, with its calls and the reason why it could not be resumed.
func (d *runViews) showWaiting(ctx context.Context, row store.Run) (wire.Run, error) {
	out, err := view.Row(row)
	if err != nil {
		return wire.Run{}, err
	}
	calls, err := d.cfg.Store.Calls(ctx, row.ID)
	if err != nil {
		return wire.Run{}, err
	}
	given, err := d.cfg.Store.Approvals(ctx, row.ID)
	if err != nil {
		return wire.Run{}, err
	}
	calls = slices.DeleteFunc(calls, func(c store.Call) bool {
		if c.State != store.CallPending || c.Reply != nil {
			return true
		}
		err := d.cfg.Waiting.Keeper.CheckCall(row, c, given)
		if err != nil { // a call of a forged row is shown to no approver
			why := waiting.Stuck(row.ID, err)
			out.Error = &wire.RunError{Name: why.Code, Message: why.Text}
		}
		return err != nil
	})
	out.Pending = view.Waits(calls, given, out.Pending)
	if row.State != store.Answered {
		return out, nil
	}
	f, err := d.cfg.Store.Fault(ctx, row.ID)
	if err != nil {
		return wire.Run{}, err
	}
	if f.Code != "" {
		out.State = string(executors.StatePaused)
		out.Error = &wire.RunError{Name: f.Code, Message: f.Text}
	}
	return out, nil
}

// reach returns a live run that actor may act on. If the run is about to be live, reach waits for it. If the
// run waits in the store, reach returns nil and its row. Errors: ErrNotFound, ErrEnded, that of ctx, faults.
func (d *runViews) reach(ctx context.Context, actor Actor, id string) (*liveRun, store.Run, error) {
	for {
		r, handle := d.table.liveRun(actor, id)
		if handle != nil {
			return r, store.Run{}, nil
		}
		if r == nil {
			row, err := d.row(ctx, actor, id)
			if err == nil && row.State.Final() {
				err = fmt.Errorf("run %s: %w", id, ErrEnded)
			}
			if err != nil || row.State == store.Paused || row.State == store.Answered {
				return nil, row, err
			}
			if r, _ = d.table.liveRun(actor, id); r == nil {
				if again, err := d.row(ctx, actor, id); err != nil || again.State == row.State && again.Seq == row.Seq {
					return nil, row, errors.Join(
						err,
						fmt.Errorf("%w: the end of run %s could not be kept", records.ErrUnavailable, id),
					)
				}
				continue
			}
		}
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, store.Run{}, ctx.Err()
		}
	}
}

func (a Actor) sees(owner string) bool { return a.All || (a.Name != "" && a.Name == owner) }

func (d *runViews) row(ctx context.Context, actor Actor, id string) (store.Run, error) {
	if len(id) > store.MaxID {
		return store.Run{}, policy.ErrNotFound
	}
	row, err := d.cfg.Store.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Run{}, fmt.Errorf("run %s: %w", id, policy.ErrNotFound)
	case err != nil:
		return store.Run{}, fmt.Errorf("read run %s: %w", id, err)
	case !actor.sees(row.Actor):
		return store.Run{}, fmt.Errorf("run %s: %w", id, policy.ErrNotFound)
	}
	return row, nil
}

// view waits for r to pause or end, until waiting is done, and returns it. An end or a pause is shown only
// once it is on disk; kept reports that.
func (d *runViews) view(ctx, waiting context.Context, r *liveRun) (run wire.Run, kept bool, err error) {
	v := r.handle.View()
	if v.State == contract.StateRunning && waiting.Err() == nil {
		settled, err := r.handle.Settled(waiting)
		switch {
		case err == nil:
			v = settled
		case ctx.Err() != nil:
			return wire.Run{}, false, ctx.Err()
		default:
			v = r.handle.View()
		}
	}
	if v.State == contract.StateRunning {
		return view.Run(v, r.created), false, nil
	}
	select {
	case <-r.done:
		return r.final, true, r.err
	case <-ctx.Done():
		return wire.Run{}, false, ctx.Err()
	}
}
