package initproto_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

func pair(t testing.TB) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return fds[0], fds[1]
}

func TestDescriptorsComeAlong(t *testing.T) {
	a, b := pair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := initproto.Send(a, initproto.Ask{What: "x"}, int(null.Fd()), int(null.Fd())); err != nil {
		t.Fatal(err)
	}
	var got initproto.Ask
	fds, err := initproto.Receive(b, &got)
	if err != nil || got.What != "x" || len(fds) != 2 {
		t.Fatalf("%+v with %d descriptors: %v", got, len(fds), err)
	}
	for _, fd := range fds {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d would be inherited: %v", fd, err)
		}
		unix.Close(fd)
	}
}

func TestGone(t *testing.T) {
	a, b := pair(t)
	if err := unix.Shutdown(a, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if _, err := initproto.Receive(b, &initproto.Ask{}); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want the end", err)
	}
}

func TestTooManyDescriptors(t *testing.T) {
	a, b := pair(t)
	fds := make([]int, 9)
	if err := initproto.Send(a, initproto.Ask{}, fds...); err != nil {
		t.Fatal(err)
	}
	if _, err := initproto.Receive(b, &initproto.Ask{}); err == nil {
		t.Error("nine descriptors are taken")
	}
}

// Whatever comes is a message or an error.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(`{"What":"usage"}`))
	f.Add([]byte(`{`))
	a, b := pair(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) == 0 || len(p) > 1<<16 {
			return
		}
		if _, err := unix.Write(a, p); err != nil {
			t.Fatal(err)
		}
		var o initproto.Order
		_, _ = initproto.Receive(b, &o)
	})
}
