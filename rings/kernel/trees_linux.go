package kernel

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/spawn"
)

// maxTrees is the largest number of mounts in one order. The kernel takes 253.
const maxTrees = 250

// spaces keeps the user namespaces by which mounts are mapped, by the guest's user.
type spaces struct {
	mu   sync.Mutex
	open map[int]*os.File
}

// maxSpaces limits how many are kept.
const maxSpaces = 64

// with calls f with the namespace that maps first and uid to each other.
func (s *spaces) with(sp *spawn.Spawner, first, uid int, f func(*os.File) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ns := s.open[uid]
	if ns == nil {
		made, err := sp.Users(first, uid)
		if err != nil {
			return spawnError(err)
		}
		if len(s.open) >= maxSpaces {
			err = s.closeLocked()
		}
		if s.open == nil {
			s.open = map[int]*os.File{}
		}
		s.open[uid], ns = made, made
		if err != nil {
			return err
		}
	}
	return f(ns)
}

func (s *spaces) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeLocked()
}

func (s *spaces) closeLocked() (err error) {
	for _, f := range s.open {
		err = errors.Join(err, f.Close())
	}
	clear(s.open)
	return err
}

// mapMounts marks the mounts of o that have to be mapped. Programs and libraries belong to root and cannot be
// changed: they are not mapped. ok is false if this host cannot map a mount that the guest may write into. The
// guest then needs the user that owns the files on disk.
func (r *Ring) mapMounts(o *initproto.Order) (ok bool, err error) {
	o.Mounts = slices.Clone(o.Mounts)
	left := maxTrees
	for _, write := range []bool{true, false} {
		for i := range o.Mounts {
			m := &o.Mounts[i]
			if m.Link != "" || m.Hide || m.List || m.Once || m.Exec || m.Map || m.Write != write {
				continue
			}
			if m.Tree = left > 0; m.Tree {
				tree, err := r.tree(*m, o.UID)
				if err == nil {
					err = tree.Close()
				}
				m.Tree = !unmapped(err)
				if err != nil && m.Tree {
					return false, err
				}
			}
			switch {
			case m.Tree:
				left--
			case write:
				return false, nil
			}
		}
	}
	return true, nil
}

// unmapped reports whether an error says that a file system, or this host, cannot map the users of a mount.
func unmapped(err error) bool {
	var not *notMapped
	return errors.As(err, &not)
}

type notMapped struct {
	path string
	err  error
}

func (e *notMapped) Error() string { return "map the users of " + e.path + ": " + e.err.Error() }
func (e *notMapped) Unwrap() error { return e.err }

// treeError is a mount that could not be opened, in the form in which init reports the other mounts.
func treeError(step string, err error) error {
	r := initproto.Report{
		Version: initproto.Version, Failed: initproto.LayerMounts, Kind: initproto.KindFault, Step: step,
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	switch errno {
	case unix.EPERM, unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP:
		r.Kind = initproto.KindMissing
	}
	r.Errno = int(errno)
	return explained(r)
}

// trees opens the mounts of an order that are mapped, in the order's sequence. The caller closes them.
func (r *Ring) trees(o initproto.Order) (files []*os.File, err error) {
	for _, m := range o.Mounts {
		if !m.Tree {
			continue
		}
		f, err := r.tree(m, o.UID)
		if err != nil {
			return nil, errors.Join(err, spawn.CloseFiles(files))
		}
		files = append(files, f)
	}
	return files, nil
}

// tree clones the mount at a path, without following symbolic links, as init does for other mounts, and maps
// its users. Init checks whether it is the granted one.
func (r *Ring) tree(m initproto.Mount, uid int) (*os.File, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, m.Path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, treeError("openat2 "+m.Path, err)
	}
	defer unix.Close(at)
	how := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH)
	if m.Dir {
		how |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(at, "", how)
	if err != nil {
		return nil, treeError("open_tree "+m.Path, err)
	}
	tree := os.NewFile(uintptr(fd), m.Path)
	err = r.spaces.with(r.spawn, r.users.first, uid, func(space *os.File) error {
		attr := unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_IDMAP, Propagation: unix.MS_PRIVATE, Userns_fd: uint64(space.Fd()),
		}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|how&unix.AT_RECURSIVE, &attr); err != nil {
			return &notMapped{m.Path, err}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return tree, nil
}
