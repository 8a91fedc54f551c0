// This file looks at what programs of Python find on this host, for the daemon,
// for vet and for doctor: it starts an interpreter to be asked, imports what a policy
// lists before the policy comes into force, and says what is not there.

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

// PackagesProbe imports what the policy of an agent lists and this host has, and lists what
// fails. An error is a host that cannot run its programs.
type PackagesProbe func(context.Context, *profiles.Agent) ([]python.Broken, error)

// MachineOf is an architecture as uname and wheels name it.
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

// How long an interpreter may take to say what it is, and how much it may say.
const (
	askTime = 10 * time.Second
	maxTold = 64 << 10
)

// AskInterpreter starts an interpreter of the host, which is told nothing.
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
	// no program of its own kills it
	if s := cmd.ProcessState; ctx.Err() != nil || err != nil && s != nil && !s.Exited() {
		err = errors.Join(environment.ErrShort, err)
	}
	return b, err
}

// PackagesRing has the guests of Python decide by the set in force.
type PackagesRing struct {
	Python *python.Executor
	Probe  PackagesProbe // nil: a set is taken as it is
	Found  *environment.Finder
	Beside func(func(context.Context)) // a push does not wait until guests are told
}

// Name is "python_guests".
func (PackagesRing) Name() string { return "python_guests" }

// State tells of guests that would need a restart to have all that is granted.
func (i PackagesRing) State() (state, reason string) {
	n := i.Python.Behind()
	if n == 0 {
		return wire.PartReady, ""
	}
	return wire.PartRestartNeeded, cli.Count(n, "interpreter") +
		" of an earlier policy cannot get all grants of the policy in force: " +
		"runs end by themselves; a session starts again after ringd sessions drop"
}

// Prepare has what stands on this host looked at anew, digests of environments too,
// and refuses a set that breaks a package which it allows: one of its rules denies
// what that needs. It refuses one whose packages are more than a guest can be given.
// Programs that start after its commit have the set;
// guests that live are told beside it.
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
	if laterVersion(err) {
		return fmt.Errorf("agent %s: %w", name, err)
	}
	if refused := (*environment.RefusedError)(nil); errors.As(err, &refused) {
		return &brokenImport{fmt.Errorf("agent %s: %w", name, refused)}
	}
	if err != nil {
		return nil // this host cannot run it, and each run is told why
	}
	for _, b := range broken {
		if b.Denied != nil {
			return &brokenImport{fmt.Errorf("agent %s: %s", name, b)}
		}
	}
	return nil
}

// laterVersion reports whether the host could not look: a set that was not probed for that is
// not one that the probe found good.
func laterVersion(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Later()
}

// Close leaves the executor to the interpreter ring, which closes it.
func (PackagesRing) Close() error { return nil }

// brokenImport rejects the profile of Python alone.
type brokenImport struct{ error }

// Executor names it.
func (*brokenImport) Executor() string { return profiles.ExecutorPython }

// Unwrap gives what is wrong.
func (b *brokenImport) Unwrap() error { return b.error }

// Prober imports what the policy of an agent lists and this host has, once for each
// environment and profile. Where neither profile nor host has changed since, it does not
// even look what there is.
func Prober(found *environment.Finder, c python.Config) PackagesProbe {
	known := map[string][]python.Broken{} // a stack prepares one set at a time
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

// maxProbed bounds what is remembered of probes: two entries for each agent.
const maxProbed = 16384
