package api_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
)

// dialAs connects as another user, with one group, in a thread that ends with it: the
// kernel checks a connect against the ids of the thread.
func dialAs(t *testing.T, uid, gid int, path string) error {
	t.Helper()
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is thrown away
		err := errors.Join(syscall.Setfsgid(gid), syscall.Setfsuid(uid))
		if err == nil {
			var fd int
			if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
				err = errors.Join(syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
			}
		}
		result <- err
	}()
	return <-result
}

// A user of the socket's group connects, whatever the daemon's group is; another user
// does not, in the folder and at the socket.
func TestListenForAGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it asks as other users")
	}
	const user, group, other = 54321, 54322, 54323
	root, err := os.MkdirTemp("", "ringd-listen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "run", "ringd.sock")
	open := func(group string) net.Listener {
		l, err := api.Listen(path, group)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open("")
	if err := dialAs(t, user, group, path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without a group: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(strconv.Itoa(group))
	defer l.Close()
	if err := dialAs(t, user, group, path); err != nil {
		t.Errorf("a user of the group: %v", err)
	}
	if err := dialAs(t, user, other, path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a user of another group: %v", err)
	}
	for name, want := range map[string]fs.FileMode{path: 0o660, filepath.Dir(path): 0o750} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil { // the socket alone is in the way
		t.Fatal(err)
	}
	if err := dialAs(t, user, other, path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a user of another group, at the socket: %v", err)
	}
}

// A folder that keeps the group out, and a group that is none, refuse the start.
func TestListenRefusesAGroupThatIsKeptOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ group, want string }{
		{"54322", "cannot be entered by the group 54322: chgrp 54322"},
		{"no-such-group-here", "this host has no such group"},
		{"-1", "this host has no such group"},
	} {
		l, err := api.Listen(filepath.Join(dir, "s"), tt.group)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", tt.group, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
}
