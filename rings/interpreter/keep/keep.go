// Package keep writes what a run leaves on disk: its records, the entries of its
// calls, its pauses and sessions, all under one context that outlives the run's.
// It decides nothing; the lives of runs call it.
package keep

import (
	"context"
	"errors"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/port"
)

// Run writes for one run. The zero Run writes nothing and must not be used.
type Run struct {
	Write   func(port.Record, port.Durability) error
	Open    func(port.Entry) (string, error)
	Execute func(call string) error
	Close   func(call string, end port.Recorded) error
	Pause   func(port.Pause, port.View) error
	Session func(port.SessionState) error
	Touched func(run string, p profiles.Powers) error
}

// For writes for the run id. A nil Keeper keeps no pause and no session: whoever
// asks for one has made sure that there is one.
func For(ctx context.Context, id string, a port.Auditor, j port.Journal, k port.Keeper) Run {
	return Run{
		Write:   func(rec port.Record, d port.Durability) error { return a.Record(ctx, rec, d) },
		Open:    func(e port.Entry) (string, error) { return j.OpenCall(ctx, e) },
		Execute: func(call string) error { return j.ExecuteCall(ctx, id, call) },
		Close:   func(call string, end port.Recorded) error { return j.CloseCall(ctx, id, call, end) },
		Pause:   func(p port.Pause, v port.View) error { return k.KeepPause(ctx, p, v) },
		Session: func(s port.SessionState) error { return k.KeepSession(ctx, s) },
		Touched: func(run string, p profiles.Powers) error {
			t, ok := k.(port.Touches)
			if !ok {
				return errors.New("this host does not note what subagents of a run that waits touch")
			}
			return t.KeepTouched(ctx, run, p)
		},
	}
}
