package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// A value is JSON, or what Python shows of it; None and no value are nothing.
func TestValue(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  wire.Run
		want string
	}{
		{"json", wire.Run{Executor: "python", Value: json.RawMessage(`{"a":1}`)}, "{\"a\":1}\n"},
		{"a text", wire.Run{Executor: "python", Value: json.RawMessage(`"a\nb"`)}, "\"a\\nb\"\n"},
		{"what repr shows", wire.Run{Executor: "python", Repr: true, Value: json.RawMessage(`"   a\n0  1"`)}, "       a\n    0  1\n"},
		{"what repr shows in a line", wire.Run{Executor: "python", Repr: true, Value: json.RawMessage(`"<a at 0x1>"`)}, "<a at 0x1>\n"},
		{"a line that repr ends", wire.Run{Executor: "python", Repr: true, Value: json.RawMessage(`"a\n"`)}, "a\n"},
		{"repr of what is no text", wire.Run{Executor: "python", Repr: true, Value: json.RawMessage(`7`)}, "7\n"},
		{"None", wire.Run{Executor: "python", Value: json.RawMessage(`null`)}, ""},
		{"null of JavaScript", wire.Run{Executor: "js", Value: json.RawMessage(`null`)}, "null\n"},
		{"none", wire.Run{Executor: "python"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := (cli.Page{W: &out}).Value(tt.run); err != nil || out.String() != tt.want {
				t.Errorf("shown %q, want %q: %v", out.String(), tt.want, err)
			}
		})
	}
}

// A traceback that the program printed is not told again; another error is.
func TestPythonErrorIsToldOnce(t *testing.T) {
	said := &wire.RunError{Name: "ValueError", Message: "no"}
	for _, tt := range []struct {
		name string
		run  wire.Run
		want bool
	}{
		{"traced", wire.Run{Executor: "python", State: "failed", ExitCode: 1, Stderr: "Traceback…\nValueError: no\n", Error: said}, false},
		{"output was cut", wire.Run{Executor: "python", State: "failed", ExitCode: 1, Error: said}, true},
		{"a limit", wire.Run{Executor: "python", State: "limit", ExitCode: 137, Error: &wire.RunError{Name: "Timeout", Message: "wall"}}, true},
		{"JavaScript", wire.Run{Executor: "js", State: "failed", Stderr: "ValueError: no", Error: said}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			cli.Page{W: &out}.Run(tt.run)
			if strings.Contains(out.String(), tt.run.Error.Name+": ") != tt.want {
				t.Errorf("shown %q", out.String())
			}
		})
	}
}

// TestRunSaysARefusalOnce: the error of a run that is its refusal stands once, in lines of
// 80 columns; an error with a place in the program, or of other words, stands beside it.
func TestRunSaysARefusalOnce(t *testing.T) {
	reason := "the executor python always needs tier os-sandbox, which this host does not give: layer namespaces is " +
		"missing"
	denial := []profiles.Decision{
		{Code: profiles.CodeTierUnavailable, Reason: reason, Instead: []string{"sudo sysctl -w user.max_user_namespaces=15000"}}}
	for _, tt := range []struct {
		name string
		err  wire.RunError
		want int
	}{
		{"the refusal", wire.RunError{Name: "CapabilityDenied", Message: reason}, 0},
		{"with its place", wire.RunError{Name: "CapabilityDenied", Message: reason, Frames: []wire.Frame{{File: "a.js", Line: 1, Column: 2}}}, 1},
		{"other words", wire.RunError{Name: "TypeError", Message: "no, and " + reason}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			cli.Page{W: &out, Terminal: true}.Run(wire.Run{Executor: "python", State: "denied", Error: &tt.err,
				Denials: denial})
			if n := strings.Count(out.String(), tt.err.Name+":"); n != tt.want ||
				strings.Count(out.String(), "refused: tier_unavailable: ") != 1 {
				t.Errorf("%d times\n%s", n, out.String())
			}
			for line := range strings.Lines(out.String()) {
				if len(line) > 81 {
					t.Errorf("wider than 80 columns: %q", line)
				}
			}
		})
	}
}

// Whoever started a program is told what it is held for, and how it goes on.
func TestHeld(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(1e9, 0)
	until := at.Add(5 * time.Minute)
	cli.Page{W: &out}.Held(wire.Run{ID: "r1"}, wire.Pending{
		ID: "c2", Bridge: "send\x1b[2J", For: "approver", Held: true, Expires: &until}, "", at)
	got := out.String()
	if !strings.Contains(got, "run r1 is held: call c2 of send") || !strings.Contains(got, "ringd approve r1 c2") ||
		!strings.Contains(got, "within 5m0s") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
