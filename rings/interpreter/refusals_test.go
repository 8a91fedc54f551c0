package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// tries is a program that asks for bridges that it does not have.
func tries(n int, name func(int) string) program {
	return func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := range n {
			if _, err := h.Ask(ctx, question(fmt.Sprintf("c%d", i+1), name(i), `[]`)); err != nil {
				return executors.Outcome{}, err
			}
		}
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}, nil
	}
}

// Equal refusals are in an outcome once, with their count, and the stream of events stays
// short. A program that is refused two things twice sees both.
func TestEqualRefusalsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name      string
		n         int
		of        func(int) string
		denials   int
		count     int64 // of the first
		more      int64
		decisions int // events
	}{
		{"one thing, ten thousand times", 10_000, func(int) string { return "nope" }, 1, 10_000, 0, 5},
		{"ten thousand things", 10_000, func(i int) string { return fmt.Sprintf("nope%d", i) }, pause.MaxDenials, 0, 10_000 - pause.MaxDenials, pause.MaxDenials},
		{"two things", 2, func(i int) string { return fmt.Sprintf("nope%d", i) }, 2, 0, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(agentOf(set("a"), func(a *profiles.Agent) { a.Limits.RefusedCalls = num(20_000) }))
			started := w.start(tries(tt.n, tt.of))
			v := w.end(started)
			if v.State != executors.StateDone || len(v.Denials) != tt.denials || v.Denials[0].Count != tt.count ||
				v.DenialsMore != tt.more {
				t.Errorf("%s %+v: %d denials, the first %d times, %d more", v.State, v.Error, len(v.Denials),
					v.Denials[0].Count, v.DenialsMore)
			}
			list, err := started.Events(t.Context(), 0)
			must(t, err)
			decisions, last := 0, int64(0)
			for _, e := range list {
				if e.Kind == run.EventDecision {
					decisions, last = decisions+1, e.Decision.Count
				}
			}
			if decisions != tt.decisions || last != tt.count {
				t.Errorf("%d events, the last with %d", decisions, last)
			}
		})
	}
}

// said is what a guest reports at its end: what it refused itself, and how many more.
func said(beyond int64, denials ...profiles.Decision) program {
	return func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`), Denials: denials,
			Refused: beyond}, nil
	}
}

// claimed returns the records of a run that only its guest vouches for.
func (w *world) claimed() (out []contract.Record) {
	for _, r := range w.audit.records {
		if r.Detail["source"] == contract.SourceGuest {
			out = append(out, r)
		}
	}
	return out
}

// A refusal of a guest itself is recorded with its own kind, with its source and in one line
// of inert text.
func TestClaimsAreOnRecord(t *testing.T) {
	rule := &profiles.Rule{File: "p.yaml", Line: 4}
	w := newWorld(t)
	w.apply(set("a"))
	run := w.start(said(0,
		profiles.Decision{Code: profiles.CodeImportDenied, Reason: "import of \"requests\"", Rule: rule,
			Evidence: &profiles.Evidence{Argv: []string{"requests"}}},
		profiles.Decision{Code: profiles.CodeImportNotAllowed, Reason: "no name",
			Evidence: &profiles.Evidence{Argv: []string{"a b\nc"}}},
		profiles.Decision{Code: profiles.CodeFileNotGranted,
			Reason: "reading is not granted: /etc/shadow\n  99  allow"},
		profiles.Decision{Code: profiles.CodeExecNotGranted,
			Reason: "a second process \u202e" + strings.Repeat("x", 5000)},
		profiles.Decision{Code: profiles.CodeEgressOff, Reason: "a socket of family 2", Count: 7},
		profiles.Decision{Code: profiles.CodeGuestRefused, Reason: "sys.settrace"},
		profiles.Decision{Code: "made.up", Reason: "\x1b[2J"},
	))
	w.end(run)
	type line struct{ Kind, State, Capability, Code, Reason, Count, Layer string }
	var got []line
	for _, r := range w.claimed() {
		if r.Detail["executor"] == "" || r.Run != run.ID() || r.Revision != "a" ||
			r.Decision.Verdict != profiles.Deny || len(r.Decision.Reason) > 600 {
			t.Errorf("record %+v", r)
		}
		reason, _, _ := strings.Cut(r.Decision.Reason, "xx")
		got = append(got, line{string(r.Kind), r.State, r.Capability, string(r.Decision.Code), reason,
			r.Detail["count"], r.Detail["layer"]})
	}
	want := []line{
		{"import_decided", "refused", "import:requests", "import.denied", `import of "requests"`, "", ""},
		{"import_decided", "refused", "import", "import.not_allowed", "no name", "", ""},
		{"file_decided", "refused", "file", "file.not_granted", "reading is not granted: /etc/shadow\uFFFD  99  allow", "", ""},
		{"exec_decided", "refused", "exec", "exec.not_granted", "a second process \uFFFD", "", ""},
		{"egress_decided", "refused", "egress", "egress.off", "a socket of family 2", "7", ""},
		{"guest_refused", "refused", "", "guest.refused", "sys.settrace", "", "guard"},
		{"guest_refused", "refused", "", "made.up", "\uFFFD[2J", "", "guard"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The refusals that a guest reports make a limited number of records, and the rest is
// counted. Without a refusal there is none.
func TestClaimsAreBounded(t *testing.T) {
	var many, same []profiles.Decision
	for i := range 10_000 {
		many = append(many, profiles.Decision{Code: profiles.CodeFileNotGranted, Reason: fmt.Sprint("reading ", i)})
		same = append(same, profiles.Decision{Code: profiles.CodeFileNotGranted, Reason: "reading"})
	}
	for _, tt := range []struct {
		name    string
		p       program
		records int
		count   string // of the last
	}{
		{"ten thousand things", said(5, many...), contract.MaxClaims + 1, fmt.Sprint(10_000 - contract.MaxClaims + 5)},
		{"one thing, ten thousand times", said(0, same...), 1, "10000"},
		{"more than it tells", said(1 << 60), 1, fmt.Sprint(int64(profiles.MaxTimes))},
		{"nothing", said(0), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("a"))
			w.end(w.start(tt.p))
			all := w.claimed()
			if len(all) != tt.records {
				t.Fatalf("%d records", len(all))
			}
			if len(all) == 0 {
				return
			}
			last := all[len(all)-1]
			if last.Detail["count"] != tt.count || last.Decision.Verdict != profiles.Deny {
				t.Errorf("last %+v", last)
			}
			if (last.Kind == contract.RefusalsCounted) != (tt.records > 1 || len(all) == 1 &&
				tt.name == "more than it tells") {
				t.Errorf("last is %s", last.Kind)
			}
		})
	}
}

// A run whose refusals cannot be recorded does not end as if there were none.
func TestClaimsThatCannotBeRecorded(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a"))
	w.audit.onRecord(func(r contract.Record) error {
		if r.Kind == contract.FileDecided {
			return errors.New("no space")
		}
		return nil
	})
	v := w.end(w.start(said(0, profiles.Decision{Code: profiles.CodeFileNotGranted, Reason: "reading"})))
	if v.State != executors.StateFailed || v.Value != nil {
		t.Errorf("%s %s", v.State, v.Value)
	}
}

// Each refused command of a script is recorded, without its words unless the policy asks for
// them. A command that the daemon refused itself is recorded once.
func TestRefusedScriptIsOnRecord(t *testing.T) {
	for _, full := range []bool{false, true} {
		w := newShell(t)
		w.apply(agentOf(shellSet("a", nil, "ls"), func(a *profiles.Agent) {
			if full {
				a.Shell.Audit = "full"
			}
		}))
		run := w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			ans, err := h.Ask(ctx, named("c1", exec("/usr/bin/rm", "there")))
			own := decided(t, ans)
			own.Text = "as it stands in the script"
			no := func(line int, argv ...string) profiles.Decision {
				return profiles.Decision{Code: profiles.CodeExecNotGranted, Reason: argv[0] + " secret", Text: "text",
					Evidence: &profiles.Evidence{Argv: argv, Line: line}}
			}
			return executors.Outcome{State: executors.StateDenied,
				Denials: []profiles.Decision{own, no(1, "curl", "secret"), no(2, "wget", "secret"),
					no(3, "wget", "secret")},
				Error: &executors.ProgramError{Name: "CapabilityDenied"}}, err
		})
		w.end(run)
		var got []string
		for _, r := range w.audit.records {
			if r.Kind != contract.ExecDecided {
				continue
			}
			got = append(got, strings.Join([]string{r.Capability, r.State, r.Detail["source"], r.Detail["line"],
				r.Detail["count"], r.Detail["words"]}, " "))
			if said := strings.Contains(string(r.Full)+r.Decision.Reason, "secret"); said != (full && r.Detail["source"] != "") {
				t.Errorf("full %v: %s %q", full, r.Full, r.Decision.Reason)
			}
			if !strings.HasPrefix(r.Digest, "sha256:") {
				t.Errorf("digest %q", r.Digest)
			}
		}
		want := []string{"exec:/usr/bin/rm refused    2", "exec:curl refused guest 1  2",
			"exec:wget refused guest 2 2 2"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("full %v: %s", full, d)
		}
	}
}

// A program that was not started has the refusal in the record of its end.
func TestRefusedStartIsOnRecord(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a"))
	w.end(w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{}, &profiles.Denial{Capability: "executor js",
			Decision: profiles.Decision{Code: profiles.CodeTierUnavailable, Reason: "no such tier"}}
	}))
	rec, _ := w.audit.find(contract.RunEnded)
	if rec.Decision == nil || rec.Decision.Code != profiles.CodeTierUnavailable ||
		rec.State != string(executors.StateDenied) {
		t.Errorf("record %+v", rec)
	}
}
