package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/start"
	"github.com/ringd/ringd/profiles"
)

const capability = "executor python"

// spec is what a run asks of its process.
type spec struct {
	tier   profiles.Tier
	cpu    time.Duration // of its whole life
	memory int64         // of its program
}

// blankSpec is a guest for nobody yet, and enough for most.
func blankSpec() spec { return spec{tier: profiles.TierWasm, cpu: guestCPU, memory: blankMemory} }

// Key implements pool.Spec: a process of other limits serves no other run.
func (s spec) Key() string {
	return strconv.FormatInt(s.memory, 10) + " " + s.cpu.String()
}

// Revision implements pool.Spec: nothing in a guest is of one.
func (s spec) Revision() string { return "" }

// fits tells whether a guest that waits has what the run asks for.
func (s spec) fits(g *process) bool {
	return executors.Satisfies(g.link.Guest().Attestation().Tier, s.tier)
}

// process is a guest with its link.
type process struct {
	link *executors.Link
	spec spec
}

// Spec implements pool.Guest.
func (g *process) Spec() spec { return g.spec }

// end ends a guest that nobody waits for. Kill's error is a process that does not die;
// the launcher's Close meets it again and reports it.
func end(g *process) { _ = g.link.Close() }

// launch starts a guest and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s spec) (*process, error) {
	link, err := e.warmed(ctx, s)
	if err != nil {
		return nil, refused(err)
	}
	if r := link.Ready(); r.Executor != profiles.ExecutorPython || r.Digest == "" {
		return nil, errors.Join(fmt.Errorf("start python guest: %q with engine %q answered", r.Executor, r.Digest), link.Close())
	}
	return &process{link: link, spec: s}, nil
}

// kernel is what such a guest may do to its host beside running its program: nothing.
// It does not depend on what the policy grants to Python, since none of it is there.
func kernel() profiles.Kernel {
	k, _ := profiles.Agent{JS: &profiles.JS{}}.Kernel(profiles.ExecutorJS)
	k.Executor = profiles.ExecutorPython
	return k
}

// begin starts one guest, which loads compiled code from cache, and waits until it is
// ready and, in a kernel ring, sealed.
func (e *Executor) begin(ctx context.Context, s spec, cache string) (*executors.Link, error) {
	spec := executors.Spec{
		Executor: profiles.ExecutorPython, Argv: e.cfg.Argv, MinTier: s.tier, Kernel: kernel(), Seals: true,
		CPU: s.cpu, MemoryBytes: s.memory + processData, FileBytes: guestFiles, Own: e.own(cache),
		// Where this program is built with C, as the race detector needs it, that library
		// would look for the number of processors when a thread needs memory.
		Env: []string{"MALLOC_ARENA_MAX=1"},
	}
	if cache == "" { // it compiles for itself
		spec.MemoryBytes += fillData
	}
	g, err := e.cfg.Launcher.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	settings := start.Settings{Dir: e.cfg.Dir, CacheDir: cache, Preload: e.cfg.Preload}
	if g.Attestation().Layers["mounts"] != "enforced" { // the plain launcher of a host that has not the layers
		return e.greet(ctx, g, settings)
	}
	sealer, ok := g.(executors.Sealer)
	if !ok {
		return nil, errors.Join(errors.New("a guest of the kernel ring that is not to be sealed"), g.Kill(), g.Conn().Close())
	}
	// Beside the greeting: the guest is sealed before it says that it is ready.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	sealed := make(chan error, 1)
	e.cfg.Go(func() { sealed <- sealer.Sealed(within) })
	settings.Ring = true
	link, err := e.greet(ctx, g, settings)
	if err != nil {
		cancel()
		<-sealed // says no more than err
		return nil, err
	}
	// One that is ready has closed what it seals itself by.
	late := time.AfterFunc(sealTime, cancel)
	defer late.Stop()
	if err := <-sealed; err != nil {
		return nil, errors.Join(fmt.Errorf("it says that it is ready and is not sealed: %w", err), link.Close())
	}
	return link, nil
}

// sealTime is how long the launcher may take to see that a ready guest is sealed.
const sealTime = 5 * time.Second

// own is what the guest may read: the engine's files, and compiled code.
func (e *Executor) own(cache string) []profiles.PathRule {
	var out []profiles.PathRule
	for _, dir := range []string{e.cfg.Dir, cache} {
		if dir != "" {
			out = append(out, profiles.PathRule{Path: dir})
		}
	}
	return slices.Clip(out)
}

// greet says what the guest is to be. On error the guest is gone.
func (e *Executor) greet(ctx context.Context, g executors.Guest, settings start.Settings) (*executors.Link, error) {
	b, err := json.Marshal(settings)
	if err != nil {
		return nil, errors.Join(err, g.Kill(), g.Conn().Close())
	}
	return executors.Dial(ctx, executors.LinkConfig{Go: e.cfg.Go, Now: e.cfg.Now}, g,
		executors.Hello{Version: executors.ProtocolVersion, Settings: b})
}

// refused makes the denial of a start whose engine is missing or another.
func refused(err error) error {
	if errors.Is(err, place.ErrAbsent) || errors.Is(err, place.ErrOther) {
		err = &executors.Unavailable{Text: err.Error(), Fix: place.Remedy}
	}
	return executors.Refused(profiles.ExecutorPython, err)
}
