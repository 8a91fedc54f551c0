package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// web is a server that remembers what it was asked.
type web struct {
	mu    sync.Mutex
	asked []string
}

func (w *web) log() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

func (w *web) remember(q *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, q.Method+" "+q.Host+" "+q.RequestURI)
}

// serve answers at address with handle; nil: "ok".
func (r *rig) serve(address string, handle http.HandlerFunc) *web {
	w := &web{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, q *http.Request) {
		w.remember(q)
		if handle != nil {
			handle(out, q)
			return
		}
		_, _ = io.WriteString(out, "ok")
	}))
	_ = s.Listener.Close()
	s.Listener = r.Listen(address)
	s.Start()
	r.t.Cleanup(s.CloseClientConnections)
	return w
}

// ask writes a request and reads the answer.
func (c *tunnel) ask(t testing.TB, text string) (*http.Response, string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	res, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("ask %q: %v", text, err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read the answer to %q: %v", text, err)
	}
	return res, string(b)
}

func (r *rig) plain() *tunnel {
	c := r.dial()
	return &tunnel{Conn: c, in: bufio.NewReader(c)}
}

func (r *rig) bySOCKS(name string, port uint16) *tunnel {
	r.t.Helper()
	c := r.plain()
	if _, err := c.Write(append(append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(name))}, name...), byte(port>>8),
		byte(port))); err != nil {
		r.t.Fatal(err)
	}
	hears(r.t, c, "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
	return c
}

func reads(ports ...int) profiles.EgressRule {
	h := host("api.example", ports...)
	h.Methods, h.Paths = []string{"GET", "POST"}, []string{"/v1"}
	return h
}

// A rule on requests holds by every listener, for the same requests.
func TestRequestsByEachListener(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{reads(80, 8080)})
	r.Name("api.example", "93.184.216.34")
	w := r.serve("93.184.216.34:8080", nil)
	listeners := map[string]func(string) string{
		proxy.ListenerHTTP:    func(path string) string { return "http://api.example:8080" + path },
		proxy.ListenerConnect: func(path string) string { return path },
		proxy.ListenerSOCKS:   func(path string) string { return path },
	}
	for listener, form := range listeners {
		open := func() *tunnel {
			switch listener {
			case proxy.ListenerConnect:
				return r.tunnel("api.example:8080")
			case proxy.ListenerSOCKS:
				return r.bySOCKS("api.example", 8080)
			default:
				return r.plain()
			}
		}
		for _, tt := range []struct {
			method, path string
			want         profiles.Code
		}{
			{"GET", "/v1", ""},
			{"GET", "/v1/", ""},
			{"GET", "/v1/a%20b;c=d?e=/../f", ""},
			{"POST", "/v1/x", ""},
			{"GET", "/v1?x=/../y", ""},
			{"HEAD", "/v1", "egress.method"},
			{"get", "/v1", "egress.method"},
			{"DELETE", "/v1", "egress.method"},
			{"GET", "/", "egress.path"},
			{"GET", "/v10", "egress.path"},
			{"GET", "/V1", "egress.path"},
			{"GET", "//v1", "egress.path"},
			{"GET", "/v1/..", "egress.path"},
			{"GET", "/v1/../v2", "egress.path"},
			{"GET", "/v1/./x", "egress.path"},
			{"GET", "/v1/%2e%2e/v2", "egress.path"},
			{"GET", "/v1/.%2E/v2", "egress.path"},
			{"GET", "/v1/..%2fv2", "egress.path"},
			{"GET", "/v1/a%2Fb", "egress.path"},
			{"GET", "/v1/a%5cb", "egress.path"},
			{"GET", "/v1/%252e%252e/v2", "egress.path"},
			{"GET", "/v1/..;x=y/v2", "egress.path"},
			{"GET", "/v1%00", "egress.path"},
			{"GET", "/v%31/x", ""}, // decoded once it is /v1/x
		} {
			before := len(w.log())
			c := open()
			res, body := c.ask(t, tt.method+" "+form(tt.path)+
				" HTTP/1.1\r\nHost: api.example:8080\r\nContent-Length: 0\r\n\r\n")
			got := profiles.Code(res.Header.Get("X-Ringd-Deny"))
			if got != tt.want || (tt.want == "") != (res.StatusCode == 200) ||
				(tt.want == "") != (len(w.log()) == before+1) {
				t.Errorf("%s: %s %s: %d %s, %q; asked %d times", listener, tt.method, tt.path, res.StatusCode, got, body,
					len(w.log())-before)
			}
			// The refusal kept the connection.
			if res, _ := c.ask(t, "GET "+form("/v1")+
				" HTTP/1.1\r\nHost: api.example:8080\r\n\r\n"); res.StatusCode != 200 {
				t.Errorf("%s: after %s %s: %d", listener, tt.method, tt.path, res.StatusCode)
			}
			_ = c.Close()
		}
	}
	for _, ev := range r.log() {
		if ev.Listener != proxy.ListenerHTTP && ev.Listener != proxy.ListenerConnect &&
			ev.Listener != proxy.ListenerSOCKS || strings.Contains(ev.Path, "?") {
			t.Errorf("on record: %+v", ev)
		}
	}
}

// TLS to a host whose requests are read is refused: nobody could read them.
func TestReadTunnelIsNotOpaque(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{reads(8080)})
	r.Name("api.example", "93.184.216.34")
	r.Sink("", 8080)
	c := r.tunnel("api.example:8080", clientHello(t, "api.example")...)
	res, err := http.ReadResponse(c.in, nil)
	if err != nil || res.Header.Get("X-Ringd-Deny") != "egress.request" || len(r.Arrivals()) > 0 {
		t.Errorf("%v, %v, arrived: %v", res, err, r.Arrivals())
	}
	if _, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "api.example:8080")); code(
		err) != "egress.opaque" {
		t.Errorf("dialed without being read: %v", err)
	}
}

// A policy that changes between two requests of a connection holds for the second.
func TestSwapBetweenRequests(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 80), host("b.example", 80)})
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.35")
	a, b := r.serve("93.184.216.34:80", nil), r.serve("93.184.216.35:80", nil)
	c, other := r.plain(), r.plain()
	const toA, toB = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n"
	if res, _ := c.ask(t, toA); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if res, _ := other.ask(t, toB); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	for r.guest.InFlight() > 0 { // what is in flight is cut with its client
		runtime.Gosched()
	}
	r.allow(host("b.example", 80))
	r.egress.Recheck()
	cut := r.ends(1)[0]
	if cut.End != proxy.EndCut || cut.Before != 1 || cut.Generation != 2 || cut.Dest.Name != "a.example" {
		t.Errorf("cut: %+v", cut)
	}
	if res, body := c.ask(t, toA); res.StatusCode != 403 || res.Header.Get("X-Ringd-Deny") != "egress.not_granted" ||
		!strings.Contains(body, "another way will be refused") {
		t.Errorf("after the swap: %d %q", res.StatusCode, body)
	}
	for range 2 { // the client is none the worse for it
		if res, _ := c.ask(t, toB); res.StatusCode != 200 {
			t.Error(res.Status)
		}
	}
	if res, _ := other.ask(t, toB); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if len(a.log()) != 1 || len(b.log()) != 4 {
		t.Errorf("asked: %q and %q", a.log(), b.log())
	}
	if n := len(r.ends(1)); n != 1 {
		t.Errorf("%d connections ended, want the cut one alone", n)
	}
}

// A request that is under way ends when its path is no longer granted, and another
// beside it goes on.
func TestSwapDuringRequest(t *testing.T) {
	rule := host("a.example", 80)
	rule.Paths = []string{"/x", "/y"}
	r := newRig(t, []profiles.EgressRule{rule})
	r.Name("a.example", "93.184.216.34")
	next := map[string]chan struct{}{"/x": make(chan struct{}), "/y": make(chan struct{})}
	r.serve("93.184.216.34:80", func(out http.ResponseWriter, q *http.Request) {
		for {
			_, _ = io.WriteString(out, "event\n")
			_ = http.NewResponseController(out).Flush()
			select {
			case <-next[q.URL.Path]:
			case <-q.Context().Done():
				return
			}
		}
	})
	stream := func(path string) (*tunnel, *http.Response) {
		c := r.plain()
		_, _ = io.WriteString(c, "GET http://a.example"+path+" HTTP/1.1\r\nHost: a.example\r\n\r\n")
		res, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		hears(t, res.Body, "event\n")
		return c, res
	}
	x, _ := stream("/x")
	_, y := stream("/y")
	rule.Paths = []string{"/y"}
	r.allow(rule)
	r.egress.Recheck()
	reset(t, x)
	next["/y"] <- struct{}{}
	hears(t, y.Body, "event\n")
	if ends := r.ends(1); len(ends) != 1 || ends[0].End != proxy.EndCut || ends[0].Path != "/x" ||
		ends[0].Decision.Code != profiles.Code(dest.Path) {
		t.Errorf("ends: %+v", ends)
	}
}

// What cannot be recorded does not happen.
func TestRequestNotRecorded(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 80)})
	r.Name("a.example", "93.184.216.34")
	w := r.serve("93.184.216.34:80", nil)
	r.mu.Lock()
	r.refuse = errors.New("the disk is full")
	r.mu.Unlock()
	res, body := r.plain().ask(t, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if res.StatusCode != 502 || strings.Contains(body, "disk") || len(w.log()) > 0 || len(r.Lookups()) > 0 {
		t.Errorf("%d %q; asked %q, looked up %q", res.StatusCode, body, w.log(), r.Lookups())
	}
}

// Of a client that asked for a page first, a tunnel is opened all the same.
func TestConnectAfterRequest(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 80, 5432)})
	r.Name("a.example", "93.184.216.34")
	r.serve("93.184.216.34:80", nil)
	r.echo("93.184.216.34:5432")
	c := r.plain()
	c.ask(t, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
	_, _ = io.WriteString(c, "CONNECT a.example:5432 HTTP/1.1\r\nHost: a.example:5432\r\n\r\nearly")
	res, err := http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	hears(t, c, "early")
	says(t, c, "late")
}

// gateways is a policy with a gateway, for a rig.
func (r *rig) gateways(list ...profiles.Gateway) {
	a := profiles.Agent{Egress: profiles.Egress{Mode: profiles.EgressGatewayOnly, Gateways: list}}
	n := r.number.Add(1)
	r.deciders.Store(&[]*profiles.Decider{profiles.NewDecider(a, fmt.Sprint("r", n), profiles.Environment{})})
}

const secret = "s3cr3t-t0k3n"

// gatewayRig has an upstream at example.com, of TLS, that says back what it was
// asked with.
func gatewayRig(t *testing.T, handle http.HandlerFunc, settings ...setting) (*rig, *web) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	w := &web{}
	s.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, q *http.Request) {
		w.remember(q)
		handle(out, q)
	})
	_ = s.Listener.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	r := newRig(t, nil, append([]setting{func(c *proxy.Config) {
		l, err := net.Listen("tcp", "93.184.216.34:443")
		if err != nil {
			t.Fatal(err)
		}
		s.Listener = l
		s.StartTLS()
		c.Roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		c.Secret = func(_ context.Context, name string, up dest.Dest) (proxy.Secret, error) {
			if name != "KEY" || up.Name != "example.com" {
				return proxy.Secret{}, errors.New("no such file: /etc/ringd/" + name)
			}
			return proxy.Secret{Header: "Authorization", Value: "Bearer " + secret}, nil
		}
	}}, settings...)...)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	r.Name("example.com", "93.184.216.34")
	return r, w
}

func TestGateway(t *testing.T) {
	r, w := gatewayRig(t, func(out http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		out.Header().Set("X-Got", q.Header.Get("Authorization"))
		out.Header().Set("Location", "https://example.com/base/next")
		out.Header().Set("Set-Cookie", "session=1")
		out.Header().Set("X-Cookie", q.Header.Get("Cookie")+q.Header.Get("X-Api-Key"))
		out.WriteHeader(201)
		_, _ = fmt.Fprintf(out, "authorized=%v body=%s", q.Header.Get("Authorization") == "Bearer "+secret, b)
	})
	r.gateways(profiles.Gateway{Name: "gateway", Upstream: "https://example.com/base", Credential: "KEY",
		Methods: []string{"POST"}, Paths: []string{"/v1"}})
	const request = "POST %s/v1/x?q=1 HTTP/1.1\r\nHost: gateway.ringd.internal\r\nAuthorization: Bearer mine\r\n" +
		"Cookie: c\r\nX-Api-Key: k\r\nContent-Length: 5\r\n\r\nhello"
	c := r.plain()
	for name, open := range map[string]func() (*tunnel, string){
		"proxy":   func() (*tunnel, string) { return c, "http://gateway.ringd.internal" },
		"again":   func() (*tunnel, string) { return c, "http://gateway.ringd.internal" },
		"connect": func() (*tunnel, string) { return r.tunnel("gateway.ringd.internal:80"), "" },
		"socks":   func() (*tunnel, string) { return r.bySOCKS("gateway.ringd.internal", 80), "" },
	} {
		c, prefix := open()
		res, body := c.ask(t, fmt.Sprintf(request, prefix))
		if res.StatusCode != 201 || body != "authorized=true body=hello" {
			t.Fatalf("%s: %d %q", name, res.StatusCode, body)
		}
		got := map[string]string{}
		for _, h := range []string{"X-Got", "Location", "Set-Cookie", "X-Cookie"} {
			got[h] = res.Header.Get(h)
		}
		want := map[string]string{"X-Got": "", "Location": "http://gateway.ringd.internal/next", "Set-Cookie": "",
			"X-Cookie": ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
	}
	for _, asked := range w.log() {
		if asked != "POST example.com /base/v1/x?q=1" {
			t.Errorf("the upstream was asked %q", asked)
		}
	}
	for request, want := range map[string]string{
		"GET http://gateway.ringd.internal/v1 HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n":        "egress.method",
		"POST http://gateway.ringd.internal/v2 HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n":       "egress.path",
		"POST http://gateway.ringd.internal/v1/../v2 HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n": "egress.path",
		"POST http://gateway.ringd.internal/v1//x HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n":    "egress.path",
		"POST http://other.ringd.internal/v1 HTTP/1.1\r\nHost: other.ringd.internal\r\n\r\n":           "egress.not_granted",
		"POST http://gateway.ringd.internal:81/v1 HTTP/1.1\r\nHost: gateway.ringd.internal:81\r\n\r\n": "egress.port",
		"POST http://example.com/base/v1 HTTP/1.1\r\nHost: example.com\r\n\r\n":                        "egress.not_granted",
		"POST http://gateway.ringd.internal/v1 HTTP/1.1\r\nHost: example.com\r\n\r\n":                  "egress.request",
		"POST http://x.gateway.ringd.internal/v1 HTTP/1.1\r\nHost: x.gateway.ringd.internal\r\n\r\n":   "egress.not_granted",
	} {
		if res, _ := r.plain().ask(t, request); res.Header.Get("X-Ringd-Deny") != want {
			t.Errorf("%q: %d %s, want %s", request, res.StatusCode, res.Header.Get("X-Ringd-Deny"), want)
		}
	}
	if n := len(w.log()); n != 4 {
		t.Errorf("the upstream was asked %d times", n)
	}
	named, dials := 0, 0
	for _, ev := range r.log() {
		if ev.Credential == "KEY" {
			named++
		}
		if ev.Dial.IsValid() && ev.End == "" {
			dials++
		}
	}
	if named < 4 || dials != 1 {
		t.Errorf("on record: the credential %d times, %d dials, want one that is used again", named, dials)
	}
	r.guest.Close()
	if b, err := json.Marshal(r.log()); err != nil || strings.Contains(string(b), secret) {
		t.Error("the secret is on record")
	}
}

// A gateway that lacks something on this host says so, before anything is looked up.
func TestGatewayMissing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		gateway profiles.Gateway
		set     setting
		want    profiles.Code
	}{
		{"no upstream", profiles.Gateway{Name: "gateway"}, nil, "egress.gateway"},
		{"none of the host", profiles.Gateway{Name: "gateway"}, func(c *proxy.Config) { c.Upstream = func(string) proxy.Upstream { return proxy.Upstream{} } }, "egress.gateway"},
		{"unreadable", profiles.Gateway{Name: "gateway", Upstream: "ftp://example.com"}, nil, "egress.gateway"},
		{"virtual", profiles.Gateway{Name: "gateway", Upstream: "https://gateway.ringd.internal"}, nil, "egress.gateway"},
		{"no credential", profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Credential: "OTHER"}, nil, "egress.gateway"},
		{"nobody gives one", profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Credential: "KEY"}, func(c *proxy.Config) { c.Secret = nil }, "egress.gateway"},
		{"an empty one", profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Credential: "KEY"},
			func(c *proxy.Config) {
				c.Secret = func(context.Context, string, dest.Dest) (proxy.Secret, error) { return proxy.Secret{}, nil }
			}, "egress.gateway"},
		{"one for another host", profiles.Gateway{Name: "gateway", Upstream: "https://evil.example", Credential: "KEY"}, nil, "egress.gateway"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := []setting{}
			if tt.set != nil {
				set = append(set, tt.set)
			}
			r, w := gatewayRig(t, func(http.ResponseWriter, *http.Request) {}, set...)
			r.gateways(tt.gateway)
			res, body := r.plain().ask(t, "GET http://gateway.ringd.internal/ HTTP/1.1\r\nHost: "+
				"gateway.ringd.internal\r\n\r\n")
			if got := profiles.Code(res.Header.Get("X-Ringd-Deny")); got != tt.want || strings.Contains(body, "/etc") {
				t.Errorf("%d %s %q", res.StatusCode, got, body)
			}
			if len(w.log()) > 0 || len(r.Lookups()) > 0 {
				t.Errorf("asked %q, looked up %q", w.log(), r.Lookups())
			}
		})
	}
}

// The addresses of an upstream are guarded like any other.
func TestGatewayGuard(t *testing.T) {
	for _, tt := range []struct {
		name      string
		addresses []string
		at        string
		want      int
	}{
		{"private", nil, "10.0.0.9", 403},
		{"private, listed", []string{"10.0.0.0/24"}, "10.0.0.9", 502}, // nothing listens there
		{"metadata, listed", []string{"169.254.169.254"}, "169.254.169.254", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w := gatewayRig(t, func(http.ResponseWriter, *http.Request) {})
			r.gateways(profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Addresses: tt.addresses})
			r.Name("example.com", tt.at)
			res, body := r.plain().ask(t, "GET http://gateway.ringd.internal/ HTTP/1.1\r\nHost: "+
				"gateway.ringd.internal\r\n\r\n")
			if res.StatusCode != tt.want || strings.Contains(body, tt.at) || len(w.log()) > 0 {
				t.Errorf("%d %q, asked %q", res.StatusCode, body, w.log())
			}
		})
	}
}

// An upstream that is somebody else gets no secret.
func TestGatewayOfAnother(t *testing.T) {
	r, w := gatewayRig(t, func(http.ResponseWriter, *http.Request) {}, func(c *proxy.Config) { c.Roots = nil })
	r.gateways(profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Credential: "KEY"})
	res, body := r.plain().ask(t, "GET http://gateway.ringd.internal/ HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n")
	if res.StatusCode != 502 || strings.Contains(body, "x509") || len(w.log()) > 0 {
		t.Errorf("%d %q, asked %q", res.StatusCode, body, w.log())
	}
}

// A stream of a gateway is passed at once, and cut when the gateway is taken away
// or comes to stand for something else.
func TestGatewaySwap(t *testing.T) {
	for name, then := range map[string][]profiles.Gateway{
		"gone":             nil,
		"another upstream": {{Name: "gateway", Upstream: "https://other.example", Credential: "KEY"}},
		"another path":     {{Name: "gateway", Upstream: "https://example.com", Credential: "KEY", Paths: []string{"/other"}}},
		"kept":             {{Name: "gateway", Upstream: "https://example.com", Credential: "KEY", Paths: []string{"/events"}}},
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			r, _ := gatewayRig(t, func(out http.ResponseWriter, q *http.Request) {
				for {
					_, _ = io.WriteString(out, "event\n")
					_ = http.NewResponseController(out).Flush()
					select {
					case <-next:
					case <-q.Context().Done():
						return
					}
				}
			})
			r.gateways(profiles.Gateway{Name: "gateway", Upstream: "https://example.com", Credential: "KEY"})
			c := r.plain()
			_, _ = io.WriteString(c, "GET http://gateway.ringd.internal/events HTTP/1.1\r\nHost: "+
				"gateway.ringd.internal\r\n\r\n")
			res, err := http.ReadResponse(c.in, nil)
			if err != nil {
				t.Fatal(err)
			}
			hears(t, res.Body, "event\n")
			r.gateways(then...)
			r.egress.Recheck()
			if name == "kept" {
				next <- struct{}{}
				hears(t, res.Body, "event\n")
				return
			}
			reset(t, c)
			if ends := r.ends(1); ends[0].End != proxy.EndCut || ends[0].Path != "/events" {
				t.Errorf("ends: %+v", ends)
			}
		})
	}
}

// TestGatewayFields: a request that says another one than its first line does not reach
// the upstream, by any listener; requests as the libraries of services send them do, with
// what the policy lists and with no credential but the host's.
func TestGatewayFields(t *testing.T) {
	var got http.Header
	r, w := gatewayRig(t, func(_ http.ResponseWriter, q *http.Request) { got = q.Header.Clone() })
	gate := profiles.Gateway{Name: "gateway", Upstream: "https://example.com/base", Credential: "KEY",
		Methods: []string{"POST"}, Paths: []string{"/v1"},
		Headers: []string{"anthropic-version", "openai-organization", "stripe-version"}}
	r.gateways(gate)
	send := map[string]func(query string, fields ...string) string{
		"http": func(query string, fields ...string) string {
			text := "POST http://gateway.ringd.internal/v1/x" + query +
				" HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 0\r\n"
			for i := 0; i < len(fields); i += 2 {
				text += fields[i] + ": " + fields[i+1] + "\r\n"
			}
			res, _ := r.plain().ask(t, text+"\r\n")
			return res.Header.Get("X-Ringd-Deny")
		},
		"fetch": func(query string, fields ...string) string {
			q, err := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.ringd.internal/v1/x"+query,
				http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(fields); i += 2 {
				q.Header[fields[i]] = []string{fields[i+1]}
			}
			res, err := r.egress.RoundTrip(t.Context(), r.guest, q)
			if err != nil {
				return string(code(err))
			}
			_ = res.Body.Close()
			return ""
		},
	}
	for listener, ask := range send {
		for _, attack := range [][]string{
			{"", "X-HTTP-Method-Override", "DELETE"}, {"", "X_HTTP_Method_Override", "DELETE"}, {"", "X-Original-URL", "/admin"}, {"", "X-Rewrite-URL", "/admin"}, {"", "Forwarded", "for=127.0.0.1"},
			{"", "X-Forwarded-User", "root"}, {"", "X-Remote-User", "root"}, {"", "Accept", "*/*", "X-Forwarded-Prefix", "/admin"}, {"?_method=DELETE"}, {"?a=b&access_token=mine"},
		} {
			if no := ask(attack[0], attack[1:]...); no != "egress.field" {
				t.Errorf("%s: %q: got %q", listener, attack, no)
			}
		}
		if n := len(w.log()); n != 0 {
			t.Errorf("%s: the upstream was asked %d times: %q", listener, n, w.log())
		}
		last := r.log()[len(r.log())-1]
		if last.Decision.Code != profiles.CodeEgressField || last.Method != "POST" || last.Path != "/v1/x" ||
			!strings.Contains(last.Decision.Reason, "access-token") {
			t.Errorf("%s: on record: %+v", listener, last)
		}
		for _, tt := range []struct {
			name string
			sent []string
			want map[string]string // fields at the upstream; "": not there
		}{
			{"OpenAI", []string{"Authorization", "Bearer dummy", "Content-Type", "application/json", "OpenAI-Organization", "org", "X-Stainless-Helper-Method", "stream", "X-Stainless-Retry-Count", "0", "User-Agent", "OpenAI/Python"},
				map[string]string{"Content-Type": "application/json", "Openai-Organization": "org",
					"User-Agent": "OpenAI/Python", "X-Stainless-Retry-Count": ""}},
			{"Anthropic", []string{"X-Api-Key", "dummy", "Anthropic-Version", "2023-06-01", "Content-Type", "application/json", "Accept", "text/event-stream"},
				map[string]string{"X-Api-Key": "", "Anthropic-Version": "2023-06-01", "Accept": "text/event-stream"}},
			{"Stripe", []string{"Authorization", "Bearer sk_test", "Stripe-Version", "2025-01-27", "Idempotency-Key", "k1", "Content-Type", "application/x-www-form-urlencoded", "Stripe-Account", "acct_other"},
				map[string]string{"Stripe-Version": "2025-01-27", "Idempotency-Key": "k1", "Stripe-Account": ""}},
			{"tokens of services nobody has listed", []string{"DD-API-KEY", "mine", "X-Shopify-Access-Token", "mine", "PRIVATE-TOKEN", "mine"},
				map[string]string{"Dd-Api-Key": "", "X-Shopify-Access-Token": "", "Private-Token": ""}},
		} {
			if no := ask("?limit=10&method=card&page_token=x", tt.sent...); no != "" {
				t.Errorf("%s: %s: %s", listener, tt.name, no)
				continue
			}
			if got.Get("Authorization") != "Bearer "+secret {
				t.Errorf("%s: %s: it came without the host's credential", listener, tt.name)
			}
			for name, want := range tt.want {
				if got.Get(name) != want {
					t.Errorf("%s: %s: %s is %q at the upstream, want %q", listener, tt.name, name, got.Get(name), want)
				}
			}
		}
		w.mu.Lock()
		w.asked = nil
		w.mu.Unlock()
	}
	gate.Headers = nil // taken away: from the next request on
	r.gateways(gate)
	if no := send["http"]("", "Anthropic-Version", "1"); no != "" || got.Get("Anthropic-Version") != "" {
		t.Errorf("%s, the upstream got %q", no, got.Get("Anthropic-Version"))
	}
}

// TestFieldsOfRequests: the same fields of plain HTTP, where an entry lists methods or
// paths; where none does they are the program's to send.
func TestFieldsOfRequests(t *testing.T) {
	bounded := host("a.example", 80)
	bounded.Methods = []string{"POST"}
	r := newRig(t, []profiles.EgressRule{bounded, host("b.example", 80)})
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.34")
	w := r.serve("93.184.216.34:80", nil)
	ask := func(c *tunnel, name, prefix, query, field string) string {
		res, _ := c.ask(t, "POST "+prefix+"/x"+query+" HTTP/1.1\r\nHost: "+name+"\r\nContent-Length: 0\r\n"+field+
			"\r\n")
		return res.Header.Get("X-Ringd-Deny")
	}
	for _, tt := range []struct{ query, field, want string }{
		{"", "X-HTTP-Method-Override: DELETE\r\n", "egress.field"}, {"", "x-original-url: /admin\r\n", "egress.field"}, {"", "X-Forwarded-For: 127.0.0.1\r\n", "egress.field"},
		{"?_method=DELETE", "", "egress.field"}, {"", "Connection: X-HTTP-Method\r\nX-HTTP-Method: DELETE\r\n", "egress.field"},
		// its own, to a host that is listed
		{"?access_token=mine", "Authorization: Bearer mine\r\nX-Stainless-Lang: go\r\nX-Api-Key: k\r\n", ""},
	} {
		for listener, c := range map[string]*tunnel{"http": r.plain(), "connect": r.tunnel("a.example:80"),
			"socks": r.bySOCKS("a.example", 80)} {
			prefix := map[string]string{"http": "http://a.example"}[listener]
			if got := ask(c, "a.example", prefix, tt.query, tt.field); got != tt.want {
				t.Errorf("%s: %s %q: got %q, want %q", listener, tt.query, tt.field, got, tt.want)
			}
		}
		if got := ask(r.plain(), "b.example", "http://b.example", tt.query, tt.field); got != "" {
			t.Errorf("where nothing is listed: %s %q: %s", tt.query, tt.field, got)
		}
	}
	if n := len(w.log()); n != 6+3 {
		t.Errorf("%d requests came: %q", n, w.log())
	}
}

// What fetch sends to a gateway is decided and sent in the same way.
func TestGatewayByFetch(t *testing.T) {
	r, w := gatewayRig(t, func(out http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		_, _ = fmt.Fprintf(out, "%v %s", q.Header.Get("Authorization") == "Bearer "+secret, b)
	})
	r.gateways(profiles.Gateway{Name: "gateway", Upstream: "https://example.com/base", Credential: "KEY",
		Paths: []string{"/v1"}})
	for _, tt := range []struct {
		url  string
		want profiles.Code
	}{
		{"http://gateway.ringd.internal/v1/a?b", ""},
		{"http://gateway.ringd.internal", "egress.path"},
		{"http://gateway.ringd.internal/v2", "egress.path"},
		{"http://gateway.ringd.internal:81/v1", "egress.port"},
		{"https://gateway.ringd.internal/v1", "egress.port"},
		{"http://other.ringd.internal/v1", "egress.not_granted"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), "POST", tt.url, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.egress.RoundTrip(t.Context(), r.guest, q)
		if tt.want != "" || err != nil {
			if err == nil || code(err) != tt.want {
				t.Errorf("%s: %v", tt.url, err)
			}
			continue
		}
		if b, err := io.ReadAll(res.Body); err != nil || string(b) != "true hello" {
			t.Errorf("%s: %q, %v", tt.url, b, err)
		}
		_ = res.Body.Close()
	}
	if diff := cmp.Diff([]string{"POST example.com /base/v1/a?b"}, w.log()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	r.guest.Close()
	q, _ := http.NewRequestWithContext(t.Context(), "GET", "http://gateway.ringd.internal/v1", nil)
	if _, err := r.egress.RoundTrip(t.Context(), r.guest, q); !errors.Is(err, proxy.ErrClosed) {
		t.Errorf("a closed guest: %v", err)
	}
	for _, ev := range r.log() {
		if ev.End == "" && ev.Listener != proxy.ListenerFetch {
			t.Errorf("by the listener %q: %+v", ev.Listener, ev)
		}
	}
}

// Requests count, and bytes of what they carry.
func TestLimitsOfRequests(t *testing.T) {
	rule := host("a.example", 80)
	rule.Limits = profiles.EgressLimits{PerMinute: 2}
	r := newRig(t, []profiles.EgressRule{rule})
	r.Name("a.example", "93.184.216.34")
	w := r.serve("93.184.216.34:80", nil)
	c := r.plain()
	for i, want := range []int{200, 200, 403} {
		if res, _ := c.ask(t, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"); res.StatusCode != want {
			t.Errorf("%d: %d, want %d", i, res.StatusCode, want)
		}
	}
	if len(w.log()) != 2 {
		t.Errorf("asked %q", w.log())
	}
	rule.Limits = profiles.EgressLimits{UpBytes: 1000}
	r.allow(rule)
	r.egress.Recheck()
	c = r.plain()
	_, _ = io.WriteString(c, "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100000\r\n\r\n"+
		strings.Repeat("x", 100000))
	_ = gone(t, c)
	if ends := r.wait("ends by a limit", 1, func(ev proxy.Event) bool {
		return ev.End == proxy.EndBudget
	}); ends[0].Up > 1000 {
		t.Errorf("sent %d bytes", ends[0].Up)
	}
}

// Clients whose requests are read count among the connections of a holder, also
// while they ask for nothing.
func TestManyReadClients(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 80)}, func(c *proxy.Config) { c.Connections = 3 })
	r.Name("a.example", "93.184.216.34")
	w := r.serve("93.184.216.34:80", nil)
	const request = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
	first := r.plain()
	if res, _ := first.ask(t, request); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	idle := r.plain()
	if res, _ := idle.ask(t, "GET http://no.example/ HTTP/1.1\r\nHost: no.example\r\n\r\n"); res.StatusCode != 403 {
		t.Fatal(res.Status)
	}
	if res, _ := r.plain().ask(t, request); res.Header.Get("X-Ringd-Deny") != "egress.budget" {
		t.Errorf("one more than there may be: %s", res.Status)
	}
	_ = first.Close()
	r.ends(1)
	if n := len(w.log()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// Of several rules for a host the one counts that grants the request: its name is
// on record, and its limits hold, on a connection that is used again as well.
func TestLimitsOfTheRuleThatGrants(t *testing.T) {
	get, post := host("a.example", 80), host("a.example", 80)
	get.Methods, post.Methods = []string{"GET"}, []string{"POST"}
	get.Rule.Line, post.Rule.Line = 1, 2
	const (
		asks  = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
		posts = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n"
	)
	start := func(t *testing.T) (*rig, *web, *tunnel) {
		r := newRig(t, []profiles.EgressRule{get, post})
		r.Name("a.example", "93.184.216.34")
		return r, r.serve("93.184.216.34:80", nil), r.plain()
	}
	statuses := func(t *testing.T, c *tunnel, requests ...string) (got []int) {
		for _, q := range requests {
			res, _ := c.ask(t, q)
			got = append(got, res.StatusCode)
		}
		return got
	}
	t.Run("rate", func(t *testing.T) {
		post.Limits = profiles.EgressLimits{PerMinute: 1}
		r, _, c := start(t)
		if diff := cmp.Diff([]int{200, 200, 200, 403, 200}, statuses(
			t, c, asks, posts, asks, posts, asks)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, ev := range r.log() {
			if want := map[string]int{"GET": 1, "POST": 2}[ev.Method]; ev.End == "" &&
				ev.Decision.Verdict == profiles.Allow && ev.Decision.Rule.Line != want {
				t.Errorf("%s is granted by line %d", ev.Method, ev.Decision.Rule.Line)
			}
		}
	})
	t.Run("bytes of a kept connection", func(t *testing.T) {
		get.Limits, post.Limits = profiles.EgressLimits{}, profiles.EgressLimits{UpBytes: 1000}
		r, _, c := start(t)
		if got := statuses(t, c, asks); got[0] != 200 {
			t.Fatal(got)
		}
		_, _ = io.WriteString(c, "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100000\r\n\r\n"+
			strings.Repeat("x", 100000))
		_ = gone(t, c)
		if ends := r.wait("ends by a limit", 1, func(ev proxy.Event) bool {
			return ev.End == proxy.EndBudget
		}); ends[0].Up > 1000 {
			t.Errorf("sent %d bytes", ends[0].Up)
		}
	})
	t.Run("connections", func(t *testing.T) {
		get.Limits, post.Limits = profiles.EgressLimits{}, profiles.EgressLimits{Connections: 1}
		r, _, c := start(t)
		if diff := cmp.Diff([]int{200, 200}, statuses(t, c, asks, posts)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{200, 403}, statuses(t, r.plain(), asks, posts)); diff != "" {
			t.Errorf("beside it (-want +got):\n%s", diff)
		}
	})
	t.Run("fetch", func(t *testing.T) {
		get.Limits, post.Limits = profiles.EgressLimits{}, profiles.EgressLimits{UpBytes: 1000}
		r, _, _ := start(t)
		c, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
			Listener: proxy.ListenerFetch, Dest: target(t, "a.example:80"), Method: "GET", Path: "/"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if !c.Use(httpproxy.Request{Method: "GET", Path: "/x"}) {
			t.Error("another GET does not go over the connection")
		}
		if c.Use(httpproxy.Request{Method: "POST", Path: "/"}) {
			t.Error("a POST goes over a connection that counts nothing")
		}
	})
}

// Allowed requests of one rule and path are recorded one by one up to a bound, and
// counted beyond it; those of another path are on record by themselves, and nothing is
// lost of how many there were.
func TestManyRequestsAlike(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{reads(80, 8080)})
	r.Name("api.example", "93.184.216.34")
	w := r.serve("93.184.216.34:8080", nil)
	const n, others = 250, 120
	client := r.plain()
	get := func(path string) {
		t.Helper()
		if res, _ := client.ask(t, "GET http://api.example:8080"+path+
			" HTTP/1.1\r\nHost: api.example:8080\r\n\r\n"); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
	}
	for range n {
		get("/v1/same")
	}
	for i := range others {
		get(fmt.Sprintf("/v1/other-%d", i))
	}
	_ = client.Close()
	r.guest.Close()
	decided, counted, paths := 0, int64(0), map[string]int64{}
	for _, ev := range r.log() {
		if ev.End != "" || ev.Path == "" || ev.Decision.Verdict != profiles.Allow {
			continue
		}
		paths[ev.Path] += max(ev.Count, 1)
		if counted += ev.Count; ev.Count == 0 {
			decided++
		} else if ev.Path != "/v1/same" || ev.Method != "GET" || ev.Decision.Rule == nil || ev.Connection != "" {
			t.Errorf("counted: %+v", ev)
		}
	}
	// The connection that they share has a record of its own, with the first path.
	if asked := len(w.log()); asked != n+others || decided > 101+others || counted < n-101 || counted > n-99 {
		t.Errorf("%d requests: %d records, %d counted", asked, decided, counted)
	}
	if paths["/v1/same"] < n || len(paths) != others+1 {
		t.Errorf("/v1/same %d times, %d paths", paths["/v1/same"], len(paths))
	}
}

// The same holds for connections: the end of one that was counted is counted with its bytes.
func TestManyConnectionsAlike(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)})
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	const n = 150
	for range n {
		c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	r.guest.Close()
	var begun, ended, up, records int64
	for _, ev := range r.log() {
		records++
		if ev.End == "" {
			begun += max(ev.Count, 1)
		} else {
			ended += max(ev.Count, 1)
			up += ev.Up
		}
	}
	if begun != n || ended != n || up != 5*n || records > 2*101 {
		t.Errorf("%d begun, %d ended, %d bytes, %d records", begun, ended, up, records)
	}
}
