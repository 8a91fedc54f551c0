package violations

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Listener answers the denied calls of one guest. A quiet guest costs no thread.
type Listener struct {
	cfg  Config
	file *os.File
	raw  syscall.RawConn
	done chan struct{} // closed when the goroutine has ended

	once sync.Once
	err  error // of closing; under once

	// Only the goroutine uses these.
	refused  int
	canaries int
	tally    tally
	ending   bool
}

// Listen serves the listener fd of a guest's filter. It owns fd from then on, also if Listen fails. Close ends
// it.
func Listen(c Config, fd *os.File) (*Listener, error) {
	if fd == nil {
		return nil, errors.New("watch a guest: no listener")
	}
	l, err := listen(c, fd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch a guest: %w", err), fd.Close())
	}
	c.Go(l.serve)
	return l, nil
}

func listen(c Config, fd *os.File) (*Listener, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := checkSizes(); err != nil {
		return nil, err
	}
	// A file uses the poller if it is made from a non-blocking descriptor.
	own, err := unix.FcntlInt(fd.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("copy the listener: %w", err)
	}
	if err := unix.SetNonblock(own, true); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the listener: %w", err), unix.Close(own))
	}
	file := os.NewFile(uintptr(own), "seccomp listener")
	raw, err := file.SyscallConn()
	if err == nil {
		err = fd.Close()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Listener{cfg: c, file: file, raw: raw, done: make(chan struct{})}, nil
}

// Close ends the listener and waits for it. The kernel then denies its calls with ENOSYS. Close may be called
// more than once, and from Config.End, but not from Config.Report.
func (l *Listener) Close() error {
	err := l.shut()
	<-l.done
	return err
}

func (l *Listener) shut() error {
	l.once.Do(func() { l.err = l.file.Close() })
	return l.err
}

// serve answers until the guest is gone, or until too many of its calls were denied. A guest that has to end
// gets no answer until it does.
func (l *Listener) serve() {
	defer close(l.done)
	for l.next() {
	}
	if !l.ending {
		_ = l.shut() // Close returns the error
	}
}

// next waits for one call and answers it. It returns false if it must not answer any more.
func (l *Listener) next() (more bool) {
	err := l.raw.Read(func(fd uintptr) bool {
		ready, gone := pollListener(fd)
		switch {
		case ready:
			more = l.answerOne(fd)
		case !gone:
			return false // wait
		}
		return true
	})
	if err != nil {
		return false // closed
	}
	return more && (l.cfg.Granted != nil || l.refused < maxRefused)
}

// pollListener reports whether a call waits, so that receive will not block, and whether no process of the filter is
// left.
func pollListener(fd uintptr) (ready, gone bool) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, true
		}
		if n == 0 {
			return false, false
		}
		return p[0].Revents&unix.POLLIN != 0, true
	}
}

// answerOne receives one notification, reports it and answers. A guest that has to end gets no answer.
func (l *Listener) answerOne(fd uintptr) (more bool) {
	n, ok, err := receive(fd)
	if err != nil || !ok {
		return err == nil
	}
	if l.cfg.Canary != nil && l.canaries < maxCanaries && l.cfg.Canary() {
		l.canaries++
		return send(fd, answer{ID: n.ID, Error: -int32(unix.EPERM)}) == nil
	}
	v, refused := l.classify(fd, n)
	if refused {
		l.refused++
		v, tell := l.tally.add(v)
		var err error
		if tell || v.End {
			err = l.cfg.Report(v)
		}
		if err == nil && l.cfg.Granted != nil && l.refused >= maxRefusedExec {
			err = ErrTooMany // after closing the listener, its exec calls would fail
		}
		if err != nil || v.End {
			l.ending = true
			l.cfg.Go(func() { l.cfg.End(v, err) })
			return false
		}
	}
	a := answer{ID: n.ID, Error: -int32(l.errno(v.Call))}
	if l.goesOn(v.Call) {
		a.Error, a.Flags = 0, flagContinue
	}
	return send(fd, a) == nil
}

// goesOn reports whether a call is decided elsewhere and only observed here.
func (l *Listener) goesOn(call string) bool {
	return l.cfg.Granted != nil && !l.cfg.Sealed && isExec(call)
}

func isExec(call string) bool { return call == "execve" || call == "execveat" }

// classify describes a call and reports whether it is a violation.
func (l *Listener) classify(fd uintptr, n notif) (v Violation, refused bool) {
	name := l.cfg.Name(int(n.Data.Nr))
	if name == "" {
		name = "syscall " + strconv.Itoa(int(n.Data.Nr))
	}
	v = Violation{Layer: initproto.LayerSeccomp, Call: name, PID: int(n.PID), End: l.cfg.Sealed}
	switch {
	case l.cfg.Sealed:
		v.Layer = initproto.LayerSeal
	case isExec(name) && l.cfg.Granted == nil:
		v.Layer = initproto.LayerExec
	}
	file, read := "", false
	if i, ok := pathArgument(name); ok {
		file, read = text(int(n.PID), n.Data.Args[i])
		read = read && valid(fd, n.ID) // the text that was read is the caller's only if the caller still waits
		v.Detail = "(not readable)"
		if read {
			v.Detail = clip(file)
		}
	}
	if name == "socket" || name == "socketpair" {
		v.Detail = family(int32(n.Data.Args[0]))
	}
	if !l.goesOn(name) {
		return v, true
	}
	if read && l.cfg.Begun != nil && !l.cfg.Begun() && strings.HasPrefix(file, initproto.ProgramPath) {
		return v, false
	}
	v.Layer = initproto.LayerExec
	at := int32(unix.AT_FDCWD)
	if name == "execveat" {
		at = int32(n.Data.Args[0])
	}
	// A caller that was interrupted starts nothing, and repeats the call: the Go runtime of init interrupts a
	// thread that runs long.
	return v, (!read || !l.granted(fd, n, at, file)) && valid(fd, n.ID)
}

// granted reports whether the program at the guest's path file may be started, or does not exist: a shell tries
// one folder after another.
func (l *Listener) granted(fd uintptr, n notif, at int32, file string) bool {
	proc := "/proc/" + strconv.Itoa(int(n.PID))
	if !path.IsAbs(file) {
		from := proc + "/cwd"
		if at != unix.AT_FDCWD {
			from = proc + "/fd/" + strconv.Itoa(int(at))
		}
		dir, err := os.Readlink(from)
		if err != nil {
			return false
		}
		file = path.Join(dir, file)
	}
	root, err := unix.Open(proc+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(root) }()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	f, err := unix.Openat2(root, file, &how)
	if err != nil {
		return (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) && !(l.cfg.Shells && isShell(file))
	}
	defer func() { _ = unix.Close(f) }()
	var s unix.Stat_t
	if err := unix.Fstat(f, &s); err != nil || !valid(fd, n.ID) {
		return false
	}
	return l.cfg.Granted(s.Dev, s.Ino)
}

func (l *Listener) errno(call string) syscall.Errno {
	if l.cfg.Errno != nil {
		if e := l.cfg.Errno(call); e != 0 {
			return e
		}
	}
	switch call {
	case "socket":
		return unix.EAFNOSUPPORT
	case "clone3":
		return unix.ENOSYS
	default:
		return unix.EPERM
	}
}

// pathArgument returns the index of the argument that is a path, if the call has one.
func pathArgument(call string) (int, bool) {
	switch call {
	case "open", "creat", "execve", "mkdir", "mknod", "chmod", "chown", "lchown", "unlink", "rmdir", "rename", "link",
		"symlink", "chroot", "truncate", "setxattr", "lsetxattr", "umount2", "swapon", "acct", "statfs", "access",
		"stat", "lstat", "readlink", "pivot_root", "uselib", "quotactl":
		return 0, true
	case "openat", "openat2", "execveat", "mkdirat", "mknodat", "fchmodat", "fchmodat2", "fchownat", "unlinkat",
		"renameat", "renameat2", "linkat", "name_to_handle_at", "open_tree", "move_mount", "mount_setattr", "mount",
		"faccessat", "faccessat2", "newfstatat", "statx", "readlinkat", "utimensat", "inotify_add_watch":
		return 1, true
	default:
		return 0, false
	}
}

// family returns the name of a family of sockets.
func family(n int32) string {
	switch n {
	case unix.AF_UNIX:
		return "AF_UNIX"
	case unix.AF_INET:
		return "AF_INET"
	case unix.AF_INET6:
		return "AF_INET6"
	case unix.AF_NETLINK:
		return "AF_NETLINK"
	case unix.AF_PACKET:
		return "AF_PACKET"
	case unix.AF_VSOCK:
		return "AF_VSOCK"
	case unix.AF_ALG:
		return "AF_ALG"
	case unix.AF_XDP:
		return "AF_XDP"
	default:
		return "family " + strconv.Itoa(int(n))
	}
}
