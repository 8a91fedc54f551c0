package bridges_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// fake runs a script that a function plays.
type fake struct {
	play func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error)
	runs []executors.Run
}

func (f *fake) Name() string { return "shell" }
func (f *fake) Close() error { return nil }
func (f *fake) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	f.runs = append(f.runs, r)
	return f.play(ctx, r, h)
}

func printed(state executors.State, exit int, entries ...executors.ConsoleEntry) executors.Outcome {
	out := executors.Outcome{State: state, ExitCode: exit, Console: entries, Engine: "e"}
	if state == executors.StateFailed {
		out.Error = &executors.ProgramError{Name: "ExitStatus"}
	}
	return out
}

func stdout(s string) executors.ConsoleEntry {
	return executors.ConsoleEntry{Level: executors.LevelStdout, Text: s}
}

func stderr(s string) executors.ConsoleEntry {
	return executors.ConsoleEntry{Level: executors.LevelStderr, Text: s}
}

// call is one of a run that may start ls and nothing else.
func shellCall(args string, result int64) contract.Call {
	agent := profiles.Agent{Name: "a", JS: &profiles.JS{}, Shell: &profiles.Shell{},
		Bridges: map[string]profiles.Bridge{
			"shell": {Name: "shell", Limits: profiles.BridgeLimits{ResultBytes: result}}}}
	d := profiles.NewDecider(agent, "r", profiles.Environment{})
	return contract.Call{Run: "r1", ID: "c1", Bridge: "shell", Args: json.RawMessage(args),
		Deciders: func() []*profiles.Decider { return []*profiles.Decider{d} },
		Guest: func(executor string) (executors.Run, bool) {
			return executors.Run{ID: "r1", Agent: &agent}, executor == "shell"
		},
		Claims: func(string, []profiles.Decision, int64) error { return nil },
		Act: func(_ context.Context, q executors.Question) (executors.Answer, error) {
			dec := profiles.Decision{Code: profiles.CodeExecNotGranted, Reason: "rm is not listed",
				Rule: &profiles.Rule{File: "p.yaml", Line: 7}, Instead: []string{"ls"}}
			if q.Action.Exec.Argv[0] == "ls" {
				dec = profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed,
					Start: &profiles.Start{Path: "/bin/ls", Argv: []string{"ls"}}}
			}
			raw, err := json.Marshal(dec)
			return executors.Answer{Value: raw}, err
		},
	}
}

func starts(ctx context.Context, h executors.Host, argv ...string) error {
	_, err := h.Ask(ctx, executors.Question{Call: "c1", Action: &profiles.Action{
		Exec: &profiles.ExecAction{Argv: argv}}})
	return err
}

func TestCall(t *testing.T) {
	ran := func(out executors.Outcome) *fake {
		return &fake{play: func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
			return out, starts(ctx, h, "ls", r.Program.Source)
		}}
	}
	for _, tt := range []struct {
		name, args string
		fake       *fake
		want       string
	}{
		{"done", `{"script":"x","stdin":"in","cwd":"/w"}`, ran(printed(executors.StateDone, 0, stdout("a<"), stderr("!"), stdout("b"))),
			`{"stdout":"a<b","stderr":"!","exit_code":0,"ran":[["ls","x"]]}`},
		{"the script alone", `"x"`, ran(printed(executors.StateDone, 0)), `{"stdout":"","stderr":"","exit_code":0,"ran":[["ls","x"]]}`},
		{"it fails by itself", `{"script":"x","stdin":{"$ringd":"undefined"}}`, ran(printed(executors.StateFailed, 3)), `{"stdout":"","stderr":"","exit_code":3,"ran":[["ls","x"]]}`},
		{"more than may be returned", `{"script":"x"}`, ran(printed(executors.StateDone, 0, stdout(strings.Repeat("é", 500)))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := bridges.NewShell(tt.fake).Call(t.Context(), shellCall(tt.args, 400))
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != "" {
				if d := cmp.Diff(tt.want, string(got)); d != "" {
					t.Error(d)
				}
				return
			}
			var r struct {
				Stdout  string `json:"stdout"`
				Dropped int    `json:"dropped_bytes"`
			}
			if err := json.Unmarshal(got, &r); err != nil || len(got) > 400 || r.Dropped+len(r.Stdout) != 1000 ||
				strings.Trim(r.Stdout, "é") != "" {
				t.Errorf("%d bytes, %+v, %v", len(got), r, err)
			}
		})
	}
}

func TestCallRefused(t *testing.T) {
	denied := executors.Outcome{State: executors.StateDenied, ExitCode: 126,
		Error: &executors.ProgramError{Name: "CapabilityDenied"}}
	for _, tt := range []struct {
		name string
		play func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error)
		want []string
	}{
		{"half way", func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			return denied, errors.Join(starts(ctx, h, "ls", "s3cret"), starts(ctx, h, "rm", "s3cret"))
		}, []string{"exec.not_granted", "refused while running", "rm is not listed", "p.yaml:7", "ls s3cret"}},
		{"half way, as the guest tells it", func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			out, err := denied, starts(ctx, h, "rm", "s3cret")
			out.Denials = []profiles.Decision{{Code: profiles.CodeShellOpaque, Reason: "another", Text: "of another"},
				{Code: profiles.CodeExecNotGranted, Reason: "rm is not listed", Text: "refused while running: rm is not listed\n  at 2:1  rm s3cret"}}
			return out, err
		}, []string{"exec.not_granted: refused while running", "at 2:1  rm s3cret"}},
		{"before it began", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			out := denied
			out.Denials = []profiles.Decision{
				{Code: profiles.CodeShellOpaque, Reason: "eval of s3cret", Text: "refused before start: eval of s3cret"}}
			return out, nil
		}, []string{"shell.opaque", "refused before start", "s3cret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := bridges.NewShell(&fake{play: tt.play}).Call(t.Context(), shellCall(`"x"`, 1000))
			var no *binding.Failure
			if !errors.As(err, &no) || no.Name != "CapabilityDenied" || no.By == nil || no.By.Verdict != profiles.Deny {
				t.Fatalf("error %v", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(no.Text, w) {
					t.Errorf("%q is not in:\n%s", w, no.Text)
				}
			}
			if strings.Contains(err.Error()+no.By.Reason, "s3cret") {
				t.Errorf("the record has the words: %v", err)
			}
		})
	}
}

func TestCallFails(t *testing.T) {
	never := &fake{play: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{}, errors.New("it ran")
	}}
	for name, args := range map[string]string{
		"no script": `{}`, "a number": `1`, "nothing": `null`, "two": `["a","b"]`, "another option": `{"script":"x","env":{}}`,
		"null": `{"script":null}`, "no text": `{"script":1}`, "an undefined script": `{"script":{"$ringd":"undefined"}}`,
		"a relative folder": `{"script":"x","cwd":"w"}`, "a long name": `{"script":"x","session":"` + strings.Repeat("a", 65) + `"}`,
	} {
		var no *binding.Failure
		if _, err := bridges.NewShell(never).Call(t.Context(), shellCall(args, 1000)); !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		}
	}
	without := shellCall(`"x"`, 1000)
	without.Guest = func(string) (executors.Run, bool) { return executors.Run{}, false }
	var no *profiles.Denial
	if _, err := bridges.NewShell(never).Call(t.Context(), without); !errors.As(err, &no) ||
		no.Decision.Code != profiles.CodeExecutorNotGranted {
		t.Errorf("without the executor: %v", err)
	}
	if len(never.runs) != 0 {
		t.Errorf("%d scripts ran", len(never.runs))
	}
	for _, state := range []executors.State{executors.StateCancelled, executors.StatePaused, executors.StateUnknown, "",
		executors.StateLimit} {
		f := &fake{play: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: state, Error: &executors.ProgramError{
				Name: "Timeout", Message: "too long"}}, nil
		}}
		if out, err := bridges.NewShell(f).Call(t.Context(), shellCall(`"x"`, 1000)); err == nil {
			t.Errorf("state %q is a result: %s", state, out)
		}
	}
	bridge := &fake{play: func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		_, err := h.Ask(ctx, executors.Question{Call: "c1", Bridge: "sendEmail", Args: json.RawMessage(`[]`)})
		return executors.Outcome{}, err
	}}
	if _, err := bridges.NewShell(bridge).Call(t.Context(), shellCall(`"x"`, 1000)); err == nil {
		t.Error("a script called a bridge")
	}
}

// What a script leaves is there for the next of its session, in its run alone, and
// not after the run; a script that was refused leaves nothing.
func TestSessions(t *testing.T) {
	n := 0
	f := &fake{}
	f.play = func(_ context.Context, r executors.Run, _ executors.Host) (executors.Outcome, error) {
		n++
		out := printed(executors.StateDone, 0)
		if r.Program.Source == "bad" {
			out = executors.Outcome{State: executors.StateDenied,
				Denials: []profiles.Decision{{Code: profiles.CodeShellOpaque}}}
		}
		out.Snapshot = fmt.Append(nil, "s", n)
		return out, nil
	}
	p := bridges.NewShell(f)
	do := func(run, args string) {
		c := shellCall(args, 1000)
		c.Run = run
		_, _ = p.Call(t.Context(), c) // what it left shows in the next
	}
	do("r1", `{"script":"a","session":"x"}`)
	do("r1", `{"script":"bad","session":"x"}`)
	do("r1", `{"script":"b","session":"x"}`)
	do("r1", `{"script":"c","session":"y"}`)
	do("r1", `{"script":"d"}`)
	do("r2", `{"script":"e","session":"x"}`)
	p.RunEnded("r1")
	do("r1", `{"script":"f","session":"x"}`)
	var got []string
	for _, r := range f.runs {
		from := "-"
		if r.Resume != nil {
			from = string(r.Resume.Snapshot)
			if r.Resume.Engine != "e" || !r.Resume.Session {
				t.Errorf("resume %+v", r.Resume)
			}
		}
		got = append(got, fmt.Sprint(r.Program.Source, " ", r.Session, " ", from))
	}
	want := []string{"a true -", "bad true s1", "b true s1", "c true -", "d false -", "e true -", "f true -"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range 20 {
		do("r3", fmt.Sprintf(`{"script":"a","session":"n%d"}`, i))
	}
	if len(f.runs) != len(want)+16 {
		t.Errorf("%d scripts ran", len(f.runs)-len(want))
	}
	busy := &fake{}
	q := bridges.NewShell(busy)
	busy.play = func(ctx context.Context, _ executors.Run, _ executors.Host) (executors.Outcome, error) {
		_, err := q.Call(ctx, shellCall(`{"script":"x","session":"s"}`, 1000))
		var no *binding.Failure
		if !errors.As(err, &no) || no.Name != "InvalidStateError" {
			t.Errorf("two scripts of one session at once: %v", err)
		}
		return printed(executors.StateDone, 0), nil
	}
	if _, err := q.Call(t.Context(), shellCall(`{"script":"x","session":"s"}`, 1000)); err != nil ||
		len(busy.runs) != 1 {
		t.Errorf("%d ran, %v", len(busy.runs), err)
	}
}
