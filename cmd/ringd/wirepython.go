package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/start"
	"github.com/ringd/ringd/profiles"
)

// defaultInterpreter is where distributions have theirs.
const defaultInterpreter = "/usr/bin/python3"

// oneInterpreter has every agent's programs run on one interpreter of the host, with
// its standard library and nothing else.
type oneInterpreter struct{ path string }

// Of implements python.Environments.
func (o oneInterpreter) Of(context.Context, *profiles.Agent) (start.Environment, error) {
	real, err := filepath.EvalSymlinks(o.path)
	if err != nil {
		return start.Environment{}, &executors.Unavailable{Text: "there is no Python interpreter: " + err.Error(), Fix: "install python3"}
	}
	version, ok := strings.CutPrefix(filepath.Base(real), "python")
	library := filepath.Join(filepath.Dir(filepath.Dir(real)), "lib", "python"+version)
	if _, err := os.Stat(filepath.Join(library, "os.py")); !ok || err != nil {
		return start.Environment{}, &executors.Unavailable{Text: fmt.Sprintf("%s is not a Python interpreter with a standard library beside it", real), Fix: "install python3"}
	}
	return start.Environment{
		Interpreter: real, Version: version, Own: []profiles.PathRule{{Path: library}},
		Code: []profiles.PathRule{{Path: filepath.Join(library, "lib-dynload")}}, Digest: real,
	}, nil
}

// newPython makes the executor of Python.
func (p *program) newPython(c stackConfig, s *stack) (*python.Executor, error) {
	return python.New(python.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Environments: oneInterpreter{cmp.Or(c.interpreter, defaultInterpreter)},
		Go: s.group.Go, Now: time.Now, Random: rand.Reader, Home: p.Env.Home, Blank: c.pool.interpreters, Sessions: c.pool.sessions,
	})
}
