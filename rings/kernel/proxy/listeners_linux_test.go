package proxy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// A head that two readers could understand differently, and a target that is not
// host:port in its strict form, reach nothing and are not looked up.
func TestConnectMalformed(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 443, 5432)})
	r.Name("a.example", "93.184.216.34")
	r.Sink("", 80, 443, 5432)
	for name, raw := range map[string]string{
		"no port":             "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"empty port":          "CONNECT a.example: HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"signed port":         "CONNECT a.example:+443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"leading zero":        "CONNECT a.example:0443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"too large":           "CONNECT a.example:65979 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"userinfo":            "CONNECT x@a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"a URL":               "CONNECT http://a.example:443/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"percent":             "CONNECT a%2eexample:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"NUL":                 "CONNECT a.example\x00.evil:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"another Host":        "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
		"another Host's port": "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:5432\r\n\r\n",
		"two Hosts":           "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
		"bare LF":             "CONNECT a.example:443 HTTP/1.1\nHost: a.example\n\n",
		"obs-fold":            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n x: y\r\n\r\n",
		"HTTP/2":              "CONNECT a.example:443 HTTP/2.0\r\nHost: a.example\r\n\r\n",
		"a body":              "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello",
		"chunked":             "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"too long":            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n",
		"IPv4 in brackets":    "CONNECT [93.184.216.34]:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"octal":               "CONNECT 0135.184.216.34:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial()
			if _, err := io.WriteString(c, raw); err != nil && !errors.Is(err, syscall.ECONNRESET) &&
				!errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusForbidden || !strings.HasPrefix(res.Header.Get("X-Ringd-Deny"), "egress.") {
				t.Errorf("%s %v", res.Status, res.Header)
			}
		})
	}
	if got := r.Arrivals(); len(got) > 0 {
		t.Errorf("arrived: %+v", got)
	}
	if got := r.Lookups(); len(got) > 0 {
		t.Errorf("looked up: %q", got)
	}
	for _, ev := range r.log() {
		if ev.Decision.Verdict != profiles.Deny || ev.Listener != proxy.ListenerConnect {
			t.Errorf("on record: %+v", ev)
		}
	}
}

// On port 443 what comes first is a ClientHello for a server that is allowed.
// Nothing passes before, in either direction.
func TestHello(t *testing.T) {
	rules := []profiles.EgressRule{host("a.example"), host("b.example"), host("93.184.216.34"), host("c.example", 8443),
		host("93.184.216.36", 8443)}
	hello := clientHello(t, "a.example")
	for _, tt := range []struct {
		name, target string
		first        []byte
		code         dest.Code // "": it passes
	}{
		{"the target", "a.example:443", hello, ""},
		{"another letter case", "a.example:443", clientHello(t, "A.Example"), ""},
		{"another one that is listed", "a.example:443", clientHello(t, "b.example"), ""},
		{"one that is not listed", "a.example:443", clientHello(t, "evil.example"), dest.SNI},
		{"one that is listed on another port", "a.example:443", clientHello(t, "c.example"), dest.SNI},
		{"none", "a.example:443", clientHello(t, ""), dest.SNI},
		{"none, for an address", "93.184.216.34:443", clientHello(t, ""), ""},
		{"one, for an address", "93.184.216.34:443", clientHello(t, "evil.example"), dest.SNI},
		{"plain HTTP", "a.example:443", []byte("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), dest.NotTLS},
		{"SSH", "a.example:443", []byte("SSH-2.0-OpenSSH_9.9\r\n"), dest.NotTLS},
		{"another record first", "a.example:443", append([]byte{23, 3, 3, 0, 1, 0}, hello...), dest.NotTLS},
	} {
		for _, early := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				r := newRig(t, rules)
				r.Name("a.example", "93.184.216.34")
				l := r.Listen("93.184.216.34:443")
				served := make(chan string, 1)
				go func() {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					_, _ = io.WriteString(c, "banner") // a server that speaks first
					b, _ := io.ReadAll(c)
					served <- string(b)
				}()
				var c *tunnel
				if early {
					c = r.tunnel(tt.target, tt.first...)
				} else {
					c = r.tunnel(tt.target)
					for _, b := range tt.first { // byte by byte: it is put together
						if _, err := c.Write([]byte{b}); err != nil {
							break
						}
					}
				}
				got := make([]byte, 6)
				n, err := io.ReadFull(c, got)
				if tt.code == "" {
					if err != nil || string(got) != "banner" {
						t.Fatalf("read %q, %v", got[:n], err)
					}
					if err := c.CloseWrite(); err != nil {
						t.Fatal(err)
					}
					if s := <-served; s != string(tt.first) {
						t.Errorf("the server got %d bytes, want %d", len(s), len(tt.first))
					}
					wantSNI := ""
					if bytes.Contains(tt.first, []byte("b.example")) {
						wantSNI = "b.example"
					}
					if ev := r.ends(1)[0]; wantSNI != "" && ev.SNI != wantSNI {
						t.Errorf("SNI on record: %q", ev.SNI)
					}
					return
				}
				if n > 0 || err == nil {
					t.Errorf("%q came back before the decision", got[:n])
				}
				if s := <-served; s != "" {
					t.Errorf("the server got %q", s)
				}
				ev := r.ends(1)[0]
				if ev.End != proxy.EndRefused || ev.Decision.Code != profiles.Code(tt.code) || ev.Up != 0 ||
					ev.Down != 0 {
					t.Errorf("%s %s, want %s; %d up, %d down", ev.End, ev.Decision.Code, tt.code, ev.Up, ev.Down)
				}
			})
		}
	}
}

// A client that takes its time over its first bytes is let go, and what it said by
// then has gone nowhere.
func TestSlowClients(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example")},
		func(c *proxy.Config) { c.FirstBytes = 100 * time.Millisecond })
	r.Name("a.example", "93.184.216.34")
	r.Sink("", 443)
	for name, first := range map[string]string{
		"nothing": "", "a letter": "C", "half a request": "CONNECT a.example:443 HTTP/1.1\r\nHost: a.exam", "half a greeting": "\x05\x02\x00",
		"half a request of SOCKS5": "\x05\x01\x00\x05\x01\x00\x03\x09a.exam",
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial()
			if _, err := io.WriteString(c, first); err != nil {
				t.Fatal(err)
			}
			_ = gone(t, c)
		})
	}
	if got := r.Arrivals(); len(got) > 0 {
		t.Errorf("arrived: %+v", got)
	}
	c := r.tunnel("a.example:443", clientHello(t, "a.example")[:60]...)
	_ = gone(t, c)
	r.Await("the end of the connection", func(a proxytest.Arrival) bool { return a.Over })
	for _, a := range r.Arrivals() {
		if a.Data != "" {
			t.Errorf("arrived: %q", a.Data)
		}
	}
	if end := r.ends(1)[0]; end.End != proxy.EndError || end.Up != 0 {
		t.Errorf("%+v", end)
	}
}

// SOCKS5: names and addresses of both families, with what comes behind the request.
func TestSOCKS(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432), host("93.184.216.34", 5432),
		host("2606:2800:220:1::1", 5432), host("127.0.0.1", 5432)})
	r.Name("a.example", "93.184.216.34")
	r.echo(":5432")
	port := "\x15\x38"
	name := func(s string) string { return "\x03" + string(rune(len(s))) + s }
	v6 := "\x26\x06\x28\x00\x02\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
	mapped := strings.Repeat("\x00", 10) + "\xff\xff\x5d\xb8\xd8\x22"
	refused := 0
	for _, tt := range []struct {
		what, request string
		reply         byte
		dial          string
	}{
		{"a name", "\x05\x01\x00" + name("a.example") + port, 0, "93.184.216.34:5432"},
		{"a name in capitals", "\x05\x01\x00" + name("A.EXAMPLE.") + port, 0, "93.184.216.34:5432"},
		{"an address", "\x05\x01\x00\x01\x5d\xb8\xd8\x22" + port, 0, "93.184.216.34:5432"},
		{"an IPv6 address", "\x05\x01\x00\x04" + v6 + port, 0, "[2606:2800:220:1::1]:5432"},
		{"a mapped address", "\x05\x01\x00\x04" + mapped + port, 0, "93.184.216.34:5432"},
		{"loopback that is listed", "\x05\x01\x00\x01\x7f\x00\x00\x01" + port, 0, "127.0.0.1:5432"},
		{"a name that is not listed", "\x05\x01\x00" + name("evil.example") + port, 2, ""},
		{"another port", "\x05\x01\x00" + name("a.example") + "\x00\x50", 2, ""},
		{"an address as a name", "\x05\x01\x00" + name("93.184.216.34") + port, 2, ""},
		{"an IPv6 address as a name", "\x05\x01\x00" + name("2606:2800:220:1::1") + port, 2, ""},
		{"an address that is not listed", "\x05\x01\x00\x01\x5d\xb8\xd8\x23" + port, 2, ""},
		{"BIND", "\x05\x02\x00" + name("a.example") + port, 7, ""},
		{"UDP", "\x05\x03\x00" + name("a.example") + port, 7, ""},
		{"no such type", "\x05\x01\x00\x07a.example" + port, 8, ""},
		{"an empty name", "\x05\x01\x00\x03\x00" + port, 2, ""},
		{"port 0", "\x05\x01\x00" + name("a.example") + "\x00\x00", 1, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := r.dial()
			if _, err := io.WriteString(c, "\x05\x02\x02\x00"+tt.request+"early"); err != nil {
				t.Fatal(err)
			}
			hears(t, c, "\x05\x00")
			reply := make([]byte, 10)
			if _, err := io.ReadFull(c, reply); err != nil || reply[1] != tt.reply {
				t.Fatalf("reply %x, %v, want %d", reply, err, tt.reply)
			}
			if !bytes.Equal(reply[2:], []byte{0, 1, 0, 0, 0, 0, 0, 0}) {
				t.Errorf("the reply names an address: %x", reply)
			}
			if tt.reply != 0 {
				refused++
				r.wait("refusals", refused, func(ev proxy.Event) bool {
					return ev.Decision.Verdict == profiles.Deny && ev.Listener == proxy.ListenerSOCKS
				})
				return
			}
			hears(t, c, "early")
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			_ = gone(t, c)
			if log := r.log(); !containsDial(log, tt.dial) {
				t.Errorf("dialed: %+v, want %s", log, tt.dial)
			}
		})
	}
	for what, first := range map[string]string{"SOCKS4": "\x04\x01\x15\x38\x5d\xb8\xd8\x22\x00",
		"a password alone": "\x05\x01\x02", "TLS": string(clientHello(t, "a.example"))} {
		c := r.dial()
		if _, err := io.WriteString(c, first); err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(c); len(b) > 1 && b[0] == 5 && b[1] == 0 {
			t.Errorf("%s: %q", what, b)
		}
	}
}

func containsDial(log []proxy.Event, dial string) bool {
	for _, ev := range log {
		if ev.Dial.IsValid() && ev.Dial.String() == dial {
			return true
		}
	}
	return false
}

// Refusals are recorded one by one up to a bound, and counted beyond it. The guest
// is refused all the same.
func TestManyRefusals(t *testing.T) {
	r := newRig(t, nil)
	const n = 250
	for range n {
		if _, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "evil.example:443")); code(
			err) != profiles.Code(dest.NotGranted) {
			t.Fatal(err)
		}
	}
	if got := len(r.log()); got != 100 {
		t.Errorf("%d are on record one by one", got)
	}
	r.guest.Close()
	log := r.log()
	last := log[len(log)-1]
	if len(log) != 101 || last.Count != n-100 || last.Decision.Code != profiles.Code(dest.NotGranted) ||
		last.Listener != proxy.ListenerFetch || last.Decision.Verdict != profiles.Deny {
		t.Errorf("%d are on record, the last is %+v", len(log), last)
	}
}

// A holder has as many connections as it may have, and one that ends makes room.
func TestConnections(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)}, func(c *proxy.Config) { c.Connections = 2 })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	a, b := r.tunnel("a.example:5432"), r.tunnel("a.example:5432")
	res, _ := r.connect("a.example:5432")
	if res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	other := r.open()
	defer other.Close()
	c, err := other.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
	if err != nil {
		t.Errorf("another holder: %v", err)
	} else {
		c.Close()
	}
	a.Close()
	r.ends(2)
	says(t, r.tunnel("a.example:5432"), "room")
	says(t, b, "still here")
}

// Clients whose requests are read count as connections, with what they lead to.
func TestReading(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 80, 5432)}, func(c *proxy.Config) { c.Connections = 3 })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	r.Sink("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 80)
	get := func() (*http.Response, net.Conn) {
		c := r.dial()
		if _, err := io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res, c
	}
	res, first := get()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	says(t, r.tunnel("a.example:5432"), "the third") // with the client and its connection
	if res, _ := get(); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("a fourth: %s %v", res.Status, res.Header)
	}
	first.Close()
	r.ends(1)
	for tries := 0; r.guest.Held() > 1; tries++ { // its client is given up after its connection
		if tries == 1000 {
			t.Fatalf("%d connections are held", r.guest.Held())
		}
		time.Sleep(5 * time.Millisecond)
	}
	// The client may go on to a tunnel.
	second := r.dial()
	if _, err := io.WriteString(second, "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(second)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusForbidden {
		t.Fatalf("%v, %v", res, err)
	} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(
		second, "CONNECT a.example:5432 HTTP/1.1\r\nHost: a.example:5432\r\n\r\nearly"); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect}); err != nil ||
		res.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", res, err)
	}
	hears(t, in, "early")
}

// A holder has as many undecided connections as it may have: more are reset, and
// those that wait do not keep others out for longer than they may wait.
func TestUndecided(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)},
		func(c *proxy.Config) { c.Undecided = 3; c.FirstBytes = 200 * time.Millisecond })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	var waiting []net.Conn
	for range 3 {
		waiting = append(waiting, r.dial())
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.proxy)
	if err == nil {
		defer c.Close()
		err = gone(t, c)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the fourth: %v", err)
	}
	for _, c := range waiting {
		_ = gone(t, c)
	}
	for range 10 { // decided ones do not count
		says(t, r.tunnel("a.example:5432"), "room")
	}
}

// TestAgentsLeaveConnections: one agent, whatever it has opened, leaves a quarter of
// all connections to others, and has room again when some of its own are over.
func TestAgentsLeaveConnections(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)}, func(c *proxy.Config) { c.Most = 8 })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	reset := func(what string) {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.proxy)
		if err == nil {
			defer c.Close()
			err = gone(t, c)
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var waiting []net.Conn
	for range 5 { // nothing is decided of them
		waiting = append(waiting, r.dial())
	}
	says(t, r.tunnel("a.example:5432"), "the sixth")
	reset("the seventh of an agent")

	mine, other := r.proxy, r.egress.Open(proxy.Holder{Agent: "b", Executor: "python",
		Deciders: func() []*profiles.Decider { return *r.deciders.Load() }})
	l := r.Listen("127.0.0.1:0")
	if err := other.ServeProxy(l); err != nil {
		t.Fatal(err)
	}
	r.proxy = l.Addr().String()
	for range 2 {
		says(t, r.tunnel("a.example:5432"), "another agent's")
	}
	reset("the ninth of all")
	if _, err := other.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432")); code(err) != profiles.Code(
		dest.Budget) {
		t.Errorf("one by fetch: %v", err)
	}
	other.Close()

	r.proxy = mine
	for _, c := range waiting {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for r.guest.Held() > 1 {
		time.Sleep(time.Millisecond)
	}
	says(t, r.tunnel("a.example:5432"), "room again")
}

// Close cuts everything, waits for it, and refuses what comes later.
func TestClose(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"the guest":  func(r *rig) { r.guest.Close(); r.guest.Close() },
		"the egress": func(r *rig) { r.egress.Close(); r.egress.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, []profiles.EgressRule{host("a.example", 443, 5432)})
			r.Name("a.example", "93.184.216.34")
			r.echo("93.184.216.34:5432")
			r.echo("93.184.216.34:443")
			d := target(t, "a.example:5432")
			// relayed, held back, undecided
			open := []net.Conn{r.tunnel("a.example:5432"), r.tunnel("a.example:443"), r.dial()}
			half := r.dial()
			if _, err := io.WriteString(half, "CONNECT a.ex"); err != nil {
				t.Fatal(err)
			}
			c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, d)
			if err != nil {
				t.Fatal(err)
			}
			end(r)
			for _, c := range append(open, half) {
				_ = gone(t, c)
			}
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("a connection of fetch lives on")
			}
			if got := r.ends(3); len(got) != 3 || got[0].End != proxy.EndClosed || got[1].End != proxy.EndClosed ||
				got[2].End != proxy.EndClosed {
				t.Errorf("%+v", got)
			}
			if _, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, d); !errors.Is(err, proxy.ErrClosed) {
				t.Errorf("Dial: %v", err)
			}
			l := r.Listen("127.0.0.1:0")
			if err := r.guest.ServeProxy(l); !errors.Is(err, proxy.ErrClosed) {
				t.Errorf("ServeProxy: %v", err)
			}
			if _, err := net.Dial("tcp", r.proxy); err == nil {
				t.Error("its listener is open")
			}
			late := r.open()
			_, err = late.Dial(t.Context(), proxy.ListenerFetch, d)
			if name == "the egress" && !errors.Is(err, proxy.ErrClosed) {
				t.Errorf("a guest opened afterwards: %v", err)
			}
			late.Close()
		})
	}
}

// New refuses a Config that lacks what decides or records.
func TestNew(t *testing.T) {
	whole := func() proxy.Config {
		return proxy.Config{Go: func(f func()) { f() }, Now: time.Now, Resolve: proxytest.New(t).Resolve,
			Record: func(proxy.Event) error { return nil }}
	}
	for name, change := range map[string]setting{
		"Go": func(c *proxy.Config) { c.Go = nil }, "Now": func(c *proxy.Config) { c.Now = nil }, "Resolve": func(c *proxy.Config) { c.Resolve = nil },
		"Record": func(c *proxy.Config) { c.Record = nil }, "Connections": func(c *proxy.Config) { c.Connections = -1 },
		"DialWithin": func(c *proxy.Config) { c.DialWithin = -1 },
	} {
		cfg := whole()
		change(&cfg)
		if _, err := proxy.New(cfg); err == nil {
			t.Errorf("%s is missing or wrong, and New is content", name)
		}
	}
	if _, err := proxy.New(whole()); err != nil {
		t.Error(err)
	}
}

// deaf is a listener of clients that read nothing, and whose buffers are full.
type deaf struct{ net.Listener }

func (l deaf) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.New("not TCP")
	}
	return &deafConn{TCPConn: tcp, late: make(chan struct{})}, nil
}

type deafConn struct {
	*net.TCPConn
	once sync.Once
	late chan struct{}
}

func (c *deafConn) Write([]byte) (int, error) {
	<-c.late
	return 0, os.ErrDeadlineExceeded
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.late) })
	return c.TCPConn.Close()
}

func (c *deafConn) SetDeadline(at time.Time) error {
	if err := c.SetWriteDeadline(at); err != nil {
		return err
	}
	return c.SetReadDeadline(at)
}

func (c *deafConn) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() && time.Until(at) < 0 {
		c.once.Do(func() { close(c.late) })
	}
	return nil
}

// A client that reads no answer holds nothing for long.
func TestDeafClients(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432),
		{Host: "read.example", Ports: []int{80}, Methods: []string{"GET"}}}, func(c *proxy.Config) { c.FirstBytes = 50 * time.Millisecond })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	l := r.Listen("127.0.0.1:0")
	if err := r.guest.ServeProxy(deaf{l}); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"a tunnel":              "CONNECT a.example:5432 HTTP/1.1\r\nHost: a.example:5432\r\n\r\n",
		"a tunnel that is read": "CONNECT read.example:80 HTTP/1.1\r\nHost: read.example:80\r\n\r\n",
		"a refusal":             "CONNECT b.example:5432 HTTP/1.1\r\nHost: b.example:5432\r\n\r\n",
		"what is no request":    "CONNECT a:b HTTP/1.1\r\n\r\n",
		"SOCKS5":                "\x05\x01\x00",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, says); err != nil {
				t.Fatal(err)
			}
			_ = gone(t, c)
		})
	}
	if ev := r.ends(1)[0]; ev.End != proxy.EndError {
		t.Errorf("%+v", ev)
	}
}
