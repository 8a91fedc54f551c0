package listener_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringd/ringd/rings/kernel/listener"
)

// broken is a listener whose Accept gives errors before it goes on.
type broken struct {
	net.Listener
	why   error
	left  atomic.Int64 // errors to come; negative: without an end
	tried atomic.Int64
}

func (b *broken) Accept() (net.Conn, error) {
	b.tried.Add(1)
	if b.left.Load() != 0 {
		b.left.Add(-1)
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", b.why)}
	}
	return b.Listener.Accept()
}

// open returns a Patient around a listener that fails so often, and what it logs.
func open(t *testing.T, why error, times int64) (*listener.Patient, *broken, *bytes.Buffer) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broken{Listener: l, why: why}
	b.left.Store(times)
	var logged bytes.Buffer
	p := listener.New(b, "api", slog.New(slog.NewTextHandler(&logged, nil)))
	t.Cleanup(func() { _ = p.Close() })
	return p, b, &logged
}

func TestPatientGoesOn(t *testing.T) {
	for _, why := range []error{
		syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS, syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED,
		syscall.EPERM,
		syscall.EIO, syscall.EINVAL, syscall.EBADF, syscall.ENOTSOCK, errors.New("nobody has seen this one"),
	} {
		t.Run(why.Error(), func(t *testing.T) {
			t.Parallel()
			p, b, logged := open(t, why, 5)
			for range 2 { // it is one burst
				d, err := net.Dial("tcp", p.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				c, err := p.Accept()
				if err != nil {
					t.Fatalf("after %d attempts: %v", b.tried.Load(), err)
				}
				_ = c.Close()
				b.left.Store(2)
			}
			if n := strings.Count(logged.String(), "\n"); n != 1 ||
				!strings.Contains(logged.String(), "listener=api") || !strings.Contains(logged.String(), why.Error()) {
				t.Errorf("%d lines for one burst:\n%s", n, logged)
			}
		})
	}
}

// burst is a listener of nothing but errors, and of a connection for each burst of them.
type burst struct {
	net.Listener
	errors int
}

func (b *burst) Accept() (net.Conn, error) {
	if b.errors++; b.errors%3 != 0 {
		return nil, syscall.ENOMEM
	}
	return nil, nil
}

// Each burst of errors is logged once: the second one too, after a time without an error.
func TestPatientTellsOfEachBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		p := listener.New(&burst{}, "api", slog.New(slog.NewTextHandler(&logged, nil)))
		for i, wait := range []time.Duration{0, time.Second, time.Minute, 0, time.Hour} {
			time.Sleep(wait)
			if _, err := p.Accept(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(logged.String(), "\n"); got != []int{1, 1, 2, 2, 3}[i] {
				t.Errorf("%d lines after %s without an error", got, wait)
			}
		}
	})
}

// A listener ends by its Close, also while it waits to try again, and when its socket is
// none any more.
func TestPatientEnds(t *testing.T) {
	t.Run("closed while errors last", func(t *testing.T) {
		p, b, _ := open(t, syscall.ENOSPC, -1)
		ended := make(chan error)
		go func() { _, err := p.Accept(); ended <- err }()
		for b.tried.Load() < 3 {
			select {
			case err := <-ended:
				t.Fatalf("it ended by itself: %v", err)
			default:
			}
		}
		if err := errors.Join(p.Close(), <-ended); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("closed below", func(t *testing.T) {
		p, b, _ := open(t, nil, 0)
		if err := b.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("no listener any more", func(t *testing.T) {
		p, b, _ := open(t, syscall.EINVAL, -1)
		if c, err := p.Accept(); !errors.Is(err, syscall.EINVAL) || b.tried.Load() < 10 {
			t.Errorf("got %v, %v after %d attempts", c, err, b.tried.Load())
		}
	})
}
