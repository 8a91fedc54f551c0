package httpproxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// testProxy is a forwarder with a listener, and the guest that it asks: names are
// dialed at the address of a target, whatever they are.
type testProxy struct {
	t       *testing.T
	forward *httpproxy.Forwarder
	addr    string
	at      string      // what every target is dialed at
	dest    egress.Dest // of a tunnel
	times   httpproxy.Config

	mu     sync.Mutex
	deny   func(httpproxy.Request) *profiles.Decision
	asked  []string
	dials  int
	conns  []*conn
	budget int64
	room   int // for heads that are not complete; 0: as much as they like
	held   int
	trip   func(*http.Request) (*http.Response, error)
	rest   chan string
}

// conn counts what passes.
type conn struct {
	*net.TCPConn
	d        *testProxy
	mu       sync.Mutex
	flying   string
	cut      bool
	up, down int64
}

func (c *conn) Begin(r httpproxy.Request, _ net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying = r.Method + " " + r.Path
	return !c.cut
}

func (c *conn) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying = ""
}

func (c *conn) Count(up, down int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.down = c.up+up, c.down+down
	return c.d.budget == 0 || c.up+c.down <= c.d.budget
}

func (d *testProxy) Ask(r httpproxy.Request) (httpproxy.Grant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deny != nil {
		if dec := d.deny(r); dec != nil {
			d.asked = append(d.asked, fmt.Sprintf("deny %s %s %s", r.Method, r.Dest, r.Path))
			return httpproxy.Grant{}, &profiles.Denial{Capability: "egress", Decision: *dec}
		}
	}
	d.asked = append(d.asked, fmt.Sprintf("allow %s %s %s", r.Method, r.Dest, r.Path))
	return httpproxy.Grant{Granted: true, Virtual: r.Dest.Name == "gateway.ringd.internal"}, nil
}

func (d *testProxy) Refuse(r httpproxy.Request, why *egress.Refusal) profiles.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, "refuse "+string(why.Code))
	return profiles.Decision{Code: profiles.Code(why.Code), Reason: why.Why}
}

func (d *testProxy) Hold(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room > 0 && d.held+n > d.room {
		return false
	}
	d.held += n
	return true
}

func (d *testProxy) Release(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held -= n
}

func (d *testProxy) Crowded(httpproxy.Request) profiles.Decision {
	return profiles.Decision{Code: profiles.Code(egress.Budget), Reason: "no room"}
}

func (d *testProxy) Dial(ctx context.Context, r httpproxy.Request, client net.Conn) (httpproxy.Conn, error) {
	var n net.Dialer
	c, err := n.DialContext(ctx, "tcp", d.at)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dials++
	out := &conn{TCPConn: c.(*net.TCPConn), d: d}
	d.conns = append(d.conns, out)
	return out, nil
}

func (d *testProxy) RoundTrip(
	_ context.Context, _ httpproxy.Request, _ net.Conn, q *http.Request,
) (*http.Response, error) {
	return d.trip(q)
}

func denied(dst []byte, d profiles.Decision, keep bool) []byte {
	text := string(d.Code) + ": " + d.Reason
	dst = append(dst, "HTTP/1.1 403 Forbidden\r\nX-Ringd-Deny: "+string(d.Code)+"\r\nContent-Length: "+
		strconv.Itoa(len(text))+"\r\n"...)
	if !keep {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(append(dst, "\r\n"...), text...)
}

// serve starts a proxy for a target. Everything it started has ended when the test
// is over.
func serve(t *testing.T, at string, change func(*testProxy)) *testProxy {
	t.Helper()
	var work sync.WaitGroup
	spawn := func(f func()) { work.Add(1); go func() { defer work.Done(); f() }() }
	d := &testProxy{t: t, at: at, rest: make(chan string, 1)}
	if change != nil {
		change(d)
	}
	cfg := d.times
	cfg.Go, cfg.Now, cfg.Denied = spawn, time.Now, denied
	var err error
	if d.forward, err = httpproxy.New(cfg); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	var open sync.Map
	spawn(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Store(c, nil)
			spawn(func() {
				rest, connect := d.forward.Serve(t.Context(), d,
					httpproxy.Client{Conn: c, Listener: "http", Room: d, Dest: d.dest})
				if connect {
					d.rest <- string(rest)
					c.Close()
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		d.mu.Lock()
		for _, c := range d.conns {
			c.TCPConn.Close()
		}
		d.mu.Unlock()
		work.Wait()
		if d.held != 0 {
			t.Errorf("room for %d bytes of heads was not given back", d.held)
		}
	})
	return d
}

func (d *testProxy) log() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.asked...)
}

func (d *testProxy) dial() *wire {
	d.t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return &wire{t: d.t, TCPConn: c.(*net.TCPConn), r: bufio.NewReader(c)}
}

// wire is a client that says exactly what a test says.
type wire struct {
	t *testing.T
	*net.TCPConn
	r *bufio.Reader
}

func (w *wire) say(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.TCPConn, text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) hear(method string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.ReadResponse(w.r, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("read the answer: %v", err)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatalf("read the body: %v", err)
	}
	return r, string(b)
}

// ended waits for the end of the connection.
func (w *wire) ended() error {
	w.t.Helper()
	b, err := io.ReadAll(w.r)
	if len(b) > 0 {
		w.t.Errorf("more came before the end: %q", b)
	}
	return err
}

// origin is a target of raw answers: script gets each connection.
func origin(t *testing.T, script func(n int, c *net.TCPConn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Add(1)
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		defer work.Done()
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			work.Add(1)
			go func() {
				defer work.Done()
				defer c.Close()
				script(n, c.(*net.TCPConn), bufio.NewReader(c))
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return l.Addr().String()
}

// heads gives each head that arrives as it was written, and answers with text.
func heads(t *testing.T, answer string) (string, chan string) {
	got := make(chan string, 64)
	return origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		for {
			text, err := rawHead(r)
			if err != nil {
				return
			}
			got <- text
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}), got
}

func rawHead(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		b.WriteString(line)
		if line == "\r\n" {
			return b.String(), nil
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestKeepAliveIsOneConnection(t *testing.T) {
	at, got := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	for i := range 3 {
		w.say(fmt.Sprintf("GET http://a.test/x/%d?q=secret HTTP/1.1\r\nHost: a.test\r\nUser-Agent: t\r\n"+
			"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nConnection: X-Mine, host, content-length\r\nX-Mine: 1\r\nX-Other: 2\r\nTE: trailers\r\n\r\n", i))
		if r, body := w.hear("GET"); r.StatusCode != 200 || body != "ok" {
			t.Fatalf("got %d %q", r.StatusCode, body)
		}
		want := fmt.Sprintf("GET /x/%d?q=secret HTTP/1.1\r\nHost: a.test\r\nUser-Agent: t\r\nX-Other: 2\r\n\r\n", i)
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("what arrived (-want +got):\n%s", diff)
		}
	}
	if d.dials != 1 {
		t.Errorf("dialed %d times, want 1", d.dials)
	}
	if diff := cmp.Diff([]string{"allow GET a.test:80 /x/0", "allow GET a.test:80 /x/1", "allow GET a.test:80 /x/2"},
		d.log()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestAnotherTargetIsAnotherConnection(t *testing.T) {
	at, got := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	for _, host := range []string{"a.test", "b.test", "b.test:8080", "b.test:8080", "a.test"} {
		w.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		w.hear("GET")
		if text := <-got; !strings.Contains(text, "Host: "+host+"\r\n") {
			t.Errorf("%s: %q", host, text)
		}
	}
	if d.dials != 4 {
		t.Errorf("dialed %d times, want 4", d.dials)
	}
}

// A refusal keeps the connection when its body can be passed over.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		keeps         bool
	}{
		{"no body", "GET http://no.test/ HTTP/1.1\r\nHost: no.test\r\n\r\n", true},
		{"head", "HEAD http://no.test/ HTTP/1.1\r\nHost: no.test\r\n\r\n", true},
		{"small body", "POST http://no.test/ HTTP/1.1\r\nHost: no.test\r\nContent-Length: 5\r\n\r\nhello", true},
		{"chunked body", "POST http://no.test/ HTTP/1.1\r\nHost: no.test\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", true},
		{"large body", "POST http://no.test/ HTTP/1.1\r\nHost: no.test\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000), false},
		{"large chunked body", "POST http://no.test/ HTTP/1.1\r\nHost: no.test\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n" + strings.Repeat("x", 70000) + "\r\n0\r\n\r\n", false},
		{"body in doubt", "POST http://no.test/ HTTP/1.1\r\nHost: no.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", false},
		{"HTTP/1.0", "GET http://no.test/ HTTP/1.0\r\nHost: no.test\r\n\r\n", false},
		{"close", "GET http://no.test/ HTTP/1.1\r\nHost: no.test\r\nConnection: close\r\n\r\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, _ := heads(t, ok)
			d := serve(t, at, func(d *testProxy) {
				d.deny = func(r httpproxy.Request) *profiles.Decision {
					if r.Dest.Name == "no.test" {
						return &profiles.Decision{Code: "egress.not_granted", Reason: "no"}
					}
					return nil
				}
			})
			w := d.dial()
			w.say(tt.request)
			r, _ := w.hear(strings.Fields(tt.request)[0])
			if r.StatusCode != 403 || r.Header.Get("X-Ringd-Deny") != "egress.not_granted" {
				t.Fatalf("got %d %v", r.StatusCode, r.Header)
			}
			if d.dials != 0 {
				t.Error("something was dialed")
			}
			if !tt.keeps {
				if err := w.ended(); err != nil {
					t.Errorf("the client saw %v instead of an end", err)
				}
				return
			}
			w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
			if r, body := w.hear("GET"); r.StatusCode != 200 || body != "ok" {
				t.Errorf("after it: %d %q", r.StatusCode, body)
			}
		})
	}
}

// Nothing of what two readers could read in two ways is dialed for.
func TestMalformed(t *testing.T) {
	for name, request := range map[string]string{
		"origin-form":     "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"asterisk":        "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"other host":      "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
		"other port":      "GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
		"no host":         "GET http://a.test/ HTTP/1.1\r\n\r\n",
		"other host, 1.0": "GET http://a.test/ HTTP/1.0\r\nHost: b.test\r\n\r\n",
		"two hosts":       "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n",
		"https":           "GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"ftp":             "GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"user":            "GET http://u@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"both lengths":    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":     "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"signed length":   "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: +5\r\n\r\nhello",
		"odd coding":      "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two codings":     "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"bare LF":         "GET http://a.test/ HTTP/1.1\nHost: a.test\n\n",
		"fold":            "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: y\r\n z\r\n\r\n",
		"space and colon": "GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n",
		"NUL":             "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: \x00\r\n\r\n",
		"CR":              "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n",
		"trace":           "TRACE http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"0.9":             "GET http://a.test/\r\n",
		"2.0":             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"large":           "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("y", 66000) + "\r\n\r\n",
		"TLS":             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"chunk size":      "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
		"chunk bare LF":   "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at, got := heads(t, ok)
			d := serve(t, at, nil)
			w := d.dial()
			w.say(request)
			r, _ := w.hear("GET")
			if r.StatusCode != 403 || !strings.HasPrefix(r.Header.Get("X-Ringd-Deny"), "egress.") {
				t.Errorf("got %d %v", r.StatusCode, r.Header)
			}
			select {
			case text := <-got:
				t.Errorf("the target got %q", text)
			default:
			}
		})
	}
}

// What is wrong with a body may show when the target has some of it: then it is
// cut off, and never ended.
func TestMalformedLater(t *testing.T) {
	begun, got := make(chan struct{}), make(chan string, 1)
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		if _, err := rawHead(r); err != nil {
			return
		}
		first := make([]byte, len("5\r\nhello\r\n"))
		_, _ = io.ReadFull(r, first)
		close(begun)
		b, _ := io.ReadAll(r)
		got <- string(b)
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	<-begun
	w.say("5\r\nhelloGET / HTTP/1.1\r\n\r\n0\r\n\r\n")
	if r, _ := w.hear("POST"); r.StatusCode != 403 || r.Header.Get("X-Ringd-Deny") != "egress.request" {
		t.Errorf("got %d %v", r.StatusCode, r.Header)
	}
	if text := <-got; strings.Contains(text, "0\r\n\r\n") || strings.Contains(text, "helloGET") {
		t.Errorf("the target got %q", text)
	}
}

func TestTunnel(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		want          int
	}{
		{"origin-form", "GET /a HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", 200},
		{"case and dot", "GET /a HTTP/1.1\r\nHost: A.test.:8080\r\n\r\n", 200},
		{"no port", "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n", 403},
		{"other host", "GET /a HTTP/1.1\r\nHost: b.test:8080\r\n\r\n", 403},
		{"absolute-form", "GET http://a.test:8080/a HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", 403},
		{"absolute-form of another", "GET http://b.test/a HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", 403},
		{"connect", "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n", 403},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, _ := heads(t, ok)
			d := serve(t, at, func(d *testProxy) { d.dest = egress.Dest{Name: "a.test", Port: 8080} })
			w := d.dial()
			w.say(tt.request)
			if r, _ := w.hear("GET"); r.StatusCode != tt.want {
				t.Errorf("got %d, want %d", r.StatusCode, tt.want)
			}
			if d.dials != 0 && tt.want != 200 {
				t.Error("something was dialed")
			}
		})
	}
}

func TestTunnelToAnAddress(t *testing.T) {
	at, got := heads(t, ok)
	d := serve(t, at, func(d *testProxy) { d.dest = egress.Dest{Addr: netip.MustParseAddr("2001:db8::1"), Port: 80} })
	w := d.dial()
	w.say("GET / HTTP/1.1\r\nHost: [2001:DB8::1]\r\n\r\n")
	w.hear("GET")
	if text := <-got; !strings.Contains(text, "Host: [2001:db8::1]\r\n") {
		t.Errorf("the target got %q", text)
	}
}

func TestConnectGoesBack(t *testing.T) {
	at, _ := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	const connect = "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\nearly"
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n" + connect)
	w.hear("GET")
	if rest := <-d.rest; rest != connect {
		t.Errorf("went back: %q", rest)
	}
}

// Requests that come at once are answered in their order.
func TestPipelined(t *testing.T) {
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			b, _ := io.ReadAll(q.Body)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s %s", len(q.URL.Path)+1+len(b), q.URL.Path,
				b)
		}
	})
	d := serve(t, at, func(d *testProxy) {
		d.deny = func(r httpproxy.Request) *profiles.Decision {
			if r.Path == "/3" {
				return &profiles.Decision{Code: "egress.path"}
			}
			return nil
		}
	})
	w := d.dial()
	var all strings.Builder
	for i := range 6 {
		fmt.Fprintf(&all, "POST http://a.test/%d HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nb%d", i, i)
	}
	w.say(all.String())
	for i := range 6 {
		r, body := w.hear("POST")
		if i == 3 {
			if r.StatusCode != 403 {
				t.Errorf("%d: got %d", i, r.StatusCode)
			}
			continue
		}
		if want := fmt.Sprintf("/%d b%d", i, i); body != want {
			t.Errorf("%d: got %q", i, body)
		}
	}
	if d.dials != 1 {
		t.Errorf("dialed %d times", d.dials)
	}
}

// A target that closed a connection meanwhile gets the request again, if that is
// the same as once.
func TestStale(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		after         string // what the target says before it closes
		want          int
		dials         int
	}{
		{"GET", "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "", 200, 2},
		{"PUT with a body", "PUT http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi", "", 200, 2},
		{"GET that was answered", "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "HTTP/1.1 2", 502, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := origin(t, func(n int, c *net.TCPConn, r *bufio.Reader) {
				for i := 0; ; i++ {
					q, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, q.Body)
					if n == 0 && i == 1 {
						_, _ = io.WriteString(c, tt.after)
						return
					}
					_, _ = io.WriteString(c, ok)
				}
			})
			d := serve(t, at, nil)
			w := d.dial()
			w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
			w.hear("GET")
			w.say(tt.request)
			if r, _ := w.hear("GET"); r.StatusCode != tt.want {
				t.Errorf("got %d, want %d", r.StatusCode, tt.want)
			}
			if d.dials != tt.dials {
				t.Errorf("dialed %d times, want %d", d.dials, tt.dials)
			}
			if n := len(d.log()); n != 2 {
				t.Errorf("decided %d times: %q", n, d.log())
			}
		})
	}
}

// What may not be sent twice is not, and a connection that was closed is not
// chosen for it.
func TestStalePost(t *testing.T) {
	closed := make(chan struct{})
	at := origin(t, func(n int, c *net.TCPConn, r *bufio.Reader) {
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, q.Body)
			switch {
			case n == 0:
				_, _ = io.WriteString(c, ok)
				c.Close()
				close(closed)
				return
			case q.URL.Path == "/die":
				return
			}
			_, _ = io.WriteString(c, ok)
		}
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	w.hear("GET")
	<-closed
	w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi")
	if r, _ := w.hear("POST"); r.StatusCode != 200 || d.dials != 2 {
		t.Errorf("got %d after %d dials", r.StatusCode, d.dials)
	}
	w.say("POST http://a.test/die HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi")
	if r, _ := w.hear("POST"); r.StatusCode != 502 || d.dials != 2 {
		t.Errorf("got %d after %d dials", r.StatusCode, d.dials)
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, method, version, answer, body string
		status                              int
		ends                                bool // the client's connection
	}{
		{"length", "GET", "1.1", ok, "ok", 200, false},
		{"chunked", "GET", "1.1", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2;a=b\r\nok\r\n0\r\nX: y\r\n\r\n", "ok", 200, false},
		{"chunked to 1.0", "GET", "1.0", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", 200, true},
		{"until close", "GET", "1.1", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", "ok", 200, false},
		{"until close to 1.0", "GET", "1.0", "HTTP/1.1 200 OK\r\n\r\nok", "ok", 200, true},
		{"HTTP/1.0", "GET", "1.1", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false},
		{"204", "GET", "1.1", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, false},
		{"304", "GET", "1.1", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", 304, false},
		{"HEAD", "HEAD", "1.1", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "", 200, false},
		{"early hints", "GET", "1.1", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, "", 103, false},
		{"early hints to 1.0", "GET", "1.0", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, "ok", 200, true},
		{"both lengths", "GET", "1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", 502, true},
		{"two lengths", "GET", "1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "", 502, true},
		{"bare LF", "GET", "1.1", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "", 502, true},
		{"no HTTP", "GET", "1.1", "220 smtp\r\n\r\n", "", 502, true},
		{"101 unasked", "GET", "1.1", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "", 502, true},
		{"nothing", "GET", "1.1", "", "", 502, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
				if _, err := rawHead(r); err == nil {
					_, _ = io.WriteString(c, tt.answer)
				}
			})
			d := serve(t, at, nil)
			w := d.dial()
			w.say(tt.method + " http://a.test/ HTTP/" + tt.version + "\r\nHost: a.test\r\n\r\n")
			r, body := w.hear(tt.method)
			if r.StatusCode != tt.status || tt.status < 300 && body != tt.body {
				t.Fatalf("got %d %q, want %d %q", r.StatusCode, body, tt.status, tt.body)
			}
			if tt.status == 103 {
				r, _ = w.hear(tt.method)
			}
			if r.Header.Get("Trailer") != "" || len(r.Trailer) > 0 {
				t.Error("a trailer came through")
			}
			if tt.ends {
				if err := w.ended(); err != nil {
					t.Errorf("the client saw %v instead of an end", err)
				}
			}
		})
	}
}

// A body that is not whole does not look as if it were.
func TestDiesInTheMiddle(t *testing.T) {
	for name, answer := range map[string]string{
		"length":    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunked":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		"bad chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalfXX\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
				if _, err := rawHead(r); err == nil {
					_, _ = io.WriteString(c, answer)
				}
			})
			d := serve(t, at, nil)
			w := d.dial()
			w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
			r, err := http.ReadResponse(w.r, nil)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			if err == nil {
				t.Error("half an answer looks whole")
			}
		})
	}
}

// pattern is a body whose bytes say where they are.
type pattern struct{ at, end int64 }

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.end {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.end-p.at))
	for i := range n {
		b[i] = byte((p.at + int64(i)) % 251)
	}
	p.at += int64(n)
	return n, nil
}

func same(t *testing.T, r io.Reader, size int64) {
	t.Helper()
	want, got := &pattern{end: size}, int64(0)
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(r, a)
		m, _ := io.ReadFull(want, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			t.Errorf("differs within 64 KiB of %d", got)
			return
		}
		if got += int64(n); err != nil {
			break
		}
	}
	if got != size {
		t.Errorf("got %d bytes, want %d", got, size)
	}
}

// Large bodies go both ways at once: the target sends each byte back while more
// come.
func TestLargeBodies(t *testing.T) {
	size := int64(64 << 20)
	if testing.Short() {
		size = 4 << 20
	}
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if q.ContentLength >= 0 {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", q.ContentLength)
			_, _ = io.Copy(c, q.Body)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		buf := make([]byte, 3000)
		for {
			n, err := q.Body.Read(buf)
			if n > 0 {
				fmt.Fprintf(c, "%x\r\n%s\r\n", n, buf[:n])
			}
			if err != nil {
				_, _ = io.WriteString(c, "0\r\n\r\n")
				return
			}
		}
	})
	for _, length := range []int64{size, -1} {
		d := serve(t, at, nil)
		w := d.dial()
		done := make(chan error, 1)
		go func() {
			q, _ := http.NewRequest("POST", "http://a.test/", &pattern{end: size})
			q.ContentLength = length
			done <- q.WriteProxy(w.TCPConn)
		}()
		r, err := http.ReadResponse(w.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, r.Body, size)
		if err := <-done; err != nil {
			t.Error(err)
		}
		c := d.conns[0]
		c.mu.Lock()
		if c.up < size || c.down < size || c.up > size+size/10 || c.down > size+size/10 {
			t.Errorf("counted %d up and %d down, want %d and a little", c.up, c.down, size)
		}
		c.mu.Unlock()
	}
}

// An event is passed on when it comes, and not with the next one.
func TestEventsAtOnce(t *testing.T) {
	next := make(chan struct{})
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		if _, err := rawHead(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "+
			"chunked\r\n\r\n")
		for i := range 3 {
			fmt.Fprintf(c, "9\r\ndata: %d\n\n\r\n", i)
			<-next
		}
		_, _ = io.WriteString(c, "0\r\n\r\n")
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	r, err := http.ReadResponse(w.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b := make([]byte, 9)
		if _, err := io.ReadFull(r.Body, b); err != nil || string(b) != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("got %q, %v", b, err)
		}
		next <- struct{}{}
	}
}

func TestContinue(t *testing.T) {
	for _, tt := range []struct {
		name, interim, answer string
		status                int
	}{
		{"continued", "HTTP/1.1 100 Continue\r\n\r\n", ok, 200},
		{"refused", "", "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", 417},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
				if _, err := rawHead(r); err != nil {
					return
				}
				_, _ = io.WriteString(c, tt.interim)
				if tt.interim != "" {
					b := make([]byte, 5)
					if _, err := io.ReadFull(r, b); err != nil || string(b) != "hello" {
						return
					}
				}
				_, _ = io.WriteString(c, tt.answer)
			})
			d := serve(t, at, nil)
			w := d.dial()
			w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			if tt.interim != "" {
				if r, _ := w.hear("POST"); r.StatusCode != 100 {
					t.Fatalf("got %d before the body", r.StatusCode)
				}
				w.say("hello")
			}
			if r, _ := w.hear("POST"); r.StatusCode != tt.status {
				t.Errorf("got %d", r.StatusCode)
			}
			if tt.interim == "" {
				if err := w.ended(); err != nil {
					t.Errorf("the client saw %v instead of an end", err)
				}
			}
		})
	}
}

// A target may answer before it has read the body; what is left of it is not sent.
func TestEarlyAnswer(t *testing.T) {
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		if _, err := rawHead(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nstop")
		_, _ = io.Copy(io.Discard, r)
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n" +
		strings.Repeat("x", 20000))
	if r, body := w.hear("POST"); r.StatusCode != 413 || body != "stop" {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
	if err := w.ended(); err != nil {
		t.Errorf("the client saw %v instead of an end", err)
	}
}

// A client may say that it sends nothing more, and wait.
func TestHalfClosed(t *testing.T) {
	at, _ := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if err := w.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if r, body := w.hear("GET"); r.StatusCode != 200 || body != "ok" {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// A client that goes away in its body takes the connection to the target along,
// which sees a body that broke.
func TestClientDies(t *testing.T) {
	got := make(chan error, 1)
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		q, err := http.ReadRequest(r)
		if err == nil {
			_, err = io.ReadAll(q.Body)
		}
		got <- err
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\nhello")
	w.Close()
	if err := <-got; err == nil {
		t.Error("half a body looks whole")
	}
}

func TestWebSocket(t *testing.T) {
	at := origin(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
		text, err := rawHead(r)
		if err != nil || !strings.Contains(text, "Connection: Upgrade\r\nUpgrade: websocket\r\n") {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: x\r\n\r\nhello")
		_, _ = io.Copy(c, r)
		_, _ = io.WriteString(c, "bye")
	})
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ws HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Key: y\r\n\r\nearly")
	r, err := http.ReadResponse(w.r, nil)
	if err != nil || r.StatusCode != 101 || r.Header.Get("Sec-WebSocket-Accept") != "x" {
		t.Fatalf("got %v %v", r, err)
	}
	b := make([]byte, len("helloearly"))
	if _, err := io.ReadFull(w.r, b); err != nil || string(b) != "helloearly" {
		t.Fatalf("got %q, %v", b, err)
	}
	w.say("ping")
	if _, err := io.ReadFull(w.r, b[:4]); err != nil || string(b[:4]) != "ping" {
		t.Fatalf("got %q, %v", b, err)
	}
	if err := w.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(w.r); err != nil || string(rest) != "bye" {
		t.Errorf("got %q, %v", rest, err)
	}
}

// Other protocols are not switched to: the request goes on without asking.
func TestOtherUpgrade(t *testing.T) {
	at, got := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
		"HTTP2-Settings: AAMA\r\n\r\n")
	w.hear("GET")
	if text := <-got; strings.Contains(strings.ToLower(text), "upgrade") ||
		strings.Contains(strings.ToLower(text), "http2") {
		t.Errorf("the target got %q", text)
	}
}

func TestBudget(t *testing.T) {
	at, _ := heads(t, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100000))
	d := serve(t, at, func(d *testProxy) { d.budget = 50000 })
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	r, err := http.ReadResponse(w.r, nil)
	n := 0
	if err == nil {
		var b []byte
		b, err = io.ReadAll(r.Body)
		n = len(b)
	}
	if err == nil || n > 50000 {
		t.Errorf("got %d bytes and %v", n, err)
	}
}

// A connection that was cut is not used again.
func TestCutMeanwhile(t *testing.T) {
	at, _ := heads(t, ok)
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	w.hear("GET")
	d.conns[0].mu.Lock()
	d.conns[0].cut = true
	d.conns[0].mu.Unlock()
	d.conns[0].Close()
	w.say("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n")
	if r, _ := w.hear("POST"); r.StatusCode != 200 || d.dials != 2 {
		t.Errorf("got %d after %d dials", r.StatusCode, d.dials)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	d := serve(t, at, nil)
	w := d.dial()
	w.say("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
	r, body := w.hear("GET")
	if r.StatusCode != 502 || strings.Contains(body, "127.0.0.1") {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := httpproxy.New(httpproxy.Config{}); err == nil {
		t.Error("a forwarder without what it needs")
	}
}
