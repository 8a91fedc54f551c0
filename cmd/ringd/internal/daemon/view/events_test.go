package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/schema/wire"
)

// A reader of a run that ended between two of its questions misses nothing, and is
// told of a gap only where there is one.
func TestReplay(t *testing.T) {
	run := wire.Run{ID: "r", State: "done", LastEvent: 4}
	state := wire.Event{Seq: 4, Type: wire.EventState, Run: "r", State: "done"}
	for name, tt := range map[string]struct {
		after int64
		last  int64
		want  []wire.Event
	}{
		"all but the end": {3, 4, []wire.Event{state}},
		"some lost":       {1, 4, []wire.Event{{Seq: 3, Type: wire.EventGap, Run: "r", Missed: 2}, state}},
		"nothing known":   {3, 0, []wire.Event{{Seq: 3, Type: wire.EventGap, Run: "r"}, state}},
		"the end again":   {4, 4, []wire.Event{{Seq: 4, Type: wire.EventGap, Run: "r"}, {Seq: 5, Type: wire.EventState, Run: "r", State: "done"}}},
		"from the first":  {0, 4, []wire.Event{{Seq: 1, Type: wire.EventState, Run: "r", State: "done"}}},
	} {
		run.LastEvent = tt.last
		if diff := cmp.Diff(tt.want, view.Replay(run, tt.after)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	run.State = wire.StateRunning
	if got := view.Replay(run, 3); got != nil {
		t.Errorf("of a live run: %+v", got)
	}
}
