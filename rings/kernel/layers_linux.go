package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/cgroup"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
	"github.com/ringd/ringd/rings/kernel/spawn"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// layers holds the layers and resources of a confined guest, apart from its process.
type layers struct {
	group    *cgroup.Group        // nil if it has none
	listener *violations.Listener // if nil, denied calls are not reported
	seal     *seal                // if nil, the guest does not seal itself
	unfollow func()               // if nil, denials by Landlock are not reported
}

// kill ends all processes in the guest's group, in whatever namespace they are.
func (a *layers) kill() error {
	if a.group == nil {
		return nil
	}
	return a.group.Kill()
}

// used is the processor time of the guest's group, or 0 if there is no group. It includes children that nobody
// has waited for.
func (a *layers) used() time.Duration {
	if a.group == nil {
		return 0
	}
	d, err := a.group.Used()
	if err != nil {
		return 0 // the count of its init is used alone
	}
	return d
}

// close releases the resources of a dead guest.
func (a *layers) close() error {
	var err error
	if a.unfollow != nil {
		a.unfollow()
	}
	if a.listener != nil {
		err = a.listener.Close()
	}
	if a.seal != nil {
		err = errors.Join(err, a.seal.close())
	}
	err = errors.Join(err, a.group.Close())
	return err
}

// listen serves the listener of a guest's filter.
func (r *Ring) listen(g *guest, fd *os.File, c violations.Config) (*violations.Listener, error) {
	c.Go, c.Name, c.Report, c.End = r.begin, r.callName, g.refused, g.endOver
	return violations.Listen(c, fd)
}

// refused records a denied attempt of the guest. If the guest is ended for it, it is frozen while the record is
// written.
func (g *guest) refused(v violations.Violation) error {
	if v.End && g.layers.group != nil {
		_ = g.layers.group.Freeze() // it is ended in any case
	}
	if g.ring.cfg.Report == nil {
		return nil
	}
	return g.ring.cfg.Report(Violation{Run: g.run(), Agent: g.agent, Executor: g.executor, Violation: v})
}

// endOver ends the guest because of the kind or number of its denied attempts, or because one cannot be
// recorded.
func (g *guest) endOver(v violations.Violation, err error) {
	why := executors.Because(fmt.Errorf("%w: a forbidden system call: %s", executors.ErrViolation, v),
		"it was ended for a forbidden system call: "+v.String())
	switch {
	case errors.Is(err, violations.ErrTooMany):
		why = executors.Because(
			fmt.Errorf("%w: %w", executors.ErrViolation, err), "it was ended for too many refused calls",
		)
	case err != nil:
		why = executors.Because(fmt.Errorf("%w: its attempt cannot be recorded: %w", executors.ErrViolation, err),
			"it was ended, because its attempt cannot be recorded")
	}
	_ = g.revoke(why) // Kill, or Close of the ring, meets the error again
}

// followLandlock starts to read the denials of Landlock, if the kernel allows it.
func (r *Ring) followLandlock() {
	if r.cfg.Report == nil {
		return
	}
	f, err := violations.Follow(r.begin)
	if err != nil {
		r.unseen = err
		return
	}
	r.follower = f
}

// followed records the denials of Landlock for g. It may be called after the init of g has proved its layers
// and before its program begins. Denials of init itself are not in the log.
func (r *Ring) followed(g *guest) (stop func()) {
	if r.follower == nil {
		return nil
	}
	return r.follower.Guest(g.process.Pid, violations.Told{Report: g.refused, End: g.endOver})
}

// Unseen says why denials of Landlock are not recorded, and what would help. It is nil if they are, or if
// nothing is recorded.
func (r *Ring) Unseen() error { return r.unseen }

// seal is the second filter, which a guest installs on itself.
type seal struct {
	mu       sync.Mutex
	settled  bool
	err      error
	listener *violations.Listener
	closed   chan struct{} // by the guest: its canaries are done
}

// offer sends the filter, after Go.
func (r *Ring) offer(c *spawn.Control) error {
	program, err := seccomp.Seal(r.arch, true)
	if err != nil {
		return err
	}
	return c.Send(initproto.Seal{Version: initproto.Version, Filter: program})
}

// wait reads the answer of the guest and the results of its canaries, and arms the listener. Only the first call
// does this. All other calls return the same result.
func (s *seal) wait(ctx context.Context, g *guest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled {
		return s.err
	}
	stop := context.AfterFunc(ctx, func() { _ = g.control.Interrupt() })
	err := s.take(g)
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("seal %s guest: %w", g.executor, err)
		_ = g.revoke(err) // the executor kills it too
	} else {
		g.attest(initproto.LayerSeal, enforced)
		g.attest(initproto.LayerMemory, enforced)
		g.attest(initproto.LayerViolations, enforced)
	}
	s.settled, s.err = true, err
	return err
}

func (s *seal) take(g *guest) error {
	var said initproto.Sealed
	files, err := g.control.Receive(&said)
	switch {
	case err != nil:
	case said.Version != initproto.Version:
		err = fmt.Errorf("version %d, want %d", said.Version, initproto.Version)
	case said.Failed != "":
		err = errors.New(said.Failed)
	case len(files) != 1:
		err = fmt.Errorf("%d descriptors came with it, want its listener", len(files))
	}
	if err != nil {
		return errors.Join(err, spawn.CloseFiles(files))
	}
	s.closed = make(chan struct{})
	s.listener, err = g.ring.listen(g, files[0], violations.Config{Sealed: true, Canary: s.trying})
	if err != nil {
		return err
	}
	// The guest keeps the other end until it has tried the forbidden calls.
	more, err := g.control.Receive(&said)
	if !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("it says more than that it is sealed"), err, spawn.CloseFiles(more))
	}
	close(s.closed)
	return nil
}

func (s *seal) trying() bool {
	select {
	case <-s.closed:
		return false
	default:
		return true
	}
}

func (s *seal) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}
