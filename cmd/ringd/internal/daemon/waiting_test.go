package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	inforce "github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

func person(name string, stands ...string) waiting.Approver {
	return waiting.Approver{Name: name, Stands: stands}
}

// everyone sees the runs of all.
func everyone() daemon.Actor { return daemon.Actor{Name: "uid:0", All: true} }

func allow(t *testing.T, s *daemontest.Stack, who waiting.Approver, run string, p wire.Pending) (wire.Run, error) {
	t.Helper()
	return s.Daemon.Approve(t.Context(), who, run, p.ID, wire.ApprovalAnswer{Verdict: "allow", Digest: p.Digest})
}

func settle(t *testing.T, s *daemontest.Stack, run string, calls ...string) wire.Run {
	t.Helper()
	var list []wire.Answer
	for _, c := range calls {
		list = append(list, wire.Answer{Call: c, Value: json.RawMessage(`"` + c + `"`)})
	}
	r, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), run,
		wire.Answers{Answers: list, WaitMillis: wire.MaxWaitMillis})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// again opens a new daemon on the folder of s, which it closes.
func again(t *testing.T, s *daemontest.Stack, cfg daemontest.Config) *daemontest.Stack {
	t.Helper()
	s.Close(t)
	cfg.Dir, cfg.Clock = s.Dir, s.Clock
	return daemontest.New(t, cfg)
}

func TestPauseSurvivesTheProcess(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask sign")
	r := start(t, s, "steps ask,sign ask")
	waiting := waitPaused(t, s, r.ID)
	if len(waiting.Pending) != 2 || waiting.LastEvent == 0 {
		t.Fatalf("%+v", waiting)
	}
	if st := s.Daemon.Status(t.Context()); st.Runs.Live != 0 || st.Runs.Paused != 1 {
		t.Errorf("status counts %+v", st.Runs)
	}
	s = again(t, s, daemontest.Config{})
	if diff := cmp.Diff(waiting, waitPaused(t, s, r.ID)); diff != "" {
		t.Errorf("after the restart: %s", diff)
	}
	if got := settle(t, s, r.ID, "c2"); got.State != "paused" || len(got.Pending) != 1 {
		t.Fatalf("half answered: %+v", got)
	}
	s = again(t, s, daemontest.Config{})
	if got := settle(t, s, r.ID, "c1"); got.State != "paused" || got.Pending[0].ID != "c3" {
		t.Fatalf("the next wave: %+v", got)
	}
	got := settle(t, s, r.ID, "c3")
	if got.State != "done" || string(got.Value) != `["c1","c2","c3"]` {
		t.Errorf("the end: %+v", got)
	}
	if _, _, err := s.Store().Pause(t.Context(), r.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the record of an ended run: %v", err)
	}
	var kinds []string
	for _, rec := range s.Records(t, audit.RunStarted, audit.RunPaused, audit.RunResumed, audit.RunEnded) {
		kinds = append(kinds, string(rec.Kind))
	}
	want := []string{"run_started", "run_paused", "run_resumed", "run_paused", "run_resumed", "run_ended"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestApprovals(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!2@group:leads@user:ann ask")
	r := start(t, s, "steps pay,ask")
	paused := waitPaused(t, s, r.ID)
	list, err := s.Daemon.ListApprovals(t.Context(), everyone(), waiting.Page{})
	if err != nil || len(list.Approvals) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	p := list.Approvals[0].Pending
	if p.Bridge != "pay" || string(p.Args) != `{"n":1}` || p.Count != 2 || p.Digest == "" || p.Expires == nil ||
		!cmp.Equal(p.From, []string{"group:leads", "user:ann"}) {
		t.Errorf("shown: %+v", p)
	}
	if others, err := s.Daemon.ListApprovals(t.Context(), daemon.Actor{Name: "uid:7"}, waiting.Page{}); err != nil ||
		len(others.Approvals) != 0 {
		t.Errorf("another actor sees %+v, %v", others, err)
	}
	lead, ann := person("uid:1", "group:leads"), person("uid:2", "user:ann", "group:other")
	answer := func(verdict, reason, digest, as string) wire.ApprovalAnswer {
		return wire.ApprovalAnswer{Verdict: verdict, Reason: reason, Digest: digest, As: as}
	}
	var invalid *waiting.InvalidError
	for _, tc := range []struct {
		name string
		who  waiting.Approver
		call string
		a    wire.ApprovalAnswer
		want error // nil: invalid
	}{
		{"no digest", lead, p.ID, answer("allow", "", "", ""), nil},
		{"no reason", lead, p.ID, answer("deny", " ", p.Digest, ""), nil},
		{"no verdict", lead, p.ID, answer("", "", p.Digest, ""), nil},
		{"other arguments", lead, p.ID, answer("allow", "", "sha256:0", ""), waiting.ErrDigest},
		{"the run's own actor", person("uid:1000", "group:leads"), p.ID, answer("allow", "", p.Digest, ""), waiting.ErrSelf},
		{"stands for nobody", person("uid:3"), p.ID, answer("allow", "", p.Digest, ""), waiting.ErrNotApprover},
		{"stands for another", person("uid:3", "group:other"), p.ID, answer("allow", "", p.Digest, ""), waiting.ErrNotApprover},
		{"in a capacity it does not have", lead, p.ID, answer("allow", "", p.Digest, "user:ann"), waiting.ErrNotApprover},
		{"in a capacity that does not count", ann, p.ID, answer("allow", "", p.Digest, "group:other"), waiting.ErrNotApprover},
		{"unknown call", lead, "c9", answer("allow", "", p.Digest, ""), waiting.ErrNotFound},
		{"a harness's call", lead, "c2", answer("allow", "", paused.Pending[1].Digest, ""), waiting.ErrNotWaiting},
	} {
		_, err := s.Daemon.Approve(t.Context(), tc.who, r.ID, tc.call, tc.a)
		if (tc.want != nil && !errors.Is(err, tc.want)) || (tc.want == nil && !errors.As(err, &invalid)) {
			t.Errorf("%s gives %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); !errors.Is(err, daemon.ErrRole) {
		t.Errorf("a harness answers for an approver: %v", err)
	}
	got, err := allow(t, s, lead, r.ID, p)
	if err != nil || got.State != "paused" || len(got.Pending[0].Approvals) != 1 ||
		got.Pending[0].Approvals[0].As != "group:leads" {
		t.Fatalf("one of two: %+v, %v", got, err)
	}
	if _, err := allow(t, s, lead, r.ID, p); !errors.Is(err, waiting.ErrDecided) {
		t.Errorf("the same approver again: %v", err)
	}
	if _, err := allow(t, s, person("owner:uid:1", "user:ann"), r.ID, p); !errors.Is(err, waiting.ErrDecided) {
		t.Errorf("the same approver as the owner of the state folder: %v", err)
	}
	if len(s.Acts.Calls()) != 0 {
		t.Fatal("it was performed with one approval of two")
	}
	settle(t, s, r.ID, "c2")
	if _, err = allow(t, s, ann, r.ID, p); err != nil {
		t.Fatal(err)
	}
	got, err = s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%+v, %v after %d acts", got, err, len(s.Acts.Calls()))
	}
	if _, err := allow(t, s, ann, r.ID, p); !errors.Is(err, waiting.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	given, refused := s.Records(t, audit.CallApproved), s.Records(t, audit.ApprovalRefused)
	if len(given) != 2 || given[1].Actor != "uid:2" || given[1].Detail["as"] != "user:ann" ||
		given[1].Digest != p.Digest {
		t.Errorf("recorded: %+v", given)
	}
	if len(refused) != 10 {
		t.Errorf("%d refusals are recorded", len(refused))
	}
}

// floods asks until it is refused for its pace, and returns how often it was not. The
// other errors are those of want.
func floods(t *testing.T, want error, ask func() error) (n int) {
	t.Helper()
	for n = 0; n <= inforce.MaxActions; n++ {
		err := ask()
		if fast := new(daemon.TooFastError); errors.As(err, &fast) {
			return n
		}
		if !errors.Is(err, want) {
			t.Fatalf("request %d: %v, want %v", n, err, want)
		}
	}
	return n
}

// paced tells how often it is on record that an actor's requests of a kind are refused for
// their pace.
func paced(t *testing.T, s *daemontest.Stack, actor, of string) (n int) {
	t.Helper()
	for _, r := range s.Records(t, audit.RequestRefused) {
		if r.Actor == actor && r.Detail["of"] == of && r.Detail["reason"] == daemon.ErrTooFast.Error() {
			n++
		}
	}
	return n
}

// TestRefusedWordsArePaced: what one approver has put on record with words that do not
// count is bounded. A word that counts is taken all the same, and so is one of another
// approver; an unknown call, and an answer that does not count, leave no record.
func TestRefusedWordsArePaced(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Requests: 1})
	s.Apply(t, "one pay!2 ask")
	r := start(t, s, "steps pay,ask")
	paused := waitPaused(t, s, r.ID)
	p, flooder := paused.Pending[0], person("uid:1")
	word := func(who waiting.Approver, call, digest string) error {
		_, err := s.Daemon.Approve(t.Context(), who, r.ID, call, wire.ApprovalAnswer{Verdict: "allow", Digest: digest})
		return err
	}
	if n := floods(t, waiting.ErrDigest,
		func() error { return word(flooder, p.ID, "sha256:0") }); n != inforce.MaxActions {
		t.Errorf("%d words were refused on record, want %d", n, inforce.MaxActions)
	}
	for range 10 {
		if err := word(flooder, p.ID, "sha256:0"); !errors.Is(err, daemon.ErrTooFast) {
			t.Errorf("one more: %v", err)
		}
		if err := word(flooder, "c9", p.Digest); !errors.Is(err, waiting.ErrNotFound) {
			t.Errorf("an unknown call: %v", err)
		}
		_, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
			wire.Answers{Answers: []wire.Answer{{Call: "c2", Digest: "sha256:0", Value: json.RawMessage("1")}}})
		if !errors.Is(err, daemon.ErrDigest) {
			t.Errorf("an answer to other arguments: %v", err)
		}
	}
	if n := len(s.Records(t, audit.ApprovalRefused)); n != inforce.MaxActions {
		t.Errorf("%d refused words are on record", n)
	}
	if n := len(s.Records(t, audit.CallAnswered)); n != 0 {
		t.Errorf("%d answers are on record", n)
	}
	if n := paced(t, s, "uid:1", "approval"); n != 1 {
		t.Errorf("%d records say that it was too fast", n)
	}
	if err := word(person("uid:2"), p.ID, "sha256:0"); !errors.Is(err, waiting.ErrDigest) {
		t.Errorf("a wrong word of another approver: %v", err)
	}
	for _, who := range []waiting.Approver{person("uid:2"), flooder} {
		if _, err := allow(t, s, who, r.ID, p); err != nil {
			t.Errorf("a word of %s that counts: %v", who.Name, err)
		}
	}
	if got := settle(t, s, r.ID, "c2"); got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%+v after %d acts", got, len(s.Acts.Calls()))
	}
}

// TestRevokesArePaced: the revocations of one caller are bounded, and nobody else's are
// refused for it; nor are they for the caller's decisions, or a lockdown for anything.
func TestRevokesArePaced(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Requests: 1})
	s.Apply(t, "one ask/0/0/0 act/0/0/0")
	r := start(t, s, "steps ask act")
	waitPaused(t, s, r.ID)
	revoke := func(actor daemon.Actor) error {
		_, err := s.Daemon.RevokeGrants(t.Context(), actor, r.ID, []string{"bridge:act"})
		return err
	}
	asked := slices.Repeat([]json.RawMessage{json.RawMessage(`{"bridge":{"name":"ask","args":{}}}`)},
		inforce.MaxActions)
	for _, want := range []error{nil, daemon.ErrTooFast} {
		if _, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "default", asked); !errors.Is(err, want) {
			t.Fatalf("decisions: %v, want %v", err, want)
		}
	}
	if n := floods(t, nil, func() error { return revoke(daemontest.Me()) }); n != inforce.MaxActions {
		t.Errorf("%d revocations were taken, want %d", n, inforce.MaxActions)
	}
	if err := revoke(everyone()); err != nil {
		t.Errorf("a revocation of another caller: %v", err)
	}
	if n := len(s.Records(t, audit.GrantRevoked)); n != inforce.MaxActions+1 {
		t.Errorf("%d revocations are on record", n)
	}
	if n := paced(t, s, daemontest.Me().Name, "revoke"); n != 1 {
		t.Errorf("%d records say that it was too fast", n)
	}
	for range 10 { // one that holds is on record once
		if _, err := s.Lock.Set(t.Context(), daemontest.Me().Name,
			wire.LockdownOrder{State: wire.LockdownBegin, Reason: "too many"}); err != nil {
			t.Errorf("a lockdown: %v", err)
		}
	}
	if n := len(s.Records(t, audit.LockdownBegun)); n != 1 {
		t.Errorf("%d lockdowns are on record", n)
	}
}

// TestFailedResumesArePaced: what one caller has put on record by resuming what cannot be
// is bounded, and another caller is told why it cannot.
func TestFailedResumesArePaced(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Requests: 1})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	s = again(t, s, daemontest.Config{Requests: 1})
	s.Executor.SetEngine("sha256:0101010101010101010101010101010101010101010101010101010101010101")
	settle(t, s, r.ID, "c1")
	waitStuck(t, s, r.ID, wire.CodeEngineUnknown)
	var code string
	resume := func(actor daemon.Actor) error {
		_, err := s.Daemon.ResumeRun(t.Context(), actor, r.ID)
		if stuck := new(waiting.StuckError); errors.As(err, &stuck) {
			code = stuck.Code
			return nil
		}
		return err
	}
	if n := floods(t, nil, func() error { return resume(daemontest.Me()) }); n != inforce.MaxActions || code == "" {
		t.Errorf("%d resumes failed on record with %q, want %d", n, code, inforce.MaxActions)
	}
	before := len(s.Records(t, audit.ResumeRefused))
	if err := resume(daemontest.Me()); !errors.Is(err, daemon.ErrTooFast) ||
		len(s.Records(t, audit.ResumeRefused)) != before {
		t.Errorf("one more: %v, and %d records beside %d", err, len(s.Records(t, audit.ResumeRefused)), before)
	}
	if err := resume(everyone()); err != nil {
		t.Errorf("another caller: %v", err)
	}
}

func TestDenial(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!")
	r := start(t, s, "steps pay")
	p := waitPaused(t, s, r.ID).Pending[0]
	_, err := s.Daemon.Approve(t.Context(), person("uid:1"), r.ID, p.ID,
		wire.ApprovalAnswer{Verdict: "deny", Reason: "too dear", Digest: p.Digest})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || string(got.Value) != `["ApprovalDenied"]` || len(s.Acts.Calls()) != 0 {
		t.Errorf("%+v, %v after %d acts", got, err, len(s.Acts.Calls()))
	}
}

func TestExpiry(t *testing.T) {
	for _, tc := range []struct {
		name, policy, program, want string
		after                       time.Duration
	}{
		{"approval", "one pay!", "steps pay", "ApprovalExpired", 24 * time.Hour},
		{"pause", "one ask", "steps ask", "PauseExpired", 48 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{Staleness: 1000 * time.Hour})
			s.Apply(t, tc.policy)
			r := start(t, s, tc.program)
			p := waitPaused(t, s, r.ID).Pending[0]
			s.Clock.WaitsFor(10 * time.Second)
			s.Clock.Advance(tc.after - time.Second)
			s.Clock.WaitsFor(10 * time.Second) // it has looked
			waitPaused(t, s, r.ID)
			s.Clock.Advance(time.Second)
			if tc.name == "approval" {
				if _, err := allow(t, s, person("uid:1"), r.ID, p); !errors.Is(err, waiting.ErrExpired) {
					t.Errorf("too late: %v", err)
				}
			}
			s.Clock.Advance(10 * time.Second)
			s.Clock.WaitsFor(10 * time.Second)
			got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0)
			if err != nil || got.State != "denied" || got.Error == nil || got.Error.Name != tc.want ||
				len(got.Pending) != 0 {
				t.Errorf("%+v %+v, %v", got, got.Error, err)
			}
			if _, _, err := s.Store().Pause(t.Context(), r.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("its record: %v", err)
			}
		})
	}
}

func TestCancelWhilePaused(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	if _, err := s.Daemon.CancelRun(t.Context(), daemon.Actor{Name: "uid:7"}, r.ID); !errors.Is(
		err, inforce.ErrNotFound) {
		t.Errorf("another actor cancels: %v", err)
	}
	got, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), r.ID)
	if err != nil || got.State != "cancelled" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); !errors.Is(err, daemon.ErrEnded) {
		t.Errorf("an answer after the end: %v", err)
	}
	if _, err := s.Daemon.ResumeRun(t.Context(), everyone(), r.ID); !errors.Is(err, daemon.ErrEnded) {
		t.Errorf("a resume after the end: %v", err)
	}
	if _, _, err := s.Store().Pause(t.Context(), r.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its record: %v", err)
	}
}

// TestStuck answers a run whose record cannot be opened: it stays, says why, and
// goes on once it can.
func TestStuck(t *testing.T) {
	other := "sha256:0101010101010101010101010101010101010101010101010101010101010101"
	for _, tc := range []struct {
		name, code string
		wrong      daemontest.Config
		engine     string
	}{
		{"another key", wire.CodeKeyUnknown, daemontest.Config{Key: "other"}, ""},
		{"another engine", wire.CodeEngineUnknown, daemontest.Config{}, other},
		{"another engine, told by the executor", wire.CodeEngineUnknown, daemontest.Config{
			HasEngine: func(string, string) (string, bool) { return "", true }}, other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one ask")
			r := start(t, s, "steps ask")
			waitPaused(t, s, r.ID)
			var got wire.Run
			refusals := 2
			if tc.wrong.Key == "" {
				s = again(t, s, tc.wrong)
				s.Executor.SetEngine(tc.engine)
				got = settle(t, s, r.ID, "c1")
			} else { // without the key it takes no answer either
				refusals = 3
				s.Executor.Break(errors.New("no guest"))
				settle(t, s, r.ID, "c1")
				waitStuck(t, s, r.ID, wire.CodeResumeFailed)
				if log := s.Logged.String(); !strings.Contains(log, "no guest") {
					t.Errorf("the log does not say why: %s", log)
				}
				s = again(t, s, tc.wrong)
				got = waitStuck(t, s, r.ID, tc.code)
			}
			if got.State != "paused" || got.Error == nil || got.Error.Name != tc.code {
				t.Fatalf("%+v %+v", got, got.Error)
			}
			st := s.Daemon.Status(t.Context())
			if i := slices.IndexFunc(st.Conditions, func(c wire.Condition) bool {
				return c.Code == wire.ConditionRunsStuck
			}); i < 0 ||
				!strings.Contains(st.Conditions[i].Message, "1 answered, "+tc.code) {
				t.Errorf("status says %+v", st.Conditions)
			}
			if tc.engine != "" && !strings.Contains(got.Error.Message, daemontest.Engine) {
				t.Errorf("the digest is not named: %s", got.Error.Message)
			}
			if tc.wrong.HasEngine == nil && tc.engine != "" &&
				!strings.Contains(got.Error.Message, "this ringd has "+other) {
				t.Errorf("the daemon's own engine is not named: %s", got.Error.Message)
			}
			if tc.wrong.HasEngine != nil {
				return // it learns of it later than it can tell a caller
			}
			var stuck *waiting.StuckError
			if _, err := s.Daemon.ResumeRun(t.Context(), everyone(), r.ID); !errors.As(err, &stuck) ||
				stuck.Code != tc.code {
				t.Errorf("asked to try again: %v", err)
			}
			if n := len(s.Records(t, audit.ResumeRefused)); n != refusals {
				t.Errorf("%d refusals are recorded, not %d", n, refusals)
			}
			s = again(t, s, daemontest.Config{}) // it tries by itself
			got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
			for err == nil && got.State == "paused" {
				got, err = s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
			}
			if err != nil || got.State != "done" || got.Error != nil {
				t.Errorf("%+v %+v, %v", got, got.Error, err)
			}
		})
	}
}

// TestSwappedRecords gives a run the record of another one: a byte of neither is
// loaded.
func TestSwappedRecords(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	one, two := start(t, s, "steps ask"), start(t, s, "steps ask ask")
	waitPaused(t, s, one.ID)
	waitPaused(t, s, two.ID)
	rows := map[string]store.Run{}
	pause := map[string]store.Pause{}
	for _, id := range []string{one.ID, two.ID} {
		row, err := s.Store().Run(t.Context(), id)
		p, _, err2 := s.Store().Pause(t.Context(), id)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		rows[id], pause[id] = row, p
	}
	if _, err := s.Keeper.Open(pause[one.ID], rows[one.ID]); err != nil {
		t.Fatalf("its own record: %v", err)
	}
	for name, change := range map[string]func(p *store.Pause, r *store.Run){
		"another run":      func(_ *store.Pause, r *store.Run) { *r = rows[two.ID] },
		"another's record": func(p *store.Pause, _ *store.Run) { p.Sealed = pause[two.ID].Sealed },
		"an older one":     func(_ *store.Pause, r *store.Run) { r.Seq++ },
		"another actor":    func(_ *store.Pause, r *store.Run) { r.Actor = "uid:7" },
		"another agent":    func(_ *store.Pause, r *store.Run) { r.Agent = "other" },
		"another executor": func(_ *store.Pause, r *store.Run) { r.Executor = "python" },
		"another revision": func(p *store.Pause, _ *store.Run) { p.Revision = "sha256:1" },
		"another engine":   func(p *store.Pause, _ *store.Run) { p.Engine = "sha256:1" },
		"a flipped bit":    func(p *store.Pause, _ *store.Run) { p.Sealed[len(p.Sealed)-20] ^= 1 },
		"cut":              func(p *store.Pause, _ *store.Run) { p.Sealed = p.Sealed[:len(p.Sealed)-1] },
		"nothing":          func(p *store.Pause, _ *store.Run) { p.Sealed = nil },
	} {
		p, r := pause[one.ID], rows[one.ID]
		p.Sealed = append([]byte(nil), p.Sealed...)
		change(&p, &r)
		_, err := s.Keeper.Open(p, r)
		if daemon.StuckCode(err) != wire.CodeIntegrity {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A record of a later version of ringd is refused as that, and not as damaged.
func TestLaterRecord(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	row, err := s.Store().Run(t.Context(), r.ID)
	p, _, err2 := s.Store().Pause(t.Context(), r.ID)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	b := append([]byte(nil), p.Sealed...)
	binary.BigEndian.PutUint16(b[8:], 2) // magic, version, length, sum, header
	sum := sha256.New()
	sum.Write(b[:14])
	sum.Write(b[22 : 22+binary.BigEndian.Uint32(b[10:])])
	copy(b[14:22], sum.Sum(nil))
	p.Sealed = b
	_, err = s.Keeper.Open(p, row)
	if code := daemon.StuckCode(err); code != wire.CodeFormatUnknown {
		t.Errorf("%s: %v", code, err)
	}
}

func TestRevoke(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask/0/0/0 act/0/0/0")
	r := start(t, s, "steps ask act")
	waitPaused(t, s, r.ID)
	var invalid *inforce.InvalidError
	for _, bad := range [][]string{nil, {"act"}, {"bridge:"}, {"all:act"}, {"bridge:act", "bridge:atc"}} {
		if _, err := s.Daemon.RevokeGrants(t.Context(), daemontest.Me(), r.ID, bad); !errors.As(err, &invalid) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
	if _, err := s.Daemon.RevokeGrants(t.Context(), daemon.Actor{Name: "uid:7"}, r.ID,
		[]string{"bridge:act"}); !errors.Is(err, inforce.ErrNotFound) {
		t.Errorf("another actor revokes: %v", err)
	}
	if _, err := s.Daemon.RevokeGrants(t.Context(), daemontest.Me(), r.ID, []string{"bridge:act"}); err != nil {
		t.Fatal(err)
	}
	s = again(t, s, daemontest.Config{})
	got := settle(t, s, r.ID, "c1")
	if got.State != "done" || string(got.Value) != `["c1","CapabilityRevoked"]` || len(s.Acts.Calls()) != 0 {
		t.Errorf("%+v after %d acts", got, len(s.Acts.Calls()))
	}
}

// TestSubagentsOfAPausedRun starts runs for an open call of a run that waits: they
// count in its tree, also after a restart, and end with the call.
func TestSubagentsOfAPausedRun(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask/2/1/3 sign/1/2/100")
	r := start(t, s, "steps ask*oo")
	waitPaused(t, s, r.ID)
	child := func(s *daemontest.Stack, program string) (wire.Run, error) {
		return s.Daemon.StartRun(t.Context(), daemontest.Me(),
			wire.RunRequest{Executor: "js", Program: wire.Program{Source: program},
				Parent: &wire.Parent{Run: r.ID, Call: "c1"}, WaitMillis: wire.MaxWaitMillis})
	}
	if got, err := child(s, "1+1"); err != nil || got.State != "done" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := waitPaused(t, s, r.ID); len(got.Pending) != 1 {
		t.Fatalf("the parent: %+v", got)
	}
	if p, _, err := s.Store().Pause(t.Context(), r.ID); err != nil || p.Spawned < 1 {
		t.Errorf("kept with the pause: %d, %v", p.Spawned, err)
	}
	s = again(t, s, daemontest.Config{})
	ended, err := child(s, "steps sign")
	if err != nil || ended.State != "paused" {
		t.Fatalf("%+v, %v", ended, err)
	}
	if _, err := child(s, "1+1"); !errors.Is(err, daemon.ErrParent) {
		t.Errorf("a third subagent of a call for two, after a restart: %v", err)
	}
	settle(t, s, r.ID, "c1")
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || got.State != "done" {
		t.Errorf("the parent: %+v, %v", got, err)
	}
	if _, err := child(s, "1+1"); !errors.Is(err, daemon.ErrEnded) {
		t.Errorf("a subagent of a run that has ended: %v", err)
	}
	// The subagent waits for an answer that nobody needs: it ends when it is to go on.
	left := settle(t, s, ended.ID, "c1")
	if left.State != "cancelled" {
		t.Errorf("the subagent: %+v %+v", left, left.Error)
	}
}

// TestCancelEndsSubagentsOfAPausedRun cancels a run that waits while a subagent of
// it is live.
func TestCancelEndsSubagentsOfAPausedRun(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask/2/1/3")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	child, err := s.Daemon.StartRun(t.Context(), daemontest.Me(),
		wire.RunRequest{Executor: "js", Program: wire.Program{Source: "spin"},
			Parent: &wire.Parent{Run: r.ID, Call: "c1"}})
	if err != nil || child.State != "running" {
		t.Fatalf("%+v, %v", child, err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), r.ID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), child.ID, time.Minute)
	if err != nil || got.State != "cancelled" {
		t.Errorf("the subagent: %+v, %v", got, err)
	}
}

// TestRevokeReachesAHeldRun takes the grant that a subagent would be started under.
func TestRevokeReachesAHeldRun(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask/2/1/3")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	child := func(program string) error {
		_, err := s.Daemon.StartRun(t.Context(), daemontest.Me(),
			wire.RunRequest{Executor: "js", Program: wire.Program{Source: program},
				Parent: &wire.Parent{Run: r.ID, Call: "c1"}})
		return err
	}
	if err := child("spin"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Daemon.RevokeGrants(t.Context(), daemontest.Me(), r.ID, []string{"bridge:ask"}); err != nil {
		t.Fatal(err)
	}
	var denial *profiles.Denial
	if err := child("1+1"); !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeBridgeRevoked {
		t.Errorf("a subagent under a grant that was taken: %v", err)
	}
}

// TestRevokeIsRecordedOnce, before it is done: also of a run that lives, and of one
// that waits with subagents.
func TestRevokeIsRecordedOnce(t *testing.T) {
	for _, program := range []string{"spin", "steps ask"} {
		s := daemontest.New(t, daemontest.Config{})
		s.Apply(t, "one ask/2/1/3")
		r := start(t, s, program)
		if program != "spin" {
			waitPaused(t, s, r.ID)
			if _, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), wire.RunRequest{Executor: "js",
				Program: wire.Program{Source: "spin"}, Parent: &wire.Parent{Run: r.ID, Call: "c1"}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Daemon.RevokeGrants(t.Context(), daemontest.Me(), r.ID, []string{"bridge:ask"}); err != nil {
			t.Fatal(err)
		}
		recs := s.Records(t, audit.GrantRevoked)
		if len(recs) != 1 || recs[0].Run != r.ID || recs[0].Actor != daemontest.Me().Name ||
			recs[0].Detail["grants"] != "bridge:ask" {
			t.Errorf("%s: %+v", program, recs)
		}
	}
}

func TestGrantsNarrow(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask act")
	var req wire.RunRequest
	if err := json.Unmarshal(
		[]byte(`{"executor":"js","program":{"source":"steps ask act"},"grants":{"bridges":{"ask":{}}}}`), &req); err != nil {
		t.Fatal(err)
	}
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), req)
	if err != nil {
		t.Fatal(err)
	}
	waitPaused(t, s, r.ID)
	if got := settle(t, s, r.ID, "c1"); string(got.Value) != `["c1","CapabilityDenied"]` || len(s.Acts.Calls()) != 0 {
		t.Errorf("%+v after %d acts", got, len(s.Acts.Calls()))
	}
}

func TestSessions(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Staleness: 1000 * time.Hour})
	s.Apply(t, "one ask")
	enter := func(actor daemon.Actor, program string) (wire.Run, error) {
		return s.Daemon.StartRun(t.Context(), actor, wire.RunRequest{
			Executor: "js", Program: wire.Program{Source: program},
			Session: "notes", WaitMillis: wire.MaxWaitMillis})
	}
	count := func(actor daemon.Actor, want string) {
		t.Helper()
		if r, err := enter(actor, "session"); err != nil || string(r.Value) != want || r.SessionError != "" {
			t.Errorf("%+v, %v, want %s", r, err, want)
		}
	}
	me, you := daemontest.Me(), daemon.Actor{Name: "uid:7"}
	if p, err := s.Daemon.Profile("default", "js"); err != nil || p.Sessions == nil || p.Sessions.AgeMillis == 0 {
		t.Errorf("a profile without its sessions: %+v, %v", p.Sessions, err)
	}
	count(me, "1")
	count(me, "2")
	count(you, "1") // another actor's is another session
	s = again(t, s, daemontest.Config{Staleness: 1000 * time.Hour})
	count(me, "3")
	r, err := enter(me, "steps ask")
	if err != nil || r.State != "paused" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := enter(me, "session"); !errors.Is(err, daemon.ErrSessionBusy) {
		t.Errorf("a second run in it: %v", err)
	}
	if err := s.Daemon.DropSession(t.Context(), me, "", "notes"); !errors.Is(err, daemon.ErrSessionBusy) {
		t.Errorf("forgotten while it is used: %v", err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), me, r.ID); err != nil {
		t.Fatal(err)
	}
	list, err := s.Daemon.ListSessions(t.Context(), me)
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Name != "notes" || list.Sessions[0].Bytes == 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Daemon.DropSession(t.Context(), you, "uid:1000", "notes"); !errors.Is(err, inforce.ErrNotFound) {
		t.Errorf("another actor forgets it: %v", err)
	}
	if gone := s.Executor.Forgotten(); len(gone) > 0 {
		t.Errorf("%q is forgotten, and nobody dropped it", gone)
	}
	if err := s.Daemon.DropSession(t.Context(), me, "", "notes"); err != nil {
		t.Fatal(err)
	}
	if gone := s.Executor.Forgotten(); !slices.Equal(gone, []string{"3"}) {
		t.Errorf("what lives of a dropped session: forgotten %q", gone)
	}
	count(me, "1")
	s.Clock.Advance(time.Hour)
	count(me, "1") // too old
}

func TestPausedQuota(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Paused: waiting.Quota{PerActor: 1, Total: 5, Bytes: 1 << 30}})
	s.Apply(t, "one ask")
	waitPaused(t, s, start(t, s, "steps ask").ID)
	second := start(t, s, "steps ask")
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), second.ID, time.Minute)
	if err != nil || got.State != "failed" || got.Error == nil {
		t.Errorf("%+v %+v, %v", got, got.Error, err)
	}
}

// TestPausedBytes: what the records of one actor's waiting runs take is bounded; a run
// that goes on makes room.
func TestPausedBytes(t *testing.T) {
	size := func(s *daemontest.Stack) int64 {
		n, err := s.Store().PausedBytes(t.Context(), daemontest.Me().Name)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	waitPaused(t, s, start(t, s, "steps ask").ID)
	one := size(s)
	s = daemontest.New(t, daemontest.Config{Paused: waiting.Quota{PerActor: 10, Total: 10, Bytes: one + one/2}})
	s.Apply(t, "one ask")
	first := start(t, s, "steps ask")
	waitPaused(t, s, first.ID)
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), start(t, s, "steps ask").ID, time.Minute)
	if err != nil || got.State != "failed" || got.Error == nil || size(s) > one+one/2 {
		t.Errorf("a second one: %+v %+v, %v", got, got.Error, err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), first.ID); err != nil {
		t.Fatal(err)
	}
	waitPaused(t, s, start(t, s, "steps ask").ID)
}

// TestWaitingCalls: calls of one agent and actor that wait for approvers are bounded. One
// too many is refused by name and on record, and those of another actor are not.
func TestWaitingCalls(t *testing.T) {
	cfg := daemontest.Config{Queue: store.Queue{Calls: 10}, Staleness: 1000 * time.Hour}
	s := daemontest.New(t, cfg)
	s.Apply(t, "one pay!")
	eight := "steps " + strings.TrimSuffix(strings.Repeat("pay,", 8), ",")
	flood := func(actor daemon.Actor, want int) wire.Run {
		t.Helper()
		r, err := s.Daemon.StartRun(t.Context(), actor, request(eight, wire.MaxWaitMillis))
		refused := 0
		for _, d := range r.Denials {
			refused += max(int(d.Count), 1) // equal ones are one
		}
		if err != nil || len(r.Pending) != want || refused != 8-want {
			t.Fatalf("%d calls wait and %d are refused, want %d to wait: %q %+v, %v", len(r.Pending), refused, want,
				r.State, r.Error, err)
		}
		for _, d := range r.Denials {
			if d.Code != profiles.CodeApprovalsFull || !strings.Contains(
				d.Reason, "10 calls of this agent and actor wait for approvers, and 10 may: decide some of them "+
					"(ringd approvals), cancel their runs (ringd cancel), or raise limits.waitingCalls of this host") {
				t.Fatalf("refused as %+v", d)
			}
		}
		return r
	}
	me := daemontest.Me()
	first := flood(me, 8)
	second := flood(me, 2)
	var recorded int
	for _, rec := range s.Records(t, audit.CallDecided) {
		if rec.Run == second.ID && rec.State == "refused" && rec.Decision.Code == profiles.CodeApprovalsFull {
			recorded++
		}
	}
	if recorded != 6 {
		t.Errorf("%d refusals are on record, want 6", recorded)
	}
	if r := flood(me, 0); r.State != "done" || strings.Count(string(r.Value), "BudgetExceeded") != 8 {
		t.Errorf("a program without a place: %q %s", r.State, r.Value)
	}
	flood(daemon.Actor{Name: "uid:7"}, 8) // of another actor

	s = again(t, s, cfg)
	s.Apply(t, "one pay!")
	flood(me, 0)
	if _, err := allow(t, s, person("uid:1"), second.ID, second.Pending[0]); err != nil {
		t.Fatal(err)
	}
	flood(me, 1)
	if _, err := s.Daemon.CancelRun(t.Context(), me, first.ID); err != nil {
		t.Fatal(err)
	}
	flood(me, 8)
	flood(me, 0)
	s.Clock.WaitsFor(10 * time.Second)
	s.Clock.Advance(24*time.Hour + 10*time.Second) // that approvals are asked for
	s.Clock.WaitsFor(10 * time.Second)             // it has looked
	flood(me, 8)
}

// TestEventsAcrossAPause reads a run's events with one reader through two lives:
// the numbers go on without a gap.
func TestEventsAcrossAPause(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask ask")
	var states []string
	after, paused := int64(0), 0
	for {
		list, err := s.Daemon.Events(t.Context(), daemontest.Me(), r.ID, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Seq != after+1 || e.Type == wire.EventGap {
				t.Fatalf("after %d comes %+v", after, e)
			}
			after = e.Seq
			if e.Type == wire.EventState {
				states = append(states, e.State)
			}
			if e.State == "paused" {
				paused++
				call := []string{"", "c1", "c2"}[paused]
				if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
					wire.Answers{Answers: []wire.Answer{{Call: call, Value: json.RawMessage("1")}}}); err != nil {
					t.Fatal(err)
				}
			}
			if e.Final() {
				want := []string{"running", "paused", "running", "paused", "running", "done"}
				if diff := cmp.Diff(want, states); diff != "" {
					t.Error(diff)
				}
				return
			}
		}
	}
}

func TestEventsOfAPausedRunAfterARestart(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	last := waitPaused(t, s, r.ID).LastEvent
	s = again(t, s, daemontest.Config{})
	list, err := s.Daemon.Events(t.Context(), daemontest.Me(), r.ID, 0)
	if err != nil || len(list) == 0 || list[len(list)-1].State != "paused" || list[len(list)-1].Seq != last {
		t.Fatalf("%+v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan error, 1)
	go func() {
		_, err := s.Daemon.Events(ctx, daemontest.Me(), r.ID, last)
		came <- err
	}()
	cancel()
	if err := <-came; !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that has all waits: %v", err)
	}
	settle(t, s, r.ID, "c1")
	list, err = s.Daemon.Events(t.Context(), daemontest.Me(), r.ID, last)
	if err != nil || len(list) == 0 || list[len(list)-1].Seq <= last {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestManyPausedRuns holds what a thousand waiting runs cost in the process.
func TestManyPausedRuns(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	s := daemontest.New(t, daemontest.Config{Queue: store.Queue{Calls: 2_000}})
	s.Apply(t, "one ask pay!")
	wait := func() {
		r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("steps ask,pay", wire.MaxWaitMillis))
		if err != nil || r.State != "paused" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	measure := func() (goroutines int, heap uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	for range 20 {
		wait()
	}
	goroutines, heap := measure()
	for range n {
		wait()
	}
	after, now := measure()
	if st := s.Daemon.Status(t.Context()); st.Runs.Paused != n+20 || st.Runs.Live != 0 {
		t.Errorf("status counts %+v", st.Runs)
	}
	if after > goroutines+5 {
		t.Errorf("%d goroutines, %d before", after, goroutines)
	}
	if grown := int64(now) - int64(heap); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes over %d paused runs", grown, n)
	}
	t.Logf("%d paused runs: goroutines %d -> %d, heap %d -> %d", n, goroutines, after, heap, now)
}
