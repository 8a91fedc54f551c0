package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ErrInUse: another process listens on the socket.
var ErrInUse = errors.New("another process listens on the socket")

const (
	socketMode = 0o660
	folderMode = 0o750
	dialFor    = time.Second

	fresh     = ".new" // suffix of the socket's first name
	maxSocket = 107    // maximum bytes of a socket's name in the kernel
)

// Listen opens the Unix socket at path with mode 0660. If the folder is missing, it creates it with mode
// 0750. It replaces a socket without a listener. A socket with one is ErrInUse, and any other file is
// refused. Closing the listener removes the socket.
//
// group is a name or number. Its users may connect besides the daemon's own. An empty group means the group
// of the process. The folder is given to the group too, if the process owns it and its mode lets its group
// in. A folder that keeps the group out is refused. No mode is ever loosened.
func Listen(path, group string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if most := maxSocket - len(fresh); len(path) > most {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes and may have %d; choose a shorter one", path,
			len(path), most)
	}
	gid, err := groupID(group)
	if err != nil {
		return nil, fmt.Errorf("socketGroup: %w", err)
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := openFolderTo(filepath.Dir(path), gid); err != nil {
		return nil, err
	}
	if err := checkVacant(path); err != nil {
		return nil, err
	}
	// The socket gets its final name last, so that no process can connect before the mode is set.
	first := path + fresh
	if err := os.Remove(first); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: first, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	err = errors.Join(refuseRights(l), setGroup(first, gid), os.Chmod(first, socketMode))
	if err == nil {
		err = os.Rename(first, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close(), os.Remove(first))
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	return &socket{UnixListener: l, path: path, made: made}, nil
}

// makeFolder creates the socket's folder, or checks the existing one.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("check the socket's folder: %w", err)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("the socket's folder %s can be written by everybody; choose a folder of mode 0750", dir)
	}
	return nil
}

// checkVacant returns an error unless the path is free or is a socket without a listener.
func checkVacant(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket; remove it or choose another path", path)
	}
	c, err := net.DialTimeout("unix", path, dialFor)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: %w", path, ErrInUse), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("check the socket: %w", err)
	}
	return nil
}

// socket removes its file when it is closed, if the file is still its own.
type socket struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	once sync.Once
	err  error
}

func (s *socket) Close() error {
	s.once.Do(func() {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
			s.err = os.Remove(s.path)
		}
		s.err = errors.Join(s.err, s.UnixListener.Close())
	})
	return s.err
}

// fairListener refuses connections above the limit of one peer.
type fairListener struct {
	net.Listener
	room *connLimit[uint32]
	own  int // process whose connections are not counted; 0 means none
	// known reports whether a peer holds a role. All other peers share one limit: a user with a range of uids
	// could otherwise take all descriptors of the daemon. If known is nil, each peer has its own limit.
	known  func(peer) bool
	nobody *connLimit[bool]
}

func (f *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := peerOf(c)
		if p.pid != 0 && int(p.pid) == f.own { // the daemon calls itself, for systemd's watchdog
			return &peerConn{Conn: c, peer: p}, nil
		}
		if held, ok := f.admit(c, p); ok {
			return &peerConn{Conn: held, peer: p}, nil
		}
	}
}

func (f *fairListener) admit(c net.Conn, p peer) (net.Conn, bool) {
	if f.known != nil && !f.known(p) {
		return f.nobody.Admit(c, true)
	}
	return f.room.Admit(c, p.uid)
}

// peerConn is a connection with the credentials from the kernel.
type peerConn struct {
	net.Conn
	peer peer
}
