package trust_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// again restarts the daemon on what it has kept, the sync folder not read yet.
func (h *host) again() wire.Status {
	h.t.Helper()
	h.down()
	h.up()
	return h.stack.Daemon.Status(h.t.Context())
}

// nothing wants nothing in force, and the reason in status.
func (h *host) nothing(st wire.Status, code trust.Code) {
	h.t.Helper()
	if st.Generation != 0 || !hasCondition(st, string(code)) || h.run() == nil {
		h.t.Errorf("generation %d, conditions %+v, want nothing in force and %s", st.Generation, st.Conditions, code)
	}
}

func TestHeldAgain(t *testing.T) {
	h := newHost(t)
	h.ready()
	st := h.again()
	if st.Generation != 1 || st.Signed == nil || st.Signed.Sequence != 1 || len(st.Signed.Signers) != 2 ||
		h.run() != nil {
		t.Errorf("after a restart: %+v", st)
	}
	if st := h.look(); st.Generation != 1 || len(st.Conditions) != 0 {
		t.Errorf("with the push read again: %+v", st)
	}
}

// TestRestarts are attacks between two lives of a daemon: what was in force is verified
// again, by the roots and at the time of the second. Each has the layer that refuses.
func TestRestarts(t *testing.T) {
	two := func(h *host) { h.push(envelope(h.t, second(h), setOf(h.t, "two"), "ana", "bob")) }
	for _, tt := range []struct {
		name   string
		before func(h *host)
		code   trust.Code
		layers []trust.Code
	}{
		{"a key removed", func(h *host) {
			h.roots = rootsOf(h.t, 2, "ana", "cyd")
		}, trust.CodeThreshold, []trust.Code{trust.CodeThreshold}},
		{"all keys replaced", func(h *host) {
			h.roots = rootsOf(h.t, 1, "dan")
		}, trust.CodeSignature, []trust.Code{trust.CodeSignature, trust.CodeThreshold}},
		{"the threshold raised", func(h *host) {
			h.roots = rootsOf(h.t, 3, "ana", "bob", "cyd")
		}, trust.CodeThreshold, []trust.Code{trust.CodeThreshold}},
		{"the clock went back", func(h *host) {
			h.clock.Set(start.Add(-time.Hour))
		}, trust.CodeClock, []trust.Code{trust.CodeClock}},
		{"a crash between accepting and keeping", func(h *host) {
			h.stack.Faults.On(func(what string) error {
				if what == "store PutGeneration" {
					return errors.New("the process ends here")
				}
				return nil
			})
			two(h)
			if st := h.look(); st.Generation != 1 {
				h.t.Errorf("generation %d, want 1", st.Generation)
			}
		}, trust.CodeReplayed, []trust.Code{trust.CodeReplayed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.ready()
			tt.before(h)
			h.nothing(h.again(), tt.code)
		})
		t.Run(tt.name+" without layer", func(t *testing.T) {
			h := newHost(t)
			h.ready()
			tt.before(h)
			h.without = tt.layers
			if st := h.again(); st.Generation == 0 {
				t.Errorf("still refused: %+v", st.Conditions)
			}
		})
	}
}

func rootsOf(t testing.TB, threshold int, names ...string) *trust.Roots {
	t.Helper()
	r, err := trust.NewRoots(map[string]trust.Role{"policy": {Keys: publics(names...), Threshold: threshold}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestClockReopensNothing: the clock goes back while an executor is closed by the push in the folder. That push is
// still there, so the executor stays closed.
func TestClockReopensNothing(t *testing.T) {
	h := newHost(t)
	h.ready()
	h.stack.Executor.Reject(errors.New("cannot enforce this"))
	h.push(envelope(t, second(h), setOf(t, "two"), "ana", "bob"))
	if st := h.look(); !hasCondition(st, wire.ConditionExecutorClosed) {
		t.Fatalf("conditions %+v", st.Conditions)
	}
	h.syncer.Close()
	h.stack.Executor.Reject(nil)
	h.clock.Jump(start.Add(-time.Hour))
	h.clock.Advance(time.Minute) // the watch notes the time
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		last := h.stack.Daemon.Status(t.Context()).LastPush
		if strings.Contains(last.Message, "clock_back") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the clock is not noticed: %+v", last)
		}
	}
	if _, err := h.stack.Daemon.AcceptTime(t.Context(), "root", ""); err == nil { // it waits for the refusal to end
		t.Error("a time is accepted without a reason")
	}
	st := h.stack.Daemon.Status(t.Context())
	if !hasCondition(st, wire.ConditionExecutorClosed) || h.run() == nil {
		t.Errorf("the executor is open: %+v", st.Conditions)
	}
}

// TestNeverOlder: after a crash between accepting push 2 and keeping it, the folder
// holds push 1 again. It is not taken; push 2 is.
func TestNeverOlder(t *testing.T) {
	h := newHost(t)
	h.ready()
	two := envelope(t, second(h), setOf(t, "two"), "ana", "bob")
	h.stack.Faults.On(func(what string) error {
		if what == "store PutGeneration" {
			return errors.New("the process ends here")
		}
		return nil
	})
	h.push(two)
	h.look()
	h.down()
	h.push(envelope(t, statement(1, ""), setOf(t, "one"), "ana", "bob"))
	h.up()
	if st := h.look(); st.Generation != 0 || st.LastPush.Code != string(trust.CodeReplayed) {
		t.Errorf("push 1 after push 2: %+v", st.LastPush)
	}
	h.push(two)
	if st := h.look(); st.Signed == nil || st.Signed.Sequence != 2 {
		t.Errorf("push 2: %+v", st.LastPush)
	}
}

func TestExpiredWhileDown(t *testing.T) {
	h := newHost(t)
	h.up()
	s := statement(1, "")
	s.Expires = start.Add(5 * time.Minute)
	h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
	if st := h.look(); st.Generation != 1 || st.Closes == nil || !st.Closes.Equal(s.Expires) {
		t.Fatalf("not in force, or not said when it closes: %+v", st)
	}
	h.clock.Set(s.Expires)
	h.nothing(h.again(), trust.CodeExpired)
	if st := h.look(); st.Generation != 0 || st.LastPush.Code != string(trust.CodeExpired) {
		t.Errorf("the folder's push: %+v", st.LastPush)
	}
}

// TestExpiresWhileRunning: the host closes at that moment, without any look at the
// folder; and no clock that is set back opens it again.
func TestExpiresWhileRunning(t *testing.T) {
	h := newHost(t)
	h.up()
	s := statement(1, "")
	s.Expires = start.Add(5 * time.Minute)
	h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
	h.look()
	h.syncer.Close()
	h.syncer = nil
	h.clock.WaitsFor(5 * time.Minute)
	h.clock.Set(s.Expires)
	if h.run() == nil {
		t.Error("a program runs at the moment of the expiry")
	}
	for { // the watch loop has heard of the time
		turned, err := h.stack.Daemon.Turned(t.Context(), revision(h, "one"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if turned == "" {
			break
		}
	}
	h.nothing(h.stack.Daemon.Status(t.Context()), trust.CodeExpired)
	h.clock.Set(start.Add(time.Minute)) // less than the skew behind
	if st := h.look(); st.Generation != 0 || st.LastPush.Code != string(trust.CodeExpired) {
		t.Errorf("with the clock set back: %+v", st.LastPush)
	}
	h.nothing(h.again(), trust.CodeExpired)
}

// TestExpiredIsNoted: whoever finds a push expired notes the time before it answers, so
// that a clock that is right again after a kill brings nothing back, until an operator
// says that it is right. The twin found nothing, and its push holds.
func TestExpiredIsNoted(t *testing.T) {
	act := []json.RawMessage{json.RawMessage(`{"bridge":{"name":"log","args":[]}}`)}
	for name, find := range map[string]func(*host){
		"decide":  func(h *host) { _, _ = h.stack.Daemon.Decide(t.Context(), daemontest.Me(), "default", act) },
		"status":  func(h *host) { h.stack.Daemon.Status(t.Context()) },
		"profile": func(h *host) { _, _ = h.stack.Daemon.Profile("default", "js") },
		"run":     func(h *host) { _ = h.run() },
		"lift": func(h *host) {
			_, err := h.stack.Lock.Set(t.Context(), "uid:0",
				wire.LockdownOrder{State: wire.LockdownLift, Reason: "over"})
			if err != nil {
				t.Error(err)
			}
		},
		"nobody": nil,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.up()
			s := statement(1, "")
			s.Expires = start.Add(2 * time.Hour)
			h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
			h.look()
			h.syncer.Close()
			h.syncer = nil
			if name == "lift" {
				if _, err := h.stack.Lock.Set(t.Context(), "uid:0",
					wire.LockdownOrder{State: wire.LockdownBegin, Reason: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			kept := h.snapshot()
			h.clock.Jump(start.Add(150 * time.Minute))
			if find != nil {
				find(h)
				kept = h.snapshot()
				if st := h.stack.Daemon.Status(t.Context()); st.Ready || st.Generation != 0 {
					t.Errorf("ready after it was found expired: %+v", st.Conditions)
				}
			}
			h.stack.Close(t)
			h.restore(kept) // what a kill at that moment leaves
			h.clock.Jump(start.Add(time.Minute))
			h.up()
			if st := h.look(); (st.Generation != 0) != (find == nil) {
				t.Errorf("after the kill, with the clock right again: generation %d, %+v", st.Generation, st.Conditions)
			}
			if find == nil {
				return
			}
			if _, err := h.stack.Daemon.AcceptTime(t.Context(), "uid:0", ""); err == nil {
				t.Error("accepted without a reason")
			}
			got, err := h.stack.Daemon.AcceptTime(t.Context(), "uid:0", "the clock was ahead")
			if err != nil || !got.Accepted || !got.Before.After(got.Now) {
				t.Fatalf("%+v, %v", got, err)
			}
			if st := h.look(); st.Generation == 0 || len(h.stack.Records(t, audit.ClockAccepted)) != 1 {
				t.Errorf("after an operator accepted the time: %+v, %+v", st.LastPush, st.Conditions)
			}
		})
	}
}

// TestAudience: a host takes what is signed for its audience, and neither what is for
// another nor what is for none; a host without one takes only what is for none. That also
// holds for what was in force before a restart.
func TestAudience(t *testing.T) {
	for _, tt := range []struct {
		host, push string
		taken      bool
	}{
		{"", "", true}, {"", "production", false}, {"production", "production", true},
		{"production", "staging", false}, {"production", "", false}, {"production", "production.eu", false},
	} {
		t.Run(tt.host+" "+tt.push, func(t *testing.T) {
			h := newHost(t)
			var err error
			plain := h.roots
			if h.roots, err = plain.For(tt.host, 0); err != nil {
				t.Fatal(err)
			}
			h.up()
			s := statement(1, "")
			s.Audience = tt.push
			h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
			st := h.look()
			if (st.Generation == 1) != tt.taken || !tt.taken && st.LastPush.Code != string(trust.CodeAudience) ||
				tt.taken && st.Signed.Audience != tt.push {
				t.Fatalf("%+v", st.LastPush)
			}
			if !tt.taken {
				return
			}
			if h.roots, err = plain.For("another", 0); err != nil {
				t.Fatal(err)
			}
			h.nothing(h.again(), trust.CodeAudience)
		})
	}
	for _, bad := range []string{"A", "a b", "-a", strings.Repeat("a", 64), "a/b", "ä"} {
		if _, err := newHost(t).roots.For(bad, 0); err == nil {
			t.Errorf("audience %q", bad)
		}
	}
}

// TestExpiresWhileApplying: closing waits for a push that is being applied, and what has
// expired grants nothing meanwhile.
func TestExpiresWhileApplying(t *testing.T) {
	h := newHost(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	h.guardrails = func(_ context.Context, p *trust.Push, _ *profiles.Set) error {
		if p.Sequence == 2 {
			close(asked)
			<-answer
			return &trust.Refusal{Code: trust.CodeGuardrail, Reason: "no"}
		}
		return nil
	}
	h.up()
	s := statement(1, "")
	s.Expires = start.Add(5 * time.Minute)
	h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
	h.look()
	h.syncer.Close()
	h.syncer = nil
	allowed := func() bool {
		act := []json.RawMessage{json.RawMessage(`{"bridge":{"name":"log","args":[]}}`)}
		got, err := h.stack.Daemon.Decide(t.Context(), daemontest.Me(), "default", act)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Verdict == profiles.Allow
	}
	if _, err := h.stack.Daemon.Profile("default", "js"); err != nil || !allowed() {
		t.Fatalf("before: %v", err)
	}
	over := make(chan error, 1)
	next := encoded(t, envelope(t, second(h), setOf(t, "two"), "ana", "bob"))
	go func() { over <- h.stack.Daemon.ApplyPush(t.Context(), pushOf(next)) }()
	<-asked
	h.clock.Set(s.Expires)
	if _, err := h.stack.Daemon.Profile("default", "js"); err == nil || allowed() {
		t.Errorf("what has expired grants: %v", err)
	}
	close(answer)
	if err := <-over; err == nil {
		t.Error("the push was taken")
	}
}

func TestRootsComeAndGo(t *testing.T) {
	h := newHost(t)
	keys := h.roots
	h.roots = nil
	h.up()
	h.put("policy.yaml", []byte("one log"))
	if st := h.look(); st.Generation != 1 || st.Signed != nil {
		t.Fatalf("sources without roots: %+v", st)
	}
	h.put(trust.FileName, encoded(t, envelope(t, statement(1, ""), setOf(t, "two"), "ana", "bob")))
	if st := h.look(); st.Generation != 1 || !strings.HasPrefix(st.LastPush.Message, string(trust.CodeUntrusted)) {
		t.Errorf("a signed push without roots: %+v", st.LastPush)
	}
	h.roots = keys
	h.nothing(h.again(), trust.CodeUnsigned)
	if st := h.look(); st.Generation != 2 || st.Signed == nil || st.Signed.Sequence != 1 ||
		len(st.LastPush.Findings) != 1 ||
		st.LastPush.Findings[0].Code != string(trust.CodeMixed) ||
		!strings.Contains(st.LastPush.Findings[0].Message, "policy.yaml") {
		t.Errorf("what is signed is read, with a warning of what lies beside it: %+v", st.LastPush)
	}
	h.remove("policy.yaml")
	if st := h.look(); st.Generation != 2 || st.Signed.Sequence != 1 || len(st.LastPush.Findings) != 0 {
		t.Errorf("the signed push alone: %+v", st.LastPush)
	}
}

// TestMemory: what is remembered of pushes cannot be lost by halves.
func TestMemory(t *testing.T) {
	h := newHost(t)
	h.ready()
	h.down()
	good, err := os.ReadFile(h.ledger())
	h.must(err)
	for name, text := range map[string]string{
		"empty": "", "half": string(good[:len(good)/2]), "another format": strings.Replace(string(good), "/v1", "/v9", 1),
		"a field more": `{"x":1}`, "a contradiction": `{"format":"ringd.pushes/v1","sequence":3}`,
	} {
		h.must(os.WriteFile(h.ledger(), []byte(text), 0o600))
		if err := h.start(); err == nil || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRollback: an earlier revision comes back when the signers say so, and that is
// on record.
func TestRollback(t *testing.T) {
	h := newHost(t)
	h.ready()
	h.push(envelope(t, second(h), setOf(t, "two"), "ana", "bob"))
	h.look()
	s := statement(3, revision(h, "two"))
	s.Rollback, s.Reason = true, "two denies too much"
	h.push(envelope(t, s, setOf(t, "one"), "ana", "cyd"))
	st := h.look()
	if st.Generation != 3 || st.Revision != revision(h, "one") || !st.Signed.Rollback || st.Signed.Reason != s.Reason {
		t.Fatalf("the rollback: %+v, %+v", st.Signed, st.LastPush)
	}
	recs := h.stack.Records(t, "policy_rolled_back")
	if len(recs) != 1 || recs[0].Generation != 3 || recs[0].Detail["reason"] != s.Reason ||
		recs[0].Detail["sequence"] != "3" || !strings.Contains(recs[0].Detail["signers"], trust.KeyID(public("cyd"))) {
		t.Errorf("records %+v", recs)
	}
}

// TestMissed: a host that was away takes the newest push, and one that is told to take
// them in order does not.
func TestMissed(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		h := newHost(t)
		h.inOrder = inOrder
		h.ready()
		h.push(envelope(t, statement(4, revision(h, "three")), setOf(t, "four"), "ana", "bob"))
		st := h.look()
		if taken := st.LastPush.Result == wire.PushApplied; taken == inOrder {
			t.Errorf("in order %v: %+v", inOrder, st.LastPush)
		}
		if inOrder && (st.LastPush.Code != string(trust.CodePrevious) ||
			!strings.Contains(st.LastPush.Message, "missing")) {
			t.Errorf("in order: %+v", st.LastPush)
		}
	}
}

// TestRenewed: the same set, signed anew before it expires.
func TestRenewed(t *testing.T) {
	h := newHost(t)
	h.ready()
	s := second(h)
	s.Expires = s.Expires.Add(time.Hour)
	h.push(envelope(t, s, setOf(t, "one"), "ana", "bob"))
	if st := h.look(); st.Signed.Sequence != 2 || !st.Signed.Expires.Equal(s.Expires) {
		t.Errorf("renewed: %+v, %+v", st.Signed, st.LastPush)
	}
	if st := h.again(); st.Signed == nil || st.Signed.Sequence != 2 {
		t.Errorf("held: %+v", st)
	}
}

// TestRotation: a key is added, the push in force is signed with it too, the old key
// is removed. Nothing stops meanwhile.
func TestRotation(t *testing.T) {
	h := newHost(t)
	h.roots = rootsOf(t, 1, "ana")
	h.up()
	e := envelope(t, statement(1, ""), setOf(t, "one"), "ana")
	h.push(e)
	h.look()
	h.roots = rootsOf(t, 1, "ana", "dan")
	h.again()
	h.must(e.Sign(t.Context(), key("dan")))
	h.push(e)
	if st := h.look(); st.Signed == nil || len(st.Signed.Signers) != 2 {
		t.Fatalf("with two signatures: %+v", st.Signed)
	}
	h.roots = rootsOf(t, 1, "dan")
	if st := h.again(); st.Generation == 0 || len(st.Signed.Signers) != 1 || h.run() != nil {
		t.Errorf("with the old key removed: %+v", st.Conditions)
	}
}

// TestForgedName: a signature in the name of a key that did not make it keeps nobody from
// signing, and one that the key made is not made twice.
func TestForgedName(t *testing.T) {
	e := envelope(t, statement(1, ""), setOf(t, "one"), "ana", "bob")
	forged := slices.Clone(e.Signatures)
	forged[1].Sig = forged[0].Sig
	e.Signatures = forged
	if err := e.Sign(t.Context(), key("bob")); err != nil {
		t.Fatal(err)
	}
	raw, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := rootsOf(t, 2, "ana", "bob").Open(t.Context(), raw); err != nil || len(p.Signers) != 2 ||
		len(e.Signatures) != 2 {
		t.Errorf("%d signatures: %+v, %v", len(e.Signatures), p, err)
	}
	if err := e.Sign(t.Context(), key("bob")); err == nil {
		t.Error("bob signed twice")
	}
}

// TestException: an exception with its approver's signature is taken.
func TestException(t *testing.T) {
	h := newHost(t)
	h.ready()
	row := attacks()
	for _, a := range row {
		if a.name == "an exception that nobody approved" {
			a.do(h)
		}
	}
	raw, err := os.ReadFile(filepath.Join(h.sync, trust.FileName))
	h.must(err)
	e, err := trust.DecodeEnvelope(raw)
	h.must(err)
	h.must(e.Sign(t.Context(), key("sec")))
	h.push(e)
	if st := h.look(); st.LastPush.Result != wire.PushApplied {
		t.Errorf("signed by its approver: %+v", st.LastPush)
	}
}

// deaf is a watcher whose queue overflows at every event.
type deaf struct {
	w    *fsnotify.Watcher
	errs chan error
	ev   chan fsnotify.Event
}

func newDeaf() (syncer.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	d := &deaf{w, make(chan error), make(chan fsnotify.Event)}
	go func() {
		defer close(d.errs)
		defer close(d.ev)
		for range w.Events {
			d.errs <- fsnotify.ErrEventOverflow
		}
	}()
	return d, nil
}

func (d *deaf) Add(dir string) error          { return d.w.Add(dir) }
func (d *deaf) Events() <-chan fsnotify.Event { return d.ev }
func (d *deaf) Errors() <-chan error          { return d.errs }
func (d *deaf) Close() error                  { return d.w.Close() }

// TestOverflow: a queue that overflows hides no push, and no old one gets through.
func TestOverflow(t *testing.T) {
	h := newHost(t)
	h.watch = newDeaf
	h.ready()
	previous := revision(h, "one")
	var last *trust.Envelope
	for n := int64(2); n < 40; n++ {
		name := fmt.Sprintf("p%d", n)
		last = envelope(t, statement(n, previous), setOf(t, name), "ana", "bob")
		previous = revision(h, name)
		h.push(last)
	}
	if st := h.look(); st.Signed.Sequence != 39 || st.LastPush.Result == wire.PushRejected {
		t.Errorf("after an overflow: %+v, %+v", st.Signed, st.LastPush)
	}
	h.push(envelope(t, statement(1, ""), setOf(t, "one"), "ana", "bob"))
	if st := h.look(); st.LastPush.Code != string(trust.CodeReplayed) {
		t.Errorf("an old one: %+v", st.LastPush)
	}
}

const envKill = "RINGD_TEST_KILL_PUSHES"

// TestKilledPushes is the daemon that TestKill kills: it takes pushes as fast as it
// can, and prints the sequence of each that is in force.
func TestKilledPushes(t *testing.T) {
	root := os.Getenv(envKill)
	if root == "" {
		t.Skip("TestKill starts it")
	}
	h := newHost(t)
	h.root, h.sync = root, filepath.Join(root, "sync")
	h.must(os.MkdirAll(h.sync, 0o700))
	h.up()
	var first struct{ Sequence int64 }
	if raw, err := os.ReadFile(h.ledger()); err == nil {
		h.must(json.Unmarshal(raw, &first))
	}
	previous := ""
	for n := first.Sequence + 1; n < first.Sequence+10_000; n++ {
		name := fmt.Sprintf("p%d", n)
		if previous == "" && n > 1 {
			previous = revision(h, fmt.Sprintf("p%d", n-1))
		}
		e := envelope(t, statement(n, previous), setOf(t, name), "ana", "bob")
		previous = revision(h, name)
		if err := h.stack.Daemon.ApplyPush(t.Context(), pushOf(encoded(t, e))); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("taken", n)
	}
}

// TestKill kills a daemon with SIGKILL while it takes pushes. Whatever the moment, the
// next one holds the last that was told or the one after it, and takes none before.
func TestKill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	told := int64(0)
	for round := range rounds {
		cmd := exec.Command(self, "-test.run", "^TestKilledPushes$", "-test.v")
		cmd.Env = append(os.Environ(), envKill+"="+root)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		began := told
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Error(lines.Text())
				break
			}
			if _, err := fmt.Sscanf(lines.Text(), "taken %d", &told); err == nil && told-began >= int64(3+7*round) {
				break
			}
		}
		_ = cmd.Process.Kill()
		for lines.Scan() { // what it told before it died
			_, _ = fmt.Sscanf(lines.Text(), "taken %d", &told)
		}
		_ = cmd.Wait()
		told = survived(t, root, told)
	}
	if told == 0 {
		t.Error("no push was taken")
	}
}

// survived opens what a killed daemon left, and returns the sequence that it is at.
func survived(t *testing.T, root string, told int64) int64 {
	t.Helper()
	h := newHost(t)
	h.root, h.sync = root, filepath.Join(root, "sync")
	h.up()
	defer h.down()
	raw, err := os.ReadFile(h.ledger())
	h.must(err)
	var kept struct{ Sequence int64 }
	h.must(json.Unmarshal(raw, &kept))
	if kept.Sequence < told || kept.Sequence > told+1 {
		t.Errorf("at %d, and %d was told", kept.Sequence, told)
	}
	st := h.stack.Daemon.Status(t.Context())
	if st.Generation != 0 && st.Signed.Sequence != kept.Sequence {
		t.Errorf("push %d is in force, and %d was accepted last", st.Signed.Sequence, kept.Sequence)
	}
	if kept.Sequence > 1 {
		old := envelope(t, statement(kept.Sequence-1, ""), setOf(t, fmt.Sprintf("p%d", kept.Sequence-1)), "ana", "bob")
		if err := h.stack.Daemon.ApplyPush(t.Context(), pushOf(encoded(t, old))); err == nil ||
			!strings.Contains(err.Error(), string(trust.CodeReplayed)) {
			t.Errorf("an older push: %v", err)
		}
	}
	return kept.Sequence
}
