package guestinit

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Files that init itself puts into the guest's root.
const (
	procPath   = "/proc"
	devPath    = "/dev"
	tempPath   = initproto.TempPath
	canaryPath = "/.canary" // readable for all, but no Landlock rule grants it
	closedPath = "/.closed" // no permissions at all
	coverPath  = "/.cover"  // an empty folder and an empty file, closed to all
	coverFile  = "file"
)

// Attributes of mounts.
const (
	readOnly = unix.MOUNT_ATTR_RDONLY
	noSetID  = unix.MOUNT_ATTR_NOSUID
	noDevice = unix.MOUNT_ATTR_NODEV
	noExec   = unix.MOUNT_ATTR_NOEXEC
	tight    = noSetID | noDevice | noExec
)

// devices are the device files of a guest, by their numbers.
func devices() []struct {
	name  string
	minor uint32
} {
	return []struct {
		name  string
		minor uint32
	}{{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}}
}

// source is a tree of the host. It was cloned before anything was mounted, so it is the checked one even if its
// name changes.
type source struct {
	initproto.Mount
	fd    int
	flags uint64
	mode  uint32
}

// setMounts makes the guest's tree, over the host's root.
func (g *guest) setMounts() error {
	unix.Umask(0)
	sources, err := g.clone()
	if err != nil {
		return err
	}
	proc, err := fileSystem("proc", tight|readOnly, "subset", "pid")
	if err != nil {
		return err
	}
	root, err := g.newRoot()
	if err != nil {
		return err
	}
	if err := g.newTemp(root); err != nil {
		return err
	}
	if err := g.newScratch(root); err != nil {
		return err
	}
	for _, s := range sources {
		if s.Once {
			g.program = s.fd
			continue
		}
		if err := g.place(root, s); err != nil {
			return err
		}
	}
	if err := g.addOwnFiles(root, proc); err != nil {
		return err
	}
	for _, m := range g.Mounts {
		if m.Link != "" {
			err = g.link(root, m)
		} else if m.Hide {
			err = g.coverPath(root, m)
		} else if m.List {
			err = g.list(root, m)
		}
		if err != nil {
			return err
		}
	}
	g.top = root
	return nil
}

// clone opens every granted path and the devices.
func (g *guest) clone() ([]source, error) {
	sources := make([]source, 0, len(g.Mounts)+len(devices()))
	for _, m := range g.Mounts {
		if m.Link != "" || m.Hide || m.List {
			continue
		}
		s, err := g.take(m, flagsOf(m))
		if err != nil {
			return nil, err
		}
		if s.Device != m.Device || s.Inode != m.Inode || m.Dir != (s.mode&unix.S_IFMT == unix.S_IFDIR) {
			return nil, &fault{
				layer: initproto.LayerMounts, kind: initproto.KindFault, step: "look at " + m.Path,
				reason: fmt.Sprintf("%s is not what it was when the policy was prepared", m.Path),
			}
		}
		if err := g.grant(s.fd, m); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(g.trees) > 0 {
		return nil, broken(
			initproto.LayerMounts, "take the mounts of the order",
			fmt.Errorf("%d descriptors are no mount's", len(g.trees)),
		)
	}
	for _, d := range devices() {
		s, err := g.take(initproto.Mount{Path: devPath + "/" + d.name, Read: true, Write: true}, noSetID|noExec)
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		if err := unix.Fstat(s.fd, &st); err != nil {
			return nil, broken(initproto.LayerMounts, "fstat "+s.Path, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, d.minor) {
			return nil, broken(
				initproto.LayerMounts, "look at "+s.Path, errors.New("it is not the device of that name"),
			)
		}
		if err := g.grant(s.fd, s.Mount); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// flagsOf returns the mount attributes for the rights of a mount.
func flagsOf(m initproto.Mount) uint64 {
	f := uint64(noSetID | noDevice)
	if !m.Write {
		f |= readOnly
	}
	if !m.Exec && !m.Map {
		f |= noExec
	}
	return f
}

// take clones one tree with the mounts below it, without following symbolic links. Later mounts of the host do
// not reach the clone.
func (g *guest) take(m initproto.Mount, flags uint64) (source, error) {
	s := source{Mount: m, flags: flags}
	how := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH)
	if m.Dir {
		how |= unix.AT_RECURSIVE
	}
	if m.Tree {
		if len(g.trees) == 0 {
			return s, broken(initproto.LayerMounts, "take "+m.Path, errors.New("it did not come with the order"))
		}
		s.fd, g.trees = g.trees[0], g.trees[1:]
		return s.set(how)
	}
	at, err := unix.Openat2(unix.AT_FDCWD, m.Path, &unix.OpenHow{
		// Not with O_NOFOLLOW, which would open a link itself.
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return s, perhaps(initproto.LayerMounts, "openat2 "+m.Path, err)
	}
	defer unix.Close(at)
	if s.fd, err = unix.OpenTree(at, "", how); err != nil {
		return s, perhaps(initproto.LayerMounts, "open_tree "+m.Path, err)
	}
	return s.set(how)
}

// set checks a clone and sets its attributes, recursively if it was cloned so.
func (s source) set(how uint) (source, error) {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return s, broken(initproto.LayerMounts, "fstat "+s.Path, err)
	}
	s.Device, s.Inode, s.mode = st.Dev, st.Ino, st.Mode
	attr := unix.MountAttr{Attr_set: s.flags, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(s.fd, "", unix.AT_EMPTY_PATH|how&unix.AT_RECURSIVE, &attr); err != nil {
		return s, perhaps(initproto.LayerMounts, "mount_setattr "+s.Path, err)
	}
	return s, nil
}

// fileSystem makes a file system that is not mounted yet.
func fileSystem(kind string, flags uint64, options ...string) (fd int, err error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, perhaps(initproto.LayerMounts, "fsopen "+kind, err)
	}
	defer unix.Close(ctx)
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(ctx, options[i], options[i+1]); err != nil {
			return -1, missing(initproto.LayerMounts, "fsconfig "+kind+" "+options[i], err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, perhaps(initproto.LayerMounts, "fsconfig "+kind, err)
	}
	if fd, err = unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, int(flags)); err != nil {
		return -1, perhaps(initproto.LayerMounts, "fsmount "+kind, err)
	}
	return fd, nil
}

// newRoot mounts the guest's root over the host's, where no process sees it yet.
func (g *guest) newRoot() (fd int, err error) {
	var st unix.Stat_t
	if err := unix.Stat("/", &st); err != nil {
		return -1, broken(initproto.LayerMounts, "stat /", err)
	}
	g.old = st.Dev
	if fd, err = fileSystem("tmpfs", tight, "mode", "0755", "size", "1m"); err != nil {
		return -1, err
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, perhaps(initproto.LayerMounts, "move_mount /", err)
	}
	g.points["/"] = point{Flags: tight | readOnly}
	return fd, nil
}

// place mounts a clone at its path in the host.
func (g *guest) place(root int, s source) error {
	defer unix.Close(s.fd)
	step := "move_mount " + s.Path
	name := s.Path[1:]
	if !g.below(s.Path) {
		if err := g.point(root, s.Path, s.mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
			return err
		}
		if err := unix.MoveMount(s.fd, "", root, name, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return perhaps(initproto.LayerMounts, step, err)
		}
	} else {
		target, err := find(root, s.Mount)
		if err != nil {
			return err
		}
		defer unix.Close(target)
		if err := unix.MoveMount(
			s.fd, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH,
		); err != nil {
			return perhaps(initproto.LayerMounts, step, err)
		}
	}
	g.points[s.Path] = point{Flags: s.flags, Device: s.Device, Inode: s.Inode}
	if s.Dir {
		g.folders[s.Path] = true
	}
	return nil
}

// find opens a path below a granted folder. Other processes may work in that folder of the host, so the path
// must match the order.
func find(root int, m initproto.Mount) (fd int, err error) {
	fd, err = unix.Openat2(root, m.Path[1:], &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return -1, broken(initproto.LayerMounts, "openat2 "+m.Path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, broken(initproto.LayerMounts, "fstat "+m.Path, err)
	}
	if st.Dev != m.Device || st.Ino != m.Inode {
		unix.Close(fd)
		return -1, broken(
			initproto.LayerMounts, "look at "+m.Path, errors.New("it is not what it was when the policy was prepared"),
		)
	}
	return fd, nil
}

// below reports whether a path lies in a mounted folder of the host.
func (g *guest) below(p string) bool {
	for p != "/" {
		p = path.Dir(p)
		if g.folders[p] {
			return true
		}
	}
	return false
}

// point makes an empty file or folder in the guest's own root as a mount point.
func (g *guest) point(root int, p string, dir bool) error {
	if dir {
		return g.folder(root, p)
	}
	if err := g.folder(root, path.Dir(p)); err != nil {
		return err
	}
	if err := unix.Mknodat(root, p[1:], unix.S_IFREG|0o444, 0); err != nil {
		return broken(initproto.LayerMounts, "mknod "+p, err)
	}
	return nil
}

// folder makes a folder in the guest's own root, with its parents.
func (g *guest) folder(root int, p string) error {
	if p == "/" || g.made[p] {
		return nil
	}
	if err := g.folder(root, path.Dir(p)); err != nil {
		return err
	}
	if err := unix.Mkdirat(root, p[1:], 0o755); err != nil {
		return broken(initproto.LayerMounts, "mkdir "+p, err)
	}
	g.made[p] = true
	return nil
}

// addOwnFiles adds the guest's own files: processes, temporary files, links of devices, the canary.
func (g *guest) addOwnFiles(root, proc int) error {
	if err := g.mountOwn(root, proc, procPath, tight|readOnly); err != nil {
		return err
	}
	for _, l := range [][2]string{
		{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
	} {
		if err := symlink(root, l[0], l[0], l[1]); err != nil {
			return err
		}
	}
	if err := unix.Mknodat(root, canaryPath[1:], unix.S_IFREG|0o444, 0); err != nil {
		return broken(initproto.LayerMounts, "mknod "+canaryPath, err)
	}
	fd, err := unix.Openat(root, canaryPath[1:], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return broken(initproto.LayerMounts, "open "+canaryPath, err)
	}
	g.canary = fd
	if err := unix.Mknodat(root, closedPath[1:], unix.S_IFREG, 0); err != nil {
		return broken(initproto.LayerMounts, "mknod "+closedPath, err)
	}
	return nil
}

// newTemp mounts the folder of temporary files, unless the host's folder is granted. It is mounted before the
// granted paths, because a granted path may be inside of it.
func (g *guest) newTemp(root int) error {
	if !slices.Contains(g.InMemory(), tempPath) {
		return nil
	}
	fd, err := fileSystem(
		"tmpfs", tight, "mode", "1777", "size", strconv.FormatInt(g.Temp, 10), "nr_inodes",
		strconv.FormatInt(inodes(g.Temp), 10),
	)
	if err != nil {
		return err
	}
	if err := g.mountOwn(root, fd, tempPath, tight); err != nil {
		return err
	}
	// POSIX shared memory and semaphores are files of this folder.
	if err := g.folder(root, devPath); err != nil {
		return err
	}
	return symlink(root, "/dev/shm", devPath+"/shm", tempPath)
}

// newScratch mounts the program's own workspace. Its owner is the program's user: git does not trust a
// repository of another user.
func (g *guest) newScratch(root int) error {
	if g.Scratch == "" {
		return nil
	}
	fd, err := fileSystem("tmpfs", tight, "mode", "0700", "size", strconv.FormatInt(g.Temp, 10), "nr_inodes",
		strconv.FormatInt(inodes(g.Temp), 10),
		"uid", strconv.Itoa(g.UID), "gid", strconv.Itoa(g.GID))
	if err != nil {
		return err
	}
	return g.mountOwn(root, fd, g.Scratch, tight)
}

// inodes of a temporary folder: as many as the number of one-block files that it could hold.
func inodes(bytes int64) int64 { return max(bytes/4096, 64) }

// mountOwn mounts a file system of the guest's own, and grants it.
func (g *guest) mountOwn(root, fd int, p string, flags uint64) error {
	defer unix.Close(fd)
	if err := g.folder(root, p); err != nil {
		return err
	}
	if err := unix.MoveMount(fd, "", root, p[1:], unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return perhaps(initproto.LayerMounts, "move_mount "+p, err)
	}
	g.points[p] = point{Flags: flags}
	return g.grant(fd, initproto.Mount{Path: p, Dir: true, Read: true, Write: flags&readOnly == 0})
}

func symlink(root int, what, at, text string) error {
	if err := unix.Symlinkat(text, root, at[1:]); err != nil {
		return broken(initproto.LayerMounts, "symlink "+what, err)
	}
	return nil
}

// link makes a symbolic link. In a folder of the host it must already exist.
func (g *guest) link(root int, m initproto.Mount) error {
	if !g.below(m.Path) {
		if err := g.folder(root, path.Dir(m.Path)); err != nil {
			return err
		}
		return symlink(root, m.Path, m.Path, m.Link)
	}
	b := make([]byte, 4096)
	n, err := unix.Readlinkat(root, m.Path[1:], b)
	if err != nil {
		return broken(initproto.LayerMounts, "readlink "+m.Path, err)
	}
	if string(b[:n]) != m.Link {
		return broken(
			initproto.LayerMounts, "look at "+m.Path,
			errors.New("the link leads elsewhere than when the policy was prepared"),
		)
	}
	return nil
}

// list makes a folder in the guest's own root, whose mounts can be listed. Below a folder of the host it would
// be the host's folder.
func (g *guest) list(root int, m initproto.Mount) error {
	if g.below(m.Path) {
		return broken(initproto.LayerMounts, "list "+m.Path, errors.New("it lies in a folder of the host"))
	}
	if err := g.folder(root, m.Path); err != nil {
		return err
	}
	fd, err := unix.Openat(root, m.Path[1:], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return broken(initproto.LayerMounts, "open "+m.Path, err)
	}
	defer unix.Close(fd)
	return g.grant(fd, m)
}

// coverPath covers a path.
func (g *guest) coverPath(root int, m initproto.Mount) error {
	if !g.below(m.Path) {
		return nil // nothing is there
	}
	if err := g.cover(root); err != nil {
		return err
	}
	target, err := find(root, m)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	from := coverPath[1:]
	if !m.Dir {
		from += "/" + coverFile
	}
	fd, err := unix.OpenTree(root, from, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return perhaps(initproto.LayerMounts, "open_tree "+coverPath, err)
	}
	defer unix.Close(fd)
	if err := unix.MoveMount(
		fd, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH,
	); err != nil {
		return perhaps(initproto.LayerMounts, "cover "+m.Path, err)
	}
	g.points[m.Path] = point{Flags: tight | readOnly, Hidden: true}
	return nil
}

// cover creates the cover for denied paths: a folder that cannot be entered, and a file that cannot be opened.
// Both are read-only, so that their owner cannot change their modes.
func (g *guest) cover(root int) error {
	if _, ok := g.points[coverPath]; ok {
		return nil
	}
	fd, err := fileSystem("tmpfs", tight, "mode", "0000", "size", "4k", "nr_inodes", "4")
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Mknodat(fd, coverFile, unix.S_IFREG, 0); err != nil {
		return broken(initproto.LayerMounts, "mknod "+coverPath, err)
	}
	if err := g.folder(root, coverPath); err != nil {
		return err
	}
	if err := unix.MoveMount(fd, "", root, coverPath[1:], unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return perhaps(initproto.LayerMounts, "move_mount "+coverPath, err)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return perhaps(initproto.LayerMounts, "mount_setattr "+coverPath, err)
	}
	g.points[coverPath] = point{Flags: tight | readOnly, Hidden: true}
	return nil
}

// leaveHostRoot makes the guest's root the only one.
func (g *guest) leaveHostRoot() error {
	root := g.top
	defer unix.Close(root)
	if err := unix.Fchdir(root); err != nil {
		return broken(initproto.LayerMounts, "fchdir", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return perhaps(initproto.LayerMounts, "pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return perhaps(initproto.LayerMounts, "umount of the old root", err)
	}
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return perhaps(initproto.LayerMounts, "mount_setattr /", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return broken(initproto.LayerMounts, "chdir /", err)
	}
	unix.Umask(0o022)
	return nil
}

// perhaps distinguishes a layer that the host does not give from a failure of this one guest.
func perhaps(layer, step string, err error) error {
	for _, e := range []unix.Errno{unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return missing(layer, step, err)
		}
	}
	if strings.HasPrefix(step, "fs") && (errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL)) {
		return missing(layer, step, err)
	}
	return broken(layer, step, err)
}
