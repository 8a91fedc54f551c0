package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/wasmproto"
	"github.com/ringd/ringd/profiles"
)

const capability = "executor python"

// spec is the process that a run needs. Its guest has no agent and holds nothing of a revision.
type spec struct {
	pool.Spec
	cpu    time.Duration // of its whole life
	memory int64         // of its program
	bare   bool          // nothing is imported in advance: the policy denies names to libraries as well
}

// blankSpec is a guest without an agent. It is enough for most.
func blankSpec() spec {
	return spec{Spec: pool.Spec{Tier: profiles.TierWasm}, cpu: guestCPU, memory: blankMemory}.keyed()
}

// keyed sets the key: a process with other limits does not serve a run.
func (s spec) keyed() spec {
	s.Key = strconv.FormatInt(s.memory, 10) + " " + s.cpu.String() + map[bool]string{true: " bare"}[s.bare]
	return s
}

// process is a guest with its link.
type process struct{ pool.Guest[spec] }

// launch starts a guest and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s spec) (*process, error) {
	// The guest checks the files itself, since they may change in between. This check avoids starting a process
	// in vain, and its error names the file.
	if err := place.Check(e.cfg.Dir); err != nil {
		return nil, refused(err)
	}
	link, err := e.cache.Start(ctx, pool.Starts{
		Cold:  wasmproto.Cold,
		Begin: func(ctx context.Context, cache string) (*executors.Link, error) { return e.begin(ctx, s, cache) },
		Fill:  e.fill,
	})
	if err != nil {
		return nil, refused(err)
	}
	if r := link.Ready(); r.Executor != profiles.ExecutorPython || r.Digest == "" {
		return nil, errors.Join(
			fmt.Errorf("start python guest: %q with engine %q answered", r.Executor, r.Digest), link.Close(),
		)
	}
	return &process{pool.Guest[spec]{Link: link, Spec: s}}, nil
}

// kernel is what such a guest may do to its host beyond running its program: nothing. It does not depend on the
// policy's grants for Python, since nothing of them exists there.
func kernel() profiles.Kernel {
	k, _ := profiles.Agent{JS: &profiles.JS{}}.Kernel(profiles.ExecutorJS)
	k.Executor = profiles.ExecutorPython
	return k
}

// begin starts one guest, which loads compiled code from cache, and waits until it is ready and, in a kernel
// ring, sealed.
func (e *Executor) begin(ctx context.Context, s spec, cache string) (*executors.Link, error) {
	spec := executors.Spec{
		Executor: profiles.ExecutorPython, Argv: e.cfg.Argv, MinTier: s.Tier, Kernel: kernel(), Seals: true,
		CPU: s.cpu, MemoryBytes: s.memory + processData, FileBytes: guestFiles, Own: e.own(cache),
		// If this program is built with C, as the race detector needs it, the C library would read the number
		// of processors when a thread needs memory.
		Env: []string{"MALLOC_ARENA_MAX=1"},
	}
	if cache == "" { // it compiles for itself
		spec.MemoryBytes += fillData
	}
	g, err := e.cfg.Launcher.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	preload := e.cfg.Preload
	if s.bare {
		preload = []string{}
	}
	return pool.Dial(
		ctx, e.link(), g, wasmproto.Settings{Dir: e.cfg.Dir, CacheDir: cache, Preload: preload, Ring: pool.InRing(g)},
	)
}

// fill starts a guest that compiles into a folder of its own and runs no program.
func (e *Executor) fill(ctx context.Context, room, made string) (*executors.Link, error) {
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorPython, Argv: e.cfg.Argv, MinTier: profiles.TierProcess, Kernel: kernel(),
		Room: room, Own: e.own(""),
		CPU: guestCPU, MemoryBytes: fillData, FileBytes: guestFiles,
	})
	if err != nil {
		return nil, err
	}
	return pool.Greet(ctx, e.link(), g, wasmproto.Settings{Dir: e.cfg.Dir, CacheDir: made, Ring: true, Fill: true})
}

func (e *Executor) link() executors.LinkConfig {
	return executors.LinkConfig{Go: e.cfg.Go, Now: e.cfg.Now}
}

// own lists what the guest may read: the engine's files, and compiled code.
func (e *Executor) own(cache string) []profiles.PathRule {
	var out []profiles.PathRule
	for _, dir := range []string{e.cfg.Dir, cache} {
		if dir != "" {
			out = append(out, profiles.PathRule{Path: dir})
		}
	}
	return slices.Clip(out)
}

// refused is the denial of a start whose engine is missing or not the pinned one.
func refused(err error) error {
	if errors.Is(err, place.ErrAbsent) || errors.Is(err, place.ErrOther) {
		err = &executors.Unavailable{Text: err.Error(), Fix: place.Remedy}
	}
	return executors.Refused(profiles.ExecutorPython, err)
}
