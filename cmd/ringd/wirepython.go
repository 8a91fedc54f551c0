package main

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
)

// newEnvironments returns the finder of interpreters and packages for the programs of agents.
func (p stackBuilder) newEnvironments(interpreter string, private []string) (*environment.Finder, error) {
	c := environment.Config{
		Interpreter: interpreter, Search: filepath.SplitList(p.Env.Path), Ask: commands.AskInterpreter,
		Private: private, Home: p.Env.Home, Machine: commands.MachineOf(runtime.GOARCH),
	}
	if p.Env.Cache != "" {
		c.Cache = filepath.Join(p.Env.Cache, "python")
		c.Private = append(slices.Clip(private), p.Env.Cache)
	}
	return environment.New(c)
}

// pythonPool returns the pool limits of Python from a config file.
func pythonPool(f config.Python) python.Config {
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

// Default limits of the Python pool.
const (
	defaultReady    = 1
	defaultSessions = 16
)

// newPython constructs the executor of Python.
func (p stackBuilder) newPython(c stackConfig, s *stack) (*python.Executor, error) {
	c.guests.python.Launcher = records.CountGuests(s.kernel, c.metrics)
	var err error
	if s.environments, err = p.newEnvironments(c.guests.interpreter, c.private); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	c.guests.python.Environments = s.environments
	c.guests.python.Go, c.guests.python.Now = s.group.Go, time.Now
	c.guests.python.Random, c.guests.python.Home = rand.Reader, p.Env.Home
	c.guests.python.Notice = func(n python.Notice) {
		err := s.noticed(records.Notice{Agent: n.Agent, Actor: n.Actor, Run: n.Run, Executor: profiles.ExecutorPython,
			Revision: n.Revision, Loaded: n.Loaded, Ended: n.Ended, Restart: n.Restart})
		if c.logger != nil {
			c.logger.Info(
				"python guest got the policy in force",
				"agent",
				n.Agent,
				"run",
				n.Run,
				"revision",
				n.Revision,
				"denied_and_loaded",
				n.Loaded,
				"ended",
				n.Ended,
				"restart_needed",
				n.Restart,
				"error",
				err,
			)
		}
	}
	if c.guests.python.Wasm, err = p.newWasm(c, s); err != nil {
		return nil, err
	}
	if c.guests.probes { // another executor for canaries, which knows no policy in force
		alone := c.guests.python
		alone.Blank, alone.Sessions, alone.Notice = 0, 0, nil
		if s.tried, err = python.New(alone); err != nil {
			return nil, err
		}
		s.onClose(s.tried.Close)
	}
	s.probe = commands.Prober(s.environments, c.guests.python)
	return python.New(c.guests.python)
}

// rings returns the rings of a stack, in the order of commits. If more than one run is expected, canaries try
// what a set denies before it is in force. They come last, when everything else is prepared.
func (s *stack) rings(
	c stackConfig,
	ring *interpreter.Ring,
	egress *network.Ring,
	lasting context.Context,
) ([]policy.Ring, error) {
	// Python's guests get the new policy before a run is bound to it.
	out := []policy.Ring{
		s.kernel,
		commands.PackagesRing{
			Python: s.python,
			Probe:  s.prober(c),
			Found:  s.environments,
			Beside: func(tell func(context.Context)) { s.group.Go(func() { tell(lasting) }) },
		},
		ring,
		s.guests,
		egress,
	}
	if !c.guests.probes {
		return out, nil
	}
	tried, err := daemon.NewCanary(daemon.CanaryConfig{
		Executors: map[string]executors.Executor{
			profiles.ExecutorJS:     s.js,
			profiles.ExecutorPython: s.tried,
			profiles.ExecutorShell:  s.shell,
		},
		Recorder: s.recorder, Go: s.group.Go, Now: time.Now, Random: rand.Reader, Given: c.guests.given,
		Locked: func() bool { return s.lock.State() != nil },
	})
	return append(out, tried), err
}

// prober returns the prober of a daemon. A stack for one run has none: the run itself meets a broken
// package.
func (s *stack) prober(c stackConfig) commands.PackagesProbe {
	if !c.guests.probes {
		return nil
	}
	return s.probe
}
