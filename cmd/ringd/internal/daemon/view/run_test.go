package view_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

// TestInterim keeps a run that waits and has printed what a row cannot hold once
// it is written as JSON.
func TestInterim(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		lines int
	}{"small": {"a", 2}, "escapes": {strings.Repeat("\x01", 1<<20), 0}} {
		out := wire.Run{ID: "r", State: "paused", Console: []wire.ConsoleEntry{{Text: tc.text}, {Text: tc.text}}}
		raw, err := view.Interim(out)
		if err != nil || len(raw) > store.MaxOutcome {
			t.Fatalf("%s: %d bytes, %v", name, len(raw), err)
		}
		back, err := view.Row(store.Run{ID: "r", State: store.Paused, Outcome: raw})
		if err != nil || back.State != "paused" || len(back.Console) != tc.lines ||
			int(back.Dropped)+len(back.Console) != 2 {
			t.Errorf("%s: %d lines and %d dropped, %v", name, len(back.Console), back.Dropped, err)
		}
	}
}
