// A Tree is the file tree of a program of the WebAssembly Python: the standard library, which cannot be
// written, and a folder of its own. All of it is in memory. No path of the host is behind any of it. The engine
// builds one for each program.
//
// Only the goroutine of the program uses a Tree.

package wasmguest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	experimental "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// Limits of a program's files.
const (
	maxNodes = 10_000
	maxDepth = 64
	maxName  = 255

	fileBytes = 512 // Go memory for an open file and its name
)

// treeConfig is the input of a Tree.
type treeConfig struct {
	Now   func() int64 // nanoseconds since the epoch
	Bytes int64        // limit of the program's own files; if 0, none
	Made  func(int64)  // called with the memory that was taken for the program; may be nil
}

// Tree is a file system in memory. newTree makes one; its zero value is not usable.
type Tree struct {
	experimental.UnimplementedFS
	cfg   treeConfig
	root  *node
	inode uint64
	left  int64 // bytes
	nodes int   // that the program may still make
}

// Device is a file without data: reads and writes of the file are passed to it. Both return as soon as any byte
// was moved. An error of either is the program's EIO.
type Device interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
}

// node is a file, a folder or a device.
type node struct {
	entries map[string]*node // nil if it is no folder
	data    []byte
	load    func() ([]byte, error) // fills data at the first read; nil if it is filled
	size    int64                  // of the result of load
	device  Device
	own     bool // the program may change it
	inode   uint64
	time    int64
}

// newTree returns a tree with an empty root.
func newTree(c treeConfig) (*Tree, error) {
	if c.Now == nil || c.Bytes < 0 {
		return nil, errors.New("files of a program: Now must be set, and Bytes not negative")
	}
	if c.Made == nil {
		c.Made = func(int64) {}
	}
	t := &Tree{cfg: c, left: c.Bytes, nodes: maxNodes}
	t.root = t.folder(false)
	return t, nil
}

func (t *Tree) folder(own bool) *node {
	t.inode++
	return &node{entries: map[string]*node{}, own: own, inode: t.inode, time: t.cfg.Now()}
}

// AddFile adds a read-only file, with the folders above it. load returns its text, of size bytes, at the first
// read.
func (t *Tree) AddFile(name string, size int64, load func() ([]byte, error)) error {
	t.inode++
	return t.add(name, &node{load: load, size: size, inode: t.inode, time: t.cfg.Now()})
}

// AddDevice adds a device that can be opened only once. When it is opened, its name is removed.
func (t *Tree) AddDevice(name string, d Device) error {
	t.inode++
	return t.add(name, &node{device: d, inode: t.inode, time: t.cfg.Now()})
}

// AddFolder adds an empty folder that belongs to the program.
func (t *Tree) AddFolder(name string) error { return t.add(name, t.folder(true)) }

func (t *Tree) add(name string, n *node) error {
	at := t.root
	parts := split(name)
	if len(parts) == 0 {
		return errors.New("add to the files of a program: the root")
	}
	for _, part := range parts[:len(parts)-1] {
		next := at.entries[part]
		if next == nil {
			next = t.folder(false)
			at.entries[part] = next
		}
		if next.entries == nil {
			return fmt.Errorf("add to the files of a program: %s is below a file", name)
		}
		at = next
	}
	last := parts[len(parts)-1]
	if at.entries[last] != nil {
		return fmt.Errorf("add to the files of a program: %s is there", name)
	}
	at.entries[last] = n
	return nil
}

// split returns the names of a path from the root. A path cannot lead above the root.
func split(p string) []string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// find returns the node at p.
func (t *Tree) find(p string) (*node, experimental.Errno) {
	if strings.IndexByte(p, 0) >= 0 {
		return nil, experimental.EINVAL
	}
	at := t.root
	for _, part := range split(p) {
		if at.entries == nil {
			return nil, experimental.ENOTDIR
		}
		if at = at.entries[part]; at == nil {
			return nil, experimental.ENOENT
		}
	}
	return at, 0
}

// place returns the folder of p, which must belong to the program, and the last name.
func (t *Tree) place(p string) (*node, string, experimental.Errno) {
	parts := split(p)
	if len(parts) == 0 {
		return nil, "", experimental.EROFS
	}
	dir, errno := t.find(strings.Join(parts[:len(parts)-1], "/"))
	name := parts[len(parts)-1]
	switch {
	case errno != 0:
		return nil, "", errno
	case dir.entries == nil:
		return nil, "", experimental.ENOTDIR
	case !dir.own:
		return nil, "", experimental.EROFS
	case len(name) > maxName || len(parts) > maxDepth:
		return nil, "", experimental.ENAMETOOLONG
	}
	return dir, name, 0
}

// attach adds a new node of the program to a folder.
func (t *Tree) attach(dir *node, name string, n *node) experimental.Errno {
	if t.nodes == 0 {
		return experimental.EIO // there is no errno for a full device here
	}
	t.nodes--
	dir.entries[name], dir.time = n, t.cfg.Now()
	return 0
}

// detach removes a node. The bytes of a node that is still open count as free: its content is memory of the
// engine, which is limited as well.
func (t *Tree) detach(dir *node, name string) {
	t.left += int64(len(dir.entries[name].data))
	t.nodes++
	delete(dir.entries, name)
	dir.time = t.cfg.Now()
}

// OpenFile implements experimental sys.FS.
func (t *Tree) OpenFile(p string, flag experimental.Oflag, _ fs.FileMode) (experimental.File, experimental.Errno) {
	n, errno := t.find(p)
	writes := flag&3 != experimental.O_RDONLY
	switch {
	case errno == experimental.ENOENT && flag&experimental.O_CREAT != 0:
		if n, errno = t.create(p); errno != 0 {
			return nil, errno
		}
	case errno != 0:
		return nil, errno
	case flag&experimental.O_CREAT != 0 && flag&experimental.O_EXCL != 0:
		return nil, experimental.EEXIST
	}
	switch {
	case n.entries != nil && writes:
		return nil, experimental.EISDIR
	case n.entries == nil && flag&experimental.O_DIRECTORY != 0:
		return nil, experimental.ENOTDIR
	case n.device != nil:
		t.forget(p)
	case writes && !n.own:
		return nil, experimental.EROFS
	case flag&experimental.O_TRUNC != 0 && n.own && n.entries == nil:
		if errno := t.resize(n, 0); errno != 0 {
			return nil, errno
		}
	}
	t.cfg.Made(fileBytes)
	return &file{
		tree: t, node: n, reads: flag&3 != experimental.O_WRONLY, writes: writes,
		appends: flag&experimental.O_APPEND != 0,
	}, 0
}

// create makes an empty file.
func (t *Tree) create(p string) (*node, experimental.Errno) {
	dir, name, errno := t.place(p)
	if errno != 0 {
		return nil, errno
	}
	t.inode++
	n := &node{own: true, inode: t.inode, time: t.cfg.Now()}
	return n, t.attach(dir, name, n)
}

// forget removes the name of a device that was opened.
func (t *Tree) forget(p string) {
	parts := split(p)
	if dir, errno := t.find(strings.Join(parts[:len(parts)-1], "/")); errno == 0 {
		delete(dir.entries, parts[len(parts)-1])
	}
}

// resize changes the length of a file, or returns an error if there is no room.
func (t *Tree) resize(n *node, size int64) experimental.Errno {
	grows := size - int64(len(n.data))
	if size < 0 || grows > t.left {
		return experimental.EIO
	}
	t.left -= grows
	if grows > 0 {
		if size > int64(cap(n.data)) { // it is copied
			t.cfg.Made(2 * size)
		}
		n.data = append(n.data, make([]byte, grows)...)
	} else {
		n.data = slices.Clip(n.data[:size])
	}
	n.time = t.cfg.Now()
	return 0
}

// Stat implements experimental sys.FS.
func (t *Tree) Stat(p string) (sys.Stat_t, experimental.Errno) {
	n, errno := t.find(p)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	return n.stat(), 0
}

// Lstat implements experimental sys.FS: there are no links.
func (t *Tree) Lstat(p string) (sys.Stat_t, experimental.Errno) { return t.Stat(p) }

// Readlink implements experimental sys.FS.
func (t *Tree) Readlink(p string) (string, experimental.Errno) {
	if _, errno := t.find(p); errno != 0 {
		return "", errno
	}
	return "", experimental.EINVAL
}

func (n *node) stat() sys.Stat_t {
	mode := fs.FileMode(0o444)
	switch {
	case n.entries != nil:
		mode = fs.ModeDir | 0o555
	case n.device != nil:
		mode = fs.ModeDevice | fs.ModeCharDevice | 0o600
	}
	if n.own {
		mode |= 0o200
	}
	return sys.Stat_t{
		Dev: 1, Ino: n.inode, Mode: mode, Nlink: 1, Size: n.length(), Atim: n.time, Mtim: n.time, Ctim: n.time,
	}
}

func (n *node) length() int64 {
	if n.load != nil {
		return n.size
	}
	return int64(len(n.data))
}

// text is the bytes of a file.
func (n *node) text() ([]byte, experimental.Errno) {
	if n.load == nil {
		return n.data, 0
	}
	b, err := n.load()
	if err != nil || int64(len(b)) != n.size {
		return nil, experimental.EIO
	}
	n.data, n.load = b, nil
	return b, 0
}

// Mkdir implements experimental sys.FS.
func (t *Tree) Mkdir(p string, _ fs.FileMode) experimental.Errno {
	if _, errno := t.find(p); errno == 0 {
		return experimental.EEXIST
	}
	dir, name, errno := t.place(p)
	if errno != 0 {
		return errno
	}
	return t.attach(dir, name, t.folder(true))
}

// Chmod implements experimental sys.FS. It changes nothing: modes are fixed.
func (t *Tree) Chmod(p string, _ fs.FileMode) experimental.Errno {
	n, errno := t.find(p)
	if errno == 0 && !n.own {
		errno = experimental.EROFS
	}
	return errno
}

// Rmdir implements experimental sys.FS.
func (t *Tree) Rmdir(p string) experimental.Errno {
	dir, name, errno := t.place(p)
	if errno != 0 {
		return errno
	}
	n := dir.entries[name]
	switch {
	case n == nil:
		return experimental.ENOENT
	case n.entries == nil:
		return experimental.ENOTDIR
	case len(n.entries) > 0:
		return experimental.ENOTEMPTY
	}
	t.detach(dir, name)
	return 0
}

// Unlink implements experimental sys.FS.
func (t *Tree) Unlink(p string) experimental.Errno {
	dir, name, errno := t.place(p)
	if errno != 0 {
		return errno
	}
	n := dir.entries[name]
	switch {
	case n == nil:
		return experimental.ENOENT
	case n.entries != nil:
		return experimental.EISDIR
	}
	t.detach(dir, name)
	return 0
}

// Rename implements experimental sys.FS.
func (t *Tree) Rename(from, to string) experimental.Errno {
	dir, name, errno := t.place(from)
	if errno != 0 {
		return errno
	}
	n := dir.entries[name]
	if n == nil {
		return experimental.ENOENT
	}
	into, as, errno := t.place(to)
	if errno != 0 {
		return errno
	}
	old := into.entries[as]
	switch {
	case old == n:
		return 0
	case n.holds(into):
		return experimental.EINVAL
	case old == nil:
	case old.entries == nil && n.entries != nil:
		return experimental.ENOTDIR
	case old.entries != nil && n.entries == nil:
		return experimental.EISDIR
	case len(old.entries) > 0:
		return experimental.ENOTEMPTY
	}
	if old != nil {
		t.detach(into, as)
	}
	delete(dir.entries, name)
	into.entries[as] = n
	dir.time, into.time = t.cfg.Now(), t.cfg.Now()
	return 0
}

// holds reports whether other is n or below it.
func (n *node) holds(other *node) bool {
	if n == other {
		return true
	}
	for _, e := range n.entries {
		if e.holds(other) {
			return true
		}
	}
	return false
}

// Utimens implements experimental sys.FS.
func (t *Tree) Utimens(p string, _, modified int64) experimental.Errno {
	n, errno := t.find(p)
	if errno != 0 {
		return errno
	}
	return t.stamp(n, modified)
}

func (t *Tree) stamp(n *node, modified int64) experimental.Errno {
	switch {
	case !n.own:
		return experimental.EROFS
	case modified != experimental.UTIME_OMIT:
		n.time = modified
	}
	return 0
}
