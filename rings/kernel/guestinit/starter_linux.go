package guestinit

import (
	"errors"
	"fmt"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// A guest whose init stays has two processes of it. The first builds the guest and reaps. The starter restricts
// itself, proves that, and becomes the program. So the first process need not have the program's limits, and
// each is as simple as that of a guest with one process.
const (
	starterName = "guest-starter"
	inner       = 5 // of the starter: a socket to the first process

	largestOrder = 4 << 20
)

// handed tells the starter, in addition to the order, what the first process has built. The descriptors of the
// ruleset, of the canary and of a program without a path come with it.
type handed struct {
	ABI     int
	Root    bool
	Old     uint64
	Points  map[string]point
	Folders map[string]bool
	Proved  []string
}

// withdrawn is the message of the first process that it has no privileges left.
type withdrawn struct{}

// reap builds the guest that text orders, passes it to a starter, and stays. The starter reads the order during
// the building, and restricts itself at the same time. It reports when both are done.
func (g *guest) reap(text []byte, child, socket int) int {
	if err := initproto.Pass(socket, text); err != nil {
		return refuse(g.Order, broken(initproto.LayerProcess, "hand over the order", err))
	}
	if err := g.run(building()); err != nil {
		return refuse(g.Order, err)
	}
	h := handed{g.abi, g.root, g.old, g.points, g.folders, g.proved}
	files := []int{g.rules, g.canary}
	if g.program >= 0 {
		files = append(files, g.program)
	}
	if err := initproto.Send(socket, h, files...); err != nil {
		return refuse(g.Order, broken(initproto.LayerProcess, "hand over", err))
	}
	if err := g.withdraw(); err != nil {
		return refuse(g.Order, err)
	}
	for _, fd := range files {
		unix.Close(fd)
	}
	if err := initproto.Send(socket, withdrawn{}); err != nil {
		return failed // the starter has reported the reason
	}
	return reapGuest(g.Order, g.ipv6, child, socket)
}

// awaitFirst waits until the first process has no privileges left.
func (g *guest) awaitFirst() error {
	_, err := initproto.Receive(inner, &withdrawn{})
	return err
}

// startStarter starts this program once more, before there is an order, so that it is ready when it is needed.
// Its root and its folder follow when the first process leaves those of the host.
func startStarter() (pid, socket int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, -1, err
	}
	// As large as the host allows: messages of the ring are passed on from here.
	_ = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, largestOrder)
	pid, err = syscall.ForkExec("/proc/self/exe", []string{starterName}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"}, // of the starter alone
		Files: []uintptr{0, 1, 2, ^uintptr(0), initproto.Control, uintptr(fds[1])},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, -1, err
	}
	unix.Close(fds[1])
	return pid, fds[0], nil
}

// starter waits until the first process has built the guest, and finishes.
func starter() int {
	if err := hold(); err != nil {
		return failed
	}
	unix.CloseOnExec(inner)
	var (
		o initproto.Order
		h handed
	)
	if _, err := initproto.Receive(inner, &o); err != nil {
		return failed // the first process reports the reason
	}
	fds, err := initproto.Receive(inner, &h)
	if err != nil || len(fds) < 2 || len(fds) > 3 {
		return failed
	}
	fds = append(fds, -1)
	g := &guest{
		Order: o, abi: h.ABI, root: h.Root, old: h.Old, points: h.Points, folders: h.Folders, proved: h.Proved,
		rules: fds[0], canary: fds[1], program: fds[2], top: -1, listener: -1, clock: -1, toldSocket: inner,
	}
	return g.finish()
}

// withdraw drops the privileges of the first process on all its threads. It gets the program's user, its rules
// and its filter, and no process may inspect it.
func (g *guest) withdraw() error {
	// Privileges are set on this thread only. The filter brings the setting to the other threads. A call that
	// sets them on all threads would wait until every thread has run, which takes long on a busy host.
	if err := g.setPrivileges(); err != nil {
		return err
	}
	if err := ll.AllThreadsLandlockRestrictSelf(g.rules, landlockFlags(g.abi)); err != nil {
		return missing(initproto.LayerLandlock, "landlock_restrict_self", err)
	}
	if g.root {
		err := errors.Join(
			syscall.Setgroups(nil), syscall.Setresgid(g.GID, g.GID, g.GID), syscall.Setresuid(g.UID, g.UID, g.UID),
		)
		if err != nil {
			return missing(initproto.LayerNamespaces, "setresuid", err)
		}
	}
	if err := dropEverywhere(); err != nil {
		return missing(initproto.LayerCapabilities, "capset", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return missing(initproto.LayerProcess, "PR_SET_DUMPABLE", err)
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || on != 0 {
		return lies(
			initproto.LayerProcess, "PR_GET_DUMPABLE",
			fmt.Sprintf("the program may look into its init: %d, %v", on, err),
		)
	}
	if err := g.setParentDeath(); err != nil {
		return err
	}
	if _, err := seccomp(g.Filter, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return missing(initproto.LayerSeccomp, "seccomp", err)
	}
	for _, c := range []canary{
		{"user", initproto.LayerNamespaces, (*guest).isUser},
		{"landlock", initproto.LayerLandlock, (*guest).isLandlocked},
		{"filter", initproto.LayerSeccomp, (*guest).isFiltered},
		{"threads", initproto.LayerCapabilities, (*guest).allHaveNothing},
		{"death with the ring", initproto.LayerParentDeath, (*guest).diesToo},
	} {
		if err := c.try(g); err != nil {
			c.name = "first process: " + c.name
			return c.shows(err)
		}
	}
	return nil
}

// allHaveNothing checks the kernel's status of each thread.
func (g *guest) allHaveNothing() error {
	names, err := procfs.List("/proc/self/task")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := procfs.Read("/proc/self/task/" + name + "/status")
		if err != nil {
			return err
		}
		if err := g.nothing(text); err != nil {
			return fmt.Errorf("thread %s: %w", name, err)
		}
	}
	return nil
}
