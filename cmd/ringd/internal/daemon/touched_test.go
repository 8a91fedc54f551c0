package daemon_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// waits is a run on disk, as whoever can write the database finds it.
type waits struct {
	id     string
	before store.Pause // as it was sealed, before its subagents touched anything
}

// body is a statement that puts a sealed record in the place of the one of run.
func body(run string, p store.Pause) []string {
	return []string{fmt.Sprintf(`update sealed set body = x'%x' where name = 'run/%s'`, p.Sealed, run),
		fmt.Sprintf(`update pause set size = %d, key_id = '%s' where run = '%s'`, len(p.Sealed), p.KeyID, run)}
}

// TestForgedTouched takes from runs that wait what their subagents touched, or tries
// to: their records still have it, or are refused.
func TestForgedTouched(t *testing.T) {
	both := profiles.Powers{Untrusted: true, Sensitive: true}
	notes := func(w waits) string { return `delete from revoked where run = '` + w.id + `'` }
	sensitive := func(w waits) string { return `capability = 'touched:sensitive' and run = '` + w.id + `'` }
	cases := []struct {
		name     string
		forge    func(one, two waits) []string
		want     profiles.Powers
		broken   bool // the record is refused
		bare     bool // there is only the note
		one, two waits
	}{
		{name: "nothing", want: both, forge: func(_, _ waits) []string { return nil }},
		{name: "the notes are deleted", want: both, forge: func(one, _ waits) []string { return []string{notes(one)} }},
		{name: "one is deleted", want: both, forge: func(one, _ waits) []string { return []string{`delete from revoked where ` + sensitive(one)} }},
		{name: "one is changed", want: profiles.Powers{Untrusted: true, Sensitive: true, External: true}, forge: func(one, _ waits) []string {
			return []string{`update revoked set capability = 'touched:external' where ` + sensitive(one)}
		}},
		{name: "one is made into no power", broken: true, forge: func(one, _ waits) []string {
			return []string{`update revoked set capability = 'touched:' where ` + sensitive(one)}
		}},
		{name: "they are given to another run", want: both, forge: func(one, two waits) []string {
			return []string{notes(two), `update revoked set run = '` + two.id + `' where run = '` + one.id + `'`}
		}},
		{name: "with the record of another run", broken: true, forge: func(one, two waits) []string {
			return append([]string{notes(one)}, body(one.id, two.before)...)
		}},
		{name: "the record is put back", want: both, forge: func(one, _ waits) []string { return body(one.id, one.before) }},
		// The twin: what only a note has goes with the note.
		{name: "without the record", bare: true, forge: func(one, _ waits) []string { return []string{notes(one)} }},
	}
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	for i := range cases {
		tc := &cases[i]
		tc.one, tc.two = waitingState(t, s), waitingState(t, s)
		err := s.Keeper.KeepTouched(t.Context(), tc.two.id, profiles.Powers{Untrusted: true})
		if tc.bare {
			err = errors.Join(err, s.Store().Revoke(t.Context(), tc.one.id, "ringd",
				[]string{"touched:untrusted", "touched:sensitive"}))
		} else {
			err = errors.Join(err, s.Keeper.KeepTouched(t.Context(), tc.one.id, profiles.Powers{Untrusted: true}),
				s.Keeper.KeepTouched(t.Context(), tc.one.id, profiles.Powers{Sensitive: true}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close(t)
	var forged []string
	for _, tc := range cases {
		forged = append(forged, tc.forge(tc.one, tc.two)...)
	}
	edit(t, s, forged...)
	s = again(t, s, daemontest.Config{})
	for _, tc := range cases {
		row, p := onDisk(t, s, tc.one.id)
		record, err := s.Keeper.Open(p, row)
		if tc.broken {
			if daemon.StuckCode(err) != wire.CodeIntegrity {
				t.Errorf("%s: opened: %+v, %v", tc.name, record.Touched, err)
			}
			continue
		}
		var got profiles.Powers
		if record.Touched != nil {
			got = record.Touched.Powers
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", tc.name, got, err, tc.want)
		}
		if out := settle(t, s, tc.one.id, "c1"); out.State != "done" {
			t.Errorf("%s: it does not go on: %+v", tc.name, out)
		}
	}
}

func waitingState(t *testing.T, s *daemontest.Stack) waits {
	t.Helper()
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	_, p := onDisk(t, s, r.ID)
	return waits{r.ID, p}
}

func onDisk(t *testing.T, s *daemontest.Stack, run string) (store.Run, store.Pause) {
	t.Helper()
	row, err := s.Store().Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := s.Store().Pause(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return row, p
}

// TestTouchedLater: what a run touches that has gone on, or has ended, is no error;
// what its last record has stays.
func TestTouchedLater(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	one := waitingState(t, s)
	if err := s.Keeper.KeepTouched(t.Context(), "r0", profiles.Powers{External: true}); err != nil {
		t.Errorf("no such run: %v", err)
	}
	if out := settle(t, s, one.id, "c1"); out.State != "done" {
		t.Fatalf("%+v", out)
	}
	if err := s.Keeper.KeepTouched(t.Context(), one.id, profiles.Powers{External: true}); err != nil {
		t.Errorf("a run that has ended: %v", err)
	}
}
