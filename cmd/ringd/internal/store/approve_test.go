package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// still is a clock that stands where it is put.
type still struct {
	mu  sync.Mutex
	now time.Time
}

func (c *still) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *still) put(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// gated is a call that takes two approvals of maintainers.
func gated(run, id string, acts store.Answerer) store.Call {
	c := pending(run, id, store.ByApprover)
	c.Acts, c.Needs, c.From = acts, 2, []string{"group:maintainers", "person:ada"}
	c.Expires = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	return c
}

func maintainer(by string, v store.Verdict) store.Approval {
	a := approval(by, v)
	a.As = "group:maintainers"
	return a
}

// TestApprovals gives a call one word after the other.
func TestApprovals(t *testing.T) {
	type word struct {
		by   string
		v    store.Verdict
		want string // first, verdict, count, who is waited for, state of the run
	}
	tests := []struct {
		name string
		acts store.Answerer
		say  []word
		end  string // reply, decided by
	}{
		{"two allow", store.ByHost, []word{
			{"uid:1", store.Allow, `true "" 1 approver paused`},
			{"uid:1", store.Allow, `false "" 1 approver paused`},
			{"uid:2", store.Allow, `true "allow" 2 approver answered`},
		}, "because uid:2"},
		{"one deny decides", store.ByHost, []word{
			{"uid:1", store.Allow, `true "" 1 approver paused`},
			{"uid:2", store.Deny, `true "deny" 1 approver answered`},
		}, "because uid:2"},
		{"a mind changed", store.ByHost, []word{
			{"uid:1", store.Allow, `true "" 1 approver paused`},
			{"uid:1", store.Deny, `true "deny" 0 approver answered`},
		}, "because uid:1"},
		{"the harness acts", store.ByHarness, []word{
			{"uid:1", store.Allow, `true "" 1 approver paused`},
			{"uid:2", store.Allow, `true "allow" 2 harness paused`},
			{"uid:3", store.Deny, `false "allow" 2 harness paused`},
		}, " uid:2"},
		{"denied, the harness does not act", store.ByHarness, []word{
			{"uid:1", store.Deny, `true "deny" 0 approver answered`},
		}, "because uid:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, config(t))
			mustStart(t, s, newRun("r1"))
			mustOpenCall(t, s, gated("r1", "c1", tt.acts))
			mustPause(t, s, newPause("r1", 1))
			for i, w := range tt.say {
				got, err := s.Approve(t.Context(), "r1", "c1", maintainer(w.by, w.v))
				if err != nil {
					t.Fatal(err)
				}
				if text := fmt.Sprintf("%t %q %d %s %s", got.First, got.Verdict, got.Count, got.For,
					got.Run); text != w.want || got.Needs != 2 {
					t.Errorf("word %d: %s of %d, want %s", i, text, got.Needs, w.want)
				}
			}
			c := getCalls(t, s, "r1")[0]
			if got := string(c.Reply) + " " + c.DecidedBy; got != tt.end {
				t.Errorf("%q, want %q", got, tt.end)
			}
			if len(c.From) != 2 || c.Needs != 2 || c.Expires.IsZero() || c.Acts != tt.acts {
				t.Errorf("the call lost what it takes: %+v", c)
			}
		})
	}
}

// TestApprovedForHarness: once approved it waits for the harness, without which
// nothing goes on, and which nobody executes here.
func TestApprovedForHarness(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	c := pending("r1", "c1", store.ByApprover)
	c.Acts = store.ByHarness
	mustOpenCall(t, s, c)
	mustPause(t, s, newPause("r1", 1))
	reply := store.Reply{By: "uid:5", Body: []byte("7")}
	if _, err := s.Answer(t.Context(), "r1", "c1", reply); !errors.Is(err, store.ErrState) {
		t.Errorf("the harness answered what nobody approved: %v", err)
	}
	if _, err := s.Approve(t.Context(), "r1", "c1", approval("uid:1", store.Allow)); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[store.Answerer]int{store.ByApprover: 0, store.ByHarness: 1} {
		if list, err := s.Waiting(t.Context(), who, store.WaitingPage{Args: store.MaxArgs}); err != nil ||
			len(list) != want {
			t.Errorf("%d wait for the %s, %v", len(list), who, err)
		}
	}
	got, err := s.Answer(t.Context(), "r1", "c1", reply)
	if err != nil || got.Run != store.Answered {
		t.Fatalf("%+v, %v", got, err)
	}
	_, calls := mustClaim(t, s, "r1", 1)
	if calls[0].RepliedBy != "uid:5" || calls[0].DecidedBy != "uid:1" || calls[0].Verdict != store.Allow {
		t.Errorf("%+v", calls[0])
	}
	mustBegin(t, s, "r1", 1)
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed what the harness did: %v", err)
	}
}

// TestApproveRefused: each way in which a word must not count. The row stays as
// it was, and a right word counts afterwards.
func TestApproveRefused(t *testing.T) {
	clock := &still{now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	cfg := config(t)
	cfg.Now = clock.Now
	s := mustOpen(t, cfg)
	for _, id := range []string{"r1", "ended", "late pause"} {
		mustStart(t, s, newRun(id))
		mustOpenCall(t, s, gated(id, "c1", store.ByHost))
		mustOpenCall(t, s, pending(id, "c2", store.ByHarness))
	}
	mustOpenCall(t, s, executing("r1", "c3"))
	if err := s.CloseCall(t.Context(), "r1", "c3", store.CallClosed, nil, store.Head{}); err != nil {
		t.Fatal(err)
	}
	mustAdvance(t, s, "ended", store.Cancelled)
	p := newPause("late pause", 1)
	p.Expires = clock.now.Add(time.Hour)
	mustPause(t, s, p)
	reach(t, s, "answered", store.Answered)
	with := func(f func(*store.Approval)) store.Approval {
		a := maintainer("uid:1", store.Allow)
		f(&a)
		return a
	}
	good := maintainer("uid:1", store.Allow)
	before := getCalls(t, s, "r1")
	tests := []struct {
		name      string
		at        time.Time
		run, call string
		a         store.Approval
		want      error
	}{
		{"no such run", clock.now, "nowhere", "c1", good, store.ErrNotFound},
		{"no such call", clock.now, "r1", "c9", good, store.ErrNotFound},
		{"for the harness", clock.now, "r1", "c2", good, store.ErrState},
		{"for nobody, closed", clock.now, "r1", "c3", good, store.ErrState},
		{"the run has ended", clock.now, "ended", "c1", good, store.ErrState},
		{"the run is answered", clock.now, "answered", "c1", good, store.ErrState},
		{"another digest", clock.now, "r1", "c1", with(func(a *store.Approval) { a.Digest = "sha256:ab" }), store.ErrDigest},
		{"no digest", clock.now, "r1", "c1", with(func(a *store.Approval) { a.Digest = "" }), store.ErrDigest},
		{"in no capacity", clock.now, "r1", "c1", with(func(a *store.Approval) { a.As = "" }), store.ErrApprover},
		{"in another capacity", clock.now, "r1", "c1", with(func(a *store.Approval) { a.As = "group:interns" }), store.ErrApprover},
		{"by nobody", clock.now, "r1", "c1", with(func(a *store.Approval) { a.By = "" }), store.ErrState},
		{"no verdict", clock.now, "r1", "c1", with(func(a *store.Approval) { a.Verdict = "" }), store.ErrState},
		{"another verdict", clock.now, "r1", "c1", with(func(a *store.Approval) { a.Verdict = "ask" }), store.ErrState},
		{"a huge reason", clock.now, "r1", "c1", with(func(a *store.Approval) { a.Reason = string(make([]byte, store.MaxReason+1)) }), store.ErrTooLarge},
		{"the call has expired", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "r1", "c1", good, store.ErrExpired},
		{"the pause has expired", clock.now.Add(time.Hour), "late pause", "c1", good, store.ErrExpired},
	}
	start := clock.now
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock.put(tt.at)
			if got, err := s.Approve(t.Context(), tt.run, tt.call, tt.a); !errors.Is(err, tt.want) || got.First {
				t.Errorf("%+v, %v; want %v", got, err, tt.want)
			}
		})
	}
	clock.put(start.Add(2 * time.Hour))
	if _, err := s.Answer(t.Context(), "late pause", "c2", store.Reply{By: "uid:5"}); !errors.Is(
		err, store.ErrExpired) {
		t.Errorf("an answer after the end of the pause: %v", err)
	}
	if diff := cmp.Diff(before, getCalls(t, s, "r1")); diff != "" {
		t.Errorf("refusals changed calls: %s", diff)
	}
	if n := rows(t, s, "approval"); n != "0" {
		t.Errorf("%s refused words were kept", n)
	}
	if got, err := s.Approve(t.Context(), "r1", "c1", good); err != nil || !got.First {
		t.Errorf("a right word: %+v, %v", got, err)
	}
	list, err := s.Approvals(t.Context(), "r1")
	if err != nil || len(list) != 1 || list[0].By != "uid:1" || list[0].As != "group:maintainers" ||
		list[0].Digest != "sha256:aa" || list[0].Reason != "because" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestOpenCallRefused: what an approval takes is said for calls that wait for
// one, and for no others.
func TestOpenCallRefused(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	for name, change := range map[string]func(*store.Call){
		"approvals below zero":        func(c *store.Call) { c.Needs = -1 },
		"an approver acts":            func(c *store.Call) { c.Acts = store.ByApprover },
		"nobody acts":                 func(c *store.Call) { c.Acts = "anyone" },
		"huge capacities":             func(c *store.Call) { c.From = []string{string(make([]byte, store.MaxReason))} },
		"approved before it is asked": func(c *store.Call) { c.Verdict = store.Allow },
		"answered before it is asked": func(c *store.Call) { c.Reply = []byte("x") },
		"approvers for the harness":   func(c *store.Call) { c.For, c.Acts, c.Needs, c.Expires = store.ByHarness, "", 0, time.Time{} },
		"a count for the host":        func(c *store.Call) { c.For, c.Acts, c.From, c.Expires = store.ByHost, "", nil, time.Time{} },
		"an expiry for the host":      func(c *store.Call) { c.For, c.Acts, c.From, c.Needs = store.ByHost, "", nil, 0 },
	} {
		c := gated("r1", "c1", store.ByHost)
		change(&c)
		if _, err := s.OpenCall(t.Context(), c); !errors.Is(err, store.ErrState) && !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := rows(t, s, "call"); n != "0" {
		t.Errorf("%s refused calls were kept", n)
	}
	if c := mustOpenCall(t, s, pending("r1", "c1", store.ByApprover)); c.Needs != 1 || c.Acts != store.ByHost {
		t.Errorf("a call that says nothing takes %d approvals for the %s", c.Needs, c.Acts)
	}
}

func TestAnswerAll(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	for _, id := range []string{"c1", "c2", "c3"} {
		mustOpenCall(t, s, pending("r1", id, store.ByHarness))
	}
	mustPause(t, s, newPause("r1", 1))
	mustAnswer(t, s, "r1", "c1")
	reply := func(call, digest string) store.Reply {
		return store.Reply{Call: call, By: "uid:6", Digest: digest, Body: []byte(call)}
	}
	before := getCalls(t, s, "r1")
	for name, tt := range map[string]struct {
		list []store.Reply
		want error
	}{
		"one is not there":      {[]store.Reply{reply("c2", ""), reply("c9", "")}, store.ErrNotFound},
		"one for other args":    {[]store.Reply{reply("c2", ""), reply("c3", "sha256:ab")}, store.ErrDigest},
		"one that is too large": {[]store.Reply{reply("c2", ""), {Call: "c3", Body: make([]byte, store.MaxResult+1)}}, store.ErrTooLarge},
	} {
		if _, err := s.AnswerAll(t.Context(), "r1", tt.list); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if diff := cmp.Diff(before, getCalls(t, s, "r1")); diff != "" {
		t.Errorf("an answer was kept with one that was refused: %s", diff)
	}
	got, err := s.AnswerAll(t.Context(), "r1", []store.Reply{
		reply("c1", "sha256:aa"), reply("c3", "sha256:aa"), reply("c2", "")})
	if err != nil || len(got) != 3 || got[0].First || got[0].By != "uid:5" || !got[1].First || !got[2].First ||
		got[2].Run != store.Answered {
		t.Errorf("%+v, %v", got, err)
	}
	if r := getRun(t, s, "r1"); r.State != store.Answered {
		t.Errorf("the run is %s", r.State)
	}
	if _, err := s.AnswerAll(t.Context(), "nowhere", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
}

// TestOneDecision: of many words at once the count holds, one decides, and the
// run is answered once.
func TestOneDecision(t *testing.T) {
	s := mustOpen(t, config(t))
	for round := range 20 {
		id := fmt.Sprint(round)
		mustStart(t, s, newRun(id))
		mustOpenCall(t, s, gated(id, "c1", store.ByHost))
		mustPause(t, s, newPause(id, 1))
		const words = 12
		got := make([]store.Approved, words)
		var wg sync.WaitGroup
		for i := range words {
			wg.Go(func() {
				a := maintainer(fmt.Sprintf("uid:%d", i%6), store.Allow)
				if i == 11 && round%2 == 0 {
					a.Verdict = store.Deny
				}
				var err error
				if got[i], err = s.Approve(context.WithoutCancel(t.Context()), id, "c1", a); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		c := getCalls(t, s, id)[0]
		decided, counted := 0, 0
		for _, g := range got {
			if g.First {
				counted++
			}
			if g.First && g.Verdict != "" {
				decided++
				if g.By != c.DecidedBy || g.Run != store.Answered {
					t.Errorf("%+v, the call was decided by %s", g, c.DecidedBy)
				}
			}
		}
		// Two words count, and a third when a Deny comes second.
		if decided != 1 || counted > 3 || c.Verdict == store.Allow && counted != 2 {
			t.Errorf("%d words decided, %d counted, the call is %q", decided, counted, c.Verdict)
		}
		mustClaim(t, s, id, 1)
	}
}

func TestNotified(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByApprover))
	mustOpenCall(t, s, pending("r1", "c2", store.ByHarness))
	mustOpenCall(t, s, pending("r1", "c3", store.ByApprover))
	mustStart(t, s, newRun("ended"))
	mustOpenCall(t, s, pending("ended", "c1", store.ByApprover))
	mustAdvance(t, s, "ended", store.Cancelled)
	check := func(want ...string) {
		t.Helper()
		list, err := s.Unnotified(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Run+"/"+c.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check("r1/c1", "r1/c3")
	if err := s.Notified(t.Context(), "r1", "c1"); err != nil {
		t.Fatal(err)
	}
	check("r1/c3")
	mustPause(t, s, newPause("r1", 1))
	mustClose(t, s)
	s = mustOpen(t, cfg) // a restart before the second was told of
	if list, err := s.Recover(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	check("r1/c3")
	if _, err := s.Approve(t.Context(), "r1", "c3", approval("uid:1", store.Allow)); err != nil {
		t.Fatal(err)
	}
	check()
	if err := s.Notified(t.Context(), "r1", "c9"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}
