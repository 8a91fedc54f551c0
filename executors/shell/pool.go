package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// spec is the process that a run needs.
type spec struct {
	agent    string
	digest   string // of kernel
	kernel   profiles.Kernel
	tier     profiles.Tier
	revision string
}

// Key implements pool.Spec. It identifies the agents and kernels that a fresh guest may serve.
func (s spec) Key() string { return s.agent + "\x00" + s.digest }

// Agent implements pool.Spec.
func (s spec) Agent() string { return s.agent }

// Revision implements pool.Spec.
func (s spec) Revision() string { return s.revision }

// fits reports whether a waiting guest has what the run needs.
func (s spec) fits(g *guest) bool {
	return executors.Satisfies(g.link.Guest().Attestation().Tier, s.tier)
}

// launch starts a guest and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s spec) (*guest, error) {
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorShell, Argv: e.cfg.Argv, MinTier: s.tier, Agent: s.agent, Kernel: s.kernel,
		Streams: true,
		CPU:     time.Duration(s.kernel.CPUMillis) * time.Millisecond, MemoryBytes: s.kernel.MemoryBytes,
		FileBytes: s.kernel.FileBytes,
		// The runtime of a guest takes as few threads as possible: they count as processes of the script. Its
		// traces are of no use for the author of a script.
		Env: []string{"GOMAXPROCS=2", "GOTRACEBACK=none", "MALLOC_ARENA_MAX=1"},
	})
	if err != nil {
		return nil, executors.Refused(profiles.ExecutorShell, err)
	}
	link, err := executors.Dial(
		ctx, executors.LinkConfig{Go: e.cfg.Go, Now: e.cfg.Now}, &executors.Counted{Guest: g},
		executors.Hello{Version: executors.ProtocolVersion},
	)
	if err != nil {
		return nil, errors.Join(executors.Refused(profiles.ExecutorShell, err), executors.CloseGuest(g))
	}
	if r := link.Ready(); r.Executor != profiles.ExecutorShell || r.Digest != shellproto.Engine {
		return nil, errors.Join(
			fmt.Errorf("start shell guest: %q with engine %q answered", r.Executor, r.Digest), link.Close(),
			executors.CloseGuest(g),
		)
	}
	if _, ok := g.(executors.Streamer); !ok {
		return nil, errors.Join(errors.New("start shell guest: it has no streams"), link.Close())
	}
	return &guest{link: link, process: g, spec: s}, nil
}

// drop ends a guest that is not used any more. An error of Kill is a process that does not die. The launcher's
// Close meets it again and reports it.
func (e *Executor) drop(g *guest) { _ = errors.Join(g.link.Close(), executors.CloseGuest(g.process)) }
