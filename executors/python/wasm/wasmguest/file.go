package wasmguest

import (
	"io"
	"io/fs"
	"maps"
	"slices"

	experimental "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// file is an open file, folder or device.
type file struct {
	tree    *Tree
	node    *node
	at      int64
	list    []string // of a folder, from the first Readdir
	listed  bool
	reads   bool
	writes  bool
	appends bool
	closed  bool
}

var _ experimental.File = (*file)(nil)

// usable returns an error for a file that cannot be read or written.
func (f *file) usable(may bool) experimental.Errno {
	switch {
	case f.closed, !may:
		return experimental.EBADF
	case f.node.entries != nil:
		return experimental.EISDIR
	}
	return 0
}

func (f *file) Dev() (uint64, experimental.Errno)      { return 1, 0 }
func (f *file) Ino() (sys.Inode, experimental.Errno)   { return f.node.inode, 0 }
func (f *file) IsDir() (bool, experimental.Errno)      { return f.node.entries != nil, 0 }
func (f *file) IsAppend() bool                         { return f.appends }
func (f *file) SetAppend(on bool) experimental.Errno   { f.appends = on; return 0 }
func (f *file) Sync() experimental.Errno               { return 0 }
func (f *file) Datasync() experimental.Errno           { return 0 }
func (f *file) Close() experimental.Errno              { f.closed = true; return 0 }
func (f *file) Stat() (sys.Stat_t, experimental.Errno) { return f.node.stat(), 0 }

func (f *file) Read(p []byte) (int, experimental.Errno) {
	if d := f.node.device; d != nil {
		return moved(f.usable(f.reads), d.Read, p)
	}
	n, errno := f.Pread(p, f.at)
	f.at += int64(n)
	return n, errno
}

// moved returns how many bytes a device has moved. The end of a device is the end of a file.
func moved(errno experimental.Errno, move func([]byte) (int, error), p []byte) (int, experimental.Errno) {
	if errno != 0 {
		return 0, errno
	}
	n, err := move(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a device returns io.EOF itself
		return 0, experimental.EIO
	}
	return n, 0
}

func (f *file) Pread(p []byte, off int64) (int, experimental.Errno) {
	if errno := f.usable(f.reads && f.node.device == nil); errno != 0 {
		return 0, errno
	}
	text, errno := f.node.text()
	switch {
	case errno != 0:
		return 0, errno
	case off < 0:
		return 0, experimental.EINVAL
	case off >= int64(len(text)):
		return 0, 0
	}
	return copy(p, text[off:]), 0
}

func (f *file) Write(p []byte) (int, experimental.Errno) {
	if d := f.node.device; d != nil {
		return moved(f.usable(f.writes), d.Write, p)
	}
	if f.appends {
		f.at = f.node.length()
	}
	n, errno := f.Pwrite(p, f.at)
	f.at += int64(n)
	return n, errno
}

func (f *file) Pwrite(p []byte, off int64) (int, experimental.Errno) {
	if errno := f.usable(f.writes && f.node.device == nil); errno != 0 {
		return 0, errno
	}
	end := off + int64(len(p))
	if off < 0 || end < 0 {
		return 0, experimental.EINVAL
	}
	if end > int64(len(f.node.data)) {
		if errno := f.tree.resize(f.node, end); errno != 0 {
			return 0, errno
		}
	}
	f.node.time = f.tree.cfg.Now()
	return copy(f.node.data[off:], p), 0
}

// position has another name than int64, since go vet would take the method for io.Seeker's.
type position = int64

func (f *file) Seek(offset position, whence int) (int64, experimental.Errno) {
	switch {
	case f.closed:
		return 0, experimental.EBADF
	case f.node.entries != nil: // a folder can only be read again from its beginning
		if offset != 0 || whence != io.SeekStart {
			return 0, experimental.EINVAL
		}
		f.list, f.listed = nil, false
		return 0, 0
	case f.node.device != nil:
		return 0, experimental.ENOSYS
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.node.length()
	default:
		return 0, experimental.EINVAL
	}
	if offset < 0 {
		return 0, experimental.EINVAL
	}
	f.at = offset
	return offset, 0
}

func (f *file) Readdir(n int) ([]experimental.Dirent, experimental.Errno) {
	if f.closed {
		return nil, experimental.EBADF
	}
	if f.node.entries == nil {
		return nil, experimental.ENOTDIR
	}
	if !f.listed {
		f.list, f.listed = slices.Sorted(maps.Keys(f.node.entries)), true
		f.tree.cfg.Made(fileBytes * int64(len(f.list)))
	}
	if n < 0 || n > len(f.list) {
		n = len(f.list)
	}
	var out []experimental.Dirent
	for _, name := range f.list[:n] {
		if e := f.node.entries[name]; e != nil { // it may have been removed since
			out = append(out, experimental.Dirent{Ino: e.inode, Name: name, Type: e.stat().Mode & fs.ModeType})
		}
	}
	f.list = f.list[n:]
	return out, 0
}

func (f *file) Truncate(size int64) experimental.Errno {
	if errno := f.usable(f.writes && f.node.device == nil); errno != 0 {
		return errno
	}
	return f.tree.resize(f.node, size)
}

func (f *file) Utimens(_, modified int64) experimental.Errno { return f.tree.stamp(f.node, modified) }
