package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/spawn"
)

// unconfined starts a guest without the layers. It has its own process group away from any terminal, no environment
// but the given one, and the connection as descriptors 3 and 4. The limits are set before anything is sent to
// it. The grants of the profile do not apply here.
func (r *Ring) unconfined(s executors.Spec) (*guest, error) {
	connection, theirs, err := connectPipes(&r.watching) // nothing of this guest is sealed
	if err != nil {
		return nil, err
	}
	g := &guest{
		ring: r, agent: s.Agent, executor: s.Executor, kernel: ungranted(s.Kernel), uid: r.users.first,
		conn: connection, attestation: attestUnconfined(isWasm(s)), done: make(chan struct{}),
	}
	files := append([]*os.File{nil, nil, nil}, theirs...)
	var far []*os.File
	if s.Streams {
		if g.streams, far, err = newGuestStreams(g.streamsOf(s)); err == nil {
			copy(files, far)
		}
	}
	if err == nil {
		g.process, err = r.spawn.Unconfined(s.Argv, s.Env, cmp.Or(s.Dir, "/"), files, s.Seals)
	}
	err = errors.Join(err, spawn.CloseFiles(theirs), spawn.CloseFiles(far))
	if g.process == nil {
		return nil, errors.Join(err, g.abandon())
	}
	if err == nil {
		err = setLimits(g.process.Pid, s)
	}
	if err == nil {
		err = r.keep(g)
	}
	if err == nil && s.Streams {
		err = g.awaitEnd()
	}
	if err != nil {
		return nil, errors.Join(err, g.Kill(), g.abandon())
	}
	return g, nil
}

// ungranted is the part of a profile that applies to an unconfined guest: its limits.
func ungranted(k profiles.Kernel) profiles.Kernel {
	k.Read, k.Write, k.Deny, k.Exec, k.Helpers, k.Libraries, k.Network = nil, nil, nil, nil, nil, nil,
		profiles.NetworkOff
	k.Path, k.Scratch = false, false
	return k
}

// awaitEnd waits for the end of a guest with streams, in the background and without a thread. Then its streams
// end with it, and no process of its group goes on.
func (g *guest) awaitEnd() error {
	fd, err := unix.PidfdOpen(g.process.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch guest %d: %w", g.process.Pid, err)
	}
	handle := os.NewFile(uintptr(fd), "guest")
	raw, err := handle.SyscallConn()
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	g.ring.begin(func() {
		err := raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
		_ = errors.Join(err, g.Kill(), handle.Close()) // Kill, or Close of the ring, meets an error again
	})
	return nil
}
