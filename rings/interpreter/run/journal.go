package run

import (
	"context"
	"errors"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// journalWriter writes the data of one run to disk: its records, the entries of its calls, its pauses and its
// sessions. It writes under one context, which outlives the context of the run. The zero journalWriter must not
// be used.
type journalWriter struct {
	Write   func(contract.Record, contract.Durability) error
	Open    func(contract.Entry) (string, error)
	Execute func(call string) error
	Close   func(call string, end contract.Recorded) error
	Pause   func(pause.Record, contract.View) error
	Session func(contract.SessionState) error
	Touched func(run string, p profiles.Powers) error
}

// newJournalWriter writes for the run id. If the host has no Keeper,
// Pause and Session must not be called.
func newJournalWriter(ctx context.Context, id string, h *Host) journalWriter {
	a, j, k := h.Audit, h.Journal, h.Keeper
	return journalWriter{
		Write:   func(rec contract.Record, d contract.Durability) error { return a.Record(ctx, rec, d) },
		Open:    func(e contract.Entry) (string, error) { return j.OpenCall(ctx, e) },
		Execute: func(call string) error { return j.ExecuteCall(ctx, id, call) },
		Close:   func(call string, end contract.Recorded) error { return j.CloseCall(ctx, id, call, end) },
		Pause:   func(p pause.Record, v contract.View) error { return k.KeepPause(ctx, p, v) },
		Session: func(s contract.SessionState) error { return k.KeepSession(ctx, s) },
		Touched: func(run string, p profiles.Powers) error {
			t, ok := k.(contract.Touches)
			if !ok {
				return errors.New("this host does not record the powers that subagents of a paused run use")
			}
			return t.KeepTouched(ctx, run, p)
		},
	}
}
