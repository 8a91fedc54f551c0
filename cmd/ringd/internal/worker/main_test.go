package worker_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
)

const compileVerb = "compile-child"

// TestMain lets the test binary be its own child, as ringd is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileVerb:
			os.Exit(worker.CompileMain(context.Background(), time.Now, os.Stdin, os.Stdout, os.Stderr))
		case "misbehave":
			os.Exit(misbehave(os.Args[2], os.Args[3:]))
		case "child":
			os.Exit(worker.ScriptMain(os.Stdin, os.Stdout, os.Stderr, hostileDecide))
		case "calls":
			os.Exit(worker.CallsMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
		case "silent":
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}
