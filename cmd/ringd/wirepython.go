package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// newEnvironments finds interpreters and packages for the programs of agents.
func (p *program) newEnvironments(interpreter string, private []string) (*environment.Finder, error) {
	c := environment.Config{
		Interpreter: interpreter, Search: filepath.SplitList(p.Env.Path), Ask: askInterpreter,
		Private: private, Home: p.Env.Home, Machine: machine(runtime.GOARCH),
	}
	if p.Env.Cache != "" {
		c.Cache = filepath.Join(p.Env.Cache, "python")
	}
	return environment.New(c)
}

// machine is an architecture as uname and wheels name it.
func machine(arch string) string {
	switch arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	default:
		return arch
	}
}

// How long an interpreter may take to say what it is, and how much it may say.
const (
	askTime = 10 * time.Second
	maxTold = 64 << 10
)

// askInterpreter starts an interpreter of the host, which is told nothing.
func askInterpreter(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{"LC_ALL=C.UTF-8"}, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(out, maxTold))
	return b, errors.Join(err, cmd.Wait())
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
	var err error
	if s.environments, err = p.newEnvironments(c.interpreter, c.private); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	c.python.Environments = s.environments
	c.python.Go, c.python.Now, c.python.Random, c.python.Home = s.group.Go, time.Now, rand.Reader, p.Env.Home
	c.python.Notice = func(n python.Notice) {
		err := s.noticed(records.Notice{Agent: n.Agent, Actor: n.Actor, Run: n.Run, Executor: profiles.ExecutorPython,
			Revision: n.Revision, Loaded: n.Loaded, Ended: n.Ended})
		if c.logger != nil {
			c.logger.Info("python guest told of the policy in force", "agent", n.Agent, "run", n.Run, "revision", n.Revision,
				"denied_and_loaded", n.Loaded, "ended", n.Ended, "restart_needed", n.Restart, "error", err)
		}
	}
	if c.python.Wasm, err = p.newWasm(c, s); err != nil {
		return nil, err
	}
	return python.New(c.python)
}

// interpreters has the guests of Python decide by the set in force.
type interpreters struct {
	python *python.Executor
	found  *environment.Finder
	beside func(func(context.Context)) // a push does not wait until guests are told
}

// Name is "python_guests".
func (interpreters) Name() string { return "python_guests" }

// State tells of guests that would need a restart to have all that is granted.
func (i interpreters) State() (state, reason string) {
	n := i.python.Behind()
	if n == 0 {
		return wire.PartReady, ""
	}
	return wire.PartRestartNeeded, render.Count(n, "interpreter") + " of an earlier policy cannot have all that the one in force grants: " +
		"runs end by themselves, a session begins anew once it is forgotten (ringd sessions drop)"
}

// Prepare has what stands on this host looked at anew, digests of environments too.
// Programs that start after its commit have the set;
// guests that live are told beside it.
func (i interpreters) Prepare(_ context.Context, set *profiles.Set) (func(), error) {
	i.found.Again()
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
