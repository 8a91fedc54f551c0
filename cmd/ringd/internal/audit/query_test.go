package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

func TestQuery(t *testing.T) {
	cfg := config(logDir(t))
	cfg.SegmentBytes = 4 << 10
	c := newClock()
	cfg.Now = c.Now
	start := c.Now()
	l := mustOpen(t, cfg)
	for i := range 30 {
		r := audit.Record{Kind: audit.RunAsked, Run: "r1", Agent: "a", Actor: "uid:1"}
		if i%3 == 1 {
			r = audit.Record{Kind: audit.CallDecided, Run: "r2", Agent: "b", Call: "c1", Capability: "bridge:x",
				Decision: &audit.Decision{Verdict: profiles.Deny, Code: profiles.CodeBridgeNotGranted}}
		}
		if i%3 == 2 {
			r = audit.Record{Kind: audit.CallDecided, Run: "r2", Agent: "b",
				Decision: &audit.Decision{Verdict: profiles.Allow}}
		}
		mustAppend(t, l, r, audit.Written)
		c.Add(time.Minute)
	}
	defer l.Close() // read while it is open

	deny := profiles.Deny
	tests := []struct {
		name   string
		filter audit.Filter
		want   int
	}{
		{"all", audit.Filter{}, 30},
		{"run", audit.Filter{Run: "r1"}, 10},
		{"agent", audit.Filter{Agent: "b"}, 20},
		{"actor", audit.Filter{Actor: "uid:1"}, 10},
		{"call", audit.Filter{Call: "c1"}, 10},
		{"capability", audit.Filter{Capability: "bridge:x"}, 10},
		{"kinds", audit.Filter{Kinds: []audit.Kind{audit.RunAsked, audit.RunEnded}}, 10},
		{"verdict", audit.Filter{Verdict: &deny}, 10},
		{"since", audit.Filter{Since: start.Add(20 * time.Minute)}, 10},
		{"until", audit.Filter{Until: start.Add(20 * time.Minute)}, 20},
		{"after", audit.Filter{After: 25}, 5},
		{"two at once", audit.Filter{Run: "r2", Verdict: &deny, After: 15}, 5},
		{"none", audit.Filter{Run: "r3"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := all(t, cfg.Dir, tt.filter)
			if len(got) != tt.want {
				t.Errorf("%d records, want %d", len(got), tt.want)
			}
			for i := 1; i < len(got); i++ {
				if got[i].Seq <= got[i-1].Seq {
					t.Errorf("record %d after %d", got[i].Seq, got[i-1].Seq)
				}
			}
		})
	}
	t.Run("stop early", func(t *testing.T) {
		n := 0
		for range audit.Query(t.Context(), cfg.Dir, audit.Filter{}) {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("%d records", n)
		}
	})
	t.Run("caller is gone", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range audit.Query(ctx, cfg.Dir, audit.Filter{}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}
	})
	t.Run("no folder", func(t *testing.T) {
		for _, err := range audit.Query(t.Context(), logDir(t), audit.Filter{}) {
			if err == nil {
				t.Error("a folder that is not there yields records")
			}
		}
	})
}

func TestTailFollows(t *testing.T) {
	cfg := config(logDir(t))
	cfg.SegmentBytes = 4 << 10
	l := mustOpen(t, cfg)
	var want []int64
	add := func(n int) {
		for i := range n {
			want = append(want, mustAppend(t, l, callRecord(i), audit.Written).Seq)
		}
	}
	add(5)
	wake := make(chan time.Time)
	got := make(chan int64, 100)
	done := make(chan error, 1)
	go func() {
		var last error
		for e, err := range audit.Tail(t.Context(), cfg.Dir, audit.Filter{Run: "r1"}, wake) {
			got <- e.Seq
			last = err
		}
		done <- last
	}()
	wake <- time.Time{}
	add(40) // over several segments
	wake <- time.Time{}
	add(1)
	wake <- time.Time{}
	close(wake)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(got)
	var seen []int64
	for seq := range got {
		seen = append(seen, seq)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	mustClose(t, l)
}

// Whatever a filter names is found though most of the log is passed over without being
// read: texts that JSON escapes, and several kinds, too.
func TestQueryPassesNothingOver(t *testing.T) {
	cfg := config(logDir(t))
	l := mustOpen(t, cfg)
	odd := "a\"b\\c<d>&\u2028é\n\x01"
	for i := range 50 {
		mustAppend(t, l, callRecord(i), audit.Written)
	}
	want := mustAppend(t, l, audit.Record{Kind: audit.PushApplied, Run: odd, Agent: odd, Actor: odd, Call: odd,
		Capability: odd}, audit.Synced)
	for i := range 50 {
		mustAppend(t, l, callRecord(i), audit.Written)
	}
	mustClose(t, l)
	for name, f := range map[string]audit.Filter{
		"kind": {Kinds: []audit.Kind{audit.LogCut, audit.PushApplied}}, "run": {Run: odd}, "agent": {Agent: odd}, "actor": {Actor: odd},
		"call": {Call: odd}, "capability": {Capability: odd}, "all": {Kinds: []audit.Kind{audit.PushApplied}, Run: odd, Agent: odd, Actor: odd, Call: odd, Capability: odd},
	} {
		if got := all(t, cfg.Dir, f); len(got) != 1 || got[0].Seq != want.Seq || got[0].Record.Run != odd {
			t.Errorf("%s: %d records", name, len(got))
		}
	}
	if got := all(t, cfg.Dir, audit.Filter{Run: odd, Kinds: []audit.Kind{audit.LogCut}}); len(got) != 0 {
		t.Errorf("%d records of another kind", len(got))
	}
}
