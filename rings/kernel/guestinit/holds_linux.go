package guestinit

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// hasMounts: the mount table has each mount of init once, and the mounts below a granted folder with the
// attributes of that folder.
func (g *guest) hasMounts() error {
	text, err := procfs.Read("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	return g.hasTable(text)
}

func (g *guest) hasTable(text string) error {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Split(line, " ") // other white space may be part of a path
		if len(f) < 6 || !path.IsAbs(f[4]) {
			return fmt.Errorf("the line %q", line)
		}
		p := procfs.Unescape(f[4])
		in, below := g.above(p)
		want, ours := g.points[p]
		switch {
		case !ours && !below:
			return fmt.Errorf("there is a mount at %s", p)
		case ours && seen[p] && !below:
			return fmt.Errorf("there are two mounts at %s", p)
		case !ours:
			want = g.points[in]
		}
		seen[p] = true
		if have := procfs.Options(f[5]); !(ours && below) && have&want.Flags != want.Flags {
			return fmt.Errorf("the mount at %s is %s", p, f[5])
		}
	}
	for p := range g.points {
		if !seen[p] {
			return g.amiss(p, "there is no mount")
		}
	}
	return nil
}

// amiss is a path with something else than init has put there. If it lies below a folder of the host, that says
// nothing about the host: a process that works there, perhaps a guest, has renamed something on the way to it.
func (g *guest) amiss(p, what string) error {
	if g.below(p) {
		return broken(initproto.LayerMounts, "look at "+p, errors.New(what+"; somebody moves files there"))
	}
	return fmt.Errorf("at %s: %s", p, what)
}

// above is the nearest folder of the host that contains a path.
func (g *guest) above(p string) (string, bool) {
	for p != "/" {
		p = path.Dir(p)
		if g.folders[p] {
			return p, true
		}
	}
	return "", false
}

// hasPoints checks each mount point by its name: it holds the granted file, and the file system reports the
// required attributes.
func (g *guest) hasPoints() error {
	for p, want := range g.points {
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return perhaps(initproto.LayerMounts, "look at "+p, err)
		}
		var fs unix.Statfs_t
		if err := unix.Statfs(p, &fs); err != nil {
			return perhaps(initproto.LayerMounts, "look at the file system of "+p, err)
		}
		// The attributes of a mount and of statfs have the same bits.
		have := uint64(fs.Flags)
		what := ""
		switch {
		case want.Inode != 0 && (st.Dev != want.Device || st.Ino != want.Inode):
			what = "stands something else"
		case want.Inode == 0 && st.Dev == g.old:
			what = "stands something of the host's root"
		case want.Hidden && st.Mode&0o7777 != 0:
			what = "is no cover"
		case have&want.Flags != want.Flags:
			what = fmt.Sprintf("the file system has attributes %#x, and %#x are needed", have, want.Flags)
		default:
			continue
		}
		return g.amiss(p, what)
	}
	return nil
}

// hasLeft: no path leads up from the root, and no directory of the process is elsewhere.
func (g *guest) hasLeft() error {
	var root, up unix.Stat_t
	if err := errors.Join(unix.Stat("/", &root), unix.Stat("/..", &up)); err != nil {
		return fmt.Errorf("look at the root: %w", err)
	}
	if root.Dev != up.Dev || root.Ino != up.Ino || root.Dev == g.old {
		return errors.New("the root is not the guest's own")
	}
	b := make([]byte, 256)
	for _, name := range []string{"root", "cwd"} {
		n, err := unix.Readlink("/proc/thread-self/"+name, b)
		if err != nil {
			return fmt.Errorf("read the link %s: %w", name, err)
		}
		if string(b[:n]) != "/" {
			return fmt.Errorf("the %s of this thread is %s", name, b[:n])
		}
	}
	return nil
}

// isReadOnly: nothing can be created in the root, not even by init's user.
func (g *guest) isReadOnly() error {
	return expect("making a folder in the root", unix.Mkdir("/.made", 0o700), unix.EROFS)
}

// isNoExec: the content of a file of the guest cannot be mapped as code.
func (g *guest) isNoExec() error {
	b, err := unix.Mmap(g.canary, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err == nil {
		err = unix.Munmap(b)
	}
	return expect("mapping a file as code", err, unix.EPERM)
}

// startsOnce: the guest's own program cannot be started by the path that it has on the host. A file may be
// there, among others.
func (g *guest) startsOnce() error {
	if g.program < 0 {
		return errNotAsked
	}
	for _, m := range g.Mounts {
		if !m.Once {
			continue
		}
		err := unix.Faccessat(unix.AT_FDCWD, m.Path, unix.X_OK, unix.AT_EACCESS)
		if err := expect("starting "+m.Path+" by its path", err, unix.ENOENT, unix.EACCES, unix.ENOTDIR); err != nil {
			return err
		}
	}
	return nil
}

// startsNothing: without the key nothing can be started. Without the filter the kernel would look for the path,
// which does not exist.
func (g *guest) startsNothing() error {
	if g.Key == (initproto.Key{}) {
		return errNotAsked
	}
	_, _, e := unix.RawSyscall6(unix.SYS_EXECVE, 0, 0, 0, 0, 0, 0)
	return expect("starting a program without the key", asError(e), unix.EPERM)
}

// isWX: memory that was written cannot become code.
func (g *guest) isWX() error {
	if !g.WX {
		return errNotAsked
	}
	n, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	if g.wx && err != nil {
		return fmt.Errorf("PR_GET_MDWE: %w", err)
	}
	if g.wx && n&unix.PR_MDWE_REFUSE_EXEC_GAIN == 0 {
		return fmt.Errorf("PR_GET_MDWE is %d", n)
	}
	if err = g.makeCode(); err == nil {
		return nil
	}
	if !g.wx {
		return missing(initproto.LayerMemory, "PR_SET_MDWE", err)
	}
	return err
}

// makeCode tries it on a written page, and then with memory that is executable from the start: shared memory
// without a file could be written through a second mapping.
func (g *guest) makeCode() error {
	err := expect(
		"making a written page code", unix.Mprotect(g.page, unix.PROT_READ|unix.PROT_EXEC), unix.EACCES, unix.EPERM,
	)
	if err != nil {
		return err
	}
	err = unix.Mprotect(g.page, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC)
	if err := expect("making a page code that can be written", err, unix.EACCES, unix.EPERM); err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_ANON)
	if err == nil {
		err = unix.Munmap(b)
	}
	return expect("mapping shared memory as code", err, unix.EACCES)
}

// diesToo: the kernel ends the guest when the ring ends.
func (g *guest) diesToo() error {
	signal, err := parentDeath()
	if err != nil {
		return fmt.Errorf("PR_GET_PDEATHSIG: %w", err)
	}
	if signal != int32(unix.SIGKILL) {
		return fmt.Errorf("the signal at the ring's death is %d", signal)
	}
	return nil
}

// noSuchType is a type of socket that no kernel has.
const noSuchType = 15

// isFiltered makes two calls that have no effect without a filter and that the filter answers itself, with or
// without a listener. It repeats the second with bits that the kernel ignores.
func (g *guest) isFiltered() error {
	if err := expect("unshare of nothing", unix.Unshare(0), unix.EPERM); err != nil {
		return err
	}
	for _, family := range []uintptr{unix.AF_NETLINK, unix.AF_NETLINK | 1<<32} {
		fd, _, e := unix.RawSyscall(unix.SYS_SOCKET, family, noSuchType, 0)
		if e == 0 {
			unix.Close(int(fd))
		}
		if err := expect("a netlink socket", asError(e), unix.EAFNOSUPPORT); err != nil {
			return err
		}
	}
	return nil
}
