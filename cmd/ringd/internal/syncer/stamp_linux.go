package syncer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// onlyFolders makes an open fail for anything but a folder.
const onlyFolders = syscall.O_DIRECTORY

// stampOf returns a text that changes with a file: its inode, kind, size and times.
func stampOf(st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano())
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Size, s.Mtim.Nano(), s.Ctim.Nano())
}

// inode returns the number of the inode.
func inode(st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino)
}

// beingWritten reports whether the file is open for writing. The kernel grants a read lease only if it is
// not; the lease is released at once. If leases are not available (another owner without CAP_LEASE, some file
// systems) it is unknown. An ordinary user has no other way: /proc/locks lists locks and leases, not
// descriptors; /proc/PID/fd is visible only to the writer's own user; fanotify and inotify report only later
// opens.
func beingWritten(f *os.File) (writing, known bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, false
	}
	_ = raw.Control(func(fd uintptr) {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
		writing = errors.Is(err, unix.EAGAIN)
		known = writing || err == nil
		if err == nil {
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK) // closing f would do it too
		}
	})
	return writing, known
}

// changed returns when a file was last written, renamed or given another owner or mode. It is the later of
// its two times. The time of the inode cannot be set.
func changed(st fs.FileInfo) time.Time {
	at := st.ModTime()
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		if inode := time.Unix(s.Ctim.Unix()); inode.After(at) {
			at = inode
		}
	}
	return at
}
