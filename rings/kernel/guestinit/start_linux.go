package guestinit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// become waits for Go and executes the program. It returns only an error: of a
// ring that went away, or of a program that cannot be started.
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
		// None of them is below its place: those descriptors are taken.
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
		// What comes after is a failure, or nothing: then it is executed.
		var clock []int
		if g.clock >= 0 {
			clock = append(clock, g.clock)
		}
		if err := initproto.Send(g.told, initproto.Told{Started: true}, clock...); err != nil {
			return err
		}
	}
	tell(g.told, p.execute())
	return errTold
}

// keepTold moves the socket on which init is to say that the program cannot be started,
// where that is Control and the program gets something else in its place.
func (g *guest) keepTold() error {
	if g.Seal || g.told != initproto.Control {
		return nil
	}
	fd, err := unix.FcntlInt(initproto.Control, unix.F_DUPFD_CLOEXEC, initproto.Control+1)
	if err != nil {
		return fmt.Errorf("keep the control socket: %w", err)
	}
	g.told = fd
	return nil
}

// errTold is a program that was not executed, of which the ring knows.
var errTold = errors.New("told")

// tasksOfInit is more than what the first process has of threads. As the same
// user's they count as the program's.
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

// hold fills the places of the program's descriptors, so that none that comes
// with Go has one of their numbers.
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
