package pause_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

func record() pause.Record {
	at := time.Unix(1e9, 0).UTC()
	args := []byte(`{"b":"<html> &  spaces"}`)
	return pause.Record{
		Subject: pause.Subject{Run: "r1", Actor: "uid:1", Agent: "default", Executor: "js", Root: "r1",
			Program: executors.Program{Name: "plan.js", Source: "await act(1)"}},
		Timing: pause.Timing{Seq: 3, Started: at, Paused: at.Add(time.Minute), Expires: at.Add(time.Hour),
			Approval: true},
		Engine: "sha256:e", Snapshot: []byte("\x00memory\xff"),
		Policies: pause.Policies{Revoked: []string{"bridge:x"},
			Profiles: []pause.Profile{{Generation: 4, Revision: "sha256:r", Agent: profiles.Agent{Name: "default",
				Bridges: map[string]profiles.Bridge{"act": {
					Name: "act", Arguments: json.RawMessage(`{"pattern":"<a>&"}`)}}},
				Modules: map[string]string{"m": "sha256:m"}}}},
		LastCall: 9, Order: 7,
		Calls: []pause.Call{{ID: "c9", Bridge: "act", N: 7, Args: args, Size: 30, Digest: pause.Digest(args), Key: "k",
			Limits: profiles.BridgeLimits{CallsPerRun: 3}, For: pause.ForApprover,
			Consent: pause.Consent{Terms: &pause.Terms{Count: 2, From: []string{"user:a"}, Expires: at}}}},
		Spending: pause.Spending{Usage: executors.Usage{CPU: 5, Wall: 6, HostWait: 7, PeakBytes: 8},
			Spent: map[string]int64{"act": 2}, Refused: 1, Spawned: 2},
		Output: pause.Output{Console: []executors.ConsoleEntry{{Seq: 1, Level: "log", Text: "hello"}}, Printed: 6,
			Dropped: 1,
			Denials: []profiles.Decision{{Code: profiles.CodeBridgeCalls, Reason: "x"}}, LastEvent: 12},
		Attestation: executors.Attestation{Tier: profiles.TierWasm, Layers: map[string]string{"landlock": "enforced"}},
	}
}

func encoded(t testing.TB, r pause.Record) []byte {
	t.Helper()
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	want := record()
	b := encoded(t, want)
	got, err := pause.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(encoded(t, got), b) {
		t.Error("encoding is not stable")
	}
	if n := len(b) - len(want.Snapshot); n > 1500 {
		t.Errorf("%d bytes beside the snapshot", n)
	}
}

// A record that was cut is refused. One in which a byte changed is refused, or passes every
// check that a record of a run passes. A flip in the snapshot is found by the seal around
// the record.
func TestDamage(t *testing.T) {
	r := record()
	b := encoded(t, r)
	head := len(b) - len(r.Snapshot)
	for n := range head + 1 {
		if _, err := pause.Decode(b[:n]); err == nil {
			t.Errorf("%d bytes were taken for a record", n)
		}
	}
	for i := range head {
		c := bytes.Clone(b)
		c[i] ^= 1
		if got, err := pause.Decode(c); err == nil && got.Check() != nil {
			t.Errorf("byte %d: %v", i, got.Check())
		}
	}
	if _, err := pause.Decode(append([]byte("ringd.pause/v2\n"), b[15:]...)); !errors.Is(err, pause.ErrFormat) {
		t.Errorf("another format: %v", err)
	}
}

// A record that no run could have written is refused in both directions.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*pause.Record){
		"no run":              func(r *pause.Record) { r.Run = "" },
		"no root":             func(r *pause.Record) { r.Root = "" },
		"no sequence":         func(r *pause.Record) { r.Seq = 0 },
		"no end":              func(r *pause.Record) { r.Expires = time.Time{} },
		"no engine":           func(r *pause.Record) { r.Engine = "" },
		"no snapshot":         func(r *pause.Record) { r.Snapshot = nil },
		"no policy":           func(r *pause.Record) { r.Profiles = nil },
		"many policies":       func(r *pause.Record) { r.Profiles = make([]pause.Profile, 9) },
		"another agent's":     func(r *pause.Record) { r.Profiles[0].Agent.Name = "root" },
		"no call":             func(r *pause.Record) { r.Calls = nil },
		"call twice":          func(r *pause.Record) { r.Calls = append(r.Calls, r.Calls[0]) },
		"call of no number":   func(r *pause.Record) { r.Calls[0].ID = "x" },
		"call to come":        func(r *pause.Record) { r.Calls[0].ID = "c10" },
		"other arguments":     func(r *pause.Record) { r.Calls[0].Args = []byte(`{}`) },
		"no key":              func(r *pause.Record) { r.Calls[0].Key = "" },
		"for nobody":          func(r *pause.Record) { r.Calls[0].For = "host" },
		"for a wrong harness": func(r *pause.Record) { r.Calls[0].For = pause.ForHarness },
		"no terms":            func(r *pause.Record) { r.Calls[0].Terms = nil },
		"terms of nobody":     func(r *pause.Record) { r.Calls[0].Terms.Count = 0 },
		"approved already":    func(r *pause.Record) { r.Calls[0].Approved = true },
		"calls given back":    func(r *pause.Record) { r.Spent["act"] = 0 },
		"negative calls":      func(r *pause.Record) { r.Spent["other"] = -1 },
		"negative time":       func(r *pause.Record) { r.Usage.CPU = -1 },
		"negative refusals":   func(r *pause.Record) { r.Refused = -1 },
		"negative tree":       func(r *pause.Record) { r.Spawned = -1 },
		"negative output":     func(r *pause.Record) { r.Printed = -1 },
		"negative children":   func(r *pause.Record) { r.Calls[0].Children = -1 },
		"order":               func(r *pause.Record) { r.Order = 0 },
		"nameless parent":     func(r *pause.Record) { r.Parent = &pause.Parent{Run: "r0"} },
	} {
		r := record()
		change(&r)
		if _, err := r.Encode(); err == nil {
			t.Errorf("%s: was written", name)
		}
	}
}

func TestNumber(t *testing.T) {
	for id, want := range map[string]int64{"c1": 1, "c42": 42, "c0": 0, "c01": 0, "c-1": 0, "c+1": 0, "x1": 0, "": 0,
		"c": 0, "c1x": 0, "c99999999999999999999": 0} {
		if n, ok := pause.Number(id); n != want || ok != (want > 0) {
			t.Errorf("%q: %d %v", id, n, ok)
		}
	}
}

// Bytes that are read are refused, or are a record that is written again the same.
func FuzzDecode(f *testing.F) {
	b := encoded(f, record())
	f.Add(b)
	f.Add(b[:40])
	f.Add([]byte("ringd.pause/v1\n\x02\x02{}"))
	f.Add([]byte("ringd.pause/v1\n" + strings.Repeat("\xff", 12)))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := pause.Decode(in)
		if err != nil {
			return
		}
		twice, err := pause.Decode(encoded(t, r))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, twice); diff != "" {
			t.Error(diff)
		}
	})
}
