package runner_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// TestVariablesBeforeAStart: however a variable gets its value, nothing starts
// that would see one that is refused.
func TestVariablesBeforeAStart(t *testing.T) {
	for _, text := range []string{
		"LD_PRELOAD=$(echo x) ls",
		"LD_PRELOAD=$(echo x) true; ls",
		"LD_PRELOAD=$(echo x) command ls",
		"f() { ls; }; LD_PRELOAD=$(echo x) f",
		"f() { local LD_PRELOAD=$1; ls; }; f x",
		"ls ${LD_PRELOAD:=x}",
		"n=LD_PRELOAD; declare \"$n=x\"; exec ls",
		"n=LD_PRELOAD; printf -v $n x; ls",
		"read LD_PRELOAD <<< x; ls",
		"for LD_PRELOAD in x; do ls; done",
		"echo a | { LD_PRELOAD=x; ls; }",
		"( LD_PRELOAD=$(echo x); ls )",
		"true $(LD_PRELOAD=$(echo x) ls)",
		"env A=1 bash -c 'LD_PRELOAD=$1 ls' _ x",
		"LD_PRELOAD=$(echo x) bash -c ls",
		"LD_PRELOAD=$(echo x) ls 2>&1 | cat",
		"{ LD_PRELOAD=$(echo x) ls 2>&1; } > out",
		"((LD_PRELOAD=1)); ls",
	} {
		r := runText(t, t.TempDir(), text, nil)
		if r.err != nil || len(r.res.Refused) == 0 || r.res.Refused[0].Decision.Reason != "LD_PRELOAD" {
			t.Errorf("%q ended with %+v, %v", text, r.res, r.err)
		}
		if slices.Contains(r.asked, "start ls") {
			t.Errorf("%q started a program", text)
		}
	}
}

// TestVariablesOfScopes: a value that a scope hides is not asked about again and
// again, and one that shows again is.
func TestVariablesOfScopes(t *testing.T) {
	c := &counting{rules: rules{programs: []string{"ls"}}}
	r := runText(t, t.TempDir(), "V=out; f() { local V=in; for i in 1 2 3 4 5 6 7 8 9; do :; done; echo $V; }; f; "+
		"echo $V", func(x *runner.Config) { x.Decider = c })
	if r.err != nil || r.out != "in\nout\n" {
		t.Fatalf("%q, %v", r.out, r.err)
	}
	if got := strings.Join(c.of("V"), " "); got != "out in out" {
		t.Errorf("asked about %q", got)
	}
}

type counting struct {
	rules
	mu    sync.Mutex
	asked []profiles.VariableAction
}

func (c *counting) Variable(a profiles.VariableAction) profiles.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, a)
	return c.rules.Variable(a)
}

func (c *counting) of(name string) (values []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asked {
		if a.Name == name {
			values = append(values, a.Value)
		}
	}
	return values
}

// TestRunTwice: a script that ran is read again from its text, and runs the same.
func TestRunTwice(t *testing.T) {
	s, refusal := script.Parse("for i in 1 2; do (exit $i) & wait; done; shift; echo $# $?")
	if refusal != nil {
		t.Fatal(refusal)
	}
	for range 3 {
		var out locked
		c := runner.Config{Host: &host{}, Decider: rules{}, Dir: "/", Params: []string{"a", "b"}, Stdout: &out,
			Now: time.Now}
		if res, err := runner.Run(t.Context(), c, s); err != nil || res.Exit != 0 || out.String() != "1 0\n" {
			t.Fatalf("exit %d, %v: %q", res.Exit, err, out.String())
		}
		if s.File != nil {
			t.Fatal("the tree that a run changed is still there")
		}
	}
}
