package conn // a connection on another descriptor is not exported

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWatch(t *testing.T) {
	tests := []struct {
		name  string
		begin func(fd int) error // at the far end
		ok    bool
		text  string
		err   error
	}{
		{"bytes", func(fd int) error { _, err := unix.Write(fd, []byte("reply")); return err }, true, "reply", nil},
		{"nothing", func(int) error { return nil }, false, "", nil},
		{"the host is gone", func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) }, true, "", io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			c := of(fds[0])
			defer func() { _, _ = c.Close(), unix.Close(fds[1]) }()
			if err := tt.begin(fds[1]); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 16)
			n, ok, err := c.Watch(p)
			if ok != tt.ok || string(p[:n]) != tt.text || !errors.Is(err, tt.err) {
				t.Errorf("%q %v %v", p[:n], ok, err)
			}
		})
	}
}
