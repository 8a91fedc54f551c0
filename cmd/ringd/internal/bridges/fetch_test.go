package bridges_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// rig is a Provider over an Egress, with one run whose policy a test changes.
type rig struct {
	*bridges.Fetch
	t        testing.TB
	egress   *proxy.Egress
	deciders atomic.Pointer[[]*profiles.Decider]
	most     int64

	mu     sync.Mutex
	events []proxy.Event
	asked  []string // of the resolver
	names  map[string]netip.Addr
}

// key is the credential of the gateway of a rig.
const key = "Bearer do-not-tell"

func newRig(t testing.TB, change func(*bridges.Config), rules ...profiles.EgressRule) *rig {
	t.Helper()
	r := &rig{t: t, most: 1 << 20}
	r.allow(rules...)
	var work sync.WaitGroup
	var err error
	r.egress, err = proxy.New(proxy.Config{
		Go: work.Go, Now: time.Now,
		Secret: func(context.Context, string, dest.Dest) (proxy.Secret, error) {
			return proxy.Secret{Header: "Authorization", Value: key}, nil
		},
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, name)
			if name == "private.example." {
				return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")}, nil
			}
			if a, ok := r.names[name]; ok {
				return []netip.Addr{a}, nil
			}
			return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
		},
		Record: func(ev proxy.Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, ev)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := bridges.Config{Egress: r.egress, Generation: func() int64 { return 7 }}
	if change != nil {
		change(&cfg)
	}
	if r.Fetch, err = bridges.NewFetch(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		r.egress.Close()
		work.Wait()
	})
	return r
}

// allow puts a policy in force.
func (r *rig) allow(rules ...profiles.EgressRule) {
	r.enforce(profiles.Egress{Mode: profiles.EgressAllowlist, Allow: rules})
}

func (r *rig) enforce(e profiles.Egress) {
	a := profiles.Agent{
		Egress: e,
		Bridges: map[string]profiles.Bridge{
			"fetch": {Name: "fetch", Limits: profiles.BridgeLimits{ResultBytes: r.most}}},
	}
	r.deciders.Store(&[]*profiles.Decider{profiles.NewDecider(a, "r", profiles.Environment{})})
}

// rule lists a server of the test.
func rule(s *httptest.Server) profiles.EgressRule {
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	return profiles.EgressRule{Host: at.Addr().String(), Ports: []int{int(at.Port())}}
}

func (r *rig) call(run, args string) (json.RawMessage, error) {
	return r.in(r.t.Context(), run, args)
}

func (r *rig) in(ctx context.Context, run, args string) (json.RawMessage, error) {
	return r.Call(ctx, contract.Call{
		Run: run, ID: "c1", Agent: "a", Bridge: "fetch", Args: json.RawMessage(args),
		Deciders: func() []*profiles.Decider { return *r.deciders.Load() },
	})
}

// answer is what a guest reads.
type answer struct {
	Status         int
	StatusText     string
	URL            string
	Redirected     bool
	OpaqueRedirect bool
	Headers        map[string]string
	SetCookie      []string
	Body           any
}

func (r *rig) get(args string) answer {
	r.t.Helper()
	out, err := r.call("run", args)
	if err != nil {
		r.t.Fatalf("%s: %v", args, err)
	}
	if err := value.Check(out, value.Limits{Bytes: 1 << 22, Nodes: 1000}); err != nil {
		r.t.Fatalf("%s gave %s: %v", args, out, err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		r.t.Fatal(err)
	}
	return a
}

// told is the name and the text that a program gets.
func told(err error) string {
	var f *binding.Failure
	var no *profiles.Denial
	switch {
	case errors.As(err, &f):
		return f.Name + ": " + f.Text
	case errors.As(err, &no):
		return string(no.Decision.Code) + ": " + no.Decision.Reason
	}
	return fmt.Sprint(err)
}

func (r *rig) kinds() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range r.events {
		if ev.Listener != proxy.ListenerFetch || ev.Run != "run" || ev.Agent != "a" {
			out = append(out, fmt.Sprintf("%+v", ev))
		} else if ev.End != "" {
			out = append(out, "end "+ev.End)
		} else {
			out = append(out, fmt.Sprintf("%s %s %s %s", ev.Decision.Verdict, ev.Decision.Code, ev.Method, ev.Path))
		}
	}
	return out
}

func server(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// echo answers with what came.
func echo(t testing.TB) *httptest.Server {
	return server(t, func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		delete(q.Header, "Accept-Encoding")
		for name, values := range q.Header {
			q.Header[name] = []string{strings.ToValidUTF8(values[0], "latin1")}
		}
		w.Header().Set("X-A", "1")
		w.Header().Add("X-A", "2")
		w.Header().Add("Set-Cookie", "s=1")
		w.Header().Add("Set-Cookie", "t=2")
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s %s %v %q %d", q.Method, q.RequestURI, q.Host, q.Header, b, q.ContentLength)
	})
}

func TestRequests(t *testing.T) {
	s := echo(t)
	host := s.Listener.Addr().String()
	r := newRig(t, nil, rule(s))
	const own = `Accept:[*/*] `
	tests := []struct{ name, args, want string }{
		{"get", `{"url":"` + s.URL + `/p?q=1#f","method":"GET","headers":{}}`, `GET /p?q=1 ` + host + ` map[` + own + `User-Agent:[ringd]] "" 0`},
		{"as browsers read it", `{"url":"http:\\\\` + host + `\\a\\..\\b c"}`, `GET /b%20c ` + host + ` map[` + own + `User-Agent:[ringd]] "" 0`},
		{"two slashes", `{"url":"` + s.URL + `//evil.example/x"}`, `GET //evil.example/x ` + host + ` map[` + own + `User-Agent:[ringd]] "" 0`},
		{"post", `{"url":"` + s.URL + `","method":"POST","headers":{"content-type":"text/plain","x-b":"é"},"body":"aé"}`, "POST / " + host + " map[" + own + "Content-Length:[3] Content-Type:[text/plain] User-Agent:[ringd] X-B:[latin1]] \"aé\" 3"},
		{"post of bytes", `{"url":"` + s.URL + `","method":"PUT","headers":{},"body":{"$ringd":"bytes","type":"Uint8Array","value":"AP8="}}`, `PUT / ` + host + ` map[` + own + `Content-Length:[2] User-Agent:[ringd]] "\x00\xff" 2`},
		{"post of nothing", `{"url":"` + s.URL + `","method":"POST","headers":{"user-agent":"me","accept":"a/b","accept-encoding":"br"}}`, `POST / ` + host + ` map[Accept:[a/b] Content-Length:[0] User-Agent:[me]] "" 0`},
		{"post of an empty text", `{"url":"` + s.URL + `","method":"POST","headers":{},"body":""}`, `POST / ` + host + ` map[` + own + `Content-Length:[0] User-Agent:[ringd]] "" 0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := r.get(tt.args)
			if diff := cmp.Diff(tt.want, a.Body); diff != "" {
				t.Error(diff)
			}
			if a.Status != 200 || a.StatusText != "OK" || a.Headers["x-a"] != "1, 2" ||
				!slices.Equal(a.SetCookie, []string{"s=1", "t=2"}) || !strings.HasPrefix(a.URL, s.URL) {
				t.Errorf("%+v", a)
			}
		})
	}
	if n := len(slices.DeleteFunc(r.kinds(), func(k string) bool { return !strings.HasPrefix(k, "allow") })); n != len(
		tests) {
		t.Errorf("%d decisions for %d requests: %q", n, len(tests), r.kinds())
	}
}

// TestRefused: what never reaches a server, each with what the program is told.
func TestRefused(t *testing.T) {
	var came atomic.Int64
	s := server(t, func(http.ResponseWriter, *http.Request) { came.Add(1) })
	host := s.Listener.Addr().(*net.TCPAddr)
	limited := rule(s)
	limited.Methods, limited.Paths = []string{"GET"}, []string{"/api"}
	r := newRig(t, nil, limited, profiles.EgressRule{Host: "private.example", Ports: []int{80}},
		profiles.EgressRule{Host: "gone.example", Ports: []int{443}})
	tests := []struct{ name, args, want string }{
		{"another host", `{"url":"https://evil.example/"}`, "egress.not_granted"},
		{"another port", fmt.Sprintf(`{"url":"http://127.0.0.1:%d/"}`, host.Port%65535+1), "egress.port"},
		{"another address of this host", fmt.Sprintf(`{"url":"http://127.0.0.2:%d/"}`, host.Port), "egress.not_granted"},
		{"a decimal address", fmt.Sprintf(`{"url":"http://[::ffff:127.0.0.2]:%d/"}`, host.Port), "egress."},
		{"localhost", fmt.Sprintf(`{"url":"http://localhost:%d/api"}`, host.Port), "egress.not_granted"},
		{"a file", `{"url":"file:///etc/passwd"}`, "egress.target"},
		{"credentials", `{"url":"http://u:p@127.0.0.1/"}`, "egress.target"},
		{"nothing", `{"url":""}`, "egress.target"},
		{"no TLS on 443", `{"url":"http://gone.example:443/"}`, "egress.not_tls"},
		{"a private answer", `{"url":"http://private.example/"}`, "egress.address"},
		{"no answer", `{"url":"https://gone.example/"}`, "TypeError: gone.example has no address"},
		{"a method", `{"url":"` + s.URL + `/api","method":"DELETE"}`, "egress.method"},
		{"a path", `{"url":"` + s.URL + `/other"}`, "egress.path"},
		{"a path that climbs", `{"url":"` + s.URL + `/api/%2e%2e/other"}`, "egress.path"},
		{"a path with a hidden slash", `{"url":"` + s.URL + `/api%2f..%2fother"}`, "egress.path"},
		{"a gateway that is not there", `{"url":"http://gateway.ringd.internal/"}`, "egress."},

		{"connect", `{"url":"` + s.URL + `/api","method":"connect"}`, "TypeError: the method CONNECT cannot be fetched"},
		{"trace", `{"url":"` + s.URL + `/api","method":"TRACE"}`, "TypeError: the method TRACE cannot be fetched"},
		{"a method that is none", `{"url":"` + s.URL + `/api","method":"GET /api HTTP/1.1\r\nA: b"}`, "TypeError: the method is not valid"},
		{"host", `{"url":"` + s.URL + `/api","headers":{"host":"evil"}}`, "TypeError: the header 'host' is the host's to set"},
		{"upper case", `{"url":"` + s.URL + `/api","headers":{"Transfer-Encoding":"chunked"}}`, "TypeError: the header 'transfer-encoding' is the host's to set"},
		{"as some servers read it", `{"url":"` + s.URL + `/api","headers":{"Transfer_Encoding":"chunked"}}`, "TypeError: the header 'transfer_encoding' is the host's to set"},
		{"of proxies", `{"url":"` + s.URL + `/api","headers":{"proxy-connection":"x"}}`, "TypeError: the header 'proxy-connection' is the host's to set"},
		{"a name of two lines", `{"url":"` + s.URL + `/api","headers":{"a\r\nb":"x"}}`, "TypeError: the name of a header is not valid"},
		{"a value of two lines", `{"url":"` + s.URL + `/api","headers":{"a":"x\r\nb: c"}}`, "TypeError: the header 'a' has an invalid value"},
		{"a value out of range", `{"url":"` + s.URL + `/api","headers":{"a":"€"}}`, "TypeError: the header 'a' has an invalid value"},
		{"a body of a get", `{"url":"` + s.URL + `/api","body":"x"}`, "TypeError: a request with GET has no body"},
		{"a body of another kind", `{"url":"` + s.URL + `/api","method":"POST","body":{"a":1}}`, "TypeError: a body is a string or bytes"},
		{"redirect", `{"url":"` + s.URL + `/api","redirect":"x"}`, "TypeError: redirect is"},
		{"more than is known", `{"url":"` + s.URL + `/api","proxy":"x"}`, "TypeError: the request is malformed"},
		{"a name in other letters", `{"url":"` + s.URL + `/api","URL":"` + s.URL + `/other"}`, "TypeError: the request is malformed"},
		{"a list", `["` + s.URL + `/api"]`, "TypeError: the request is malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := r.call("run", tt.args)
			if got := told(err); err == nil || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "10.0.0.1") {
				t.Errorf("got %s %s, want %s", out, got, tt.want)
			}
			var no *profiles.Denial
			if all := r.kinds(); errors.As(err, &no) && !strings.HasPrefix(
				all[len(all)-1], "deny "+string(no.Decision.Code)) && !strings.HasPrefix(all[len(all)-1], "end ") {
				t.Errorf("on record: %q", all)
			}
		})
	}
	if came.Load() != 0 {
		t.Errorf("%d requests came", came.Load())
	}
	if slices.ContainsFunc(r.asked, func(n string) bool { return n != "private.example." && n != "gone.example." }) {
		t.Errorf("looked up: %q", r.asked)
	}
	if _, err := r.call("run", `{"url":"`+s.URL+`/api"}`); err != nil || came.Load() != 1 { // the check can fail
		t.Errorf("%v, %d", err, came.Load())
	}
	r.deciders.Store(&[]*profiles.Decider{})
	if _, err := r.call("run", `{"url":"`+s.URL+`/api"}`); err == nil || came.Load() != 1 {
		t.Error("a run that nothing decides for")
	}
}

func TestRedirects(t *testing.T) {
	other := echo(t)
	s := server(t, func(w http.ResponseWriter, q *http.Request) {
		status := http.StatusFound
		to := q.URL.Query().Get("to")
		_, _ = fmt.Sscan(q.URL.Path[1:], &status)
		switch to {
		case "":
			b, _ := io.ReadAll(q.Body)
			fmt.Fprintf(w, "%s %s %q %q %q", q.Method, q.URL.Path, q.Header.Get("Authorization"),
				q.Header.Get("Content-Type"), b)
			return
		case "again":
			to = q.URL.String()
		case "other":
			to = other.URL
		}
		w.Header().Set("Location", to)
		w.Header().Set("X-Secret", "1")
		w.WriteHeader(status)
	})
	r := newRig(t, nil, rule(s), rule(other))
	post := func(path, more string) string {
		return `{"url":"` + s.URL + path +
			`","method":"POST","headers":{"content-type":"a/b","authorization":"me","cookie":"c=1"},"body":"x"` + more + `}`
	}
	for _, tt := range []struct{ status, want string }{
		{"301", `GET /end "me" "" ""`}, {"302", `GET /end "me" "" ""`}, {"303", `GET /end "me" "" ""`}, {"307", `POST /end "me" "a/b" "x"`}, {"308", `POST /end "me" "a/b" "x"`},
	} {
		if a := r.get(post("/"+tt.status+"?to=/end", "")); a.Body != tt.want || !a.Redirected || a.URL != s.URL+"/end" {
			t.Errorf("%s: %+v", tt.status, a)
		}
	}
	if a := r.get(post("/307?to=other", "")); !strings.HasPrefix(a.Body.(string), "POST") ||
		strings.Contains(a.Body.(string), "Authorization") || strings.Contains(a.Body.(string), "Cookie") {
		t.Errorf("to another origin: %+v", a)
	}
	if a := r.get(post("/302?to=/end", `,"redirect":"manual"`)); a.Status != 302 || !a.OpaqueRedirect ||
		a.Body != nil || !cmp.Equal(a.Headers, map[string]string{"location": "/end"}) {
		t.Errorf("manual: %+v", a)
	}
	for _, tt := range []struct{ args, want string }{
		{post("/302?to=/end", `,"redirect":"error"`), "TypeError: it was redirected, and"},
		{post("/302?to=again", ""), "egress.redirect: it was redirected more than 20 times"},
		{post("/302?to=https://evil.example/x", ""), "egress.redirect: redirect 1 is refused: "},
		{post("/302?to=//evil.example/x", ""), "egress.redirect: redirect 1"},
		{post("/302?to=http:%5C%5Cevil.example%5Cx", ""), "egress.redirect: redirect 1"},
		{post("/302?to=http://127.0.0.1:1/", ""), "egress.redirect: redirect 1"},
		{post("/302?to=file:///etc/passwd", ""), "egress.redirect: redirect 1"},
		{post("/302?to=http://u:p@"+other.Listener.Addr().String(), ""), "egress.redirect: redirect 1"},
		{post("/302?to=http://gateway.ringd.internal/", ""), "egress."},
	} {
		if _, err := r.call("run", tt.args); !strings.HasPrefix(told(err), tt.want) {
			t.Errorf("%s: got %s", tt.args, told(err))
		}
	}
	s.Config.SetKeepAlivesEnabled(false)
}

func TestBodies(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(`{"a":"é"}`))
	_ = w.Close()
	var bomb bytes.Buffer
	w = gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	var came atomic.Int64
	s := server(t, func(w http.ResponseWriter, q *http.Request) {
		came.Add(1)
		h := w.Header()
		switch q.URL.Path {
		case "/gzip":
			h.Set("Content-Encoding", "gzip")
			h.Set("Content-Type", "application/json; charset=utf-8")
			_, _ = w.Write(z.Bytes())
		case "/bomb":
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/torn":
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(z.Bytes()[:20])
		case "/large":
			_, _ = w.Write(make([]byte, 2<<20))
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/png":
			h.Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("abc"))
		case "/notutf8":
			h.Set("Content-Type", "text/html")
			_, _ = w.Write([]byte{0xff})
		case "/mark":
			h.Set("Content-Type", "application/json")
			h["$ringd"] = []string{"undefined"}
			_, _ = io.WriteString(w, `{"$ringd":"undefined"}`)
		case "/empty":
			h.Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusNoContent)
		case "/head":
			h.Set("X-Head", "\xe9")
			h.Set("Content-Length", "5")
		case "/status":
			w.WriteHeader(418)
		case "/cut":
			h.Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		}
	})
	r := newRig(t, nil, rule(s))
	arg := func(path, more string) string { return `{"url":"` + s.URL + path + `"` + more + `}` }
	bytesOf := func(b64 string) any { return map[string]any{"$ringd": "bytes", "type": "Uint8Array", "value": b64} }
	for _, tt := range []struct {
		path, more string
		status     int
		want       any
	}{
		{"/gzip", "", 200, `{"a":"é"}`}, {"/png", "", 200, bytesOf("YWJj")}, {"/notutf8", "", 200, bytesOf("/w==")},
		{"/mark", "", 200, `{"$ringd":"undefined"}`}, {"/empty", "", 204, nil}, {"/head", `,"method":"HEAD"`, 200, nil}, {"/status", "", 418, nil},
	} {
		a := r.get(arg(tt.path, tt.more))
		if diff := cmp.Diff(tt.want, a.Body); diff != "" || a.Status != tt.status {
			t.Errorf("%s: %d %s", tt.path, a.Status, diff)
		}
		if tt.path == "/head" && (a.Headers["x-head"] != "é" || a.Headers["content-length"] != "5") {
			t.Errorf("%+v", a)
		}
		if _, marked := a.Headers["$ringd"]; marked {
			t.Error("a header that is a tag")
		}
	}
	for path, want := range map[string]string{
		"/large": "ResultTooLarge: the result is larger than 1048576 bytes", "/bomb": "ResultTooLarge: ", "/endless": "ResultTooLarge: ",
		"/torn": "TypeError: the connection was lost", "/cut": "TypeError: the connection was lost",
	} {
		if _, err := r.call("run", arg(path, "")); !strings.HasPrefix(told(err), want) {
			t.Errorf("%s: got %s", path, told(err))
		}
	}
	if came.Load() != 12 {
		t.Errorf("%d requests came", came.Load())
	}
}

func TestFailures(t *testing.T) {
	closed := server(t, nil)
	gone := rule(closed)
	closed.Close()
	hold := make(chan struct{})
	s := server(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/hold" {
			select {
			case <-hold:
			case <-q.Context().Done():
			}
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, map[string]string{
				"/odd": "HELLO\r\n\r\n", "/heads": "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", "/end": "",
				"/version": "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "/switch": "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "/zero": "HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n",
				"/name": "HTTP/1.1 200 OK\r\nX-A : a\r\nContent-Length: 0\r\n\r\n", "/places": "HTTP/1.1 302 Go\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
			}[q.URL.Path])
			_ = c.Close()
		}
	})
	t.Cleanup(func() { close(hold) })
	secured := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, q.Proto, q.TLS != nil) }))
	t.Cleanup(secured.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secured.Certificate())
	r := newRig(t, nil, gone, rule(s), rule(secured))
	for _, tt := range []struct{ args, want string }{
		{`{"url":"http://` + closed.Listener.Addr().String() + `/"}`, "TypeError: connection refused"},
		{`{"url":"` + s.URL + `/odd"}`, "TypeError: the exchange with it failed"},
		{`{"url":"` + s.URL + `/heads"}`, "TypeError: the exchange with it failed"},
		{`{"url":"` + s.URL + `/end"}`, "TypeError: the connection was lost"},
		{`{"url":"` + s.URL + `/version"}`, "TypeError: its answer is not HTTP/1"}, {`{"url":"` + s.URL + `/switch"}`, "TypeError: its answer is not HTTP/1"},
		{`{"url":"` + s.URL + `/zero"}`, "TypeError: its answer is not HTTP/1"}, {`{"url":"` + s.URL + `/name"}`, "TypeError: its answer is not HTTP/1"},
		{`{"url":"` + s.URL + `/places"}`, "TypeError: its answer is not HTTP/1"},
		{`{"url":"https://` + s.Listener.Addr().String() + `/end"}`, "TypeError: it does not speak TLS"},
		{`{"url":"` + secured.URL + `/"}`, "TypeError: its certificate is signed by an unknown authority"},
		{`{"url":"` + s.URL + `/hold","timeout":1}`, "TimeoutError: the operation timed out"},
	} {
		if _, err := r.call("run", tt.args); told(err) != tt.want {
			t.Errorf("%s: got %s; %v", tt.args, told(err), err)
		}
	}
	r = newRig(t, func(c *bridges.Config) { c.Roots = roots }, rule(secured))
	for range 2 {
		if a := r.get(`{"url":"` + secured.URL + `/"}`); a.Body != "HTTP/1.1true" {
			t.Errorf("%+v", a)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run has ended"))
	_, err := r.Call(ctx, contract.Call{Run: "run", Bridge: "fetch",
		Args:     json.RawMessage(`{"url":"` + secured.URL + `/"}`),
		Deciders: func() []*profiles.Decider { return *r.deciders.Load() }})
	if err == nil || errors.As(err, new(*binding.Failure)) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestGateway: a virtual host is reached with the host's credential, which the
// program neither has nor gets.
func TestGateway(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("X-Echo", q.Header.Get("Authorization"))
		if q.URL.Path == "/up/moved" {
			http.Redirect(w, q, "https://evil.example/", http.StatusFound)
			return
		}
		fmt.Fprint(w, q.Method, q.RequestURI, q.Header.Get("Authorization") == key, q.Header.Get("Cookie"))
	})
	r := newRig(t, nil)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	r.enforce(profiles.Egress{Mode: profiles.EgressGatewayOnly, Gateways: []profiles.Gateway{{
		Name: "gateway", Upstream: s.URL + "/up", Addresses: []string{at.Addr().String()}, Credential: "k",
		Methods: []string{"GET"},
	}}})
	out, err := r.call("run",
		`{"url":"http://gateway.ringd.internal/v1/x?q=1","headers":{"authorization":"mine","cookie":"c=1"}}`)
	if err != nil || !strings.Contains(string(out), `"body":"GET/up/v1/x?q=1true"`) ||
		strings.Contains(string(out), key) {
		t.Errorf("%s %v", out, err)
	}
	for _, tt := range []struct{ args, want string }{
		{`{"url":"http://gateway.ringd.internal/v1","method":"POST","body":"x"}`, "egress.method"},
		{`{"url":"http://other.ringd.internal/v1"}`, "egress."},
		{`{"url":"http://ringd.internal/v1"}`, "egress."},
		{`{"url":"https://gateway.ringd.internal/v1"}`, "egress.port"},
		{`{"url":"http://gateway.ringd.internal/moved"}`, "egress.redirect: redirect 1"},
		{`{"url":"` + s.URL + `/up"}`, "egress.not_granted"},
	} {
		if out, err := r.call("run", tt.args); err == nil || !strings.HasPrefix(told(err), tt.want) ||
			strings.Contains(fmt.Sprint(err), key) {
			t.Errorf("%s: %s %v", tt.args, out, told(err))
		}
	}
}

// TestConnectionsAreUsedAgain: within a run, while the policy allows, and each
// request is decided on its own.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprint(w, q.RemoteAddr)
		if q.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	r := newRig(t, nil, rule(s))
	arg := `{"url":"` + s.URL + `/"}`
	for range 5 {
		r.get(arg)
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections for five requests", conns.Load())
	}
	if _, err := r.call("another", arg); err != nil || conns.Load() != 2 {
		t.Errorf("of another run: %d connections, %v", conns.Load(), err)
	}
	s.CloseClientConnections()
	r.get(arg)
	r.get(arg)
	if conns.Load() != 3 {
		t.Errorf("after the server closed it: %d connections", conns.Load())
	}
	limited := rule(s)
	limited.Paths = []string{"/api"}
	r.allow(limited)
	if _, err := r.call("run", arg); !strings.HasPrefix(told(err), "egress.path") {
		t.Errorf("over a connection that is there: %v", told(err))
	}
	r.allow()
	r.egress.Recheck()
	if _, err := r.call("run", arg); !strings.HasPrefix(told(err), "egress.not_granted") || conns.Load() != 3 {
		t.Errorf("%v, %d connections", told(err), conns.Load())
	}
	if all := r.kinds(); !slices.Contains(all, "end cut") {
		t.Errorf("the idle connection was not cut: %q", all)
	}
}

// TestRunsThatEnd leave nothing open.
func TestRunsThatEnd(t *testing.T) {
	s := echo(t)
	r := newRig(t, nil, rule(s))
	arg := `{"url":"` + s.URL + `/"}`
	for _, id := range []string{"one", "other", "one"} {
		if _, err := r.call(id, arg); err != nil {
			t.Fatal(err)
		}
	}
	r.RunEnded("one")
	r.RunEnded("one")
	r.RunEnded("never begun")
	if got, want := r.ended(), []string{"one"}; !slices.Equal(got, want) {
		t.Errorf("the connections of %q are closed, want those of %q", got, want)
	}
	if _, err := r.call("one", arg); err != nil {
		t.Errorf("another life of it: %v", err)
	}
}

// ended lists the runs of connections that have ended.
// slow is a context whose time is over before it says so.
type slow struct {
	context.Context
	at time.Time
}

func (s slow) Deadline() (time.Time, bool) { return s.at, true }

// A dial may find the deadline passed before the context does: whose time it was is
// what the context says.
func TestDeadlineSeenFirst(t *testing.T) {
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, nil, rule(s))
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := r.in(slow{late, time.Now()}, "run", `{"url":"`+s.URL+`/"}`)
	var words *binding.Failure
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &words) {
		t.Errorf("got %v", err)
	}
}

func (r *rig) ended() (runs []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range r.events {
		if ev.End != "" {
			runs = append(runs, ev.Run)
		}
	}
	return runs
}

func TestManyAtOnce(t *testing.T) {
	s := echo(t)
	r := newRig(t, nil, rule(s))
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for k := range 20 {
				if _, err := r.call(fmt.Sprint("run", i%3), fmt.Sprintf(`{"url":"%s/%d"}`, s.URL, k)); err != nil {
					t.Error(err)
				}
				if k == 10 {
					r.allow(rule(s))
					r.egress.Recheck()
				}
			}
		})
	}
	work.Wait()
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"url":"http://127.0.0.1:1/","method":"GET","headers":{"a":"b"},"body":"x","redirect":"manual","timeout":1}`, `{"url":"http://a.b//c","method":"POST","body":{"$ringd":"bytes","type":"Uint8Array","value":"AA=="}}`,
		`{"url":"https://[::1]/"}`, `[]`, `{"timeout":1e400}`, `{"url":"http://a.b","timeout":-1}`,
	} {
		f.Add(s)
	}
	r := newRig(f, nil)
	f.Fuzz(func(t *testing.T, args string) {
		if out, err := r.in(t.Context(), "run", args); err == nil {
			t.Errorf("%q gave %s without a grant", args, out)
		}
	})
}
