package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// shellSet returns a set whose agent default may start the named programs of /usr/bin.
func shellSet(revision string, change func(*profiles.Shell), programs ...string) *profiles.Set {
	s := set(revision)
	a := s.Agents["default"]
	a.Shell = &profiles.Shell{Pipes: true, Redirects: true, Substitution: true, Limits: a.Limits,
		Rule: profiles.Rule{File: "p.yaml", Line: 3}}
	for i, p := range programs {
		a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{
			Path: "/usr/bin/" + p, Rule: profiles.Rule{File: "p.yaml", Line: 20 + i}})
	}
	if change != nil {
		change(a.Shell)
	}
	s.Agents["default"] = a
	return s
}

// asking makes `git push` need an approval.
func asking(change ...func(*profiles.Approval)) func(*profiles.Shell) {
	return func(s *profiles.Shell) {
		a := profiles.Approval{Count: 1, ExpiresMillis: 60_000, Rule: profiles.Rule{File: "p.yaml", Line: 9}}
		for _, f := range change {
			f(&a)
		}
		for i := range s.Binaries {
			if s.Binaries[i].Path == "/usr/bin/git" {
				s.Binaries[i].Ask = []profiles.AskRule{
					{Pattern: profiles.Pattern{Words: []string{"push"}, Text: "push"}, Approval: a}}
			}
		}
	}
}

func denying(words ...string) func(*profiles.Shell) {
	return func(s *profiles.Shell) {
		s.DeniedPatterns = append(s.DeniedPatterns, profiles.Pattern{
			Words: words, Text: strings.Join(words, " "), Rule: profiles.Rule{File: "p.yaml", Line: 30}})
	}
}

func exec(argv ...string) executors.Question {
	return executors.Question{Action: &profiles.Action{Exec: &profiles.ExecAction{Argv: argv}}}
}

func ahead(call string, argv ...string) executors.Question {
	q := exec(argv...)
	q.Call, q.Ahead = call, true
	return q
}

func named(call string, q executors.Question) executors.Question {
	q.Call = call
	return q
}

// decided returns the decision in an answer.
func decided(t *testing.T, a executors.Answer) profiles.Decision {
	t.Helper()
	var d profiles.Decision
	if a.Error != nil || json.Unmarshal(a.Value, &d) != nil || d.Code == "" {
		t.Fatalf("no decision: %s %+v", a.Value, a.Error)
	}
	return d
}

// newShell returns a world with the shell executor.
func newShell(t *testing.T, change ...func(*interpreter.Config)) *world {
	t.Helper()
	e := &fakeExecutor{name: "shell", list: map[string]program{}}
	w := newWorld(t, append([]func(*interpreter.Config){func(c *interpreter.Config) {
		c.Executors["shell"] = e
		c.Tier = tier(profiles.TierOS)
	}}, change...)...)
	e.list = w.js.list
	return w
}

// script starts a program on the shell executor.
func (w *world) script(p program) *interpreter.Run {
	w.t.Helper()
	run, err := w.tryStart(interpreter.StartRequest{Executor: "shell"}, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// newShellStage returns a stage whose scripts run on the shell executor.
func newShellStage(t *testing.T, change ...func(*interpreter.Config)) *stage {
	t.Helper()
	s := newStage(t, append([]func(*interpreter.Config){func(c *interpreter.Config) {
		p := c.Executors["js"].(*pauser)
		p.name = "shell"
		c.Executors = map[string]executors.Executor{"shell": p}
		c.Tier = tier(profiles.TierOS)
	}}, change...)...)
	return s
}

func TestActs(t *testing.T) {
	for _, tt := range []struct {
		name    string
		q       executors.Question
		allowed bool
		code    profiles.Code
		kind    contract.Kind
		on      string // capability of its record
	}{
		{"a listed program", exec("/usr/bin/ls", "-l", "s3cret"), true, profiles.CodeAllowed, contract.ExecDecided, "exec:/usr/bin/ls"},
		{"a program that is not listed", exec("/usr/bin/rm", "s3cret"), false, profiles.CodeExecNotGranted, contract.ExecDecided, "exec:/usr/bin/rm"},
		{"words that are denied", exec("/usr/bin/git", "push", "s3cret"), false, profiles.CodeShellDenied, contract.ExecDecided, "exec:/usr/bin/git"},
		{"a relative path", exec("bin/ls"), false, profiles.CodeExecNotGranted, contract.ExecDecided, "exec:bin/ls"},
		{"no words", executors.Question{Action: &profiles.Action{Exec: &profiles.ExecAction{}}}, false, profiles.CodeActionMalformed, contract.ExecDecided, "exec:"},
		{"a variable that changes what programs load", executors.Question{Action: &profiles.Action{Variable: &profiles.VariableAction{Name: "LD_PRELOAD", Value: "s3cret"}}},
			false, profiles.CodeVariable, contract.VariableDecided, "variable:set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newShell(t)
			w.apply(shellSet("a", denying("git", "push"), "ls", "git"))
			p, got := calls(tt.q)
			v := w.end(w.script(p))
			if len(*got) != 1 {
				t.Fatalf("no answer: %+v", v.Error)
			}
			d := decided(t, (*got)[0])
			if (d.Verdict == profiles.Allow) != tt.allowed || d.Code != tt.code {
				t.Errorf("decision %+v", d)
			}
			rec, ok := w.audit.find(tt.kind)
			if !ok || rec.Decision.Code != tt.code || rec.Capability != tt.on ||
				!strings.HasPrefix(rec.Digest, "sha256:") || rec.Detail["executor"] != "shell" {
				t.Errorf("record %+v", rec)
			}
			text, err := json.Marshal(w.audit.records)
			if err != nil || strings.Contains(string(text), "s3cret") {
				t.Errorf("a record holds the words: %s", text)
			}
			if tt.allowed {
				if d.Start == nil || d.Start.Path != "/usr/bin/ls" || len(v.Denials) != 0 {
					t.Errorf("start %+v, denials %v", d.Start, v.Denials)
				}
				if diff := cmp.Diff([][]string{{"/usr/bin/ls", "-l", "s3cret"}}, v.Ran); diff != "" ||
					v.Usage.Calls["exec:/usr/bin/ls"] != 1 {
					t.Errorf("ran %v, calls %v", v.Ran, v.Usage.Calls)
				}
			} else if d.Start != nil || len(v.Denials) != 1 || v.Denials[0].Code != tt.code || len(v.Ran) != 0 {
				t.Errorf("start %+v, denials %v, ran %v", d.Start, v.Denials, v.Ran)
			}
		})
	}
}

// The words of programs are in the records that the policy asks for, and the outcome of a
// script that was refused has its exit code.
func TestActsInFull(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", func(s *profiles.Shell) { s.Audit = "full" }, "ls"))
	run := w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		if _, err := h.Ask(ctx, named("c1", exec("/usr/bin/ls", "here"))); err != nil {
			return executors.Outcome{}, err
		}
		_, err := h.Ask(ctx, named("c2", exec("/usr/bin/rm", "there")))
		return executors.Outcome{State: executors.StateDenied,
			Error: &executors.ProgramError{Name: "CapabilityDenied"}}, err
	})
	if v := w.end(run); v.State != executors.StateDenied || v.ExitCode != 126 {
		t.Errorf("state %s, exit code %d", v.State, v.ExitCode)
	}
	var full []string
	for _, r := range w.audit.records {
		if r.Kind == contract.ExecDecided {
			full = append(full, r.Decision.Verdict.String()+" "+string(r.Full))
		}
	}
	want := []string{`allow {"exec":{"argv":["/usr/bin/ls","here"]}}`, `deny {"exec":{"argv":["/usr/bin/rm","there"]}}`}
	if d := cmp.Diff(want, full); d != "" {
		t.Error(d)
	}
}

// A record without the words of a program has what may be known of them: which program, its
// sub-command if they surely name one, and how many there are.
func TestActRecordWithoutWords(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", denying("git", "push"), "git", "ls"))
	p, _ := calls(
		exec("/usr/bin/git", "-C", "s3cret", "status", "s3cret"), exec("/usr/bin/git", "push", "s3cret"),
		exec("/usr/bin/git", "--unknown", "s3cret"), exec("/usr/bin/git", "S3CRET"), exec("/usr/bin/ls", "status"))
	w.end(w.script(p))
	type told struct{ Capability, Sub, Words string }
	var got []told
	for _, r := range w.audit.records {
		if r.Kind == contract.ExecDecided {
			got = append(got, told{r.Capability, r.Detail["sub"], r.Detail["words"]})
			if !strings.HasPrefix(r.Digest, "sha256:") || len(r.Full) > 0 {
				t.Errorf("record %+v", r)
			}
		}
	}
	want := []told{{"exec:/usr/bin/git", "status", "5"}, {"exec:/usr/bin/git", "push", "3"},
		{"exec:/usr/bin/git", "", "3"},
		{"exec:/usr/bin/git", "", "2"}, {"exec:/usr/bin/ls", "", "2"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A refusal of the ring gets the words that the executor has for it, once. One more like it
// is counted, and any other that the executor reports is a refusal of its own.
func TestActRefusalExplained(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls"))
	run := w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		ans, err := h.Ask(ctx, named("c1", exec("/usr/bin/rm", "there")))
		no := decided(t, ans)
		no.Text, no.Evidence = "refused while running", &profiles.Evidence{Line: 3, Column: 1}
		other := no
		other.Reason = "another"
		return executors.Outcome{State: executors.StateDenied, Denials: []profiles.Decision{no, no, other},
			Error: &executors.ProgramError{Name: "CapabilityDenied"}}, err
	})
	v := w.end(run)
	var got []string
	for _, d := range v.Denials {
		got = append(got, fmt.Sprintf("%s %s %d", d.Code, d.Text, d.Evidence.Line))
	}
	one := "exec.not_granted refused while running 3"
	if d := cmp.Diff([]string{one, one}, got); d != "" || v.Denials[0].Rule == nil || v.Denials[0].Count != 2 {
		t.Errorf("%+v: %s", v.Denials, d)
	}
	for _, r := range w.audit.records {
		if r.Decision != nil && r.Decision.Text != "" {
			t.Errorf("a record has the words: %+v", r)
		}
	}
}

// An act that cannot be recorded does not happen, and ends the run.
func TestActWithoutRecord(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls"))
	w.audit.onRecord(func(r contract.Record) error {
		if r.Kind == contract.ExecDecided {
			return errors.New("disk full")
		}
		return nil
	})
	p, got := calls(exec("/usr/bin/ls"))
	if v := w.end(w.script(p)); v.State != executors.StateFailed || len(*got) != 0 || len(v.Ran) != 0 {
		t.Errorf("state %s, answers %v, ran %v", v.State, *got, v.Ran)
	}
}

// Every policy that binds the run has to allow an act, and so has the one in force, also if
// it comes while the act is being recorded.
func TestActGenerations(t *testing.T) {
	forced := func(s *profiles.Shell) { s.Binaries[0].Ask = nil; s.DeniedPatterns = nil }
	for _, tt := range []struct {
		name string
		next *profiles.Set
		at   string // when the policy comes: before, record, or revoke, close
		code profiles.Code
	}{
		{"it lists the program no more", shellSet("b", nil), "before", profiles.CodeExecNotGranted},
		{"it denies the words", shellSet("b", denying("ls", "-l"), "ls"), "before", profiles.CodeShellDenied},
		{"it grants no shell", set("b"), "before", profiles.CodeBridgeRevoked},
		{"no policy", nil, "before", profiles.CodeNoPolicy},
		{"between record and look: the program", shellSet("b", nil), "record", profiles.CodeExecNotGranted},
		{"between record and look: the words", shellSet("b", denying("ls", "-l"), "ls"), "record", profiles.CodeShellDenied},
		{"between record and look: people", shellSet("b", func(s *profiles.Shell) {
			s.Binaries[0].Ask = []profiles.AskRule{
				{Pattern: profiles.Pattern{Words: []string{"-l"}}, Approval: profiles.Approval{Count: 1, ExpiresMillis: 1000}}}
		}, "ls"), "record", profiles.CodeBridgeRevoked},
		{"between record and look: its words in records", shellSet("b", func(s *profiles.Shell) { s.Audit = "full" }, "ls"), "record", profiles.CodeBridgeRevoked},
		{"the same", shellSet("b", forced, "ls"), "record", profiles.CodeAllowed},
		{"it was taken from the run", nil, "revoke", profiles.CodeBridgeRevoked},
		{"the executor was closed", nil, "close", profiles.CodeClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newShell(t)
			w.apply(shellSet("a", nil, "ls"))
			var run *interpreter.Run
			started := make(chan struct{})
			var once sync.Once
			change := func() {
				switch tt.at {
				case "revoke":
					must(t, run.Revoke(t.Context(), []string{"exec:/usr/bin/ls"}))
				case "close":
					w.ring.CloseExecutor("shell", "test")
				default:
					w.apply(tt.next)
				}
			}
			if tt.at != "before" {
				w.audit.onRecord(func(r contract.Record) error {
					if r.Kind == contract.ExecDecided && r.Decision.Verdict == profiles.Allow {
						once.Do(change)
					}
					return nil
				})
			}
			var got profiles.Decision
			run = w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
				<-started
				if tt.at == "before" {
					change()
				}
				a, err := h.Ask(ctx, named("c1", exec("/usr/bin/ls", "-l")))
				if err == nil {
					got = decided(t, a)
				}
				return executors.Outcome{State: executors.StateDone, Value: json.RawMessage("null")}, err
			})
			close(started)
			v := w.end(run)
			if got.Code != tt.code || (got.Verdict == profiles.Allow) != (tt.code == profiles.CodeAllowed) {
				t.Errorf("decision %+v, want %s (%+v)", got, tt.code, v.Error)
			}
			if (len(v.Ran) == 1) != (tt.code == profiles.CodeAllowed) {
				t.Errorf("ran %v", v.Ran)
			}
		})
	}
}

// A guest of another executor cannot act, and no bridge has the name of an act.
func TestActsAreOfTheShell(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls"))
	p, got := calls(exec("/usr/bin/ls"))
	if v := w.end(w.start(p)); v.State != executors.StateFailed || v.Error.Name != "Closed" || len(*got) != 0 {
		t.Errorf("an act of JavaScript: %s %v", v.State, *got)
	}
	p, got = calls(ask("exec:/usr/bin/ls", `[]`), ask("file:read", `[]`))
	w.end(w.script(p))
	for _, a := range *got {
		if a.Error == nil || a.Error.Name != "CapabilityDenied" {
			t.Errorf("a bridge with the name of an act: %+v", a)
		}
	}
	p, got = calls(named("c1", exec("/usr/bin/ls")), named("c1", exec("/usr/bin/ls")))
	if v := w.end(w.script(p)); v.State != executors.StateFailed || len(*got) != 1 {
		t.Errorf("a number twice: %s, %d answers", v.State, len(*got))
	}
}

// The number of acts of a run is limited, and so is the number of its refusals.
func TestActFlood(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls"))
	var last profiles.Decision
	run := w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := range pause.MaxActs + 1 {
			a, err := h.Ask(ctx, named(fmt.Sprintf("c%d", i+1), exec("/usr/bin/ls")))
			if err != nil {
				return executors.Outcome{}, err
			}
			if i >= pause.MaxActs-1 {
				last = decided(t, a)
				if i == pause.MaxActs-1 && last.Verdict != profiles.Allow {
					return executors.Outcome{}, errors.New("the last one was refused")
				}
			}
		}
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage("null")}, nil
	})
	v := w.end(run)
	if v.State != executors.StateDone || last.Code != profiles.CodeBridgeCalls || last.Verdict != profiles.Deny {
		t.Errorf("%s: %+v", v.State, last)
	}
	if len(v.Ran) != 256 || v.RanMore != pause.MaxActs-256 {
		t.Errorf("%d listed, %d more", len(v.Ran), v.RanMore)
	}
	refused := 0
	run = w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := 0; ; i++ {
			if _, err := h.Ask(ctx, named(fmt.Sprintf("c%d", i+1), exec("/usr/bin/rm"))); err != nil {
				return executors.Outcome{}, err
			}
			refused++
		}
	})
	if v := w.end(run); v.State != executors.StateDenied || refused != 10 || v.ExitCode != 126 {
		t.Errorf("%s after %d refusals", v.State, refused)
	}
}

// A guest that makes its words as long and as many as it can does not fill the host with
// refusals: of each the run keeps as much as people read.
func TestActRefusalsAreBrief(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls"))
	long := exec("/usr/bin/rm", strings.Repeat("x", 500<<10))
	many := exec(append([]string{"/usr/bin/rm"}, slices.Repeat([]string{"y"}, 1000)...)...)
	named := exec("/usr/bin/" + strings.Repeat("z", 500<<10))
	p, got := calls(long, many, named)
	v := w.end(w.script(p))
	if len(*got) != 3 || len(v.Denials) != 3 {
		t.Fatalf("%d answers, %d refusals", len(*got), len(v.Denials))
	}
	for i, d := range v.Denials {
		text, err := json.Marshal(d)
		if err != nil || d.Code != profiles.CodeExecNotGranted || d.Evidence == nil || len(d.Evidence.Argv) < 1 ||
			len(text) > 16<<10 {
			t.Errorf("%d: %s with %d bytes, %v", i, d.Code, len(text), err)
		}
	}
	if argv := v.Denials[1].Evidence.Argv; len(argv) != 64 || argv[63] != "y" {
		t.Errorf("%d words", len(argv))
	}
}

// Pushes that tighten come while acts are decided: an act that is asked after the commit is
// refused, and one that was allowed was asked before.
func TestActHammer(t *testing.T) {
	w := newShell(t)
	w.apply(shellSet("a", nil, "ls", "git"))
	const workers = 8
	var tight atomic.Bool
	var wrong, allowed, refused atomic.Int64
	go1 := make(chan struct{})
	run := w.script(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		var wg sync.WaitGroup
		for n := range workers {
			wg.Go(func() {
				for i := range 60 {
					if n == 0 && i == 20 {
						close(go1)
					}
					after := tight.Load()
					a, err := h.Ask(ctx, named(fmt.Sprintf("w%d-%d", n, i), exec("/usr/bin/git", "push")))
					if err != nil {
						return
					}
					var d profiles.Decision
					switch err := json.Unmarshal(a.Value, &d); {
					case err != nil:
						wrong.Add(1)
					case d.Verdict == profiles.Allow:
						allowed.Add(1)
						if after || d.Start == nil {
							wrong.Add(1)
						}
					default:
						refused.Add(1)
						if d.Start != nil {
							wrong.Add(1)
						}
					}
				}
			})
		}
		wg.Wait()
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage("null")}, nil
	})
	<-go1
	for i := range 40 { // the last set is tight, and stays in force
		w.apply(shellSet(fmt.Sprint("b", i), denying("git", "status"), "ls", "git"))
	}
	w.apply(shellSet("c", denying("git", "push"), "ls", "git"))
	tight.Store(true)
	w.end(run)
	if wrong.Load() != 0 || allowed.Load() == 0 {
		t.Errorf("%d wrong, %d allowed, %d refused", wrong.Load(), allowed.Load(), refused.Load())
	}
}
