package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

const candidate = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 2, owner: "user:a@b.example"}
spec:
  executors:
    allowed: [js, python, shell]
    python: {imports: {allow: [json]}}
    js: {imports: {allow: [scores]}}
    shell: {binaries: [{path: /usr/bin/git, args: {subcommands: [status]}}]}
  modules: {scores: {source: "export const worst = 1;"}}
  bridges:
    - {name: search, powers: {sensitive: false, untrusted: true, external: false}}
    - {name: send, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true}}
  network: {mode: allowlist, egress: [{host: "*.example.com"}, {host: "192.0.2.0/24", ports: [5432]}]}
`

type compile struct{ err error }

func (c compile) Compile(_ context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	if c.err != nil {
		return nil, nil, c.err
	}
	policies, found := schema.Decode(p.Sources)
	if found.Refused() {
		return nil, found, nil
	}
	set, more := compiler.Compile(compiler.Config{Policies: policies})
	return &set, append(found, more...), nil
}

type log struct {
	records []audit.Record
	err     error
}

func (l *log) Append(_ context.Context, r audit.Record, _ audit.Durability) (audit.Head, error) {
	l.records = append(l.records, r)
	return audit.Head{}, l.err
}

func push(text string) syncer.Push {
	return syncer.Push{Sources: []schema.Source{{Name: "p.yaml", Data: []byte(text)}}, Digest: text}
}

func shadowStart(t *testing.T, l *log) *daemon.Shadow {
	t.Helper()
	s := daemon.NewShadow(daemon.ShadowConfig{Compiler: compile{}, Log: l,
		Now: func() time.Time { return time.Unix(1_790_000_000, 0) }, Logger: slog.New(slog.DiscardHandler),
		InForce:  func() *profiles.Set { return nil },
		Enforced: func(string) *profiles.Decider { return nil }})
	if err := s.Apply(t.Context(), push(candidate)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecided(t *testing.T) {
	by := func(executor string) map[string]string { return map[string]string{"executor": executor} }
	allow, deny := &audit.Decision{Verdict: profiles.Allow}, &audit.Decision{Verdict: profiles.Deny}
	exec := func(words ...string) *profiles.Action {
		return &profiles.Action{Exec: &profiles.ExecAction{Argv: words}}
	}
	bridge := func(name string) *profiles.Action {
		return &profiles.Action{Bridge: &profiles.BridgeAction{Name: name, Executor: "js"}}
	}
	for _, tc := range []struct {
		name   string
		record audit.Record
		action *profiles.Action
		want   []string // outcomes
	}{
		{"the same", audit.Record{Kind: audit.CallOpened, Capability: "bridge:search"}, bridge("search"), nil},
		{"asks", audit.Record{Kind: audit.CallOpened, Capability: "bridge:send"}, bridge("send"), []string{"would_ask"}},
		{"gone", audit.Record{Kind: audit.CallOpened, Capability: "bridge:gone"}, bridge("gone"), []string{"would_deny"}},
		{"new", audit.Record{Kind: audit.CallDecided, Capability: "bridge:search", Decision: deny}, bridge("search"), []string{"would_allow"}},
		{"words", audit.Record{Kind: audit.ExecDecided, Capability: "exec:/usr/bin/git", Decision: allow}, exec("/usr/bin/git", "push"), []string{"would_deny"}},
		{"words that stay", audit.Record{Kind: audit.ExecDecided, Capability: "exec:/usr/bin/git", Decision: allow}, exec("/usr/bin/git", "status"), nil},
		{"a refused import", audit.Record{Kind: audit.ImportDecided, Capability: "import:json", Decision: deny, Detail: by("python")}, nil, []string{"would_allow"}},
		{"one of Python that JavaScript has", audit.Record{Kind: audit.ImportDecided, Capability: "import:scores", Decision: deny, Detail: by("python")}, nil, nil},
		{"a refused import of JavaScript", audit.Record{Kind: audit.ImportDecided, Capability: "import:scores", Decision: deny, Detail: by("js")}, nil, []string{"would_allow"}},
		{"one of JavaScript that Python has", audit.Record{Kind: audit.ImportDecided, Capability: "import:json", Decision: deny, Detail: by("js")}, nil, nil},
		{"imports of a run", audit.Record{Kind: audit.RunEnded, Detail: map[string]string{"imports": "json,csv"}}, nil, []string{"would_deny"}},
		{"a run without imports", audit.Record{Kind: audit.RunEnded}, nil, nil},
		{"a host", audit.Record{Kind: audit.EgressDecided, Capability: records.GrantHost + "api.example.com:443", Decision: allow}, nil, nil},
		{"another host", audit.Record{Kind: audit.EgressDecided, Capability: records.GrantHost + "api.example.org:443", Decision: allow}, nil, []string{"would_deny"}},
		{"an address", audit.Record{Kind: audit.EgressDecided, Capability: records.GrantHost + "192.0.2.7:5432", Decision: deny}, nil, []string{"would_allow"}},
		{"a name that is asked for", audit.Record{Kind: audit.EgressDecided, Capability: records.GrantHost + "api.example.com:53", Decision: deny, Detail: map[string]string{"door": "dns"}}, nil, []string{"would_allow"}},
		{"another name", audit.Record{Kind: audit.EgressDecided, Capability: records.GrantHost + "api.example.org:53", Decision: deny, Detail: map[string]string{"door": "dns"}}, nil, nil},
		{"the end of a connection", audit.Record{Kind: audit.EgressClosed, Capability: records.GrantHost + "api.example.org:443"}, nil, nil},
		{"no decision", audit.Record{Kind: audit.RunStarted}, nil, nil},
		{"an agent that the candidate has not", audit.Record{Kind: audit.CallOpened, Agent: "b", Capability: "bridge:search"}, bridge("search"), []string{"would_deny"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &log{}
			s := shadowStart(t, l)
			if tc.record.Agent == "" {
				tc.record.Agent = "a"
			}
			s.Decided(t.Context(), tc.record, tc.action)
			var got []string
			for _, r := range l.records {
				got = append(got, r.State)
				if r.Kind != audit.ShadowDecided || r.Decision == nil || r.Decision.Reason != "" ||
					r.Detail["candidate"] == "" || r.Detail["enforced"] == "" {
					t.Errorf("record %+v", r)
				}
			}
			if len(got) != len(tc.want) || len(got) > 0 && got[0] != tc.want[0] {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			st := s.Status()
			if n := st.WouldAllow + st.WouldAsk + st.WouldDeny; n != int64(len(tc.want)) ||
				len(st.Examples) != len(tc.want) {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// TestCandidates: one that does not compile, or is gone, decides nothing, and no fault of
// it reaches whoever is decided about.
func TestCandidates(t *testing.T) {
	l := &log{err: errors.New("the disk is full")}
	s := shadowStart(t, l)
	denied := audit.Record{Kind: audit.CallDecided, Agent: "a", Capability: "bridge:search",
		Decision: &audit.Decision{}}
	search := &profiles.Action{Bridge: &profiles.BridgeAction{Name: "search"}}
	s.Decided(t.Context(), denied, search)
	first := s.Status()
	if first.State != wire.ShadowReady || first.WouldAllow != 1 {
		t.Fatalf("status %+v", first)
	}
	if err := s.Apply(t.Context(), push(candidate)); err != nil || s.Status().WouldAllow != 1 {
		t.Errorf("the same candidate again forgets: %+v, %v", s.Status(), err)
	}
	if err := s.Apply(t.Context(), push("kind: nonsense")); err != nil {
		t.Error(err)
	}
	if st := s.Status(); st.State != wire.ShadowRejected || len(st.Findings) == 0 || st.WouldAllow != 0 ||
		st.Revision != "" {
		t.Errorf("status %+v", st)
	}
	n := len(l.records)
	s.Decided(t.Context(), denied, search)
	s.Lost(t.Context(), errors.New("gone"))
	s.Decided(t.Context(), denied, search)
	if len(l.records) != n || s.Status().State != wire.ShadowNone || s.Status().Reason != "gone" {
		t.Errorf("%d records, status %+v", len(l.records), s.Status())
	}

	// What does not compile stays out when it is back as it was, and what does decides again.
	s.Current(t.Context(), "")
	if st := s.Status(); st.State != wire.ShadowRejected || len(st.Findings) == 0 {
		t.Errorf("status %+v", st)
	}
	if err := s.Apply(t.Context(), push(candidate)); err != nil {
		t.Error(err)
	}
	s.Decided(t.Context(), denied, search)
	s.Current(t.Context(), "")
	if s.Status().WouldAllow != 1 {
		t.Errorf("nothing has changed, and it forgets: %+v", s.Status())
	}
	for _, lose := range []func(context.Context, error){s.Lost, s.Reject} {
		lose(t.Context(), errors.New("gone"))
		s.Current(t.Context(), "")
		s.Decided(t.Context(), denied, search)
		if st := s.Status(); st.State != wire.ShadowReady || st.WouldAllow != 1 {
			t.Errorf("it is back, status %+v", st)
		}
	}
}

// TestAudited: what an agent in mode audit was let through is recorded, and nothing of an
// agent that is enforced.
func TestAudited(t *testing.T) {
	policy := func(mode string) string {
		return `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 2, owner: "user:a@b.example"}
spec:
  mode: ` + mode + `
  executors:
    allowed: [python, shell]
    python: {imports: {allow: [json], deny: [csv]}}
    shell: {binaries: [{path: /usr/bin/git, args: {subcommands: [status]}}]}
`
	}
	exec := func(words ...string) profiles.Action { return profiles.Action{Exec: &profiles.ExecAction{Argv: words}} }
	for mode, want := range map[string][]string{"enforce": nil, "audit": {"exec:git push", "import:csv"}} {
		set, found, err := compile{}.Compile(t.Context(), push(policy(mode)))
		if err != nil || found.Refused() {
			t.Fatal(err, found)
		}
		d := set.Decider("a", profiles.Environment{})
		for _, tc := range []struct {
			action profiles.Action
			want   profiles.Verdict // in mode audit
		}{
			{exec("/usr/bin/git", "push"), profiles.Allow}, {exec("/usr/bin/git", "status"), profiles.Allow}, {exec("/usr/bin/curl"), profiles.Deny},
			{profiles.Action{Import: &profiles.ImportAction{Executor: "python", Module: "csv"}}, profiles.Allow},
			{profiles.Action{File: &profiles.FileAction{Op: "read", Path: "/etc/shadow"}}, profiles.Deny},
			{profiles.Action{Bridge: &profiles.BridgeAction{Name: "x"}}, profiles.Deny},
		} {
			if got := d.Decide(tc.action); mode == "audit" && got.Verdict != tc.want {
				t.Errorf("%+v: %v (%s)", tc.action, got.Verdict, got.Reason)
			}
		}
		l := &log{}
		s := daemon.NewShadow(daemon.ShadowConfig{Compiler: compile{}, Log: l, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler), Enforced: func(string) *profiles.Decider { return d }})
		for _, words := range [][]string{{"/usr/bin/git", "push"}, {"/usr/bin/git", "status"}} {
			a := exec(words...)
			s.Decided(t.Context(), audit.Record{Kind: audit.ExecDecided, Agent: "a", Capability: "exec:git " + words[1],
				Decision: &audit.Decision{Verdict: profiles.Allow}}, &a)
		}
		s.Decided(t.Context(), audit.Record{Kind: audit.RunEnded, Agent: "a",
			Detail: map[string]string{"imports": "json,csv"}}, nil)
		var got []string
		for _, r := range l.records {
			got = append(got, r.Capability)
			if r.Kind != audit.AuditDecided || r.State != "would_deny" || r.Decision.Rule == nil {
				t.Errorf("record %+v", r)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", mode, got, want)
		}
	}
}

// checked is a compiler that asks guardrails.
type checked struct {
	compile
	check func(set, previous *profiles.Set) (schema.Diagnostics, error)
}

func (c checked) Check(_ context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	return c.check(set, previous)
}

// TestGuardedCandidates: a candidate that a guardrail refuses, or that nobody can ask
// about, is none. The guardrails are told what is in force.
func TestGuardedCandidates(t *testing.T) {
	guarded := candidate + `  guardrails:
    - name: g
      rego: |
        package ringd.guardrails
        deny contains "no" if input.effective.agent == "b"
`
	inForce := &profiles.Set{}
	var told *profiles.Set
	asks := func(found schema.Diagnostics, err error) policy.Compiler {
		return checked{check: func(_, previous *profiles.Set) (schema.Diagnostics, error) {
			told = previous
			return found, err
		}}
	}
	denied := schema.Diagnostics{
		{Code: "guardrail-denied", Msg: "guardrail g, agent a: no", Pos: schema.Pos{File: "p.yaml", Line: 17, Column: 7}}}
	for _, tt := range []struct {
		name     string
		compiler policy.Compiler
		text     string
		state    string
		reason   string
		findings int
		failed   bool // it is asked for again
	}{
		{"passes", asks(nil, nil), guarded, wire.ShadowReady, "", 0, false},
		{"refused", asks(denied, nil), guarded, wire.ShadowRejected, "a guardrail refuses the candidate", 1, false},
		{"not asked", asks(nil, errors.New("no child")), guarded, wire.ShadowRejected, "the compiler could not be run: no child", 0, true},
		{"nobody asks", compile{}, guarded, wire.ShadowRejected, "the compiler could not be run: this host cannot evaluate the guardrails of the candidate", 0, true},
		{"without guardrails nobody has to", compile{}, candidate, wire.ShadowReady, "", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told = nil
			s := daemon.NewShadow(daemon.ShadowConfig{Compiler: tt.compiler, Log: &log{}, Now: time.Now,
				Logger:   slog.New(slog.DiscardHandler),
				InForce:  func() *profiles.Set { return inForce },
				Enforced: func(string) *profiles.Decider { return nil }})
			err := s.Apply(t.Context(), push(tt.text))
			st := s.Status()
			if (err != nil) != tt.failed || st.State != tt.state || st.Reason != tt.reason ||
				len(st.Findings) != tt.findings {
				t.Errorf("%v, status %+v", err, st)
			}
			if _, ok := tt.compiler.(checked); ok && told != inForce {
				t.Errorf("previous is %v", told)
			}
			if tt.findings > 0 && (st.Findings[0].Code != "guardrail-denied" || st.Findings[0].Line != 17 ||
				st.Findings[0].Message == "") {
				t.Errorf("findings %+v", st.Findings)
			}
			s.Decided(t.Context(), audit.Record{Kind: audit.CallOpened, Agent: "a", Capability: "bridge:gone"},
				&profiles.Action{Bridge: &profiles.BridgeAction{Name: "gone"}})
			if n := s.Status().Decided; (n > 0) != (tt.state == wire.ShadowReady) {
				t.Errorf("%d decisions of a candidate that is %s", n, tt.state)
			}
		})
	}
}

// TestSlowCandidate: a candidate whose decisions take long is asked no more, so that
// those in force do not go on waiting for it; a stall now and then is forgiven.
func TestSlowCandidate(t *testing.T) {
	for name, tc := range map[string]struct {
		took  func(i int) time.Duration
		state string
	}{
		"slow":          {func(int) time.Duration { return 100 * time.Millisecond }, wire.ShadowRejected},
		"slow by turns": {func(i int) time.Duration { return time.Duration(i%2) * 100 * time.Millisecond }, wire.ShadowRejected},
		"quick":         {func(int) time.Duration { return time.Millisecond }, wire.ShadowReady},
		"a stall":       {stall, wire.ShadowReady},
	} {
		t.Run(name, func(t *testing.T) {
			l, now, step := &log{}, time.Unix(1_790_000_000, 0), time.Duration(0)
			s := daemon.NewShadow(daemon.ShadowConfig{Compiler: compile{}, Log: l,
				Logger:   slog.New(slog.DiscardHandler),
				Now:      func() time.Time { now = now.Add(step); return now },
				InForce:  func() *profiles.Set { return nil },
				Enforced: func(string) *profiles.Decider { return nil }})
			if err := s.Apply(t.Context(), push(candidate)); err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				step = tc.took(i)
				s.Decided(t.Context(), audit.Record{Kind: audit.CallOpened, Agent: "a", Capability: "bridge:gone"},
					&profiles.Action{Bridge: &profiles.BridgeAction{Name: "gone", Executor: "js"}})
			}
			if got := s.Status(); got.State != tc.state || tc.state == wire.ShadowReady && got.Decided != 1000 ||
				tc.state != wire.ShadowReady && got.Decided > 100 {
				t.Errorf("%s after %d decisions: %s", got.State, got.Decided, got.Reason)
			}
			step = 0
			if err := s.Apply(t.Context(), push(candidate+"\n")); err != nil || s.Status().State != wire.ShadowReady {
				t.Errorf("a candidate that changed: %v, %+v", err, s.Status())
			}
		})
	}
}

// stall is a second at every 250th decision.
func stall(i int) time.Duration {
	if i%250 == 249 {
		return time.Second
	}
	return 0
}
