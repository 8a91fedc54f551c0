package python_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// liar is a launcher whose guests are the test itself: they keep the protocol as far
// as a test has them, and no further. The first is the one that compiles.
type liar struct {
	play func(s *executors.Stream, conn net.Conn) // behind Ready

	mu      sync.Mutex
	started int
}

func (l *liar) Launch(_ context.Context, s executors.Spec) (executors.Guest, error) {
	ours, theirs := net.Pipe()
	l.mu.Lock()
	l.started++
	first := l.started == 1
	l.mu.Unlock()
	g := &lying{conn: ours, tier: s.MinTier, done: make(chan struct{})}
	for i := range g.pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		g.pipes[i], g.far[i] = r, w
	}
	go func() {
		defer theirs.Close()
		if first {
			compiled(theirs)
			return
		}
		str := executors.NewStream(theirs, executors.GuestSide)
		if _, err := str.Read(); err != nil {
			return
		}
		if err := str.Send(executors.Ready{Version: executors.ProtocolVersion, Executor: "python",
			Digest: pyproto.Engine + " cpython-3.11.2"}); err != nil {
			return
		}
		l.play(str, theirs)
	}()
	return g, nil
}

// compiled answers what compiles with one byte of code.
func compiled(conn net.Conn) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	n := int64(head[0])<<24 | int64(head[1])<<16 | int64(head[2])<<8 | int64(head[3])
	if _, err := io.CopyN(io.Discard, conn, n); err != nil {
		return
	}
	_, _ = conn.Write([]byte{0, 0, 0, 1, 0})
}

// lying is one such guest.
type lying struct {
	conn  net.Conn
	tier  profiles.Tier
	pipes [3]*os.File // ours
	far   [3]*os.File
	once  sync.Once
	done  chan struct{}
}

func (g *lying) Conn() io.ReadWriteCloser { return g.conn }
func (g *lying) Attestation() executors.Attestation {
	return executors.Attestation{Tier: profiles.TierOS, Layers: map[string]string{}}
}
func (g *lying) CPU() (time.Duration, error) { return time.Millisecond, nil }
func (g *lying) Kill() error {
	g.once.Do(func() {
		_ = g.conn.Close()
		for _, f := range g.far {
			_ = f.Close()
		}
		close(g.done)
	})
	return nil
}
func (g *lying) Stdin() io.WriteCloser { return discard{} }
func (g *lying) Stdout() io.Reader     { return drained{g.pipes[1]} }
func (g *lying) Stderr() io.Reader     { return drained{g.pipes[2]} }
func (g *lying) Wait(ctx context.Context) (executors.Exit, error) {
	select {
	case <-g.done:
		return executors.Exit{Signal: 9}, nil
	case <-ctx.Done():
		return executors.Exit{}, ctx.Err()
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// drained is a stream of which nothing is there.
type drained struct{ *os.File }

func (drained) Drain([]byte) (int, error) { return 0, nil }

// TestWrongGuest: what a guest says out of order, or makes up, ends it and never the
// host; and nothing of it becomes the outcome of another run.
func TestWrongGuest(t *testing.T) {
	begins := func(s *executors.Stream) { _ = s.Send(executors.Updated{Report: []byte(`{}`)}) }
	done := executors.Result{End: executors.End{State: executors.StateDone, Again: true}, Value: []byte("1")}
	for name, tt := range map[string]struct {
		session bool
		play    func(*executors.Stream, net.Conn)
	}{
		"no frame":         {false, func(s *executors.Stream, c net.Conn) { _, _ = c.Write([]byte("hello, this is no frame at all")) }},
		"a huge frame":     {false, func(_ *executors.Stream, c net.Conn) { _, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff, 133}) }},
		"an unknown frame": {false, func(_ *executors.Stream, c net.Conn) { _, _ = c.Write([]byte{0, 0, 0, 1, 99, 0}) }},
		"an action": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			_ = s.Send(executors.Act{Call: 1, Action: []byte(`{"exec":{"path":"/bin/sh"}}`)})
		}},
		"a snapshot": {true, func(s *executors.Stream, _ net.Conn) { begins(s); _ = s.Send(executors.Part{Bytes: []byte("x")}) }},
		"an update it made up": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			_ = s.Send(executors.Updated{Seq: 7, Report: []byte(`{}`)})
		}},
		"a report that is none": {false, func(s *executors.Stream, _ net.Conn) { _ = s.Send(executors.Updated{Report: []byte(`[`)}) }},
		"a value that is none": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			bad := done
			bad.Value = []byte("{")
			_ = s.Send(bad)
		}},
		"a value too large": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			bad := done
			bad.Value = []byte(`"` + strings.Repeat("x", 2<<20) + `"`)
			_ = s.Send(bad)
		}},
		"a denial that allows": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			bad := done
			bad.Denials = []profiles.Decision{{Verdict: profiles.Allow, Code: "allowed"}}
			_ = s.Send(bad)
		}},
		"a line of a console": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			_ = s.Send(executors.Line{Level: "warn", Text: "ringd: all is well"})
			_ = s.Send(done)
		}},
		"output that was dropped": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			bad := done
			bad.Dropped = 7
			_ = s.Send(bad)
		}},
		"text that is none": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			bad := done
			bad.Repr = true
			_ = s.Send(bad)
		}},
		"a call out of order": {false, func(s *executors.Stream, _ net.Conn) {
			begins(s)
			_ = s.Send(executors.Ask{Call: 9, Bridge: "echo", Args: []byte("[]")})
		}},
		"another ready": {false, func(s *executors.Stream, _ net.Conn) { _ = s.Send(executors.Ready{Version: executors.ProtocolVersion}) }},
	} {
		t.Run(name, func(t *testing.T) {
			e := lies(t, func(s *executors.Stream, c net.Conn) {
				if _, err := s.Read(); err != nil {
					return
				}
				tt.play(s, c)
				_, _ = s.Read()
			})
			r := run(agent(), "1")
			r.Session = tt.session
			o, err := e.Run(t.Context(), r, &echo{})
			if err != nil || o.State != executors.StateFailed || o.Error == nil || o.Error.Name != "GuestError" ||
				o.Snapshot != nil {
				t.Error(err, brief(o))
			}
		})
	}
	t.Run("the next end ahead", func(t *testing.T) {
		e := lies(t, func(s *executors.Stream, _ net.Conn) {
			if _, err := s.Read(); err != nil {
				return
			}
			for _, m := range []executors.Message{executors.Updated{Report: []byte(`{}`)}, done, done} {
				if s.Put(m) != nil {
					return
				}
			}
			_ = s.Flush()
			_, _ = s.Read()
		})
		r := run(agent(), "1")
		r.Session = true
		o, err := e.Run(t.Context(), r, &echo{})
		if err != nil || o.State != executors.StateDone || o.Snapshot != nil ||
			!strings.Contains(o.Unkept, "after the end") {
			t.Error(err, brief(o))
		}
	})
	t.Run("refusals that are made up", func(t *testing.T) {
		e := lies(t, func(s *executors.Stream, _ net.Conn) {
			if _, err := s.Read(); err != nil {
				return
			}
			begins(s)
			bad := done
			bad.Denials = []profiles.Decision{{
				Code: "\x1b[2J", Revision: "\x1b]0;x", Text: "\x1b]0;x", Dial: "10.0.0.1:1",
				Start: &profiles.Start{Path: "/bin/sh"},
				Rule:  &profiles.Rule{File: "\x1b[31m", Line: 1},
			}, {Code: profiles.CodeImportDenied, Revision: "sha256:1", Rule: &profiles.Rule{File: "p.yaml", Line: 1}}}
			_ = s.Send(bad)
			_, _ = s.Read()
		})
		o := begin(t, e, agent(), "1")
		want := []profiles.Decision{{Code: profiles.CodeGuestRefused, Text: "\uFFFD]0;x"},
			{Code: profiles.CodeImportDenied, Revision: "sha256:1", Rule: &profiles.Rule{File: "p.yaml", Line: 1}}}
		if !reflect.DeepEqual(o.Denials, want) {
			t.Errorf("%+v", o.Denials)
		}
	})
	t.Run("more memory than there is", func(t *testing.T) {
		e := lies(t, func(s *executors.Stream, _ net.Conn) {
			if _, err := s.Read(); err != nil {
				return
			}
			begins(s)
			bad := done
			bad.PeakBytes = math.MaxInt64
			_ = s.Send(bad)
			_, _ = s.Read()
		})
		r := run(agent(), "1")
		if o := play(t, e, r); o.Usage.PeakBytes != *r.Limits.MemoryBytes {
			t.Error(brief(o))
		}
	})
	t.Run("gone before it begins", func(t *testing.T) {
		e := lies(t, func(s *executors.Stream, _ net.Conn) { _, _ = s.Read() })
		o, err := e.Run(t.Context(), run(agent(), "1"), &echo{})
		if err != nil || o.State != executors.StateFailed {
			t.Error(err, brief(o))
		}
	})
	t.Run("a session that is gone", func(t *testing.T) {
		e := lies(t, func(s *executors.Stream, _ net.Conn) {
			if _, err := s.Read(); err != nil {
				return
			}
			begins(s)
			_ = s.Send(done)
			_, _ = s.Read()
		})
		first := begin(t, e, agent(), "1")
		if _, err := e.Run(t.Context(), from(first, agent(), "1"), &echo{}); !errors.Is(err, executors.ErrSnapshot) {
			t.Error(err)
		}
	})
}

// lies is an executor over guests that lie.
func lies(t *testing.T, play func(*executors.Stream, net.Conn)) *python.Executor {
	env := pyproto.Environment{Interpreter: "/python", Version: "3.11.2"}
	return executorOver(t, &liar{play: play}, func(c *python.Config) { c.Environments = fixed{Environment: env} })
}
