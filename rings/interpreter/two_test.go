package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// KeepTouched remembers the powers, as the keeper of a daemon does on disk.
func (k *keeper) KeepTouched(_ context.Context, run string, p profiles.Powers) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deaf {
		return errors.New("disk gone: /var/lib/secret")
	}
	if k.noted == nil {
		k.noted = map[string]profiles.Powers{}
	}
	k.noted[run] = powers.Join(k.noted[run], p)
	return nil
}

func (k *keeper) of(run string) profiles.Powers {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.noted[run]
}

func sensitive(b *profiles.Bridge) { b.Powers.Sensitive = true }
func untrusted(b *profiles.Bridge) { b.Powers.Untrusted = true }

// rule returns a rule of two.
func rule(mode, onThree string) *profiles.RuleOfTwo {
	return &profiles.RuleOfTwo{Mode: mode, OnThree: onThree, Scope: "session",
		Rule: profiles.Rule{File: "p.yaml", Line: 3, Column: 5, Path: "spec.ruleOfTwo"}}
}

const require = "require-approval"

// powered returns a set whose one agent has a bridge for each power, and what change adds.
func powered(r *profiles.RuleOfTwo, change ...func(*profiles.Agent)) *profiles.Set {
	s := set("a", bridge("mail", sensitive), bridge("web", untrusted), bridge("send", external), bridge("free"),
		bridge("ask"),
		bridge("team", spawner(8, 8, 64)), bridge("signed", external, approval()),
		bridge("once", external, limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 0 })))
	a := s.Agents["default"]
	a.RuleOfTwo = r
	for _, f := range change {
		f(&a)
	}
	s.Agents["default"] = a
	return s
}

// oneByOne calls bridges one after the other: c1, c2 …
func oneByOne(names ...string) script {
	var all [][]executors.Question
	for i, name := range names {
		all = append(all, []executors.Question{question("c"+string(rune('1'+i)), name, `[1]`)})
	}
	return script{Waves: all}
}

// touchedBy lists what a view says was touched.
func touchedBy(v contract.View) (out []string) {
	if v.Touched == nil {
		return []string{"nothing binds it"}
	}
	for _, p := range powers.List(v.Touched.Powers) {
		out = append(out, string(p)+" "+strings.Join(v.Touched.By[p], ","))
	}
	return out
}

// Any third power asks a person, and two powers never do. Without the rule, or with one that
// only reports, people are not asked: that is the attack.
func TestTheThirdPowerAsks(t *testing.T) {
	for _, order := range [][]string{{"mail", "web", "send"}, {"mail", "send", "web"}, {"web", "mail", "send"},
		{"web", "send", "mail"}, {"send", "mail", "web"}, {"send", "web", "mail"}} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			s := newStage(t)
			s.apply(powered(rule("dynamic", require)))
			p := s.pausedRun(oneByOne(order[0], order[0], "free", order[1], order[1], order[0], order[2], "free"))
			v := s.keeper.views["r1"]
			if s.echo.count() != 6 || len(v.Pending) != 1 || v.Pending[0].ID != "c7" ||
				v.Pending[0].For != "approver" || v.Pending[0].Count != 1 {
				t.Fatalf("%d acts, pending %+v", s.echo.count(), v.Pending)
			}
			for _, want := range []string{"bridge:" + order[2] + " brings ", "(bridge:" + order[0] + ")",
				"(bridge:" + order[1] + ")"} {
				if !strings.Contains(v.Pending[0].Because, want) {
					t.Errorf("because %q has no %q", v.Pending[0].Because, want)
				}
			}
			if r := v.Pending[0].Rule; r == nil || r.Path != "spec.ruleOfTwo" {
				t.Errorf("rule %+v", r)
			}
			if rec, _ := s.audit.find(contract.CallOpened); rec.Decision.Code != profiles.CodeRuleOfTwo ||
				rec.Decision.Verdict != profiles.Ask {
				t.Errorf("record %+v", rec.Decision)
			}
			two := newStage(t) // in another process
			two.apply(powered(rule("dynamic", require)))
			w := two.resume(encoded(t, p), approve("c7"))
			if w.State != executors.StateDone || two.echo.count() != 2 || w.Touched == nil ||
				!powers.Three(w.Touched.Powers) {
				t.Errorf("%s, %d acts, touched %v", w.State, two.echo.count(), touchedBy(w))
			}
			if rec, _ := two.audit.find(contract.RunEnded); rec.Detail["touched"] != "untrusted sensitive external" {
				t.Errorf("record %v", rec.Detail)
			}
		})
	}
	for name, off := range map[string]*profiles.RuleOfTwo{"no rule": nil, "reports": rule("report", "deny")} {
		s := newStage(t)
		s.apply(powered(off))
		run, err := s.run(interpreter.StartRequest{}, oneByOne("mail", "web", "send"))
		must(t, err)
		if v := s.end(run); v.State != executors.StateDone || s.echo.count() != 3 {
			t.Errorf("%s: %s, %d acts", name, v.State, s.echo.count())
		}
	}
}

// A denied use was not touched, and an approved one was. From then on each further external
// effect asks, and nothing else.
func TestAfterTheThird(t *testing.T) {
	s := newStage(t)
	s.apply(powered(rule("dynamic", require)))
	p := s.pausedRun(oneByOne("mail", "web", "send", "web", "send", "mail", "web", "send"))
	two := newStage(t)
	two.apply(powered(rule("dynamic", require)))
	v := two.resume(p, contract.Settlement{Call: "c3", Denied: true, By: "uid:7"})
	if v.State != executors.StatePaused || len(v.Pending) != 1 || v.Pending[0].ID != "c5" || two.echo.count() != 1 {
		t.Fatalf("%s %+v, %d acts", v.State, v.Pending, two.echo.count())
	}
	if diff := cmp.Diff([]string{"untrusted bridge:web", "sensitive bridge:mail"}, touchedBy(v)); diff != "" {
		t.Errorf("a call that was denied counts: %s", diff)
	}
	three := newStage(t)
	three.apply(powered(rule("dynamic", require)))
	v = three.resume(two.keeper.pause(t, "r1"), approve("c5"))
	if v.State != executors.StatePaused || len(v.Pending) != 1 || v.Pending[0].ID != "c8" || three.echo.count() != 3 {
		t.Fatalf("%s %+v, %d acts", v.State, v.Pending, three.echo.count())
	}
}

// If three powers are denied, the third is refused each time it is tried, and the run goes
// on with two.
func TestTheThirdPowerIsDenied(t *testing.T) {
	for _, mode := range []string{"dynamic", "enforce", "whatever"} {
		s := newStage(t)
		s.apply(powered(rule(mode, "deny")))
		run, err := s.run(interpreter.StartRequest{}, oneByOne("mail", "web", "send", "send", "signed", "mail"))
		must(t, err)
		v := s.end(run)
		if v.State != executors.StateDone || s.echo.count() != 3 || len(v.Denials) != 2 || v.Denials[0].Count != 2 ||
			v.Denials[0].Code != profiles.CodeRuleOfTwo || v.Denials[0].Rule.Path != "spec.ruleOfTwo" {
			t.Fatalf("%s: %s, %d acts, %+v", mode, v.State, s.echo.count(), v.Denials)
		}
		for _, call := range []string{"c3", "c4", "c5"} {
			if got := s.failed("r1", call); got != "CapabilityDenied" {
				t.Errorf("%s: %s: %q", mode, call, got)
			}
		}
		if rec, _ := s.audit.find(contract.CallDecided); rec.Decision.Code != profiles.CodeRuleOfTwo {
			t.Errorf("record %+v", rec.Decision)
		}
	}
}

// If a policy was proven at compile time, people are asked about uses that go out, and about
// none that only comes in.
func TestAProvenPolicyAsksAboutEffects(t *testing.T) {
	s := newStage(t)
	s.apply(powered(rule("enforce", require)))
	p := s.pausedRun(oneByOne("send", "web", "mail", "send"))
	if len(p.Calls) != 1 || p.Calls[0].ID != "c4" || s.echo.count() != 3 {
		t.Fatalf("%+v, %d acts", p.Calls, s.echo.count())
	}
}

// A call that needs an approval anyway is asked about once.
func TestOneQuestionIsEnough(t *testing.T) {
	s := newStage(t)
	s.apply(powered(rule("dynamic", require)))
	p := s.pausedRun(oneByOne("mail", "web", "signed", "free"))
	if len(p.Calls) != 1 || p.Calls[0].Two == "" || p.Calls[0].Terms.Count != 1 {
		t.Fatalf("%+v", p.Calls)
	}
	two := newStage(t)
	two.apply(powered(rule("dynamic", require)))
	if v := two.resume(p, approve("c3")); v.State != executors.StateDone || two.echo.count() != 2 {
		t.Errorf("%s %+v, %d acts", v.State, v.Pending, two.echo.count())
	}
}

// A call that was refused before it was admitted has touched nothing.
func TestARefusedCallTouchesNothing(t *testing.T) {
	s := newStage(t)
	s.apply(powered(rule("dynamic", require)))
	run, err := s.run(interpreter.StartRequest{}, oneByOne("once", "mail", "web", "free"))
	must(t, err)
	v := s.end(run)
	if v.State != executors.StateDone || s.failed("r1", "c1") != "BudgetExceeded" {
		t.Fatalf("%s %+v", v.State, v.Denials)
	}
	if diff := cmp.Diff([]string{"untrusted bridge:web", "sensitive bridge:mail"}, touchedBy(v)); diff != "" {
		t.Error(diff)
	}
}

// Of two calls at once that would bring the third power together, one passes and the other
// asks.
func TestTwoAtOnce(t *testing.T) {
	for range 100 {
		s := newStage(t)
		s.apply(powered(rule("dynamic", require)))
		p := s.pausedRun(waves([]executors.Question{question("c1", "mail", `[]`)},
			[]executors.Question{question("c2", "web", `[]`), question("c3", "send", `[]`)}))
		if len(p.Calls) != 1 || p.Calls[0].Two == "" || s.echo.count() != 2 {
			t.Fatalf("%+v, %d acts", p.Calls, s.echo.count())
		}
	}
}

// A policy that comes meanwhile, and denies three powers, refuses a call although it was
// approved.
func TestApprovedAndDeniedSince(t *testing.T) {
	s := newStage(t)
	s.apply(powered(rule("dynamic", require)))
	p := s.pausedRun(oneByOne("mail", "web", "send"))
	two := newStage(t)
	later := powered(rule("dynamic", "deny"))
	later.Revision = "b"
	two.apply(later)
	if v := two.resume(p, approve("c3")); two.echo.count() != 0 || two.failed("r1", "c3") != "CapabilityDenied" {
		t.Errorf("%s, %d acts, %q", v.State, two.echo.count(), two.failed("r1", "c3"))
	}
}

// An agent that is split over subagents is one: what any of them touches counts for all,
// also for those that are paused, in this process and in the next. On accounts of their own,
// none of them would ask.
func TestSplitOverSubagents(t *testing.T) {
	policy := powered(rule("dynamic", require))
	other := powered(nil).Agents["default"] // its own policy has no rule
	other.Name = "other"
	policy.Agents["other"] = other
	s := family(t, 8, 8, 64)
	s.apply(policy)
	root, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "mail", `[]`)},
		[]executors.Question{question("c2", "team", `[[1,2]]`)}, []executors.Question{question("c3", "send", `[]`)}))
	must(t, err)
	s.end(root)
	_, err = s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
	must(t, err)
	child, err := s.run(interpreter.StartRequest{Agent: "other", Parent: &pause.Parent{Run: "r1", Call: "c2"}},
		oneByOne("web", "send"))
	must(t, err)
	v := s.end(child)
	if v.State != executors.StatePaused || len(v.Pending) != 1 || v.Pending[0].ID != "c2" || s.echo.count() != 2 {
		t.Fatalf("the child: %s %+v, %d acts", v.State, v.Pending, s.echo.count())
	}
	if got := s.keeper.of("r1"); !got.Untrusted || got.External {
		t.Errorf("noted for the run that waits: %+v", got)
	}
	p := encoded(t, s.keeper.pause(t, "r1")) // as a keeper opens it that was told
	p.Touched.Note(powers.Untrusted, "a subagent")
	then := family(t, 8, 8, 64)
	then.apply(policy)
	if w := then.resume(p, value("c2", `"text of the web"`)); w.State != executors.StatePaused || len(w.Pending) != 1 ||
		w.Pending[0].ID != "c3" {
		t.Errorf("the run above: %s %+v", w.State, w.Pending)
	}
}

// What a subagent touches is on disk for a paused run before it happens, or it does not
// happen.
func TestSubagentsAreNotedFirst(t *testing.T) {
	s := family(t, 8, 8, 64)
	s.apply(powered(rule("dynamic", require)))
	root, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "team", `[[1]]`)}))
	must(t, err)
	s.end(root)
	_, err = s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
	must(t, err)
	s.keeper.deaf = true
	child, err := s.child("r1", "c1", oneByOne("free", "mail"))
	must(t, err)
	v := s.end(child)
	if v.State != executors.StateFailed || v.Error.Name != "Closed" || s.echo.count() != 1 ||
		strings.Contains(v.Error.Message, "secret") {
		t.Errorf("%s %+v, %d acts", v.State, v.Error, s.echo.count())
	}
}

// What a subagent starts with is kept for a paused run as well: its parent goes on with it
// once it is over. If it cannot be kept, the subagent does nothing.
func TestWhatASubagentBeginsWithIsNoted(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		s := family(t, 8, 8, 64)
		policy := powered(rule("dynamic", require))
		policy.Agents["reader"] = powered(nil, func(a *profiles.Agent) {
			a.Name, a.Files = "reader", profiles.Files{Read: []profiles.PathRule{{Path: "/srv"}},
				Powers: profiles.Powers{Sensitive: true}}
		}).Agents["default"]
		s.apply(policy)
		root, err := s.run(interpreter.StartRequest{}, waves(
			[]executors.Question{question("c1", "web", `[]`)}, []executors.Question{question("c2", "team", `[[1]]`)}))
		must(t, err)
		s.end(root)
		_, err = s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
		must(t, err)
		before := s.echo.count()
		s.keeper.deaf = deaf
		child, err := s.run(interpreter.StartRequest{Agent: "reader", Parent: &pause.Parent{Run: "r1", Call: "c2"}},
			oneByOne("free"))
		must(t, err)
		v := s.end(child)
		if acts := s.echo.count() - before; (v.State == executors.StateDone) == deaf || (acts == 1) == deaf {
			t.Errorf("deaf %t: %s, %d acts", deaf, v.State, acts)
		}
		if got := s.keeper.of("r1"); got.Sensitive == deaf {
			t.Errorf("deaf %t: noted %+v", deaf, got)
		}
	}
}

// A subagent that would start with the third power does not start.
func TestASubagentBeginsWithItsFiles(t *testing.T) {
	s := family(t, 8, 8, 64)
	policy := powered(rule("dynamic", require))
	reader := powered(nil, func(a *profiles.Agent) {
		a.Name, a.Files = "reader", profiles.Files{Read: []profiles.PathRule{{Path: "/srv"}},
			Powers: profiles.Powers{Sensitive: true}}
	}).Agents["default"]
	policy.Agents["reader"] = reader
	s.apply(policy)
	root, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "web", `[]`)},
		[]executors.Question{question("c2", "send", `[]`)},
		[]executors.Question{question("c3", "team", `[[1,2]]`)}))
	must(t, err)
	s.end(root)
	_, err = s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
	must(t, err)
	var d *profiles.Denial
	_, err = s.run(interpreter.StartRequest{Agent: "reader", Parent: &pause.Parent{Run: "r1", Call: "c3"}},
		oneByOne("free"))
	if !errors.As(err, &d) || d.Decision.Code != profiles.CodeRuleOfTwo ||
		!strings.Contains(d.Decision.Reason, "files:read brings sensitive data") {
		t.Errorf("%v", err)
	}
	other, err := s.child("r1", "c3", oneByOne("free")) // the place is still there
	must(t, err)
	if v := s.end(other); v.State != executors.StateDone {
		t.Errorf("%s", v.State)
	}
}

// Files and inputs count from the start, inputs only if there are any.
func TestFilesAndInputsCount(t *testing.T) {
	begins := func(a *profiles.Agent) {
		a.Files = profiles.Files{Read: []profiles.PathRule{{Path: "/srv"}}, Powers: profiles.Powers{Sensitive: true}}
		a.Inputs = profiles.Powers{Untrusted: true}
	}
	for _, given := range []bool{false, true} {
		s := newStage(t)
		s.apply(powered(rule("dynamic", require), begins))
		req, want := interpreter.StartRequest{}, executors.StateDone
		if given {
			req.Inputs, want = map[string]json.RawMessage{"mail": json.RawMessage(`"text"`)}, executors.StatePaused
		}
		run, err := s.run(req, oneByOne("send"))
		must(t, err)
		if v := s.end(run); v.State != want {
			t.Errorf("inputs %t: %s, touched %v", given, v.State, touchedBy(v))
		}
	}
	// Standard input is an input: the guest can read what its caller writes.
	other := newStage(t)
	other.apply(powered(rule("dynamic", require), begins, func(a *profiles.Agent) {
		a.Files.Read, a.Files.Write = nil, a.Files.Read
	}))
	piped, err := other.run(interpreter.StartRequest{Program: executors.Program{Stdin: []byte("text")}},
		oneByOne("send"))
	must(t, err)
	if v := other.end(piped); v.State != executors.StatePaused {
		t.Errorf("standard input: %s, touched %v", v.State, touchedBy(v))
	}
	s := newStage(t)
	s.apply(powered(rule("dynamic", require), begins, func(a *profiles.Agent) {
		a.Files.Write, a.Files.Powers.External = []profiles.PathRule{{Path: "/out"}}, true
	}))
	_, err = s.run(interpreter.StartRequest{Inputs: map[string]json.RawMessage{"mail": json.RawMessage(`"text"`)}},
		oneByOne("free"))
	var d *profiles.Denial
	if !errors.As(err, &d) || d.Decision.Code != profiles.CodeRuleOfTwo || len(d.Decision.Instead) == 0 {
		t.Errorf("%v", err)
	}
	// Files that others see stay a way out: each use that brings a new power asks from then
	// on.
	one, err := s.run(interpreter.StartRequest{}, oneByOne("web"))
	must(t, err)
	s.end(one)
	two := newStage(t)
	two.apply(powered(rule("dynamic", require), begins, func(a *profiles.Agent) {
		a.Files.Write, a.Files.Powers.External = []profiles.PathRule{{Path: "/out"}}, true
	}))
	p := s.keeper.pause(t, one.ID())
	p.Program.Source = one.ID()
	v := two.resume(p, approve("c1"))
	if v.State != executors.StateDone || !v.Touched.Exit {
		t.Errorf("%s %+v", v.State, v.Touched)
	}
}

// The runs of a session count together, unless the rule counts each run alone.
func TestOverASession(t *testing.T) {
	for scope, want := range map[string]executors.State{"session": executors.StatePaused, "": executors.StatePaused,
		"run": executors.StateDone} {
		s := newStage(t)
		r := rule("dynamic", require)
		r.Scope = scope
		s.apply(powered(r, func(a *profiles.Agent) {
			a.Sessions = &profiles.Sessions{
				AgeMillis: 1000, Bytes: 1 << 20}
		}))
		one, err := s.run(interpreter.StartRequest{Session: "s"}, oneByOne("mail", "web"))
		must(t, err)
		if v := s.end(one); v.State != executors.StateDone || v.SessionError != "" {
			t.Fatalf("%s %s", v.State, v.SessionError)
		}
		state := s.keeper.sessions["s"]
		two, err := s.run(interpreter.StartRequest{Session: "s", SessionState: &state}, oneByOne("send"))
		must(t, err)
		if v := s.end(two); v.State != want {
			t.Errorf("scope %q: %s, touched %v", scope, v.State, touchedBy(v))
		}
	}
}

// networked returns a set with hosts and a gateway of each kind.
func networked(a *profiles.Agent) {
	a.Egress = profiles.Egress{Mode: profiles.EgressAllowlist,
		Allow: []profiles.EgressRule{{Host: "out.example.com", Ports: []int{443}},
			{Host: "web.example.com", Ports: []int{80}, Methods: []string{"GET"}, Powers: profiles.Powers{Untrusted: true}}},
		Gateways: []profiles.Gateway{
			{Name: "vault", Methods: []string{"GET"}, Powers: profiles.Powers{Sensitive: true}}}}
}

// connect asks for a connection, and for a request where requests are read. It returns the
// code that refuses it, or an empty one.
func connect(t *testing.T, all []*profiles.Decider, host string, port uint16) profiles.Code {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no deciders")
	}
	to := egress.Dest{Name: host, Port: port}
	for _, d := range all {
		c := profiles.Connect(to, d.Now(), d)
		if c.Reads() {
			c = c.Request("GET", "/", "", d.Now())
		}
		if !c.Allowed() {
			return c.Decision().Code
		}
	}
	return ""
}

// A connection counts. It is refused if it would bring the third power, since people cannot
// be asked about it, and it closes once the run has the other two.
func TestConnectionsCount(t *testing.T) {
	type step struct {
		host string
		port uint16
		want profiles.Code
	}
	out, web, vault := step{"out.example.com", 443, ""}, step{"web.example.com", 80, ""},
		step{"vault.ringd.internal", 80, ""}
	refused := func(s step) step { s.want = profiles.CodeRuleOfTwo; return s }
	for name, steps := range map[string][]step{
		"out last":   {web, vault, refused(out), web, vault, refused(out)},
		"web last":   {out, vault, refused(web), out, vault},
		"vault last": {web, out, refused(vault), web, out},
	} {
		s := newStage(t)
		s.apply(powered(rule("dynamic", require), networked))
		s.slow = func(context.Context) {
			for i, one := range steps {
				if got := connect(t, s.ring.Deciders("r1"), one.host, one.port); got != one.want {
					t.Errorf("%s: %d: %q, want %q", name, i, got, one.want)
				}
			}
		}
		pol := powered(rule("dynamic", require), networked)
		a := pol.Agents["default"]
		a.Bridges["slow"] = bridge("slow")
		s.apply(pol)
		run, err := s.run(interpreter.StartRequest{}, oneByOne("slow"))
		must(t, err)
		if v := s.end(run); v.State != executors.StateDone || len(v.Touched.By) != 2 {
			t.Errorf("%s: %s %v", name, v.State, touchedBy(v))
		}
	}
}

// A connection that was open before is no way out: if a call brings the third power,
// connections are decided again, and refused, before the call is performed.
func TestOpenConnectionsClose(t *testing.T) {
	for _, mode := range []string{"dynamic", "enforce"} {
		var mu sync.Mutex
		var seen []string
		s := newStage(t, func(c *interpreter.Config) {
			c.Narrowed = func() {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, "recheck")
			}
			c.Providers["mail"] = provide(func(_ context.Context, call contract.Call) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, "mail")
				return json.RawMessage(`"secret"`), nil
			})
		})
		pol := powered(rule(mode, require), networked)
		pol.Agents["default"].Bridges["slow"] = bridge("slow")
		s.apply(pol)
		var before []*profiles.Decider
		s.slow = func(context.Context) {
			if before == nil {
				before = s.ring.Deciders("r1")
				if got := connect(t, before, "out.example.com", 443); got != "" {
					t.Errorf("%s: %s", mode, got)
				}
				return
			}
			after := s.ring.Deciders("r1")
			if slices.Equal(before, after) {
				t.Errorf("%s: who compares them does not decide again", mode)
			}
			for _, all := range [][]*profiles.Decider{before, after} {
				if got := connect(t, all, "out.example.com", 443); got != profiles.CodeRuleOfTwo {
					t.Errorf("%s: still open: %q", mode, got)
				}
				if got := connect(t, all, "web.example.com", 80); got != "" {
					t.Errorf("%s: what sends nothing is cut: %q", mode, got)
				}
			}
		}
		s.pauser.hold = func(string) func(bool) { return func(bool) {} } // its guest lives while people are asked
		run, err := s.run(interpreter.StartRequest{}, oneByOne("slow", "web", "mail", "slow"))
		must(t, err)
		if mode == "dynamic" {
			waitsFor(t, run, "c3", "approver")
			must(t, run.Approved(t.Context(), approve("c3")))
		}
		s.end(run)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(seen, []string{"recheck", "mail"}) {
			t.Errorf("%s: %v", mode, seen)
		}
	}
}

// What fetch sends is asked about when it is called, and not again when it connects. What it
// reads counts as any connection does.
func TestFetchIsAskedOnce(t *testing.T) {
	var codes []profiles.Code
	s := newStage(t, func(c *interpreter.Config) {
		c.Providers["fetch"] = provide(func(_ context.Context, call contract.Call) (json.RawMessage, error) {
			codes = append(codes, connect(t, call.Deciders(), "out.example.com", 443),
				connect(t, call.Deciders(), "web.example.com", 80))
			return json.RawMessage(`1`), nil
		})
	})
	pol := powered(rule("dynamic", require), networked)
	pol.Agents["default"].Bridges["fetch"] = bridge("fetch", untrusted)
	s.apply(pol)
	p := s.pausedRun(oneByOne("mail", "fetch"))
	if len(p.Calls) != 1 || p.Calls[0].Two == "" || len(codes) != 0 {
		t.Fatalf("%+v %v", p.Calls, codes)
	}
	run, err := s.ring.Resume(t.Context(), p, []contract.Settlement{approve("c2")})
	must(t, err)
	if v := s.end(run); v.State != executors.StateDone || !slices.Equal(codes, []profiles.Code{"", ""}) {
		t.Errorf("%s %v", v.State, codes)
	}
}
