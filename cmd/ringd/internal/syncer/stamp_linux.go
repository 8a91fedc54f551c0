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

// onlyFolders makes opening anything else fail.
const onlyFolders = syscall.O_DIRECTORY

// stampOf is what changes when a file does: its inode, kind, size and times.
func stampOf(st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano())
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Size, s.Mtim.Nano(), s.Ctim.Nano())
}

// inode names the inode.
func inode(st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino)
}

// beingWritten reports whether somebody has the file open for writing. The
// kernel grants a read lease only while nobody has; it is given back at once.
// Where leases cannot be had (another owner without CAP_LEASE, some file systems) it is
// not known. Nothing else tells an ordinary user: /proc/locks lists locks and leases, not
// descriptors; /proc/PID/fd is shown to the writer's own user; fanotify and inotify tell
// of what is opened from now on.
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
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK) // the close of f would do it, too
		}
	})
	return writing, known
}

// changed is when a file was last written, renamed or given another owner or mode: the
// later of its two times, of which nobody sets the one of the inode.
func changed(st fs.FileInfo) time.Time {
	at := st.ModTime()
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		if inode := time.Unix(s.Ctim.Unix()); inode.After(at) {
			at = inode
		}
	}
	return at
}
