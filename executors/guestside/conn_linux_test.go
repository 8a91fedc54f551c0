package guestside // a connection on another descriptor is not exported

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWatch(t *testing.T) {
	tests := []struct {
		name  string
		begin func(fd int) error // at the far end, and closes it
		ok    bool
		text  string
		err   error
	}{
		{"bytes", func(fd int) error { _, err := unix.Write(fd, []byte("reply")); return err }, true, "reply", nil},
		{"nothing", func(int) error { return nil }, false, "", nil},
		{"the host is gone", unix.Close, true, "", io.EOF},
	}
	for _, tt := range tests {
		for kind, open := range map[string]func(*testing.T) (c Conn, told, heard int){
			"socket": socket, "pipes": pipes} {
			t.Run(tt.name+" by "+kind, func(t *testing.T) {
				c, told, heard := open(t)
				if _, err := io.WriteString(c, "question"); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 16)
				if n, err := unix.Read(heard, p); err != nil || string(p[:n]) != "question" {
					t.Fatalf("the host hears %q, %v", p[:n], err)
				}
				if err := tt.begin(told); err != nil {
					t.Fatal(err)
				}
				n, ok, err := c.Watch(p)
				if ok != tt.ok || string(p[:n]) != tt.text || !errors.Is(err, tt.err) {
					t.Errorf("%q %v %v", p[:n], ok, err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if n, err := unix.Read(heard, p); kind == "pipes" && (n != 0 || err != nil) {
					t.Errorf("after Close the host reads %d, %v", n, err)
				}
			})
		}
	}
}

func socket(t *testing.T) (c Conn, told, heard int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fds[1]) })
	return of(fds[0], -1), fds[1], fds[1]
}

func pipes(t *testing.T) (c Conn, told, heard int) {
	t.Helper()
	var in, out [2]int
	if err := errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(in[1]), unix.Close(out[0]) })
	return of(in[0], out[1]), in[1], out[0]
}
