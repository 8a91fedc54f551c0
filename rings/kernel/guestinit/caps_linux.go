package guestinit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Secure bits: root is nobody, a change of user keeps nothing, nothing is ambient;
// and none of it can be taken back.
const secureBits = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80

// lastCapability is above the capabilities of any kernel.
const lastCapability = 63

// setPrivileges sets no_new_privs: programs that are executed later gain no privileges.
func (g *guest) setPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return missing(initproto.LayerPrivileges, "PR_SET_NO_NEW_PRIVS", err)
	}
	return noNewPrivileges()
}

// noNewPrivileges checks the bit before the filter is installed. A kernel rejects a filter without it, so a
// host that lies about it would look like a host without filters.
func noNewPrivileges() error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || on != 1 {
		return lies(
			initproto.LayerPrivileges, "PR_GET_NO_NEW_PRIVS", fmt.Sprintf("new privileges can be had: %d, %v", on, err),
		)
	}
	return nil
}

// setBounding empties the bounding set and locks the secure bits, which needs a capability.
func (g *guest) setBounding() error {
	for c := uintptr(0); c <= lastCapability; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_MKNOD {
			break // no such capability
		}
		if err != nil {
			return missing(initproto.LayerCapabilities, "PR_CAPBSET_DROP", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return missing(initproto.LayerCapabilities, "PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return missing(initproto.LayerCapabilities, "PR_SET_SECUREBITS", err)
	}
	return nil
}

// setUser becomes the program's user. An ordinary user already is that user.
func (g *guest) setUser() error {
	if !g.root {
		return nil
	}
	u, gid := uintptr(g.UID), uintptr(g.GID)
	for _, call := range []struct {
		name    string
		nr      uintptr
		a, b, c uintptr
	}{
		{"setgroups", unix.SYS_SETGROUPS, 0, 0, 0},
		{"setresgid", unix.SYS_SETRESGID, gid, gid, gid},
		{"setresuid", unix.SYS_SETRESUID, u, u, u},
	} {
		// For this thread alone, which executes the program.
		if _, _, e := unix.RawSyscall(call.nr, call.a, call.b, call.c); e != 0 {
			return missing(initproto.LayerNamespaces, call.name, e)
		}
	}
	return nil
}

// setCapabilities drops every capability.
func (g *guest) setCapabilities() error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&h, &none[0]); err != nil {
		return missing(initproto.LayerCapabilities, "capset", err)
	}
	return nil
}

// errOrphan says that the ring which asked for this guest is gone.
var errOrphan = errors.New("the ring is gone")

// setParentDeath binds the guest to the ring again: a change of user has reset that, and the ring may have died
// meanwhile.
func (g *guest) setParentDeath() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return missing(initproto.LayerParentDeath, "PR_SET_PDEATHSIG", err)
	}
	fds := []unix.PollFd{{Fd: initproto.Control}}
	if _, err := initproto.Again(func() (int, error) { return unix.Poll(fds, 0) }); err != nil {
		return broken(initproto.LayerParentDeath, "poll", err)
	}
	if fds[0].Revents != 0 {
		return broken(initproto.LayerParentDeath, "look for the ring", errOrphan)
	}
	return nil
}

// setMemory sets that memory never becomes executable. A kernel that cannot do it returns an error, and the
// filter does it instead. A canary tests the result.
func (g *guest) setMemory() error {
	if !g.WX {
		return nil
	}
	err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return missing(initproto.LayerMemory, "PR_SET_MDWE", err)
	}
	g.wx = err == nil
	return nil
}

// setDescriptors ensures that the program gets only its own descriptors.
func (g *guest) setDescriptors() error {
	if err := unix.CloseRange(initproto.Connection, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return missing(initproto.LayerDescriptors, "close_range", err)
	}
	return nil
}
