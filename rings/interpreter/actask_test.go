package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// A script whose words need an approval waits on disk before it begins, and goes on
// elsewhere. An approval that was given ahead holds for exactly these words.
func TestActAskedAhead(t *testing.T) {
	policy := shellSet("a", asking(), "git", "ls")
	program := waves(
		[]executors.Question{ahead("c1", "/usr/bin/git", "push", "origin")},
		[]executors.Question{named("c2", exec("/usr/bin/ls"))},
		[]executors.Question{named("c3", exec("/usr/bin/git", "push", "origin"))},
		[]executors.Question{named("c4", exec("/usr/bin/git", "push", "origin"))},
	)
	s := newShellStage(t)
	s.apply(policy)
	p := s.pausedRun(program)
	v := s.keeper.views[p.Run]
	if len(v.Pending) != 1 || v.Pending[0].Bridge != "exec:/usr/bin/git" || v.Pending[0].For != "approver" ||
		string(v.Pending[0].Args) != `{"exec":{"argv":["/usr/bin/git","push","origin"]}}` {
		t.Errorf("pending %+v", v.Pending)
	}
	e := s.log.last(p.Run, "c1")
	if e.Bridge != "exec:/usr/bin/git" || e.For != "approver" || e.Count != 1 || e.Executing {
		t.Errorf("journal %+v", e)
	}

	// It goes on in another process.
	other := newShellStage(t)
	other.apply(policy)
	v = other.resume(p, approve("c1"))
	if v.State != executors.StateDone {
		t.Fatalf("%s %+v %+v", v.State, v.Error, v.Denials)
	}
	for _, call := range []string{"c1", "c2", "c3", "c4"} {
		if d := decided(t, other.got(p.Run, call)); d.Verdict != profiles.Allow || d.Start == nil {
			t.Errorf("%s: %+v", call, d)
		}
	}
	want := [][]string{{"/usr/bin/ls"}, {"/usr/bin/git", "push", "origin"}, {"/usr/bin/git", "push", "origin"}}
	if d := cmp.Diff(want, v.Ran); d != "" {
		t.Errorf("ran: %s", d)
	}
	if len(v.Asked) != 1 || v.Asked[0].When != "before_start" || v.Asked[0].Name != "exec:/usr/bin/git" ||
		v.Asked[0].Call != "c1" {
		t.Errorf("asked %+v", v.Asked)
	}
	for _, r := range other.audit.records {
		if r.Call == "c3" && (r.Kind != contract.ExecDecided || r.Detail["approved"] != "uid:7") {
			t.Errorf("its record does not say who approved: %+v", r)
		}
	}
}

// An act that was approved ahead is decided again when it is used, and the approval holds
// for nothing but the words that were approved.
func TestActApprovalHoldsForNoMore(t *testing.T) {
	policy := shellSet("a", asking(func(a *profiles.Approval) { a.HoldMillis = 1 }), "git", "ls")
	start := func(after executors.Question) (*stage, pause.Record) {
		s := newShellStage(t)
		s.apply(policy)
		return s, s.pausedRun(waves([]executors.Question{ahead("c1", "/usr/bin/git", "push", "origin")},
			[]executors.Question{after}))
	}
	used := named("c2", exec("/usr/bin/git", "push", "origin"))
	for _, tt := range []struct {
		name  string
		after executors.Question
		next  *profiles.Set
		with  contract.Settlement
		code  profiles.Code // of c2
		first profiles.Code // of c1
	}{
		{"the words", used, policy, approve("c1"), profiles.CodeAllowed, profiles.CodeAllowed},
		{"other words", named("c2", exec("/usr/bin/git", "push", "origin", "--force")), policy, approve("c1"), profiles.CodeApprovalExpired, profiles.CodeAllowed},
		{"fewer words", named("c2", exec("/usr/bin/git", "push")), policy, approve("c1"), profiles.CodeApprovalExpired, profiles.CodeAllowed},
		{"it was denied", used, policy, contract.Settlement{Call: "c1", Denied: true, Reason: "no", By: "uid:7"}, profiles.CodeApprovalExpired, profiles.CodeApprovalDenied},
		{"the policy now in force denies it", used, shellSet("b", denying("git", "push"), "git", "ls"), approve("c1"), profiles.CodeShellDenied, profiles.CodeShellDenied},
		{"the policy now in force wants more people", used, shellSet("b", asking(func(a *profiles.Approval) { a.Count, a.HoldMillis = 2, 1 }), "git", "ls"), approve("c1"),
			profiles.CodeApprovalExpired, profiles.CodeBridgeRevoked},
		{"it was not approved", used, policy, contract.Settlement{Call: "c1", Value: json.RawMessage(`{"verdict":"allow","code":"allowed"}`), By: "uid:7"},
			profiles.CodeApprovalExpired, profiles.CodeApprovalRequired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, p := start(tt.after)
			s.apply(tt.next)
			s.resume(p, tt.with)
			if d := decided(t, s.got(p.Run, "c1")); d.Code != tt.first ||
				(d.Verdict == profiles.Allow) != (tt.first == profiles.CodeAllowed) {
				t.Errorf("c1: %+v", d)
			}
			if d := decided(t, s.got(p.Run, "c2")); d.Code != tt.code ||
				(d.Verdict == profiles.Allow) != (tt.code == profiles.CodeAllowed) {
				t.Errorf("c2: %+v", d)
			}
		})
	}
}

// If the process was killed after the end of an approved act was committed, the guest gets
// the answer once more. If it was killed before that, the act is done again.
func TestActAskedAheadAfterCrash(t *testing.T) {
	policy := shellSet("a", asking(), "git")
	for name, change := range map[string]func(*contract.Settlement){
		"begun": func(s *contract.Settlement) { s.Again = true },
		"ended": func(s *contract.Settlement) {
			s.Result = &contract.Recorded{End: contract.CallDone,
				Value: json.RawMessage(`{"verdict":"allow","code":"allowed"}`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellStage(t)
			s.apply(policy)
			p := s.pausedRun(waves([]executors.Question{ahead("c1", "/usr/bin/git", "push")},
				[]executors.Question{named("c2", exec("/usr/bin/git", "push"))}))
			again := approve("c1")
			change(&again)
			before := len(s.log.entries())
			if v := s.resume(p, again); v.State != executors.StateDone {
				t.Fatalf("%s %+v", v.State, v.Error)
			}
			for _, call := range []string{"c1", "c2"} {
				if d := decided(t, s.got(p.Run, call)); d.Verdict != profiles.Allow || d.Start == nil {
					t.Errorf("%s: %+v", call, d)
				}
			}
			log := s.log.entries()[before:]
			if slices.ContainsFunc(log, func(l string) bool { return strings.HasPrefix(l, "execute") }) {
				t.Errorf("it was begun twice: %v", log)
			}
		})
	}
}

// A script that is running is held: no snapshot is taken of it, and an act that is not
// approved in time is refused.
func TestActHeld(t *testing.T) {
	hold := func(ms int64) func(*profiles.Shell) {
		return asking(func(a *profiles.Approval) { a.HoldMillis = ms })
	}
	t.Run("approved", func(t *testing.T) {
		s := newShellStage(t)
		s.apply(shellSet("a", hold(0), "git"))
		run, err := s.run(interpreter.StartRequest{}, waves(
			[]executors.Question{named("c1", exec("/usr/bin/git", "push"))},
			[]executors.Question{named("c2", exec("/usr/bin/git", "push"))}))
		must(t, err)
		p := waitsFor(t, run, "c1", "approver")
		if p.Bridge != "exec:/usr/bin/git" || p.Expires.Sub(s.now()).Milliseconds() != 60_000 {
			t.Errorf("pending %+v", p)
		}
		must(t, run.Approved(t.Context(), approve("c1")))
		waitsFor(t, run, "c2", "approver") // an approval half way is for one start
		must(t, run.Approved(t.Context(), contract.Settlement{Call: "c2", Denied: true, Reason: "enough", By: "uid:7"}))
		v := s.end(run)
		if s.keeper.kept != 0 || v.State != executors.StateDone || len(v.Ran) != 1 {
			t.Errorf("%d pauses, %s, ran %v", s.keeper.kept, v.State, v.Ran)
		}
		if len(v.Asked) != 2 || v.Asked[0].When != "held" {
			t.Errorf("asked %+v", v.Asked)
		}
		if d := decided(t, s.got(run.ID(), "c2")); d.Code != profiles.CodeApprovalDenied ||
			d.Verdict != profiles.Deny || !strings.Contains(d.Reason, "enough") {
			t.Errorf("denied: %+v", d)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		s := newShellStage(t)
		s.apply(shellSet("a", hold(5), "git"))
		run, err := s.run(interpreter.StartRequest{}, waves(
			[]executors.Question{named("c1", exec("/usr/bin/git", "push"))}))
		must(t, err)
		v := s.end(run)
		if d := decided(t, s.got(run.ID(), "c1")); d.Code != profiles.CodeApprovalExpired ||
			d.Verdict != profiles.Deny || d.Start != nil {
			t.Errorf("decision %+v", d)
		}
		if v.State != executors.StateDone || len(v.Ran) != 0 || len(v.Denials) != 1 {
			t.Errorf("%s, ran %v", v.State, v.Ran)
		}
		if err := run.Approved(t.Context(), approve("c1")); err == nil {
			t.Error("an approval counted that came too late")
		}
	})
	t.Run("a push takes it away", func(t *testing.T) {
		s := newShellStage(t)
		s.apply(shellSet("a", hold(0), "git"))
		run, err := s.run(interpreter.StartRequest{}, waves(
			[]executors.Question{named("c1", exec("/usr/bin/git", "push"))}))
		must(t, err)
		waitsFor(t, run, "c1", "approver")
		s.apply(shellSet("b", nil))
		s.end(run)
		if d := decided(t, s.got(run.ID(), "c1")); d.Code != profiles.CodeBridgeRevoked || d.Verdict != profiles.Deny {
			t.Errorf("decision %+v", d)
		}
	})
	t.Run("it is taken from the run", func(t *testing.T) {
		s := newShellStage(t)
		s.apply(shellSet("a", hold(0), "git"))
		run, err := s.run(interpreter.StartRequest{}, waves(
			[]executors.Question{named("c1", exec("/usr/bin/git", "push"))}))
		must(t, err)
		waitsFor(t, run, "c1", "approver")
		if err := run.Revoke(t.Context(), []string{"exec:/usr/bin/rm"}); !errors.Is(err, binding.ErrGrant) {
			t.Errorf("a program that is not listed was taken: %v", err)
		}
		must(t, run.Revoke(t.Context(), []string{"exec:/usr/bin/git"}))
		s.end(run)
		if d := decided(t, s.got(run.ID(), "c1")); d.Code != profiles.CodeBridgeRevoked || d.Verdict != profiles.Deny {
			t.Errorf("decision %+v", d)
		}
	})
}

// A record of a pause whose act is another one than its name or digest says is refused, and
// so is a guest that asks again for another act.
func TestActPauseForged(t *testing.T) {
	s := newShellStage(t)
	s.apply(shellSet("a", asking(), "git", "ls"))
	p := s.pausedRun(waves([]executors.Question{ahead("c1", "/usr/bin/git", "push")}))
	for name, forge := range map[string]func(*pause.Record){
		"no act":            func(p *pause.Record) { p.Calls[0].Args = []byte(`{"n":1}`) },
		"a file":            func(p *pause.Record) { p.Calls[0].Args = []byte(`{"file":{"op":"read","path":"/x"}}`) },
		"an empty approval": func(p *pause.Record) { p.Acts.Given = append(p.Acts.Given, given()) },
		"counts":            func(p *pause.Record) { p.Acts.Count = -1 },
	} {
		bad := p
		bad.Calls = slices.Clone(p.Calls)
		forge(&bad)
		if name != "an empty approval" && name != "counts" {
			bad.Calls[0].Digest = digest(bad.Calls[0].Args)
		}
		if _, err := s.ring.Resume(t.Context(), bad, []contract.Settlement{approve("c1")}); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	s.pauser.mu.Lock()
	s.pauser.hook = func(r executors.Run) error {
		if r.Resume != nil {
			r.Resume.Open[0] = ahead("c1", "/usr/bin/ls")
		}
		return nil
	}
	s.pauser.mu.Unlock()
	if v := s.resume(p, approve("c1")); v.State != executors.StateFailed {
		t.Errorf("a guest that asks for another act: %s", v.State)
	}
}

// A provider that starts a guest has the acts of the guest decided as those of the run.
func TestActsOfAProvider(t *testing.T) {
	type told struct {
		argv []string
		code profiles.Code
	}
	var got []told
	var after func(context.Context, executors.Question) (executors.Answer, error)
	shell := provide(func(ctx context.Context, c contract.Call) (json.RawMessage, error) {
		g, ok := c.Guest("shell")
		if !ok {
			return nil, errors.New("no guest")
		}
		if g.ID != c.Run || g.Agent.Shell == nil || g.Limits.WallMillis == nil || g.Seed == ([32]byte{}) {
			t.Errorf("guest %+v", g)
		}
		if _, ok := c.Guest("python"); ok {
			t.Error("a guest of an executor that is not granted")
		}
		after = c.Act
		for _, argv := range [][]string{{"/usr/bin/ls"}, {"/usr/bin/rm"}, {"/usr/bin/git", "push"}} {
			a, err := c.Act(ctx, exec(argv...))
			if err != nil {
				return nil, err
			}
			got = append(got, told{argv, decided(t, a).Code})
		}
		return json.RawMessage(`1`), nil
	})
	s := newStage(t, func(c *interpreter.Config) { c.Providers["shell"] = shell; c.Tier = tier(profiles.TierOS) })
	policy := shellSet("a", asking(), "ls", "git")
	b := bridge("shell")
	policy.Agents["default"].Bridges["shell"] = b
	s.apply(policy)
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "shell", `[]`)}))
	must(t, err)
	p := waitsFor(t, run, "c1-3", "approver")
	if p.Bridge != "exec:/usr/bin/git" || s.keeper.kept != 0 {
		t.Errorf("pending %+v, %d pauses", p, s.keeper.kept)
	}
	must(t, run.Approved(t.Context(), approve("c1-3")))
	v := s.end(run)
	want := []told{{[]string{"/usr/bin/ls"}, profiles.CodeAllowed},
		{[]string{"/usr/bin/rm"}, profiles.CodeExecNotGranted}, {[]string{"/usr/bin/git", "push"}, profiles.CodeAllowed}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(told{})); d != "" {
		t.Error(d)
	}
	if v.State != executors.StateDone || len(v.Ran) != 2 || len(v.Asked) != 1 || v.Asked[0].When != "held" ||
		len(v.Denials) != 1 {
		t.Errorf("%s, ran %v, asked %v, denials %v", v.State, v.Ran, v.Asked, v.Denials)
	}
	rec, ok := s.audit.find(contract.ExecDecided)
	if !ok || rec.Run != run.ID() || rec.Call != "c1-3" || rec.Detail["executor"] != "js" {
		t.Errorf("record %+v", rec)
	}
	if _, err := after(t.Context(), exec("/usr/bin/ls")); err == nil {
		t.Error("an act after the end of its call")
	}
}

func given() pause.Given { return pause.Given{Call: "c9", By: "uid:1"} }

func digest(b []byte) string { return pause.Digest(b) }
