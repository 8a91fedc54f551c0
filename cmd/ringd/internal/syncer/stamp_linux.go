package syncer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

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
// Where leases cannot be had (another owner, some file systems) it reports
// false, and the comparison of passes is all there is.
func beingWritten(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	writing := false
	_ = raw.Control(func(fd uintptr) {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
		writing = errors.Is(err, unix.EAGAIN)
		if err == nil {
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK) // the close of f would do it, too
		}
	})
	return writing
}
