package child_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/child"
	"github.com/ringd/ringd/schema"
)

const subcommand = "compile-child"

// TestMain lets the test binary be its own compile child, as ringd is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case subcommand:
			os.Exit(child.Main(os.Stdin, os.Stdout, os.Stderr))
		case "misbehave":
			os.Exit(misbehave(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// misbehave plays children that do not do their work.
func misbehave(how string) int {
	switch how {
	case "silence":
		return 0
	case "garbage":
		fmt.Print("<html>not a frame</html>")
		return 0
	case "flood":
		chunk := strings.Repeat("x", 1<<20)
		for range 1024 {
			fmt.Print(chunk)
		}
		return 0
	case "words":
		fmt.Fprint(os.Stderr, strings.Repeat("noise ", 1<<16))
		return 7
	case "crash":
		var p *int
		*p = 1
	case "hang":
		select {}
	}
	return 3
}

func config(t testing.TB) child.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return child.Config{Path: self, Args: []string{subcommand}}
}

const compact = `interpreter_ring:
  allowed_imports: ["pandas"]
  denied_imports: ["urllib3"]
`

func one(name, text string) child.Request {
	return child.Request{Sources: []schema.Source{{Name: name, Data: []byte(text)}}}
}

func TestRunCompiles(t *testing.T) {
	got, err := child.Run(t.Context(), config(t), one("policy.yaml", compact))
	if err != nil || len(got.Diagnostics) > 0 || got.Set == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	here, found := child.Compile([]schema.Source{{Name: "policy.yaml", Data: []byte(compact)}}, nil)
	if len(found) > 0 || here.Revision != got.Set.Revision {
		t.Errorf("in process: revision %s, in the child %s; findings %v", here.Revision, got.Set.Revision, found)
	}
	t.Logf("cpu %v, peak %d KiB", got.Usage.CPU, got.Usage.PeakBytes>>10)
}

func TestDiedChildren(t *testing.T) {
	for how, code := range map[string]string{
		"silence": child.CodeCrashed, "garbage": child.CodeCrashed, "flood": child.CodeMemory,
		"words": child.CodeCrashed, "crash": child.CodeCrashed, "hang": child.CodeTimeout,
	} {
		t.Run(how, func(t *testing.T) {
			cfg := config(t)
			cfg.Args = []string{"misbehave", how}
			if how == "hang" {
				cfg.Wall = 200 * time.Millisecond
			}
			got, err := child.Run(t.Context(), cfg, one("p.yaml", compact))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != code || got.Diagnostics[0].Hint == "" || got.Set != nil {
				t.Errorf("got %+v, want one %s", got.Diagnostics, code)
			}
		})
	}
}

func TestRunErrors(t *testing.T) {
	if _, err := child.Run(t.Context(), child.Config{}, child.Request{}); err == nil {
		t.Error("ran without a binary")
	}
	if _, err := child.Run(t.Context(), child.Config{Path: "/no/such/binary", Args: []string{"x"}}, child.Request{}); err == nil {
		t.Error("ran a binary that is not there")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutting down")
	cancel(cause)
	if _, err := child.Run(ctx, config(t), one("p.yaml", compact)); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
