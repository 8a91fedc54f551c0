package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// launch starts a guest and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s pool.Spec) (*guest, error) {
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorShell, Argv: e.cfg.Argv, MinTier: s.Tier, Agent: s.Agent, Kernel: s.Kernel,
		Streams: true,
		CPU:     time.Duration(s.Kernel.CPUMillis) * time.Millisecond, MemoryBytes: s.Kernel.MemoryBytes,
		FileBytes: s.Kernel.FileBytes,
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
	return &guest{pool.Guest[pool.Spec]{Link: link, Process: g, Spec: s}}, nil
}
