package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// wrong are guests that were taken over, played by this test binary: they say what
// no guest says.
const wrong = "wrong-"

func playWrong(how string) int {
	f := guestside.Connect()
	s := executors.NewStream(f, executors.GuestSide)
	if how == "garbage" {
		_, _ = f.Write([]byte(strings.Repeat("x", 100_000)))
	}
	if _, err := s.Read(); err != nil {
		return 1
	}
	ready := executors.Ready{Version: executors.ProtocolVersion, Executor: profiles.ExecutorShell,
		Digest: shellproto.Engine}
	switch how {
	case "another executor":
		ready.Executor = profiles.ExecutorJS
	case "another engine":
		ready.Digest = "shell/0"
	case "unavailable":
		ready.Unavailable = "there is no folder for scripts"
	case "another version":
		ready.Version++
	}
	if s.Send(ready) != nil {
		return 1
	}
	if how == "dead before" {
		return 0
	}
	if _, err := s.Read(); err != nil {
		return 1
	}
	done := executors.Result{End: executors.End{State: executors.StateDone}, Value: []byte("null")}
	act := func(n uint64, action string) { _ = s.Send(executors.Act{Call: n, Action: []byte(action)}) }
	switch how {
	case "dies":
		fmt.Print("half a li")
		act(1, `{"exec":{"argv":["cat"]}}`)
		return 7
	case "stdout as a line":
		_ = s.Send(executors.Line{Level: executors.LevelStdout, Text: "forged"})
	case "a console line":
		_ = s.Send(executors.Line{Level: "log", Text: "forged"})
	case "a bridge":
		_ = s.Send(executors.Ask{Call: 1, Bridge: "spawn", Args: []byte("[]")})
	case "a value":
		done.Value = []byte(`"more than null"`)
		_ = s.Send(done)
	case "paused":
		_ = s.Send(executors.Result{End: executors.End{State: executors.StatePaused}})
	case "parts":
		_ = s.Send(executors.Part{Bytes: []byte("state")})
		_ = s.Send(done)
	case "again":
		done.Again = true
		fmt.Print("once")
		_ = s.Send(done)
	case "a flood":
		for range 100 {
			fmt.Print(strings.Repeat("y", 64<<10))
		}
		_ = s.Send(done)
	case "a crawl":
		for range 3000 {
			_, _ = os.Stdout.WriteString("z")
		}
		_ = s.Send(done)
	case "no text":
		_, _ = os.Stdout.Write([]byte{'a', 0xff, 0xe2, 0x82})
		_, _ = os.Stderr.Write([]byte{0xe2})
		_, _ = os.Stderr.Write([]byte{0x82, 0xac})
		_ = s.Send(done)
	case "ahead too late":
		act(1, `{"exec":{"argv":["ls"]}}`)
		_ = s.Send(executors.Act{Call: 2, Ahead: true, Action: []byte(`{"exec":{"argv":["cat"]}}`)})
		_ = s.Send(executors.Idle{})
	case "done although refused", "failed although refused":
		// Everything it asks behind a refusal is refused, whatever the daemon would say.
		for n := uint64(1); n <= 3; n++ {
			act(n, `{"exec":{"argv":["ls"]}}`)
			if m, err := s.Read(); err != nil || !strings.Contains(
				string(m.(executors.Reply).Value), "exec.not_granted") {
				fmt.Print("started")
			}
		}
		if how == "failed although refused" {
			done = executors.Result{
				End: executors.End{State: executors.StateFailed, ExitCode: 1,
					Error: &executors.ProgramError{Name: "ExitStatus"}}}
		}
		_ = s.Send(done)
	case "a forged refusal":
		_ = s.Send(executors.Result{End: executors.End{
			State: executors.StateDenied, Error: &executors.ProgramError{Name: "CapabilityDenied"},
			Denials: []profiles.Decision{
				{Code: "\x1b", Revision: "sha256:forged", Reason: "\x1b[2J", Text: "a\n\x1b]0;b", Start: &profiles.Start{Path: "/bin/sh"},
					Rule: &profiles.Rule{File: "\x1b[2J", Line: 1}},
				{Code: profiles.CodeExecNotGranted, Reason: "no", Rule: &profiles.Rule{File: "policy.yaml", Line: 3}},
			},
		}})
	case "everything denied":
		d := profiles.Decision{Code: "x", Reason: strings.Repeat("r", 300<<10)}
		_ = s.Send(executors.Result{
			End: executors.End{State: executors.StateDenied, Denials: []profiles.Decision{d},
				Error: &executors.ProgramError{Name: "x"}}})
	case "hangs":
	}
	_, _ = io.Copy(io.Discard, f)
	return 0
}

func TestWrongGuests(t *testing.T) {
	ring := launcher(t, nil)
	for _, tt := range []struct {
		how     string
		err     string // of Run; "": none
		state   executors.State
		message string // in the outcome's error
		out     string
	}{
		{"garbage", "guest protocol", "", "", ""},
		{"another executor", `"js" with engine`, "", "", ""},
		{"another engine", `"shell/0"`, "", "", ""},
		{"another version", "version", "", "", ""},
		{"unavailable", "there is no folder for scripts", "", "", ""},
		{"dead before", "", executors.StateFailed, "ended before it did anything", ""},
		{"dies", "", executors.StateFailed, "guest", "half a li"},
		{"stdout as a line", "", executors.StateFailed, "console", ""},
		{"a console line", "", executors.StateFailed, "console", ""},
		{"a bridge", "", executors.StateFailed, "refused by the test", ""},
		{"ahead too late", "", executors.StateFailed, "the program has begun", ""},
		{"a value", "", executors.StateFailed, "over its limit", ""},
		{"paused", "", executors.StateFailed, "nobody asked for it", ""},
		{"parts", "", executors.StateFailed, "nobody asked for", ""},
		{"again", "", executors.StateDone, "", "once"},
		{"no text", "", executors.StateDone, "", "a\uFFFD\uFFFD"},
		{"a flood", "", executors.StateLimit, "limit of output", strings.Repeat("y", 5000)},
		{"everything denied", "", executors.StateFailed, "malformed frame", ""},
	} {
		t.Run(tt.how, func(t *testing.T) {
			e := executorOver(t, ring, func(c *shell.Config) { c.Argv = []string{"/proc/self/exe", wrong + tt.how} })
			r := run(agent("cat"), "cat")
			r.Limits.OutputBytes = ptr(5000)
			d := &daemon{agent: r.Agent, answer: func(_ context.Context, q executors.Question) (
				executors.Answer, error) {
				if q.Action == nil {
					return executors.Answer{}, fmt.Errorf("refused by the test")
				}
				return executors.Answer{Value: json.RawMessage(
					`{"verdict":"deny","code":"exec.not_granted","reason":"x"}`)}, nil
			}}
			o, err := e.Run(t.Context(), r, d)
			if tt.how == "a bridge" {
				if err == nil || !strings.Contains(err.Error(), tt.message) {
					t.Errorf("%v %s", err, brief(o))
				}
				return
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if o.State != tt.state || tt.message != "" && (o.Error == nil ||
				!strings.Contains(o.Error.Message, tt.message)) {
				t.Errorf("want %s with %q, got %s", tt.state, tt.message, brief(o))
			}
			if got := printed(o, "stdout"); got != tt.out {
				t.Errorf("stdout %q", got)
			}
			if tt.how == "no text" && printed(o, "stderr") != "€" {
				t.Errorf("stderr %q", printed(o, "stderr"))
			}
			if tt.how == "a flood" && o.Dropped == 0 {
				t.Error("nothing dropped")
			}
			if len(ring.Status()) != 0 {
				t.Errorf("%d guests live on", len(ring.Status()))
			}
		})
	}
}

// A guest that goes on after a refusal, or says that its script ended well, is not
// believed: the daemon has refused it something.
func TestRefusedGuests(t *testing.T) {
	for _, how := range []string{"done although refused", "failed although refused"} {
		e := executor(t, func(c *shell.Config) { c.Argv = []string{"/proc/self/exe", wrong + how} })
		r := run(agent("ls"), "ls")
		r.Session = true
		asked := 0
		d := &daemon{agent: r.Agent, answer: func(context.Context, executors.Question) (executors.Answer, error) {
			if asked++; asked > 1 {
				return executors.Answer{Value: json.RawMessage(
					`{"verdict":"allow","code":"allowed","start":{"path":"/usr/bin/ls","argv":["ls"]}}`)}, nil
			}
			return executors.Answer{
				Value: json.RawMessage(`{"verdict":"deny","code":"exec.not_granted","reason":"not now"}`)}, nil
		}}
		o, err := e.Run(t.Context(), r, d)
		if err != nil || o.State != executors.StateDenied || o.ExitCode != 126 || asked != 1 || o.Snapshot != nil ||
			o.Unkept == "" || printed(o, "stdout") != "" {
			t.Errorf("%s: %v, asked %d, %s", how, err, asked, brief(o))
		}
		if o.Error == nil || o.Error.Message != "exec.not_granted: not now" ||
			!strings.HasPrefix(printed(o, "stderr"), "refused while running: not now") {
			t.Errorf("%s: %s", how, brief(o))
		}
	}
}

// What a guest says of refusals that were its own is shown as that, and as nothing
// else.
func TestForgedRefusals(t *testing.T) {
	e := executor(t, func(c *shell.Config) { c.Argv = []string{"/proc/self/exe", wrong + "a forged refusal"} })
	o, err := e.Run(t.Context(), run(agent("ls"), "ls"), &daemon{agent: agent("ls")})
	if err != nil || o.State != executors.StateDenied {
		t.Fatalf("%v %s", err, brief(o))
	}
	want := []profiles.Decision{
		{Code: profiles.CodeGuestRefused, Revision: "sha256:1", Reason: "\x1b[2J", Text: "a\n\uFFFD]0;b"},
		{Code: profiles.CodeExecNotGranted, Revision: "sha256:1", Reason: "no", Rule: &profiles.Rule{File: "policy.yaml", Line: 3}},
	}
	if diff := cmp.Diff(want, o.Denials); diff != "" {
		t.Error(diff)
	}
}

// A guest that prints byte by byte costs a bounded number of entries, and none of
// its bytes is lost.
func TestManySmallWrites(t *testing.T) {
	e := executor(t, func(c *shell.Config) { c.Argv = []string{"/proc/self/exe", wrong + "a crawl"} })
	o, err := e.Run(t.Context(), run(agent("cat"), "cat"), &daemon{agent: agent("cat")})
	if err != nil || printed(o, "stdout") != strings.Repeat("z", 3000) || len(o.Console) > 1001 {
		t.Errorf("%v: %d entries, %d bytes", err, len(o.Console), len(printed(o, "stdout")))
	}
}
