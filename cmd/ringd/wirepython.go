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

	"github.com/ringd/ringd/cmd/ringd/internal/config"
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

// pythonOf is how many interpreters a daemon keeps.
func pythonOf(f config.Python) python.Config {
	return python.Config{
		Blank: countOr(f.Ready, defaultReady), Sessions: countOr(f.Sessions, defaultSessions),
		Idle: orElse(f.Idle, 0), SessionBytes: f.Memory,
	}
}

func countOr(n *int, fallback int) int {
	if n == nil {
		return fallback
	}
	return *n
}

// What a daemon keeps of Python where its configuration says nothing.
const (
	defaultReady    = 1
	defaultSessions = 16
)

// newPython makes the executor of Python.
func (p *program) newPython(c stackConfig, s *stack) (*python.Executor, error) {
	c.python.Launcher = records.CountGuests(s.kernel, c.metrics)
	c.python.Environments = oneInterpreter{cmp.Or(c.interpreter, defaultInterpreter)}
	c.python.Go, c.python.Now, c.python.Random, c.python.Home = s.group.Go, time.Now, rand.Reader, p.Env.Home
	if c.logger != nil {
		c.python.Notice = func(n python.Notice) {
			c.logger.Info("python guest told of the policy in force", "agent", n.Agent, "run", n.Run, "revision", n.Revision,
				"denied_and_loaded", n.Loaded, "ended", n.Ended, "restart_needed", n.Restart)
		}
	}
	return python.New(c.python)
}

// interpreters has the guests of Python decide by the set in force.
type interpreters struct {
	python *python.Executor
	beside func(func(context.Context)) // a push does not wait until guests are told
}

// Name is "python_guests".
func (interpreters) Name() string { return "python_guests" }

// Prepare has nothing to prepare. Programs that start after its commit have the set;
// guests that live are told beside it.
func (i interpreters) Prepare(_ context.Context, set *profiles.Set) (func(), error) {
	return func() {
		revision := ""
		if set != nil {
			revision = set.Revision
		}
		tell := i.python.Reload(revision, func(name string) *profiles.Agent {
			if set == nil {
				return nil
			}
			a, ok := set.Agents[name]
			if !ok {
				return nil
			}
			return &a
		})
		i.beside(tell)
	}, nil
}

// Close leaves the executor to the interpreter ring, which closes it.
func (interpreters) Close() error { return nil }
