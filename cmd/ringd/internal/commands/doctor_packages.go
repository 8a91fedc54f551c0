// Checks of the Python packages on this host, for the daemon, for vet and for doctor. They start an
// interpreter to query it, import what a policy lists before the policy comes into force, and report what is
// missing.

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// PackagesProbe imports the packages that an agent's policy lists and this host has, and returns those that
// fail. An error means that the host cannot run the agent's programs.
type PackagesProbe func(context.Context, *profiles.Agent) ([]python.Broken, error)

// MachineOf returns the name of an architecture as uname and wheels have it.
func MachineOf(arch string) string {
	switch arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	default:
		return arch
	}
}

// Limits of the query of an interpreter: its time and its output.
const (
	askTime = 10 * time.Second
	maxTold = 64 << 10
)

// AskInterpreter starts an interpreter of the host, with an empty environment.
func AskInterpreter(ctx context.Context, argv []string) ([]byte, error) {
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
	err = errors.Join(err, cmd.Wait())
	// killed by a signal, which it does not do itself
	if s := cmd.ProcessState; ctx.Err() != nil || err != nil && s != nil && !s.Exited() {
		err = errors.Join(environment.ErrShort, err)
	}
	return b, err
}

// PackagesRing makes Python guests decide by the set in force.
type PackagesRing struct {
	Python *python.Executor
	Probe  PackagesProbe // nil accepts every set
	Found  *environment.Finder
	Beside func(func(context.Context)) // runs in the background, so that a push does not wait until guests are told
}

func (PackagesRing) Name() string { return "python_guests" }

// State reports guests that need a restart to get all new grants.
func (i PackagesRing) State() (state, reason string) {
	n := i.Python.Behind()
	if n == 0 {
		return wire.PartReady, ""
	}
	return wire.PartRestartNeeded, cli.Count(n, "interpreter") +
		" of an earlier policy cannot get all grants of the policy in force: " +
		"runs end by themselves; a session starts again after ringd sessions drop"
}

// Prepare examines the packages of this host again, including the digests of environments. It refuses a set
// that allows a package and denies something that the package needs. It also refuses a set with more packages
// than a guest can have. Programs that start after the commit have the new set. Live guests are told in the
// background.
func (i PackagesRing) Prepare(ctx context.Context, set *profiles.Set) (func(), error) {
	i.Found.Again()
	if i.Probe != nil && set != nil {
		for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
			a := set.Agents[name]
			if err := i.probe(ctx, name, &a); err != nil {
				return nil, err
			}
		}
	}
	return func() {
		revision := ""
		if set != nil {
			revision = set.Revision
		}
		tell := i.Python.Reload(revision, func(name string) *profiles.Agent {
			if set == nil {
				return nil
			}
			a, ok := set.Agents[name]
			if !ok {
				return nil
			}
			return &a
		})
		i.Beside(tell)
	}, nil
}

// probe refuses the profile of an agent that breaks a package which it allows.
func (i PackagesRing) probe(ctx context.Context, name string, a *profiles.Agent) error {
	broken, err := i.Probe(ctx, a)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isLater(err) {
		return fmt.Errorf("agent %s: %w", name, err)
	}
	if refused := (*environment.RefusedError)(nil); errors.As(err, &refused) {
		return &brokenImport{fmt.Errorf("agent %s: %w", name, refused)}
	}
	if err != nil {
		return nil // this host cannot run it, and each run gets the reason
	}
	for _, b := range broken {
		if b.Denied != nil {
			return &brokenImport{fmt.Errorf("agent %s: %s", name, b)}
		}
	}
	return nil
}

// isLater reports whether the host could not run the probe. Such a set must not count as probed.
func isLater(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Later()
}

// Close does nothing: the interpreter ring closes the executor.
func (PackagesRing) Close() error { return nil }

// brokenImport rejects only the profile of Python.
type brokenImport struct{ error }

// Executor returns the executor that rejects its profile; see policy.Ring.
func (*brokenImport) Executor() string { return profiles.ExecutorPython }

// Unwrap returns the cause.
func (b *brokenImport) Unwrap() error { return b.error }

// Prober returns a probe that imports the packages of an agent once for each environment and profile. If
// neither the profile nor the host has changed since, it does not even list the packages.
func Prober(found *environment.Finder, c python.Config) PackagesProbe {
	known := map[string][]python.Broken{} // a stack prepares one set at a time, so no lock
	keep := func(key string, broken []python.Broken) {
		if len(known) >= maxProbed {
			clear(known)
		}
		known[key] = broken
	}
	return func(ctx context.Context, a *profiles.Agent) ([]python.Broken, error) {
		if a.Python == nil || a.Python.Engine != profiles.PythonNative {
			return nil, nil
		}
		profile, err := json.Marshal([]any{a.Python, a.MinTier, a.Limits})
		if err != nil {
			return nil, err
		}
		stands, whole := found.Stands(ctx, a)
		same := stands + "\x00" + string(profile)
		if broken, ok := known[same]; ok && whole {
			return broken, nil
		}
		r, err := found.Look(ctx, a)
		if err == nil {
			err = r.Refused()
		}
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal([]any{r.Environment.Digest, a.Python, a.MinTier, a.Limits})
		if err != nil {
			return nil, err
		}
		broken, ok := known[string(text)]
		if !ok {
			if broken, err = python.Probe(ctx, c, a, r.Modules); err != nil {
				return broken, err
			}
			keep(string(text), broken)
		}
		if whole {
			keep(same, broken)
		}
		return broken, nil
	}
}

// maxProbed limits the cached results: two entries for each agent.
const maxProbed = 16384
