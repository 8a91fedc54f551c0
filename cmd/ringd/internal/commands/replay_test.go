package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/audit/audittest"
	"github.com/ringd/ringd/profiles"
)

func at() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC) }

func verdict(v profiles.Verdict, code profiles.Code) *audit.Decision {
	return &audit.Decision{Verdict: v, Code: code}
}

func allowed() *audit.Decision { return verdict(profiles.Allow, profiles.CodeAllowed) }

func set(a profiles.Agent) *profiles.Set {
	a.Name = "a"
	return &profiles.Set{Agents: map[string]profiles.Agent{"a": a}}
}

// base is a policy that lets most of what the records are about.
func base() profiles.Agent {
	return profiles.Agent{
		Python: &profiles.Python{Imports: profiles.Imports{Allow: []profiles.ImportRule{{Name: "pandas"}}}},
		Shell:  &profiles.Shell{Binaries: []profiles.Binary{{Path: "/usr/bin/git"}}},
		Bridges: map[string]profiles.Bridge{"send": {Name: "send", Limits: profiles.BridgeLimits{ArgumentBytes: 100}},
			"typed": {Name: "typed", Arguments: json.RawMessage(`{"type":"string"}`), Limits: profiles.BridgeLimits{ArgumentBytes: 100}}},
		Files: profiles.Files{Read: []profiles.PathRule{{Path: "$WORKSPACE"}}},
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
			{Host: "api.example.com", Ports: []int{443}}, {Host: "files.example.com", Ports: []int{80}, Methods: []string{"GET"}}}},
	}
}

func TestRun(t *testing.T) {
	rec := func(kind audit.Kind, capability string, d *audit.Decision) audit.Record {
		return audit.Record{Kind: kind, Agent: "a", Run: "r1", Capability: capability, Decision: d}
	}
	detail := func(r audit.Record, pairs ...string) audit.Record {
		r.Detail = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			r.Detail[pairs[i]] = pairs[i+1]
		}
		return r
	}
	full := func(r audit.Record, text string) audit.Record { r.Full = json.RawMessage(text); return r }
	python := detail(rec(audit.RunStarted, "", nil), "executor", "python")
	deny := func(code profiles.Code) *audit.Decision { return verdict(profiles.Deny, code) }
	change := func(f func(*profiles.Agent)) *profiles.Set { a := base(); f(&a); return set(a) }
	guarded := change(func(a *profiles.Agent) {
		a.Guardrails = []profiles.Guardrail{
			{Name: "limit", On: profiles.GuardCalls}}
	})
	git := full(rec(audit.ExecDecided, "exec:/usr/bin/git", allowed()), `{"exec":{"argv":["/usr/bin/git","push"]}}`)
	for _, tt := range []struct {
		name     string
		records  []audit.Record
		old, now *profiles.Set
		want     string // result of the last decision
		why      string
	}{
		{"an import that stays", []audit.Record{python, rec(audit.ImportDecided, "import:pandas", allowed())}, nil, set(base()), Unchanged, ""},
		{"an import that is denied now", []audit.Record{python, detail(rec(audit.RunEnded, "", nil), "imports", "pandas")}, nil,
			change(func(a *profiles.Agent) { a.Python.Imports.Allow = nil }), wouldDeny, "import.not_allowed"},
		{"an import that was refused", []audit.Record{python, rec(audit.ImportDecided, "import:requests", deny("import.not_allowed"))}, nil,
			change(func(a *profiles.Agent) { a.Python.Imports.Allow[0].Name = "requests" }), wouldAllow, ""},
		{"an import of an unknown executor", []audit.Record{rec(audit.ImportDecided, "import:pandas", allowed())}, nil, set(base()), notReplayable, "executor"},
		{"an import without a name", []audit.Record{python, rec(audit.ImportDecided, "import", deny("import.denied"))}, nil, set(base()), notReplayable, "module"},
		{"a run of an executor that goes", []audit.Record{python}, nil, change(func(a *profiles.Agent) { a.Python = nil }), wouldDeny, "executor.not_granted"},
		{"a run of one that comes", []audit.Record{rec(audit.RunRefused, "executor:js", deny(profiles.CodeExecutorNotGranted))}, nil,
			change(func(a *profiles.Agent) { a.JS = &profiles.JS{} }), wouldAllow, ""},
		{"a run that the host refused", []audit.Record{rec(audit.RunRefused, "executor:python", deny(profiles.CodeTierUnavailable))}, nil, set(base()), notReplayable, "tier_unavailable"},
		{"a host that stays", []audit.Record{detail(rec(audit.EgressDecided, "egress:api.example.com:443", allowed()), "door", "connect", "answers", "93.184.216.34")}, nil, set(base()), Unchanged, ""},
		{"a host that goes", []audit.Record{rec(audit.EgressDecided, "egress:api.example.com:443", allowed())}, nil,
			change(func(a *profiles.Agent) { a.Egress.Allow = nil }), wouldDeny, "egress.not_granted"},
		{"a host that comes, never looked up", []audit.Record{rec(audit.EgressDecided, "egress:b.example.com:443", deny("egress.not_granted"))}, nil,
			change(func(a *profiles.Agent) { a.Egress.Allow[0].Host = "b.example.com" }), wouldAllow, ""},
		{"a host that resolved to nothing", []audit.Record{rec(audit.EgressDecided, "egress:api.example.com:443", deny(profiles.CodeEgressNoAddress))}, nil, set(base()), notReplayable, "egress.no_address"},
		{"a private address", []audit.Record{detail(rec(audit.EgressDecided, "egress:api.example.com:443", deny(profiles.CodeEgressAddress)), "answers", "10.0.0.1")}, nil, set(base()), Unchanged, ""},
		{"first bytes", []audit.Record{rec(audit.EgressClosed, "egress:api.example.com:443", deny(profiles.CodeEgressSNI))}, nil, set(base()), notReplayable, "egress.sni"},
		{"a method that is not granted any more", []audit.Record{detail(rec(audit.EgressDecided, "egress:files.example.com:80", allowed()), "door", "fetch", "method", "POST", "path", "/x")}, nil, set(base()), wouldDeny, "egress.method"},
		{"a question for a name", []audit.Record{detail(rec(audit.EgressDecided, "egress:evil.example.com:53", deny("egress.not_granted")), "door", "dns")}, nil,
			change(func(a *profiles.Agent) { a.Egress.Allow[0].Host = "*.example.com" }), wouldAllow, ""},
		{"a program with its words", []audit.Record{git}, nil, change(func(a *profiles.Agent) {
			a.Shell.DeniedPatterns = []profiles.Pattern{{Words: []string{"git", "push"}, Text: "git push"}}
		}), wouldDeny, "shell.denied_pattern"},
		{"a program that asks now", []audit.Record{git}, nil, change(func(a *profiles.Agent) {
			a.Shell.Binaries[0].Ask = []profiles.AskRule{{Pattern: profiles.Pattern{Words: []string{"push"}}}}
		}), wouldAsk, "approval_required"},
		{"a program that people let", []audit.Record{detail(git, "approved", "uid:1")}, nil, set(base()), wouldAllow, ""},
		{"a program by its digest", []audit.Record{rec(audit.ExecDecided, "exec:/usr/bin/git", allowed())}, nil, set(base()), notReplayable, "audit: full"},
		{"a program that is not listed, by its digest", []audit.Record{rec(audit.ExecDecided, "exec:/usr/bin/rg", allowed())}, nil, set(base()), wouldDeny, "exec.not_granted"},
		{"a shell that a program starts", []audit.Record{full(rec(audit.ExecDecided, "exec:/usr/bin/env", allowed()), `{"exec":{"argv":["/usr/bin/env","sh","-c","git push"]}}`)}, nil,
			change(func(a *profiles.Agent) {
				a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: "/usr/bin/env"},
					profiles.Binary{Path: "/bin/sh", Interpreted: true})
			}), notReplayable, "shell script|shell.opaque"},
		{"a file with its path", []audit.Record{full(rec(audit.FileDecided, "file:read", allowed()), `{"file":{"op":"read","path":"/workspace/a"}}`)}, nil,
			change(func(a *profiles.Agent) { a.Files.Read = nil }), wouldDeny, "file.not_granted"},
		{"a file without its path", []audit.Record{rec(audit.FileDecided, "file:read", allowed())}, nil, set(base()), notReplayable, "audit: full"},
		{"an action by its digest", []audit.Record{rec(audit.ActionDecided, "exec", allowed())}, nil, set(base()), notReplayable, "digest"},
		{"a call", []audit.Record{python, rec(audit.CallOpened, "bridge:send", allowed())}, nil, set(base()), Unchanged, ""},
		{"a call that needs an approval now", []audit.Record{python, rec(audit.CallOpened, "bridge:send", allowed())}, nil,
			change(func(a *profiles.Agent) {
				b := a.Bridges["send"]
				b.Approval = &profiles.Approval{Count: 1}
				a.Bridges["send"] = b
			}), wouldAsk, ""},
		{"a call with a schema, by its digest", []audit.Record{python, rec(audit.CallOpened, "bridge:typed", allowed())}, nil, set(base()), notReplayable, "arguments"},
		{"a call that does not fit", []audit.Record{python, full(rec(audit.CallOpened, "bridge:typed", allowed()), `[1]`)}, nil, set(base()), wouldDeny, "bridge.arguments"},
		{"a call with a condition, by its digest", []audit.Record{python, rec(audit.CallOpened, "bridge:send", allowed())}, nil,
			change(func(a *profiles.Agent) {
				b := a.Bridges["send"]
				b.Approval = &profiles.Approval{Count: 1, When: "input.args.x == 1"}
				a.Bridges["send"] = b
			}), notReplayable, "condition"},
		{"a call under a guardrail, by its digest", []audit.Record{python, rec(audit.CallOpened, "bridge:send", allowed())}, nil, guarded, notReplayable, "guardrail"},
		{"a call under a guardrail, which nobody asks here", []audit.Record{python, full(rec(audit.CallOpened, "bridge:send", allowed()), `[1]`)}, nil, guarded, wouldDeny, "guardrail_failed"},
		{"a call that a guardrail refused", []audit.Record{python, rec(audit.CallDecided, "bridge:send", deny(profiles.CodeGuardrailDenied))}, nil, set(base()), wouldAllow, ""},
		{"a call that a guardrail refused, under another", []audit.Record{python, rec(audit.CallDecided, "bridge:send", deny(profiles.CodeGuardrailDenied))}, nil, guarded, notReplayable, "guardrail"},
		{"a call beyond its number", []audit.Record{python, rec(audit.CallDecided, "bridge:send", deny(profiles.CodeBridgeCalls))}, nil, set(base()), notReplayable, "bridge.calls"},
		{"a call of a bridge that goes", []audit.Record{python, rec(audit.CallDecided, "bridge:send", deny(profiles.CodeBridgeCalls))}, nil,
			change(func(a *profiles.Agent) { a.Bridges = nil }), Unchanged, ""},
		{"an agent that is not there", []audit.Record{rec(audit.EgressDecided, "egress:api.example.com:443", allowed())}, nil, &profiles.Set{}, notReplayable, "no agent a"},
		{"an agent that goes", []audit.Record{rec(audit.EgressDecided, "egress:api.example.com:443", allowed())}, set(base()), &profiles.Set{}, wouldDeny, "agent.unknown"},
		{"the old policy is what it is compared with", []audit.Record{rec(audit.EgressDecided, "egress:api.example.com:443", deny("egress.not_granted"))}, set(base()), set(base()), Unchanged, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := replay(t.Context(), replayConfig{Log: audittest.State(t, at(), tt.records...), Old: tt.old,
				New: tt.now, Workspace: "/workspace", Home: "/home/agent"})
			if err != nil {
				t.Fatal(err)
			}
			if len(tt.records) == 1 && got.Decisions != 1 {
				t.Errorf("%d decisions", got.Decisions)
			}
			for _, g := range got.Groups {
				fits := tt.why == ""
				for one := range strings.SplitSeq(tt.why, "|") {
					fits = fits || strings.Contains(g.Why, one)
				}
				if g.Result == tt.want && (fits && g.Capability != "executor:python" || len(got.Groups) == 1) {
					return
				}
			}
			t.Errorf("want %s (%s), got %+v", tt.want, tt.why, got.Groups)
		})
	}
}

// A log that does not hold proves nothing: nothing is made again from it.
func TestTampered(t *testing.T) {
	state := audittest.State(t, at(), audit.Record{Kind: audit.EgressDecided, Agent: "a",
		Capability: "egress:evil.example.com:443", Decision: verdict(profiles.Deny, "egress.not_granted")})
	names, err := filepath.Glob(filepath.Join(state, "audit", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	changed := false
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		again := strings.Replace(string(text), `"deny"`, `"allow"`, 1)
		changed = changed || again != string(text)
		if err := os.WriteFile(name, []byte(again), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !changed {
		t.Fatal("nothing was changed")
	}
	_, err = replay(t.Context(), replayConfig{Log: state, New: set(base())})
	if !errors.Is(err, audit.ErrTampered) || !strings.Contains(replayReason(err), "is not valid") {
		t.Errorf("got %v", err)
	}
	if _, err := replay(t.Context(), replayConfig{Log: t.TempDir(), New: set(base())}); err == nil {
		t.Error("an empty folder is a log")
	}
}

// A file is what ringd audit query --json prints.
func TestExported(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log.jsonl")
	line, err := json.Marshal(
		audit.Entry{Record: audit.Record{Time: at(), Kind: audit.EgressDecided, Agent: "a",
			Capability: "egress:b.example.com:443", Decision: allowed()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, want string }{
		{string(line) + "\n\n" + string(line) + "\n", ""},
		{string(line) + "\nnonsense\n", "log.jsonl:2: not a record"},
		{`{"record":{"kind":"made_up"}}` + "\n", "kind that this ringd knows"},
	} {
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := replay(t.Context(), replayConfig{Log: name, New: set(base())})
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			continue
		}
		want := map[string]int{wouldAllow: 0, wouldAsk: 0, wouldDeny: 2, Unchanged: 0, notReplayable: 0}
		if err != nil || cmp.Diff(want, got.Counts) != "" || got.Head != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// many are n records of every kind that a daemon writes much of.
func many(n int) []audit.Record {
	out := make([]audit.Record, n)
	for i := range out {
		r := audit.Record{Kind: audit.CallOpened, Agent: "a", Run: fmt.Sprintf("r%d", i/50), Capability: "bridge:send",
			Decision: allowed(), Revision: "sha256:0123456789abcdef"}
		switch i % 5 {
		case 0:
			r.Kind, r.Capability, r.Detail = audit.EgressDecided, fmt.Sprintf("egress:h%d.example.com:443", i%700),
				map[string]string{"door": "connect", "answers": "93.184.216.34"}
		case 1:
			r.Kind, r.Capability, r.Full = audit.ExecDecided, "exec:/usr/bin/git",
				json.RawMessage(fmt.Sprintf(`{"exec":{"argv":["/usr/bin/git","log","-n","%d"]}}`, i))
		case 2:
			r.Kind, r.Capability, r.Decision, r.Detail = audit.RunEnded, "", nil,
				map[string]string{"imports": "pandas,json,os.path"}
		case 3:
			r.Kind, r.Capability, r.Decision, r.Detail = audit.RunStarted, "", nil,
				map[string]string{"executor": "python"}
		}
		out[i] = r
	}
	return out
}

// BenchmarkRun replays a log of 100,000 records against two policies.
func BenchmarkRun(b *testing.B) {
	log := audittest.State(b, at(), many(100_000)...)
	now := set(base())
	b.ResetTimer()
	for b.Loop() {
		got, err := replay(b.Context(), replayConfig{Log: log, Old: set(base()), New: now, Workspace: "/workspace"})
		if err != nil || got.Records < 100_000 {
			b.Fatal(got, err)
		}
	}
}

// TestForgedCount: an exported record that says to stand for more decisions than there
// can be stands for itself; two of them would overflow the sum.
func TestForgedCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.jsonl")
	var text []byte
	for range 2 {
		line, err := json.Marshal(
			audit.Entry{Record: audit.Record{Time: at(), Kind: audit.EgressCounted, Agent: "a", Run: "r",
				Capability: "egress:evil.example.com:443",
				Decision:   verdict(profiles.Deny, profiles.CodeEgressNotGranted),
				Detail:     map[string]string{"count": "9223372036854775807"}}})
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := replay(t.Context(), replayConfig{Log: file, New: set(base())})
	if err != nil || got.Decisions != 2 || got.Groups[0].Count != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
