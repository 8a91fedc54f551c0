package proxytest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/guestinit"
)

// inside is the environment variable that marks a process in the namespace.
const (
	inside  = "RINGD_TEST_INTERNET"
	fresh   = "fresh"   // the process must set the namespace up
	settled = "settled" // the namespace is set up
)

// Enter gives this test process an internet of its own. Call it first in TestMain:
//
//	if code, over := Enter(); over {
//		os.Exit(code)
//	}
//
// It starts this program again, with the same arguments, in a new network namespace, and
// waits for it: then over is true. If this process is not root, it uses a new user
// namespace with the same user. In the new process Enter sets the namespace up, so that
// every address is local, and returns false. If the host allows no such namespace, Enter
// reports that and runs no tests. Programs that the tests start share the namespace.
func Enter() (code int, over bool) {
	switch os.Getenv(inside) {
	case settled:
		return 0, false
	case fresh:
		err := settle()
		if err == nil {
			err = os.Setenv(inside, settled)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "the internet of this test:", err)
			return 1, true
		}
		return 0, false
	default:
		return outside(), true
	}
}

// outside starts this program inside the namespace, and waits for it.
func outside() (code int) {
	runtime.LockOSThread() // the child dies with this thread
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Args[0] = os.Args[0]
	c.Env = append(os.Environ(), inside+"="+fresh)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
	}
	err := c.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return max(ended.ExitCode(), 1)
	default:
		fmt.Fprintln(os.Stderr, "the internet of this test:", err)
		return 1
	}
}

// settle sets the namespace up. It refuses to change one with an interface that is up, because that is not
// Enter's.
func settle() error {
	if err := alone(); err != nil {
		return err
	}
	if err := guestinit.Up(); err != nil {
		return err
	}
	if err := guestinit.Route(unix.AF_INET); err != nil {
		return err
	}
	if err := guestinit.Route(unix.AF_INET6); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) &&
		!errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	// For IPv6 a local address is not enough to listen on it.
	if err := os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Programs of an ordinary user listen on low ports too.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
		return err
	}
	// Programs that the tests start must not inherit these capabilities.
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

func alone() error {
	list, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, n := range list {
		if n.Flags&net.FlagUp != 0 {
			return fmt.Errorf("device %s is up: who has set %s?", n.Name, inside)
		}
	}
	return nil
}
