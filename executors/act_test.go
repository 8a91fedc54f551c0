package executors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

func act(n uint64, action string) executors.Act {
	return executors.Act{Call: n, Action: []byte(action)}
}

const execLS = `{"exec":{"argv":["/usr/bin/ls","-l"]}}`

func decision(t *testing.T, d profiles.Decision) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// finished reads until the host has answered n questions, and ends the program.
func finished(s *executors.Stream, n int, got *[]executors.Reply, end executors.Result) {
	for range n {
		m, err := s.Read()
		if err != nil {
			return
		}
		if r, ok := m.(executors.Reply); ok {
			*got = append(*got, r)
		}
	}
	_ = s.Send(end)
	drain(s)
}

func TestLinkActs(t *testing.T) {
	g := newFakeGuest()
	allow := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed,
		Start: &profiles.Start{Path: "/usr/bin/ls", Argv: []string{"ls", "-l"}}}
	var asked []executors.Question
	h := &fakeHost{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		asked = append(asked, q)
		if q.Action == nil {
			return executors.Answer{Value: q.Args}, nil
		}
		return executors.Answer{Value: decision(t, allow)}, nil
	}}
	var got []executors.Reply
	l := play(t, g, func(s *executors.Stream) {
		if _, err := s.Read(); err != nil {
			return
		}
		send := func(m executors.Message, seen uint64) {
			_ = s.Put(m)
			_ = s.Send(executors.Idle{Seen: seen})
			if m, err := s.Read(); err == nil {
				got = append(got, m.(executors.Reply))
			}
		}
		send(executors.Act{Call: 1, Ahead: true, Action: []byte(execLS)}, 0)
		send(ask(2), 1)
		send(act(3, `{"file":{"op":"write","path":"/w/x"}}`), 2)
		send(act(4, `{"variable":{"name":"PAGER","value":"x"}}`), 3)
		_ = s.Send(executors.Result{
			End: executors.End{State: executors.StateFailed, ExitCode: 3,
				Error: &executors.ProgramError{Name: "ExitStatus"}}})
		drain(s)
	})
	out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Acts: true}, h)
	if err != nil {
		t.Fatal(err)
	}
	want := []executors.Question{
		{Call: "c1", Action: &profiles.Action{Exec: &profiles.ExecAction{Argv: []string{"/usr/bin/ls", "-l"}}}, Ahead: true},
		{Call: "c2", Bridge: "b", Args: json.RawMessage(`[1]`)},
		{Call: "c3", Action: &profiles.Action{File: &profiles.FileAction{Op: "write", Path: "/w/x"}}},
		{Call: "c4", Action: &profiles.Action{Variable: &profiles.VariableAction{Name: "PAGER", Value: "x"}}},
	}
	for i := range asked {
		if asked[i].Turn == nil {
			t.Errorf("question %d has no turn", i+1)
		}
		asked[i].Turn = nil
	}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]int64{"exec": 1, "file": 1, "variable": 1, "b": 1}, out.Usage.Calls); d != "" {
		t.Errorf("calls:\n%s", d)
	}
	if out.ExitCode != 3 || out.State != executors.StateFailed {
		t.Errorf("state %s, exit code %d", out.State, out.ExitCode)
	}
	if len(got) != 4 || got[0].Name != "" || string(got[0].Value) != string(decision(t, allow)) {
		t.Errorf("replies %+v", got)
	}
}

// An answer that is no final decision never reaches the guest as one.
func TestLinkActAnswers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value string
		ok    bool
	}{
		{"deny", `{"verdict":"deny","code":"exec.not_granted","reason":"x"}`, true},
		{"nothing", ``, false},
		{"a value of a bridge", `[1]`, false},
		{"no code", `{"verdict":"allow"}`, false},
		{"ask", `{"verdict":"ask","code":"approval_required","reason":"x"}`, false},
		{"an unknown verdict", `{"verdict":"yes","code":"allowed","reason":"x"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			h := &fakeHost{ask: func(context.Context, executors.Question) (executors.Answer, error) {
				return executors.Answer{Value: json.RawMessage(tt.value)}, nil
			}}
			var got []executors.Reply
			l := play(t, g, func(s *executors.Stream) {
				if _, err := s.Read(); err != nil {
					return
				}
				_ = s.Put(act(1, execLS))
				_ = s.Send(executors.Idle{})
				finished(s, 1, &got, done("1"))
			})
			if _, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Acts: true}, h); err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || (got[0].Name == "") != tt.ok {
				t.Errorf("replies %+v, want an answer: %v", got, tt.ok)
			}
		})
	}
}

func TestLinkHostileActs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		acts   bool
		script func(s *executors.Stream)
		want   string
	}{
		{"of an executor that has none", false, func(s *executors.Stream) { _ = s.Send(act(1, execLS)) }, "an act from an executor that has no acts"},
		{"no JSON", true, func(s *executors.Stream) { _ = s.Send(act(1, `{"exec"`)) }, "action of call 1"},
		{"no action", true, func(s *executors.Stream) { _ = s.Send(act(1, `{}`)) }, "exactly one key"},
		{"two actions", true, func(s *executors.Stream) {
			_ = s.Send(act(1, `{"exec":{"argv":["a"]},"file":{"op":"read","path":"/"}}`))
		}, "exactly one key"},
		{"an unknown kind", true, func(s *executors.Stream) { _ = s.Send(act(1, `{"spawn":{"argv":["a"]}}`)) }, "no action is called"},
		{"a script", true, func(s *executors.Stream) { _ = s.Send(act(1, `{"shell":{"script":"ls"}}`)) }, "not an action of a guest"},
		{"a bridge", true, func(s *executors.Stream) { _ = s.Send(act(1, `{"bridge":{"name":"b"}}`)) }, "not an action of a guest"},
		{"a host", true, func(s *executors.Stream) {
			_ = s.Send(act(1, `{"egress":{"kind":"connect","target":"a.example:443"}}`))
		}, "not an action of a guest"},
		{"too long", true, func(s *executors.Stream) {
			_ = s.Send(act(1, `{"exec":{"argv":["`+strings.Repeat("a", executors.MaxActBytes)+`"]}}`))
		}, "action of call 1 has"},
		{"numbers skip", true, func(s *executors.Stream) { _ = s.Send(act(2, execLS)) }, "call 2, want 1"},
		{"the number of an ask", true, func(s *executors.Stream) { _ = s.Put(ask(1)); _ = s.Send(act(1, execLS)) }, "call 1, want 2"},
		{"a flood", true, func(s *executors.Stream) {
			for n := range uint64(executors.MaxOpenAsks + 1) {
				_ = s.Put(act(n+1, execLS))
			}
			_ = s.Flush()
		}, "too many open calls"},
		{"an exit code of no program", true, func(s *executors.Stream) {
			r := done("1")
			r.ExitCode = 256
			_ = s.Send(r)
		}, "exit code 256"},
		{"standard output as a line", true, func(s *executors.Stream) {
			_ = s.Send(executors.Line{Level: executors.LevelStdout, Text: "forged"})
		}, "console level"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
				<-ctx.Done()
				return executors.Answer{}, nil
			}}
			l := play(t, g, func(s *executors.Stream) {
				if _, err := s.Read(); err != nil {
					return
				}
				tt.script(s)
				drain(s)
			})
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Acts: tt.acts}, h)
			if !errors.Is(err, executors.ErrGuest) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want an ErrGuest with %q", err, tt.want)
			}
			if out.State != executors.StateFailed || again || !g.isKilled() {
				t.Errorf("state %s, again %v, killed %v", out.State, again, g.isKilled())
			}
		})
	}
}
