package proxy_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// An agent that has used up its burst waits for its next dial, by every listener; an
// other agent's dial to the same target does not. A dial that waits ends with its
// guest.
func TestPace(t *testing.T) {
	const burst = 200
	address := "198.51.100.7:80"
	rule := host("198.51.100.7", 80)
	listeners := []struct {
		name string
		dial func(r *rig)
	}{
		{"CONNECT", func(r *rig) { r.ask("CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n") }},
		{"http", func(r *rig) { r.ask("GET http://198.51.100.7/ HTTP/1.1\r\nHost: 198.51.100.7\r\n\r\n") }},
		{"socks", func(r *rig) { r.ask("\x05\x01\x00\x05\x01\x00\x01\xc6\x33\x64\x07\x00\x50") }},
		{"fetch", func(r *rig) {
			go func() {
				q := httpproxy.Request{Listener: proxy.ListenerFetch, Dest: target(r.t, address), Method: "GET",
					Path: "/"}
				if c, err := r.guest.DialRequest(r.t.Context(), q); err == nil {
					_ = c.Close()
				}
			}()
		}},
	}
	for _, listener := range listeners {
		t.Run(listener.name, func(t *testing.T) {
			r := newRig(t, []profiles.EgressRule{rule}, func(c *proxy.Config) {
				c.Dials, c.DialEvery = burst, time.Hour
			})
			accepted := counted(t, r.Listen(address))
			for range burst {
				c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, address))
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				<-accepted
			}
			listener.dial(r)
			r.opens(1)
			other := r.egress.Open(proxy.Holder{Agent: "b", Executor: "python",
				Deciders: func() []*profiles.Decider { return *r.deciders.Load() }})
			c, err := other.Dial(t.Context(), proxy.ListenerFetch, target(t, address))
			if err != nil {
				t.Fatalf("another agent waits too: %v", err)
			}
			if got, want := <-accepted, c.LocalAddr().String(); got != want {
				t.Errorf("the server has a connection of %s, want that of the other agent, %s", got, want)
			}
			r.guest.Close()
			if n := r.guest.Open(); n != 0 {
				t.Errorf("%d dials wait for a guest that is closed", n)
			}
			other.Close()
			select {
			case from := <-accepted:
				t.Errorf("a dial beyond the burst went out, from %s", from)
			default:
			}
		})
	}
}

// TestPaceOfAll: agents that are each within their own pace wait when all of them
// together dial one address as three may; an agent's dial to another address does not.
func TestPaceOfAll(t *testing.T) {
	const burst = 50
	address, elsewhere := "198.51.100.7:80", "198.51.100.7:81"
	r := newRig(t, []profiles.EgressRule{host("198.51.100.7", 80), host("198.51.100.7", 81)}, func(c *proxy.Config) {
		c.Dials, c.DialEvery = burst, time.Hour
	})
	accepted, beside := counted(t, r.Listen(address)), counted(t, r.Listen(elsewhere))
	open := func(agent string) *proxy.Guest {
		return r.egress.Open(proxy.Holder{Agent: agent, Executor: "python",
			Deciders: func() []*profiles.Decider { return *r.deciders.Load() }})
	}
	dial := func(g *proxy.Guest, at string, accepted <-chan string) {
		t.Helper()
		c, err := g.Dial(t.Context(), proxy.ListenerFetch, target(t, at))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		<-accepted
	}
	for i := range 6 { // each half as much as an agent may
		g := open(string(rune('a' + i)))
		for range burst / 2 {
			dial(g, address, accepted)
		}
		g.Close()
	}
	late, ended := open("late"), make(chan error, 1)
	go func() {
		_, err := late.Dial(t.Context(), proxy.ListenerFetch, target(t, address))
		ended <- err
	}()
	for late.Open() == 0 {
		time.Sleep(time.Millisecond)
	}
	dial(open("late"), elsewhere, beside)
	select {
	case from := <-accepted:
		t.Errorf("a dial beyond what all agents may went out, from %s", from)
	case err := <-ended:
		t.Errorf("a dial beyond what all agents may ended: %v", err)
	default:
	}
	late.Close()
	if err := <-ended; err == nil {
		t.Error("a dial of a guest that is closed succeeded")
	}
}

// ask sends the first bytes of a client to the proxy, and waits for no answer.
func (r *rig) ask(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.dial(), text); err != nil {
		r.t.Fatal(err)
	}
}

// opens waits until n connections are dialed or open.
func (r *rig) opens(n int) {
	r.t.Helper()
	for end := time.After(20 * time.Second); r.guest.Open() < n; {
		select {
		case <-end:
			r.t.Fatalf("%d connections are dialed, want %d", r.guest.Open(), n)
		case <-time.After(time.Millisecond):
		}
	}
}

// counted accepts connections, and says from where each came.
func counted(t *testing.T, l net.Listener) <-chan string {
	t.Helper()
	from := make(chan string, 1024)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			from <- c.RemoteAddr().String()
			_ = c.Close()
		}
	}()
	return from
}
