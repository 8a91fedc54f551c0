package guestinit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// canary is an attempt that must fail, or a condition that must be true, if a layer is in force. It runs after
// the whole setup, on the thread that will execute the program, and does not trust the results of the setup
// calls.
type canary struct {
	name  string
	layer string
	try   func(*guest) error
}

func canaries() []canary {
	return []canary{
		{"first process", initproto.LayerNamespaces, (*guest).isFirst},
		{"host name", initproto.LayerNamespaces, (*guest).isNamed},
		{"user", initproto.LayerNamespaces, (*guest).isUser},
		{"status", initproto.LayerCapabilities, (*guest).hasStatus},
		{"namespaces are the guest's own", initproto.LayerNamespaces, (*guest).isApart},
		{"mount table", initproto.LayerMounts, (*guest).hasMounts},
		{"what stands at each mount", initproto.LayerMounts, (*guest).hasPoints},
		{"the host's root is gone", initproto.LayerMounts, (*guest).hasLeft},
		{"the root cannot be changed", initproto.LayerMounts, (*guest).isReadOnly},
		{"nothing starts from a folder", initproto.LayerExec, (*guest).isNoExec},
		{"its own program", initproto.LayerExec, (*guest).startsOnce},
		{"no program after the first", initproto.LayerExec, (*guest).startsNothing},
		{"network", initproto.LayerNetwork, (*guest).hasNetwork},
		{"routes and devices", initproto.LayerNetwork, (*guest).keepsNetwork},
		{"listeners", initproto.LayerEgress, (*guest).hasListeners},
		{"landlock", initproto.LayerLandlock, (*guest).isLandlocked},
		{"a file closed to all", initproto.LayerCapabilities, (*guest).isPowerless},
		{"filter", initproto.LayerSeccomp, (*guest).isFiltered}, // before the canaries that depend on it
		{"memory", initproto.LayerMemory, (*guest).isWX},
		{"limits", initproto.LayerLimits, (*guest).hasLimits},
		{"descriptors", initproto.LayerDescriptors, (*guest).hasDescriptors},
		{"death with the ring", initproto.LayerParentDeath, (*guest).diesToo},
	}
}

// prove runs every canary. The first that fails ends the guest.
func (g *guest) prove() error {
	for _, c := range canaries() {
		err := c.try(g)
		if errors.Is(err, errNotAsked) {
			continue
		}
		if err != nil {
			return c.shows(err)
		}
		g.proved = append(g.proved, c.name)
	}
	return nil
}

// shows turns the error of a canary into a fault of its layer.
func (c canary) shows(err error) error {
	var f *fault
	var e syscall.Errno
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &e) && short(e):
		return broken(c.layer, c.name, err)
	default:
		return lies(c.layer, c.name, err.Error())
	}
}

// errNotAsked is the result of a canary for a layer that the order leaves out.
var errNotAsked = errors.New("not asked for")

// expect checks that a call failed with the errno that a layer returns.
func expect(what string, got error, want ...unix.Errno) error {
	for _, w := range want {
		if errors.Is(got, w) {
			return nil
		}
	}
	if got == nil {
		return fmt.Errorf("%s works", what)
	}
	var e syscall.Errno
	if errors.As(got, &e) && short(e) {
		return fmt.Errorf("%s: %w", what, got) // the call did not reach the layer
	}
	return fmt.Errorf("%s is refused with %q, and not with %q", what, got.Error(), want[0].Error())
}

// isFirst: the process IDs of the guest begin with init.
func (g *guest) isFirst() error {
	pid, ppid := unix.Getpid(), unix.Getppid()
	if g.Reap && (pid == 1 || ppid != 1) || !g.Reap && (pid != 1 || ppid != 0) {
		return fmt.Errorf("this is process %d, child of %d", pid, ppid)
	}
	return nil
}

func (g *guest) isNamed() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	if name := unix.ByteSliceToString(u.Nodename[:]); name != g.name() {
		return fmt.Errorf("the host name is %q", name)
	}
	if domain := unix.ByteSliceToString(u.Domainname[:]); domain != noDomain {
		return fmt.Errorf("the domain is %q", domain)
	}
	return nil
}

// isUser: the user is the ordered one, and the only one in its namespace except init's.
func (g *guest) isUser() error {
	r, e, s := unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	if r != g.UID || e != g.UID || s != g.UID || rg != g.GID || eg != g.GID || sg != g.GID {
		return fmt.Errorf("user %d, %d, %d of group %d, %d, %d", r, e, s, rg, eg, sg)
	}
	for name, id := range map[string]int{"uid_map": g.UID, "gid_map": g.GID} {
		text, err := procfs.Read("/proc/thread-self/" + name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) != 3 || f[2] != "1" || f[0] != strconv.Itoa(id) && f[0] != "0" {
				return fmt.Errorf("%s has the line %q", name, strings.TrimSpace(line))
			}
		}
	}
	return nil
}

// hasStatus reads the kernel's status of this thread.
func (g *guest) hasStatus() error {
	text, err := procfs.Read("/proc/thread-self/status")
	if err != nil {
		return err
	}
	for _, k := range []string{"CapInh", "CapBnd", "CapAmb"} {
		if v := field(text, k); v == "" || strings.Trim(v, "0") != "" {
			return fmt.Errorf("%s is %q", k, v)
		}
	}
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("PR_GET_SECUREBITS: %w", err)
	}
	if bits != secureBits {
		return fmt.Errorf("the secure bits are %#x", bits)
	}
	return g.nothing(text)
}

// nothing checks the status of a thread that has no privileges left.
func (g *guest) nothing(status string) error {
	for _, k := range []string{"CapPrm", "CapEff"} {
		if v := field(status, k); v == "" || strings.Trim(v, "0") != "" {
			return fmt.Errorf("%s is %q", k, v)
		}
	}
	if v := field(status, "NoNewPrivs"); v != "1" {
		return lies(initproto.LayerPrivileges, "status", fmt.Sprintf("NoNewPrivs is %q", v))
	}
	if v := field(status, "Seccomp"); v != "2" {
		return lies(initproto.LayerSeccomp, "status", fmt.Sprintf("Seccomp is %q", v))
	}
	if v := field(status, "Groups"); g.root && v != "" {
		return lies(initproto.LayerNamespaces, "status", fmt.Sprintf("Groups is %q", v))
	}
	return nil
}

// field returns a line of a status file without its name, or an empty text if there is none.
func field(status, name string) string {
	for line := range strings.Lines(status) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// isApart: no namespace is one of the ring's.
func (g *guest) isApart() error {
	for kind, inode := range g.Namespaces {
		var st unix.Stat_t
		if err := unix.Stat("/proc/thread-self/ns/"+kind, &st); err != nil {
			return fmt.Errorf("look at the %s namespace: %w", kind, err)
		}
		if st.Ino == inode {
			return fmt.Errorf("the %s namespace is the host's", kind)
		}
	}
	return nil
}

// isLandlocked: a file that its mode and its mount make readable for all, but that no rule names, cannot be
// read.
func (g *guest) isLandlocked() error {
	fd, err := unix.Open(canaryPath, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return expect("opening a file that is not granted", err, unix.EACCES)
}

// isPowerless: a file without permissions is closed to the program too. This attempt is not affected by
// Landlock.
func (g *guest) isPowerless() error {
	err := unix.Faccessat(unix.AT_FDCWD, closedPath, unix.R_OK, unix.AT_EACCESS)
	return expect("reading a file that is closed to all", err, unix.EACCES)
}

// hasDescriptors: every descriptor but the standard streams closes when the program starts.
func (g *guest) hasDescriptors() error {
	names, err := procfs.List("/proc/thread-self/fd")
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("a descriptor named %q", name)
		}
		if fd < initproto.Connection {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if errors.Is(err, unix.EBADF) {
			continue // the descriptor of the listing itself
		}
		if err != nil {
			return fmt.Errorf("look at descriptor %d: %w", fd, err)
		}
		if flags&unix.FD_CLOEXEC == 0 {
			return fmt.Errorf("descriptor %d would reach the program", fd)
		}
	}
	return nil
}
