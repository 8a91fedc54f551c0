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

// inside is the variable that marks what is in the namespace already.
const (
	inside  = "RINGD_TEST_INTERNET"
	fresh   = "fresh"   // and is to bring it up
	settled = "settled" // and has nothing to do
)

// Enter gives this test process an internet of its own. Call it first thing in
// TestMain:
//
//	if code, over := Enter(); over {
//		os.Exit(code)
//	}
//
// It starts this program once more, with the same arguments, in a new network
// namespace (of a new user namespace, where this process is not root, with the
// same user), and waits for it: over. In that process it brings the namespace up
// and returns, and every address is local there. A host that gives no such
// namespace runs nothing and says so. What the tests start is in the same one.
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

// outside starts this program inside, and waits for it.
func outside() (code int) {
	runtime.LockOSThread() // the death of the child follows this thread's
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

// settle brings the namespace up, and refuses to touch one where anything is up
// already: it is not Enter's.
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
	// Of IPv6 an address is not for listening because it is local.
	if err := os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return err
	}
	// An ordinary user's programs listen on low ports too.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
		return err
	}
	// What the tests start have no power of this one.
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
