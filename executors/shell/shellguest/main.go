// Package shellguest is the guest half of the shell executor: the process that reads and runs shell scripts. It
// runs in a guest of the kernel ring and has one connection, descriptors 3 and 4. On it, it asks for every
// program that a script starts, every file that a redirect opens and every variable that would change the
// behaviour of a program. It first decides each of these itself, so that a denial can say what to do. The
// decision of the host is final.
//
// It runs one script and ends. The output of the script goes to its own standard streams. No system shell ever
// sees the text.
//
// The hidden verb of cmd/ringd calls Main. The package imports neither rings nor cmd.
package shellguest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what Main needs from outside.
type Config struct {
	Now func() time.Time // wall clock
	Go  func(func())     // starts goroutines, which end with the process
	Env []string         // environment of the process: it names the proxy of its network
}

// Exit codes of Main.
const (
	exitDone  = 0
	exitFault = 1
)

// Main serves the host for one script and returns the exit code of the process. It must be alone in its
// process.
func Main(ctx context.Context, c Config) int {
	debug.SetMaxStack(256 << 20) // a script recurses no deeper than the runner allows
	debug.SetGCPercent(200)
	if c.Now == nil || c.Go == nil {
		return exitFault
	}
	why := seal()
	p := &process{cfg: c, s: executors.NewStream(guestside.Connect(), executors.GuestSide)}
	if err := p.serve(ctx, why); err != nil {
		return exitFault
	}
	return exitDone
}

// process is one guest.
type process struct {
	cfg Config
	s   *executors.Stream
}

// serve greets the host and runs the script that it sends. If why is not nil, it is the reason why this process
// cannot run any.
func (p *process) serve(ctx context.Context, why error) error {
	m, err := p.s.Read()
	if err != nil {
		return err
	}
	hello, ok := m.(executors.Hello)
	if !ok || hello.Version != executors.ProtocolVersion {
		return fmt.Errorf("%w: %T first", executors.ErrProtocol, m)
	}
	ready := executors.Ready{
		Version: executors.ProtocolVersion, Executor: profiles.ExecutorShell, Digest: shellproto.Engine,
	}
	if why == nil {
		why = prepare()
		p.threads()
	}
	if why != nil {
		ready.Unavailable = why.Error()
		return errors.Join(why, p.s.Send(ready))
	}
	if err := p.s.Send(ready); err != nil {
		return err
	}
	m, err = p.s.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil // it was not needed
	case err != nil:
		return err
	}
	switch m := m.(type) {
	case executors.Start:
		return p.run(ctx, m)
	case executors.Restore:
		return p.resume(ctx, m)
	default:
		return fmt.Errorf("%w: %T before a script", executors.ErrProtocol, m)
	}
}

// threads makes the runtime create its threads in advance. Once the script's programs have taken all processes,
// the runtime would crash when it cannot create one.
func (p *process) threads() {
	const want = 8
	var all, ready sync.WaitGroup
	all.Add(1)
	ready.Add(want)
	for range want {
		p.cfg.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			all.Wait()
			runtime.UnlockOSThread()
		})
	}
	ready.Wait()
	all.Done()
}

// prepare makes the folders of a script.
func prepare() error {
	for _, dir := range []string{shellproto.Home, profiles.ScriptTemp} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make the folders of a script: %w", err)
		}
	}
	return nil
}

// run runs one script from its beginning.
func (p *process) run(ctx context.Context, m executors.Start) error {
	o, err := executors.DecodeAs[shellproto.Options](m.Options)
	if err != nil {
		return err
	}
	ctx, r := p.newRun(ctx, o, string(m.Source), 0)
	p.cfg.Go(r.talk.listen)
	return r.finish(r.begin(ctx, nil))
}

// resume continues a script that waited for its start, or starts a script in the state of one that has ended.
func (p *process) resume(ctx context.Context, m executors.Restore) error {
	b, err := p.s.Loads(m)
	if err != nil {
		return err
	}
	o, err := executors.DecodeAs[shellproto.Options](m.Options)
	if err != nil {
		return err
	}
	st, err := decodeState(b)
	if err == nil && o.Ended != (st.Session != nil) {
		err = fmt.Errorf("%w: it is of another kind", errState)
	}
	ctx, r := p.newRun(ctx, o, string(m.Source), m.Asked)
	if err == nil && st.Waits != nil {
		err = r.goOn(st.Waits)
	}
	if err == nil && st.Session != nil {
		err = r.adopt(st.Session)
	}
	if err != nil {
		return p.s.Send(executors.Restored{Failure: short(err.Error(), maxFailure)})
	}
	if err := p.s.Send(executors.Restored{}); err != nil {
		return err
	}
	p.cfg.Go(r.talk.listen)
	return r.finish(r.begin(ctx, st.Waits))
}

// maxFailure leaves room for the text that short adds.
const maxFailure = 1000

// send sends a state on the connection.
func (p *process) send(b []byte) error {
	for piece := range slices.Chunk(b, executors.PartBytes) {
		if err := p.s.Send(executors.Part{Bytes: piece}); err != nil {
			return err
		}
	}
	return nil
}
