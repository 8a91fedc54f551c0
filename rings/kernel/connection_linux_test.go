package kernel // connection is not exported, and the guests of the other tests answer when they like

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWatch(t *testing.T) {
	tests := []struct {
		name   string
		busy   bool // another connection is being watched
		begin  func(c connection, far *os.File) error
		ok     bool
		text   string
		err    error // of Watch
		onward error // of Read, when Watch leaves it to Read
	}{
		{name: "bytes", begin: func(_ connection, far *os.File) error { _, err := far.WriteString("pid"); return err }, ok: true, text: "pid"},
		{name: "nothing", begin: func(connection, *os.File) error { return nil }},
		{name: "the guest is gone", begin: func(_ connection, far *os.File) error { return far.Close() }, ok: true, err: io.EOF},
		{name: "its last words", begin: func(_ connection, far *os.File) error {
			_, err := far.WriteString("bye")
			return errors.Join(err, far.Close())
		}, ok: true, text: "bye"},
		{name: "closed here", begin: func(c connection, _ *os.File) error { return c.Close() }, onward: os.ErrClosed},
		{name: "one at a time", busy: true, begin: func(_ connection, far *os.File) error { _, err := far.WriteString("pid"); return err }},
	}
	for _, tt := range tests {
		both(t, tt.name, func(t *testing.T, open opens) {
			var watching atomic.Bool
			watching.Store(tt.busy)
			c, ends, err := open(&watching)
			if err != nil {
				t.Fatal(err)
			}
			far := ends[len(ends)-1]
			defer func() { _, _ = c.Close(), closeAll(ends) }()
			if err := tt.begin(c, far); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 16)
			n, ok, err := c.Watch(p)
			if ok != tt.ok || string(p[:n]) != tt.text || !errors.Is(err, tt.err) || watching.Load() != tt.busy {
				t.Errorf("%q %v %v, watching %v", p[:n], ok, err, watching.Load())
			}
			if tt.onward != nil {
				if _, err := c.Read(p); !errors.Is(err, tt.onward) {
					t.Errorf("read: %v, want %v", err, tt.onward)
				}
			}
		})
	}
}

// opens is Socket or Pipes.
type opens func(*atomic.Bool) (connection, []*os.File, error)

func both(t *testing.T, name string, f func(*testing.T, opens)) {
	t.Run(name+" by a socket", func(t *testing.T) { f(t, connectSocket) })
	t.Run(name+" by pipes", func(t *testing.T) { f(t, connectPipes) })
}

// What the daemon writes comes to the guest, and Close ends both ways.
func TestConnectionBothWays(t *testing.T) {
	both(t, "told", func(t *testing.T, open opens) {
		c, ends, err := open(new(atomic.Bool))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = closeAll(ends) }()
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 16)
		if n, err := ends[0].Read(p); err != nil || string(p[:n]) != "hello" {
			t.Errorf("the guest reads %q, %v", p[:n], err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if n, err := ends[0].Read(p); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("after Close the guest reads %d, %v", n, err)
		}
		if _, err := ends[len(ends)-1].Write(p); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("after Close the guest writes: %v", err)
		}
		if _, err := c.Write(p); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close we write: %v", err)
		}
	})
}

// A guest sends no descriptor over pipes. The socket shows that the attempt is one.
func TestPipesTakeNoDescriptors(t *testing.T) {
	both(t, "sendmsg", func(t *testing.T, open opens) {
		c, ends, err := open(new(atomic.Bool))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = c.Close(), closeAll(ends) }()
		want := []error{nil, unix.EPERM} // a socket takes them, but where SO_PASSRIGHTS is off (Linux 6.16)
		if len(ends) > 1 {
			want = []error{unix.ENOTSOCK}
		}
		for _, f := range ends {
			if err := unix.Sendmsg(int(f.Fd()), []byte{0}, unix.UnixRights(int(f.Fd())), nil, 0); !slices.ContainsFunc(
				want, func(w error) bool { return errors.Is(err, w) }) {
				t.Errorf("%v, want one of %v", err, want)
			}
		}
	})
}
