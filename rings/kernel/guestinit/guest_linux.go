package guestinit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// guest is the state of init about the guest that it builds.
type guest struct {
	initproto.Order

	abi        int // of Landlock on this host
	rules      int // the Landlock ruleset
	top        int // the guest's root, while it is built
	canary     int // an open file of the guest's root that no rule grants
	program    int // an open program without a path; if -1, it has a path
	points     map[string]point
	folders    map[string]bool // folders that are mounted from the host
	made       map[string]bool // folders of the guest's own root
	root       bool            // init has another user than the program
	old        uint64          // device of the host's root, which was left
	toldSocket int             // socket for the report that the program cannot be started
	listener   int             // of the filter; -1 if there is none
	trees      []int           // of the mounts that have Tree, in their order
	clock      int             // counts the processor time of the program and all its descendants; -1 if there is none
	page       []byte          // written once; canaries try to make it executable
	ipv6       bool            // every address of IPv6 is local too
	wx         bool            // the kernel itself prevents memory from becoming executable
	proved     []string
}

// point is a mount point with the required properties.
type point struct {
	Flags  uint64 // MOUNT_ATTR_RDONLY, NOSUID, NODEV, NOEXEC
	Device uint64
	Inode  uint64 // if 0, a file system of the guest's own
	Hidden bool   // an empty cover
}

// newGuest rejects an order that this init does not understand, or that would leave out a layer.
func newGuest(o initproto.Order, stays bool) (*guest, error) {
	err := checkOrder(o, stays)
	if err == nil {
		err = checkMounts(o)
	}
	if err != nil {
		return nil, broken(initproto.LayerProcess, "read the order", err)
	}
	return &guest{
		Order: o, root: unix.Getuid() != o.UID, rules: -1, top: -1, canary: -1, program: -1, listener: -1, clock: -1,
		toldSocket: initproto.Control, points: map[string]point{}, folders: map[string]bool{}, made: map[string]bool{},
	}, nil
}

// checkOrder checks the fields of an order, except its mounts.
func checkOrder(o initproto.Order, stays bool) error {
	switch {
	case o.Version != initproto.Version:
		return fmt.Errorf("version %d of the messages, and this init knows %d", o.Version, initproto.Version)
	case o.Network != initproto.NetworkOff && o.Network != initproto.NetworkOwn:
		return fmt.Errorf("unknown network %q", o.Network)
	case len(o.Filter) == 0:
		return errors.New("there is no filter")
	case o.UID < 0 || o.GID < 0:
		return errors.New("no user")
	case o.Reap != stays:
		return errors.New("it is for an init of the other kind")
	case o.Reap && o.Seal:
		return errors.New("a guest that seals itself has no other for its init")
	case o.Scratch != "" && (notMountable(o.Scratch) || o.Temp <= 0):
		return fmt.Errorf("a workspace of %d bytes at %q", o.Temp, o.Scratch)
	}
	if b, err := hex.DecodeString(o.Token); err != nil || len(b) < 8 || len(o.Token) > 48 {
		return errors.New("no token")
	}
	if why := wrongListen(o); why != "" {
		return errors.New(why)
	}
	for _, kind := range initproto.Kinds() {
		if o.Namespaces[kind] == 0 {
			return fmt.Errorf("the %s namespace of the ring is not named", kind)
		}
	}
	return nil
}

// checkMounts checks the mounts of an order.
func checkMounts(o initproto.Order) error {
	once := 0
	for _, m := range o.Mounts {
		if m.Once {
			once++
		}
		switch {
		case m.Once && (once > 1 || !o.Reap || !m.Exec):
			return fmt.Errorf("%s would be started once, and cannot", m.Path)
		case notMountable(m.Path):
			return fmt.Errorf("a mount at %q", m.Path)
		case (m.Exec || m.Map) && m.Write || m.Exec && m.Dir:
			return fmt.Errorf("%s would be a folder or a file of its own making that starts", m.Path)
		case m.Tree && (m.Hide || m.List || m.Once || m.Exec || m.Map || m.Link != ""):
			return fmt.Errorf("%s would come with the order, and is no folder or file of data", m.Path)
		case m.List && (!m.Dir || m.Read || m.Write || m.Exec || m.Map || m.Hide || m.Once || m.Link != ""):
			return fmt.Errorf("%s would be listed, and more", m.Path)
		case m.Map && m.Dir && o.Key == (initproto.Key{}):
			return fmt.Errorf("%s would be a folder of code where a loader can be started", m.Path)
		}
	}
	return nil
}

// notMountable reports a path that is not absolute and clean, or that an order may not use.
func notMountable(p string) bool {
	return !path.IsAbs(p) || path.Clean(p) != p || p == "/" || reserved(p)
}

// reserved reports whether a path is one of init's own.
func reserved(p string) bool {
	for _, own := range []string{procPath, devPath, canaryPath, closedPath, coverPath} {
		if p == own || len(p) > len(own) && p[:len(own)] == own && p[len(own)] == '/' {
			return true
		}
	}
	return false
}

// name is the host name of the guest.
func (g *guest) name() string { return "guest-" + g.Token }

// step is one step of init. The order of the steps matters.
type step struct {
	name string
	do   func(*guest) error
}

// building are the steps for the whole guest, with the privileges of its namespaces.
func building() []step {
	return []step{
		{"hostname", (*guest).setName},
		{"network", (*guest).setNetwork},
		{"listeners", (*guest).setListeners},
		{"landlock rules", (*guest).newRules},
		{"mounts", (*guest).setMounts},
		{"counts of namespaces", (*guest).setNamespaces},
		{"root", (*guest).leaveHostRoot},
		{"no more namespaces", (*guest).isLast},
	}
}

// restricting are the steps on the one thread that executes the program. Each drops something that an earlier
// one needs.
func restricting() []step {
	return []step{
		{"page", (*guest).setPage},
		{"limits", (*guest).setLimits},
		{"descriptors", (*guest).setDescriptors},
		{"clock", (*guest).setClock},
		{"no new privileges", (*guest).setPrivileges},
		{"landlock", (*guest).setLandlock},
		{"bounding set", (*guest).setBounding},
		{"user", (*guest).setUser},
		{"capabilities", (*guest).setCapabilities},
		{"parent death", (*guest).setParentDeath},
		{"memory", (*guest).setMemory},
		{"filter", (*guest).setFilter},
	}
}

func (g *guest) run(steps []step) error {
	for _, s := range steps {
		if err := s.do(g); err != nil {
			return err
		}
	}
	return nil
}

// noDomain is the domain name of a host without one.
const noDomain = "(none)"

// setName sets the guest's host name.
func (g *guest) setName() error {
	if err := unix.Sethostname([]byte(g.name())); err != nil {
		return missing(initproto.LayerNamespaces, "sethostname", err)
	}
	if err := unix.Setdomainname([]byte(noDomain)); err != nil {
		return missing(initproto.LayerNamespaces, "setdomainname", err)
	}
	return nil
}

// setNamespaces prevents new namespaces below this one. A clone of a mount needs one, so this comes after the
// mounts, and before the host's /proc is gone.
func (g *guest) setNamespaces() error {
	const step = "open /proc/sys/user"
	dir, err := unix.Open("/proc/sys/user", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return missing(initproto.LayerNamespaces, step, err)
	}
	defer unix.Close(dir)
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"} {
		name := "max_" + kind + "_namespaces"
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("0"))
			unix.Close(fd)
		}
		if err != nil {
			return missing(initproto.LayerNamespaces, "write /proc/sys/user/"+name, err)
		}
	}
	return nil
}

// isLast tries to make each namespace that one thread of several can make. This canary runs early: without
// capabilities the attempt would fail for another reason. The IPC namespace is left out: the kernel would first
// wait until others are gone.
func (g *guest) isLast() error {
	for _, kind := range []struct {
		name string
		flag int
	}{
		{"mnt", unix.CLONE_NEWNS}, {"pid", unix.CLONE_NEWPID}, {"net", unix.CLONE_NEWNET},
		{"uts", unix.CLONE_NEWUTS}, {"cgroup", unix.CLONE_NEWCGROUP},
	} {
		if err := expect("unshare of "+kind.name, unix.Unshare(kind.flag), unix.ENOSPC); err != nil {
			return canary{name: "counts of namespaces", layer: initproto.LayerNamespaces}.shows(err)
		}
	}
	g.proved = append(g.proved, "counts of namespaces")
	return nil
}
