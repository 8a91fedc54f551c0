// Package jsguest is the guest half of the JavaScript executor: the process that runs JavaScript. It has one
// connection, descriptor 3, and can only ask on it. It prints nothing.
//
// It builds the engine, drops the powers that it no longer needs (see package guestside), reports that it is
// ready, and then runs one program at a time. It enforces every limit first, so that a program learns which one
// it reached. The host enforces them again.
//
// The hidden verb of cmd/ringd calls Main. The package imports neither rings nor cmd.
package jsguest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what Main needs from outside.
type Config struct {
	Now func() time.Time // wall clock; Date reads it too
}

// Exit codes of Main.
const (
	exitDone  = 0
	exitFault = 1
)

// Main serves the host until the host closes the connection, and returns the exit code of the process. It must
// be alone in its process.
func Main(ctx context.Context, c Config) int {
	debug.SetGCPercent(-1)      // until prepare has collected
	debug.SetMaxStack(64 << 20) // a hostile text must not make the translator recurse for long
	if c.Now == nil {
		return exitFault
	}
	p := &process{now: c.Now, s: executors.NewStream(guestside.Connect(), executors.GuestSide)}
	if err := p.serve(ctx); err != nil {
		return exitFault
	}
	return exitDone
}

// process is one guest.
type process struct {
	now    func() time.Time
	s      *executors.Stream
	engine *engine.Engine
}

// serve greets the host and runs the programs that it sends.
func (p *process) serve(ctx context.Context) error {
	m, err := p.s.Read()
	if err != nil {
		return err
	}
	hello, ok := m.(executors.Hello)
	if !ok || hello.Version != executors.ProtocolVersion {
		return fmt.Errorf("%w: %T first", executors.ErrProtocol, m)
	}
	settings, err := executors.DecodeAs[jsproto.Settings](hello.Settings)
	if err != nil {
		return err
	}
	ready := executors.Ready{Version: executors.ProtocolVersion, Executor: profiles.ExecutorJS}
	if err := p.prepare(ctx, settings); err != nil {
		ready.Unavailable = err.Error()
		if errors.Is(err, engine.ErrCold) {
			ready.Unavailable = jsproto.Cold
		}
		return errors.Join(err, p.s.Send(ready))
	}
	ready.Digest = p.engine.Digest()
	if err := p.s.Send(ready); err != nil || settings.Fill {
		return err
	}
	for {
		m, err := p.s.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case executors.Start:
			err = p.run(ctx, m)
		case executors.Restore:
			err = p.resume(ctx, m)
		default:
			err = fmt.Errorf("%w: %T between programs", executors.ErrProtocol, m)
		}
		if err != nil {
			return err
		}
	}
}

// prepare builds the engine, runs a first program so that the next one is warm, and seals the process. A guest
// that only fills the cache needs none of that.
func (p *process) prepare(ctx context.Context, s jsproto.Settings) error {
	e, err := engine.New(ctx, engine.Config{CacheDir: s.CacheDir, ReadOnly: s.Ring && !s.Fill})
	if err != nil {
		return err
	}
	p.engine = e
	if s.Fill {
		return nil
	}
	if err := p.rehearse(ctx); err != nil {
		return fmt.Errorf("the JavaScript engine does not run: %w", err)
	}
	// Go's own heap is a few MiB besides the program's memory, and a collection has to wait for guest code:
	// collect less often.
	debug.SetGCPercent(200)
	// Loading the engine leaves tens of MiB of garbage. A guest may wait for long, and there are several.
	debug.FreeOSMemory()
	if s.Ring {
		return guestside.SealInRing(guestside.Control)
	}
	return guestside.SealAlone()
}

// rehearse runs a program of this package before any other.
func (p *process) rehearse(ctx context.Context) error {
	vm, err := p.engine.Start(ctx, engine.Options{
		CPU: 10 * time.Second, CPUClock: guestside.ProcessTime, Now: p.now, Clock: p.nanos,
	})
	if err != nil {
		return err
	}
	err = vm.Eval(ctx, engine.Program{File: "rehearsal", Source: "1+1"})
	if err == nil {
		_, err = vm.RunJobs(ctx)
	}
	if err == nil {
		var st engine.State
		st, err = vm.State(ctx)
		if err == nil && (st.Status != engine.StatusDone || string(st.Value) != "2") {
			err = fmt.Errorf("1+1 is %q", st.Value)
		}
	}
	return errors.Join(err, vm.Close(ctx))
}

func (p *process) nanos() int64 { return p.now().UnixNano() }
