package rootfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Limits of a walk.
const (
	maxLinks = 40 // as the kernel has it
	maxPath  = 4096
)

// host reads files. It follows no link by itself.
type host struct {
	root    string
	machine elf.Machine
	objects map[string]objectOr // by real path
}

type objectOr struct {
	*object
	err error
}

// info is the identity of a file when it was examined.
type info struct {
	device, inode, names uint64
	mode, uid, gid       uint32
}

func (i info) dir() bool        { return i.mode&syscall.S_IFMT == syscall.S_IFDIR }
func (i info) regular() bool    { return i.mode&syscall.S_IFMT == syscall.S_IFREG }
func (i info) link() bool       { return i.mode&syscall.S_IFMT == syscall.S_IFLNK }
func (i info) same(o info) bool { return i.device == o.device && i.inode == o.inode }

// kind names a file that is neither a regular file nor a folder.
func (i info) kind() string {
	switch i.mode & syscall.S_IFMT {
	case syscall.S_IFSOCK:
		return "a socket"
	case syscall.S_IFIFO:
		return "a pipe"
	case syscall.S_IFCHR, syscall.S_IFBLK:
		return "a device"
	default:
		return "no file and no folder"
	}
}

// link is a symbolic link on the way to a file.
type link struct{ at, text string }

// place is the target of a path.
type place struct {
	real  string // no component of it is a link
	info  info
	links []link // in the order they were met
}

// errAbsent means that a path does not exist. The place still holds its resolved path.
var errAbsent = errors.New("is not there")

func (h *host) stat(real string) (info, error) {
	var st syscall.Stat_t
	if err := ignoringEINTR(func() error { return syscall.Lstat(h.root+real, &st) }); err != nil {
		return info{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *syscall.Stat_t) info {
	return info{device: uint64(st.Dev), inode: st.Ino, names: uint64(st.Nlink), mode: st.Mode, uid: st.Uid, gid: st.Gid}
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// walk resolves p, which is absolute. Errors are errAbsent, and texts for the author of the path.
func (h *host) walk(p string) (place, error) {
	var out place
	at, rest := "/", strings.Split(p, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		i, err := h.stat(next)
		switch {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
			out.real = path.Join(append([]string{next}, rest...)...)
			return out, errAbsent
		case err != nil:
			return out, fmt.Errorf("cannot be looked at: %s: %w", next, err)
		case !utf8.ValidString(next):
			return out, errors.New("leads to a name that is no text")
		case len(next) >= maxPath:
			return out, errors.New("is longer than a system takes")
		}
		if !i.link() {
			if at = next; !i.dir() && len(rest) > 0 {
				out.real = path.Join(append([]string{next}, rest...)...)
				return out, errAbsent
			}
			continue
		}
		text, err := os.Readlink(h.root + next)
		if err != nil || text == "" {
			return out, fmt.Errorf("cannot be looked at: the link %s: %w", next, err)
		}
		out.links = append(out.links, link{next, text})
		if len(out.links) > maxLinks {
			return out, errors.New("leads through too many links")
		}
		rest = append(strings.Split(text, "/"), rest...)
		if path.IsAbs(text) {
			at = "/"
		}
	}
	i, err := h.stat(at)
	if err != nil {
		return out, fmt.Errorf("cannot be looked at: %s: %w", at, err)
	}
	out.info = i
	out.real = at
	return out, nil
}

// open opens a regular file, and checks that it is the file that was examined before.
func (h *host) open(p place) (*os.File, error) {
	f, err := os.OpenFile(h.root+p.real, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if now, ok := st.Sys().(*syscall.Stat_t); !ok || !infoOf(now).same(p.info) || !st.Mode().IsRegular() {
		return nil, errors.Join(errors.New("changed while it was looked at"), f.Close())
	}
	return f, nil
}

// object reads the ELF fields of a file, once for each file.
func (h *host) object(p place) (*object, error) {
	if got, ok := h.objects[p.real]; ok {
		return got.object, got.err
	}
	o, err := func() (*object, error) {
		f, err := h.open(p)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readObject(f, h.machine)
	}()
	h.objects[p.real] = objectOr{o, err}
	return o, err
}

// head reads the first bytes of a file: a line that starts with #! names the interpreter of a script.
func (h *host) head(p place) ([]byte, error) {
	f, err := h.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 256)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return b[:n], nil
}

// read reads a small file of the system. A file that is too large or missing is not read.
func (h *host) read(name string) ([]byte, bool) {
	p, err := h.walk(name)
	if err != nil || !p.info.regular() {
		return nil, false
	}
	f, err := h.open(p)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfBytes+1))
	return b, err == nil && len(b) <= maxConfBytes
}

// list returns the names in a folder, sorted. It returns none if the folder cannot be read.
func (h *host) list(dir string) []string {
	p, err := h.walk(dir)
	if err != nil || !p.info.dir() {
		return nil
	}
	f, err := os.Open(h.root + p.real)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	slices.Sort(names)
	return names
}
