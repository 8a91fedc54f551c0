package httpproxy_test

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// A client that takes too long for a head is let go, however many of its bytes
// come in between; one that takes long between two requests is as well.
func TestSlowClients(t *testing.T) {
	for name, first := range map[string]string{
		"nothing":         "",
		"half a head":     "GET http://a.test/ HTTP/1.1\r\nHost: a.te",
		"after an answer": "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at, _ := heads(t, ok)
			d := serve(t, at, func(d *testProxy) {
				d.times = httpproxy.Config{
					Head: 50 * time.Millisecond, Idle: 50 * time.Millisecond}
			})
			w := d.dial()
			w.say(first)
			if strings.HasSuffix(first, "\r\n\r\n") {
				w.hear("GET")
			}
			if err := w.ended(); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection lives on")
			}
		})
	}
}

// Bytes that trickle in do not prolong the time for a head.
func TestTrickle(t *testing.T) {
	at, got := heads(t, ok)
	d := serve(t, at, func(d *testProxy) { d.times = httpproxy.Config{Head: 100 * time.Millisecond} })
	w := d.dial()
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		w.TCPConn.Write([]byte("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: "))
		for range tick.C {
			if _, err := w.TCPConn.Write([]byte("x")); err != nil {
				return
			}
		}
	}()
	if err := w.ended(); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection lives on")
	}
	<-over
	if len(got) > 0 {
		t.Error("the target was asked")
	}
}

// A target that says nothing, or stops in the middle, does not hold its client for
// ever; nor does a client that stops reading hold the target.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		status       int
	}{
		{"says nothing", "", 504},
		{"stops in its head", "HTTP/1.1 200 OK\r\nContent-", 504},
		{"stops in its body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
				_, _ = rawHead(r)
				_, _ = io.WriteString(c, tt.answer)
				_, _ = io.Copy(io.Discard, r)
			})
			d := serve(t, at, func(d *testProxy) { d.times = httpproxy.Config{Stall: 50 * time.Millisecond} })
			w := d.dial()
			w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
			r, err := http.ReadResponse(w.r, nil)
			if tt.status > 0 && (err != nil || r.StatusCode != tt.status) {
				t.Fatalf("got %v, %v", r, err)
			}
			if tt.status == 0 {
				if _, err := io.ReadAll(r.Body); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("half an answer ended with %v", err)
				}
			}
		})
	}
	gone := make(chan struct{})
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		defer close(gone)
		_, _ = rawHead(r)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	d := serve(t, at, func(d *testProxy) { d.times = httpproxy.Config{Stall: 50 * time.Millisecond} })
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	<-gone
}

// FuzzExchange: whatever a client and a target say, and however it is cut up,
// nothing panics or hangs, net/http can read what arrives, and no more requests
// arrive than were decided.
func FuzzExchange(f *testing.F) {
	f.Add("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ok, uint64(1))
	f.Add("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n"+
		"T: v\r\n\r\nGET http://a.test/2 HTTP/1.1\r\nHost: a.test\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", uint64(2))
	f.Add("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
		"HTTP/1.1 100 Continue\r\n\r\n"+ok, uint64(3))
	f.Add("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes",
		"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nback", uint64(4))
	f.Add("HEAD http://a.test/ HTTP/1.0\r\nHost: a.test\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", uint64(5))
	f.Fuzz(func(t *testing.T, say, answer string, seed uint64) {
		said := make(chan error, 64)
		var arrived atomic.Int64
		at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
			for {
				q, err := http.ReadRequest(r)
				if err != nil {
					select {
					case said <- err:
					default:
					}
					return
				}
				arrived.Add(1)
				// What comes behind these is no request.
				other := q.Header.Get("Expect") != "" || q.Header.Get("Upgrade") != ""
				if !other {
					_, _ = io.Copy(io.Discard, q.Body)
				}
				if _, err := io.WriteString(c, answer); err != nil || other {
					return
				}
			}
		})
		d := serve(t, at, func(d *testProxy) {
			d.times = httpproxy.Config{Head: 200 * time.Millisecond, Idle: 200 * time.Millisecond,
				Stall: 200 * time.Millisecond}
		})
		w := d.dial()
		pieces := rand.New(rand.NewPCG(seed, 0))
		for rest := say; rest != ""; {
			n := min(1+pieces.IntN(64), len(rest))
			if _, err := io.WriteString(w.TCPConn, rest[:n]); err != nil {
				break
			}
			rest = rest[n:]
		}
		_ = w.CloseWrite()
		if _, err := io.Copy(io.Discard, w.r); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection lives on")
		}
		decided := 0
		for _, asked := range d.log() {
			if strings.HasPrefix(asked, "allow") {
				decided++
			}
		}
		if n := int(arrived.Load()); n > decided {
			t.Errorf("%d requests arrived, and %d were decided", n, decided)
		}
		select {
		case err := <-said:
			var op *net.OpError
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, net.ErrClosed) &&
				!errors.As(err, &op) {
				t.Errorf("the target could not read what came: %v", err)
			}
		default:
		}
	})
}

// TestLargeHeadKeepsRoom: what was made of a large head takes room until its request is
// answered, and a connection between two requests takes none.
func TestLargeHeadKeepsRoom(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		close(asked)
		<-answer
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	d := serve(t, at, nil)
	held := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.held
	}
	w := d.dial()
	w.say("GET http://a.test/" + strings.Repeat("x", 40<<10) + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
	<-asked
	if n := held(); n < 40<<10 {
		t.Errorf("a head of 40 KiB holds %d bytes while its answer is waited for", n)
	}
	close(answer)
	if r, _ := w.hear("GET"); r.StatusCode != http.StatusOK {
		t.Fatalf("got %d", r.StatusCode)
	}
	for began := time.Now(); held() != 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d bytes are held between two requests", held())
		}
	}
}

// TestCrowded: a head that there is no room for is refused, and one that comes in one
// piece needs none.
func TestCrowded(t *testing.T) {
	at, _ := heads(t, ok)
	d := serve(t, at, func(d *testProxy) { d.room = 1 })
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if r, _ := w.hear("GET"); r.StatusCode != http.StatusOK {
		t.Errorf("a whole head: %d", r.StatusCode)
	}
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.te")
	if r, body := w.hear("GET"); r.StatusCode != http.StatusForbidden || !strings.HasPrefix(body, "egress.budget") {
		t.Errorf("half a head: %d %s", r.StatusCode, body)
	}
	if err := w.ended(); err != nil {
		t.Errorf("behind it: %v", err)
	}
}
