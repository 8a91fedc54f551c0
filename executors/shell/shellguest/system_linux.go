package shellguest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors/guestside"
)

// seal protects this process from the programs that a script starts: none inherits its connection, and none can
// read or change its memory, although they run as the same user.
func seal() error {
	unix.CloseOnExec(guestside.Descriptor)
	unix.CloseOnExec(guestside.Answers)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to the programs of a script: %w", err)
	}
	unix.Umask(0o022)
	return nil
}

// newProcessGroup makes a program the leader of a new process group.
func newProcessGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// await waits for the end of a child without a thread: each thread counts as a process of the script, and the
// runtime needs its own.
func await(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil // the wait then takes a thread
	}
	f := os.NewFile(uintptr(fd), "child")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait for a program: %w", err)
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	if err != nil {
		return fmt.Errorf("wait for a program: %w", err)
	}
	return nil
}

// kill ends a process group. One that is gone is no error.
func kill(pid int) error {
	if err := unix.Kill(-pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", pid, err)
	}
	return nil
}

// signaled returns the signal that ended a program, or 0.
func signaled(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// openReal opens a path without following any symbolic link, even if the path changes meanwhile: each folder is
// opened relative to the one before.
func openReal(p string, flags int, mode fs.FileMode) (*os.File, error) {
	fault := func(err error) error { return &fs.PathError{Op: "open", Path: p, Err: err} }
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault(err)
	}
	dir, base := path.Split(p)
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name == "" {
			continue
		}
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err = errors.Join(err, unix.Close(at)); err != nil {
			return nil, fault(err)
		}
		at = next
	}
	if base == "" {
		base = "."
	}
	// O_NONBLOCK: an open of a named pipe would wait for the other side, and could not be interrupted.
	fd, err := unix.Openat(
		at, base, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, uint32(mode.Perm()),
	)
	err = errors.Join(err, unix.Close(at))
	if err != nil {
		return nil, fault(err)
	}
	return os.NewFile(uintptr(fd), p), nil
}

// access checks whether this process may read (4), write (2) or enter (1).
func access(p string, mode uint32) error { return unix.Access(p, mode) }
