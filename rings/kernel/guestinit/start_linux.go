package guestinit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// become waits for Go and executes the program. It returns only an error: the ring is gone, or the program
// cannot be started.
func (g *guest) become() error {
	var start initproto.Go
	fds, err := initproto.Receive(initproto.Control, &start)
	if err != nil {
		return err
	}
	last := initproto.Answers
	if g.Seal {
		last = initproto.Connection
	}
	if len(start.Argv) == 0 || len(fds) != start.Files || start.Files > last+1 {
		return fmt.Errorf("start: %d arguments and %d descriptors of %d", len(start.Argv), len(fds), start.Files)
	}
	if err := g.keepTold(); err != nil {
		return err
	}
	for i, fd := range fds {
		// No descriptor is below its target: those numbers are taken.
		if err := unix.Dup3(fd, i, 0); err != nil {
			return fmt.Errorf("place descriptor %d: %w", i, err)
		}
	}
	if g.Seal {
		if _, err := unix.FcntlInt(initproto.Control, unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("keep the control socket: %w", err)
		}
	}
	dir := start.Dir
	if dir == "" {
		dir = "/"
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	path := start.Argv[0]
	if g.program >= 0 {
		path = initproto.ProgramPath + strconv.Itoa(g.program)
	}
	p, err := newProgram(path, start, g.ownLimits(), g.Key)
	if err != nil {
		return fmt.Errorf("execute %s: %w", start.Argv[0], err)
	}
	if g.Reap {
		// The next message is a failure. If none comes, the program was executed.
		var clock []int
		if g.clock >= 0 {
			clock = append(clock, g.clock)
		}
		if err := initproto.Send(g.toldSocket, initproto.Told{Started: true}, clock...); err != nil {
			return err
		}
	}
	tell(g.toldSocket, p.execute())
	return errTold
}

// keepTold moves the socket for the report that the program cannot be started, if that is Control and the
// program gets another descriptor with this number.
func (g *guest) keepTold() error {
	if g.Seal || g.toldSocket != initproto.Control {
		return nil
	}
	fd, err := unix.FcntlInt(initproto.Control, unix.F_DUPFD_CLOEXEC, initproto.Control+1)
	if err != nil {
		return fmt.Errorf("keep the control socket: %w", err)
	}
	g.toldSocket = fd
	return nil
}

// errTold is a program that was not executed, and the ring was told.
var errTold = errors.New("told")

// tasksOfInit is more than the number of threads of the first process. They have the same user, so they count
// as the program's.
const tasksOfInit = 16

// ownLimits are the limits of the program.
func (g *guest) ownLimits() []initproto.Limit {
	limits := slices.Clone(g.Limits)
	for i, l := range limits {
		if l.Resource == unix.RLIMIT_NPROC && g.Reap && !g.root {
			limits[i].Value = l.Value + tasksOfInit
		}
	}
	return limits
}

// hold opens the descriptor numbers of the program, so that no descriptor of the Go runtime gets one of them.
func hold() error {
	for {
		fd, err := unix.FcntlInt(initproto.Control, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return broken(initproto.LayerDescriptors, "hold descriptors", err)
		}
		if fd > initproto.Control {
			unix.Close(fd)
			return nil
		}
	}
}
