package python_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/ringd/ringd/executors/python"
	pythonenvironment "github.com/ringd/ringd/executors/python/environment"
)

// environments finds packages as the daemon does, for one interpreter.
func environments(t testing.TB, interpreter string) python.Environments {
	t.Helper()
	f, err := pythonenvironment.New(pythonenvironment.Config{
		Interpreter: interpreter, Machine: "x86_64",
		Ask: func(ctx context.Context, argv []string) ([]byte, error) {
			return exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
