package spawn // packets and sealed are not exported

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

func ends(t *testing.T) (*Control, *os.File) {
	t.Helper()
	ours, theirs, err := packets()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

func TestControlCarriesFiles(t *testing.T) {
	c, far := ends(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if c.Ready() {
		t.Error("ready, and nothing was said")
	}
	if err := unix.Sendmsg(int(far.Fd()), []byte(`{"Started":true}`), unix.UnixRights(int(w.Fd())), nil,
		0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !c.Ready() {
		t.Error("not ready")
	}
	var told initproto.Told
	files, err := c.Receive(&told)
	if err != nil || !told.Started || len(files) != 1 {
		t.Fatalf("%+v %v %v", told, files, err)
	}
	if flags, err := unix.FcntlInt(files[0].Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("what was received is inherited: %v", err)
	}
	if err := CloseFiles(files); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a descriptor is left: %v", err)
	}
}

func TestControlRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an unknown field", `{"Started":true,"More":1}`, "unknown field"},
		{"no JSON", `started`, "invalid"},
		{"two messages in one", `{}{}`, "behind"},
		{"one that is too long", `{"Failed":"` + strings.Repeat("a", maxMessage) + `"}`, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, far := ends(t)
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			if err := unix.Sendmsg(int(far.Fd()), []byte(tt.text), unix.UnixRights(int(null.Fd())), nil,
				0); err != nil {
				t.Fatal(err)
			}
			var told initproto.Told
			files, err := c.Receive(&told)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v %v", told, err)
			}
			if len(files) != 1 {
				t.Errorf("%d files beside the error: they would be left open", len(files))
			}
			if err := CloseFiles(files); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestControlEnds(t *testing.T) {
	c, far := ends(t)
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	var told initproto.Told
	if _, err := c.Receive(&told); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := c.Send(initproto.Ask{What: initproto.AskUsage}); !errors.Is(err, unix.EPIPE) {
		t.Errorf("send to nobody: %v", err)
	}
	c, _ = ends(t)
	result := make(chan error, 1)
	go func() {
		_, err := c.Receive(&initproto.Told{})
		result <- err
	}()
	if err := c.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestControlGivesLastWords: an init that ends with a question unread resets the
// connection, and how its program ended is read all the same.
func TestControlGivesLastWords(t *testing.T) {
	c, far := ends(t)
	if err := unix.Sendmsg(int(far.Fd()), []byte(`{"Ended":true,"Code":5}`), nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(initproto.Ask{What: initproto.AskUsage}); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	var told initproto.Told
	if _, err := c.Receive(&told); err != nil || !told.Ended || told.Code != 5 {
		t.Errorf("%+v %v", told, err)
	}
	if _, err := c.Receive(&told); !errors.Is(err, io.EOF) {
		t.Errorf("behind its last words: %v", err)
	}
}

func TestOrderThatIsTooLong(t *testing.T) {
	c, _ := ends(t)
	err := c.SendBytes(make([]byte, 64<<20))
	if !errors.Is(err, unix.EMSGSIZE) || !strings.Contains(err.Error(), "wmem_max") {
		t.Errorf("%v", err)
	}
}

// What init is cannot be changed once it is in memory, not even by this process.
func TestImageIsSealed(t *testing.T) {
	f, err := sealed([]byte("a program"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	if err := f.Truncate(0); !errors.Is(err, unix.EPERM) {
		t.Errorf("truncate: %v", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("seal: %v", err)
	}
}

func TestMissingIsNotShort(t *testing.T) {
	for errno, want := range map[error]bool{
		unix.EPERM: true, unix.ENOSYS: true, unix.EINVAL: true, unix.ENOSPC: true, unix.EUSERS: true, unix.EACCES: true,
		unix.EAGAIN: false, unix.ENOMEM: false, unix.EMFILE: false, unix.ENOENT: false,
	} {
		if got := missing(&os.PathError{Err: errno}); got != want {
			t.Errorf("%v: %v", errno, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Started":true,"CPU":3}`))
	f.Add([]byte(`{"Version":1,"Layers":{"seccomp":"enforced"}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, into := range []any{&initproto.Report{}, &initproto.Told{}, &initproto.Sealed{}} {
			_ = decode(b, into)
		}
	})
}
