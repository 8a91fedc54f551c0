// Package wasmguest is the guest half of the second Python engine: the process that runs Python in WebAssembly.
// It has one connection, descriptor 3, and can only ask on it. It prints nothing.
//
// It loads the engine, drops the powers that it no longer needs (see package guestside), starts an interpreter,
// which greets the host through it, runs one program in it, and ends. It enforces the limits of processor time,
// memory and output first, so that a program learns which one it reached. The host enforces them again.
//
// The hidden verb of cmd/ringd calls Main. The package imports neither rings nor cmd.
package wasmguest

import (
	"context"
	"crypto/rand"
	_ "embed" // device.py and loop.py
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/wasmproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what Main needs from outside.
type Config struct {
	Now   func() time.Time // wall clock, also of the program
	Sleep func(time.Duration)
}

//go:embed device.py
var device string

//go:embed loop.py
var loop string

// launcher is that of the host's own Python, with the device as the connection.
func launcher() string {
	const opens = "import posix\ndevice=posix.open(\"" + devicePath + "\",posix.O_RDWR)\n"
	return opens + strings.ReplaceAll(pyguest.Launcher, "posix.read(3,", "posix.read(device,")
}

// Exit codes of Main.
const (
	exitDone  = 0
	exitFault = 1
)

// Main serves the host until its program has ended and returns the exit code of the process. It must be alone
// in its process.
func Main(ctx context.Context, c Config) int {
	debug.SetGCPercent(-1) // until prepare has collected
	if c.Now == nil || c.Sleep == nil {
		return exitFault
	}
	p := &process{cfg: c, s: executors.NewStream(guestside.Connect(), executors.GuestSide)}
	if err := p.serve(ctx); err != nil {
		return exitFault
	}
	return exitDone
}

// maxUnavailable limits the reason why a process cannot run programs.
const maxUnavailable = 4096

// process is one guest.
type process struct {
	cfg    Config
	s      *executors.Stream
	engine *Engine
}

// digest names what runs programs: the interpreter and the guest's own Python.
func digest() string { return "python/1 cpython-" + place.Version + " wasm " + pyguest.Digest() }

// serve greets the host and runs its program.
func (p *process) serve(ctx context.Context) error {
	m, err := p.s.Read()
	if err != nil {
		return err
	}
	hello, ok := m.(executors.Hello)
	if !ok || hello.Version != executors.ProtocolVersion {
		return fmt.Errorf("%w: %T first", executors.ErrProtocol, m)
	}
	settings, err := executors.DecodeAs[wasmproto.Settings](hello.Settings)
	if err != nil {
		return err
	}
	ready := executors.Ready{Version: executors.ProtocolVersion, Executor: profiles.ExecutorPython, Digest: digest()}
	if err := p.prepare(ctx, settings); err != nil {
		text := err.Error()
		ready.Unavailable = text[:min(len(text), maxUnavailable)]
		if errors.Is(err, errCold) {
			ready.Unavailable = wasmproto.Cold
		}
		return errors.Join(err, p.s.Send(ready))
	}
	if settings.Fill {
		return p.s.Send(ready)
	}
	r, err := p.newRun(ready, settings)
	if err != nil {
		return err
	}
	return r.serve(ctx)
}

// prepare loads the engine and seals the process. A process that only fills the cache needs no seal.
func (p *process) prepare(ctx context.Context, s wasmproto.Settings) error {
	files, err := place.Read(s.Dir)
	if err != nil {
		return fmt.Errorf("%w; %s", err, place.Remedy)
	}
	sources, err := sources()
	if err != nil {
		return err
	}
	p.engine, err = newEngine(
		ctx, engineConfig{Files: files, Sources: sources, CacheDir: s.CacheDir, ReadOnly: s.Ring && !s.Fill},
	)
	if err != nil || s.Fill {
		return err
	}
	if err := firstChance(); err != nil {
		return err
	}
	// Guest code cannot be stopped for a collection, and the goroutine that watches its time must run
	// concurrently, also on a host with one processor.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.FreeOSMemory()
	debug.SetMemoryLimit(softBytes)
	if s.Ring {
		return guestside.SealInRing(guestside.Control)
	}
	return guestside.SealAlone()
}

// softBytes is how much Go's heap may hold before it collects by itself, which waits for guest code. run.made
// collects long before.
const softBytes = 256 << 20

// firstChance reads random numbers once: later there is no descriptor to read them from.
func firstChance() error {
	if _, err := rand.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("random numbers: %w", err)
	}
	return nil
}

// sources are the texts of the guest, with the connection of this engine.
func sources() ([]Source, error) {
	parts := strings.Split(string(pyguest.Source()), "\x00")
	var out []Source
	for i := 0; i+1 < len(parts); i += 2 {
		out = append(out, Source{Name: parts[i], Text: parts[i+1]})
		switch parts[i] {
		case "frames":
			out = append(out, Source{Name: "device", Text: device})
		case "bridge":
			out = append(out, Source{Name: "loop", Text: loop})
		}
	}
	if len(parts)%2 != 0 || len(out) != len(parts)/2+2 {
		return nil, errors.New("the text of the python guest is not what its connection is made for")
	}
	return out, nil
}
