package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// sends opens a connection to the proxy and sends text.
func (r *rig) sends(text string) net.Conn {
	r.t.Helper()
	c := r.dial()
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// answers reads an answer, and gives its status or why it refuses.
func answers(t *testing.T, c net.Conn) string {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Errorf("no answer: %v", err)
		return ""
	}
	if code := res.Header.Get("X-Ringd-Deny"); code != "" {
		return code
	}
	return res.Status
}

// TestHeadsLeaveMemory: of heads that are not complete, one agent holds no more than a
// quarter of what all may, by whatever listener. It still has heads read that come in one
// piece, another agent large ones as well, and all room is given back.
func TestHeadsLeaveMemory(t *testing.T) {
	const most = 1 << 20
	long := strings.Repeat("x", 60_000)
	get := "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	for name, tt := range map[string]struct {
		open  func(r *rig) net.Conn // and sends half of a head
		each  int                   // bytes of its buffer
		reset bool                  // what is too much, and not answered
	}{
		"of a request": {each: 64<<10 + 512, open: func(r *rig) net.Conn { return r.sends(get + "X: " + long) }},
		"of CONNECT": {each: 64 << 10, open: func(r *rig) net.Conn {
			return r.sends("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nX: " + long)
		}},
		// behind the CONNECT, and twice larger
		"of TLS": {each: 4 * (4<<10 - len("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")), reset: true, open: func(r *rig) net.Conn {
			return r.tunnel("a.example:443", []byte("\x16\x03\x01\x3f\x00\x01\x00\x3e\xfc\x03\x03"+long[:15_000])...)
		}},
		"of an answer": {each: 64<<10 + 512, open: func(r *rig) net.Conn {
			return r.sends("GET http://half.example/ HTTP/1.1\r\nHost: half.example\r\n\r\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, []profiles.EgressRule{host("a.example", 80, 443), host("half.example", 80)},
				func(c *proxy.Config) { c.Heads = most })
			r.Name("a.example", "93.184.216.34")
			r.Name("half.example", "93.184.216.35")
			r.serve("93.184.216.34:80", nil)
			r.echo("93.184.216.34:443")
			r.serve("93.184.216.35:80", func(w http.ResponseWriter, _ *http.Request) {
				c, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+long)
				_, _ = io.Copy(io.Discard, c)
			})
			holds := func(n int) {
				t.Helper()
				for began := time.Now(); r.egress.Room() != n; time.Sleep(time.Millisecond) {
					if time.Since(began) > 20*time.Second {
						t.Fatalf("%d bytes of heads are held, want %d", r.egress.Room(), n)
					}
				}
			}
			var open []net.Conn
			for (len(open)+1)*tt.each <= most/4 {
				open = append(open, tt.open(r))
				holds(len(open) * tt.each)
			}
			if c := tt.open(r); tt.reset {
				if err := gone(t, c); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("one more: %v", err)
				}
			} else if got := answers(t, c); got != string(dest.Budget) {
				t.Errorf("one more: %s", got)
			}
			holds(len(open) * tt.each)
			if got := answers(t, r.sends(get+"\r\n")); got != "200 OK" {
				t.Errorf("a head in one piece: %s", got)
			}

			mine, other := r.proxy, r.egress.Open(proxy.Holder{
				Agent: "b", Executor: "python", Deciders: func() []*profiles.Decider { return *r.deciders.Load() }})
			l := r.Listen("127.0.0.1:0")
			if err := other.ServeProxy(l); err != nil {
				t.Fatal(err)
			}
			r.proxy = l.Addr().String()
			if got := answers(t, r.sends(get+"X: "+long+"\r\n\r\n")); got != "200 OK" {
				t.Errorf("a large head of another agent: %s", got)
			}
			other.Close()
			r.proxy = mine
			for _, c := range open {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			r.guest.Close()
			holds(0)
		})
	}
}

// TestHeadsAreShared: agents that take what they get leave room to one that has none,
// and what is given back is there for all.
func TestHeadsAreShared(t *testing.T) {
	const most, each = 64 << 20, 64 << 10
	heads := proxy.NewHeads(most)
	taken := map[string]int{}
	for i := range 20 {
		agent := strconv.Itoa(i)
		for taken[agent] < most && heads.Take(agent, each) {
			taken[agent] += each
		}
		if i == 0 && taken[agent] != most/4 {
			t.Errorf("one agent alone has %d, want %d", taken[agent], most/4)
		}
		if taken[agent] == 0 {
			t.Fatalf("agent %d of those that take all has nothing", i)
		}
		if got := heads.Take("small", 4<<10); !got {
			t.Fatalf("beside %d of them there is no room for a small head", i+1)
		}
		heads.Give("small", 4<<10)
	}
	for agent, n := range taken {
		heads.Give(agent, n)
	}
	if !heads.Take("a", most/4) || heads.Take("a", 1) || !heads.Take("b", 1) {
		t.Error("what was given back is not there as before")
	}
}
