package httpproxy_test

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

const virtual = "gateway.ringd.internal"

func target(t *testing.T, text string) httpproxy.Target {
	t.Helper()
	u, err := egress.ReadUpstream(text)
	if err != nil {
		t.Fatal(err)
	}
	return httpproxy.Target{Virtual: virtual, Upstream: u}
}

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		name, upstream, path, query string
		header                      http.Header
		secret                      httpproxy.Secret
		wantURI, wantHost           string
		want                        http.Header
	}{
		{"nothing", "https://api.test", "/v1", "", nil, httpproxy.Secret{}, "/v1", "api.test", http.Header{"User-Agent": {""}}},
		{"prefix and port", "https://api.test:8443/base", "/v1/x%20y", "a=b%2f", nil, httpproxy.Secret{}, "/base/v1/x%20y?a=b%2f", "api.test:8443", http.Header{"User-Agent": {""}}},
		{"plain", "http://10.0.0.1/base/", "/", "", nil, httpproxy.Secret{}, "/base/", "10.0.0.1", http.Header{"User-Agent": {""}}},
		{"IPv6", "https://[2001:4860:4860::8888]", "/", "", nil, httpproxy.Secret{}, "/", "[2001:4860:4860::8888]", http.Header{"User-Agent": {""}}},
		{"the secret in place of the client's", "https://api.test", "/", "", http.Header{"Authorization": {"Bearer mine"}, "User-Agent": {"t"}}, httpproxy.Secret{Header: "Authorization", Value: "Bearer s3cret"},
			"/", "api.test", http.Header{"Authorization": {"Bearer s3cret"}, "User-Agent": {"t"}}},
		{"a header of its own", "https://api.test", "/", "", http.Header{"X-Key": {"mine", "again"}, "Authorization": {"x"}}, httpproxy.Secret{Header: "x-key", Value: "s3cret"},
			"/", "api.test", http.Header{"X-Key": {"s3cret"}, "User-Agent": {""}}},
		{"no value takes away", "https://api.test", "/", "", http.Header{"X-Key": {"mine"}}, httpproxy.Secret{Header: "X-Key"}, "/", "api.test", http.Header{"User-Agent": {""}}},
		{"credentials of a client", "https://api.test", "/", "", http.Header{"Cookie": {"a"}, "X-Api-Key": {"b"}, "Proxy-Authorization": {"c"}, "Proxy-Foo": {"d"}, "X-Goog-Api-Key": {"e"}, "Api-Key": {"f"}, "Accept": {"g"}},
			httpproxy.Secret{}, "/", "api.test", http.Header{"Accept": {"g"}, "User-Agent": {""}}},
		{"credentials of a client with _", "https://api.test", "/", "", http.Header{"X_api_key": {"b"}, "Proxy_foo": {"d"}, "X_key": {"mine"}, "Transfer_encoding": {"chunked"}, "Content_length": {"1"}, "Keep_alive": {"1"}, "Content_type": {"g"}, "X_listed": {"h"}},
			httpproxy.Secret{Header: "X-Key", Value: "s3cret"}, "/", "api.test",
			http.Header{"X-Key": {"s3cret"}, "User-Agent": {""}}},
		{"fields nobody lists", "https://api.test", "/", "", http.Header{"Dd-Api-Key": {"mine"}, "X-Shopify-Access-Token": {"mine"}, "X-Forwarded-User": {"root"}, "X-Http-Method-Override": {"DELETE"}, "Stripe-Account": {"acct"}, "X-Stainless-Lang": {"python"}},
			httpproxy.Secret{}, "/", "api.test", http.Header{"User-Agent": {""}}},
		{"fields everybody sends", "https://api.test", "/", "", http.Header{"Content-Type": {"a/b"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "If-None-Match": {"x"}, "Range": {"bytes=0-1"}, "Traceparent": {"00"}, "Idempotency-Key": {"i"}, "User-Agent": {"t"}}, httpproxy.Secret{}, "/", "api.test",
			http.Header{"Content-Type": {"a/b"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "If-None-Match": {"x"},
				"Range": {"bytes=0-1"}, "Traceparent": {"00"}, "Idempotency-Key": {"i"}, "User-Agent": {"t"}}},
		{"a field that the policy lists", "https://api.test", "/", "", http.Header{"X-Listed": {"a", "b"}, "Authorization": {"mine"}, "X-Key": {"mine"}}, httpproxy.Secret{Header: "X-Key", Value: "s3cret"}, "/", "api.test",
			http.Header{"X-Listed": {"a", "b"}, "X-Key": {"s3cret"}, "User-Agent": {""}}},
		{"hop by hop", "https://api.test", "/", "", http.Header{"Connection": {"X-Mine, close"}, "X-Mine": {"1"}, "Te": {"trailers"}, "Keep-Alive": {"5"}, "Upgrade": {"h2c"}, "Trailer": {"X"}, "Expect": {"100-continue"}, "Transfer-Encoding": {"chunked"}},
			httpproxy.Secret{}, "/", "api.test", http.Header{"User-Agent": {""}}},
		{"the secret is not named away", "https://api.test", "/", "", http.Header{"Connection": {"Authorization"}}, httpproxy.Secret{Header: "Authorization", Value: "Bearer s3cret"},
			"/", "api.test", http.Header{"Authorization": {"Bearer s3cret"}, "User-Agent": {""}}},
		{"websocket", "https://api.test", "/", "", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"WebSocket"}}, httpproxy.Secret{}, "/", "api.test",
			http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "User-Agent": {""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.header.Clone()
			q := &http.Request{Method: "POST", URL: &url.URL{Opaque: tt.path, RawQuery: tt.query}, Host: virtual,
				Header: tt.header, Body: http.NoBody}
			to := target(t, tt.upstream)
			// a policy cannot list the last, and the secret is the host's
			to.Headers = []string{"x-listed", "x-key", "authorization"}
			out, err := to.Request(t.Context(), q, tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			if out.URL.RequestURI() != tt.wantURI || out.Host != tt.wantHost || out.Method != "POST" {
				t.Errorf("got %s %s for %s, want %s for %s", out.Method, out.URL.RequestURI(), out.Host, tt.wantURI,
					tt.wantHost)
			}
			if diff := cmp.Diff(tt.want, out.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.header); diff != "" {
				t.Errorf("the client's request was written to (-want +got):\n%s", diff)
			}
			if b, err := io.ReadAll(out.Body); err != nil || len(b) > 0 {
				t.Errorf("body %q, %v", b, err)
			}
		})
	}
}

// What would be another path to another reader is not joined to a prefix.
func TestRequestStaysBelowItsPrefix(t *testing.T) {
	u := target(t, "https://api.test/base")
	for _, path := range []string{
		"", "*", "x", "//", "//other.test/", "/..", "/../admin", "/a/../..", "/.", "/./a", "/a/.", "/%2e%2e/admin", "/%2E%2e", "/.%2e/", "/..%2fadmin", "/a%2fb", "/a%2Fb", "/a%5cb",
		"/a\\b", "/..;x/admin", "/..;/admin", "/.;a", "/a//b", "/a/%", "/a/%zz", "/a%00", "/a?b", "/a#b", "/;/../", "/%252e%252e/admin", "/a%25",
		"/a\r\nX: y", "/a b", "/a\x7f", "/%0d%0aX", "http://other.test/",
	} {
		q := &http.Request{Method: "GET", URL: &url.URL{Opaque: path}, Header: http.Header{}}
		if path == "" {
			q.URL.Opaque, q.URL.Path = "", "" // an empty path is one that does not begin with a slash
		}
		if out, err := u.Request(t.Context(), q, httpproxy.Secret{}); err == nil {
			t.Errorf("%q went out as %q", path, out.URL.RequestURI())
		}
	}
	for _, path := range []string{"/", "/v1/", "/a.b/..c/c..", "/a%20b", "/a;b=c/d", "/%C3%A9", "/~a/-_"} {
		if !egress.Joins(path) {
			t.Errorf("%q is refused", path)
		}
	}
	if _, err := (httpproxy.Target{}).Request(t.Context(), &http.Request{URL: &url.URL{Opaque: "/"}},
		httpproxy.Secret{}); err == nil {
		t.Error("the zero Target sends")
	}
}

func TestResponse(t *testing.T) {
	secret := httpproxy.Secret{Header: "Authorization", Value: "Bearer s3cr+t/9"}
	in := http.Header{
		"Content-Type": {"text/plain"}, "X-Rate": {"5"},
		"Authorization": {"Bearer s3cr+t/9"}, "X-Echo": {"you said s3cr+t/9!"}, "X-Two": {"fine", "s3cr+t/9"}, "X-Url": {"/?k=s3cr%2Bt%2F9"}, "X-Path": {"/s3cr+t%2F9"},
		"X-Whole": {base64.StdEncoding.EncodeToString([]byte("Bearer s3cr+t/9"))}, "X-Other": {base64.URLEncoding.EncodeToString([]byte("{\"a\":\"s3cr+t/9\"}"))}, "X-Third": {base64.StdEncoding.EncodeToString([]byte("12345s3cr+t/9 and more"))}, "X-Hex": {hex.EncodeToString([]byte("Bearer s3cr+t/9"))},
		"X-Base": {base64.StdEncoding.EncodeToString([]byte("s3cr+t/9"))}, "Location": {"https://api.test/base/x?k=s3cr%2bt%2f9"}, "Www-Authenticate": {"Bearer realm=x"},
		"Set-Cookie": {"session=1"}, "Connection": {"X-Hop, close"}, "X-Hop": {"1"}, "Keep-Alive": {"1"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"X"}, "Alt-Svc": {"h3"}, "Proxy-Authenticate": {"x"},
	}
	r := &http.Response{StatusCode: 401, Status: "401 bad key s3cr+t/9", Header: in,
		Trailer: http.Header{"X": {"s3cr+t/9"}}}
	target(t, "https://api.test/base").Response(r, secret)
	want := http.Header{"Content-Type": {"text/plain"}, "X-Rate": {"5"}, "Www-Authenticate": {"Bearer realm=x"}}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if r.Status != "401 Unauthorized" || len(r.Trailer) > 0 {
		t.Errorf("status %q, trailer %v", r.Status, r.Trailer)
	}
	plain := &http.Response{StatusCode: 200, Header: http.Header{"X-Echo": {"s3cr+t/9"}}}
	target(t, "https://api.test").Response(plain, httpproxy.Secret{})
	if plain.Header.Get("X-Echo") == "" {
		t.Error("without a secret a header was taken away")
	}
	switched := &http.Response{StatusCode: 101, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}}
	target(t, "https://api.test").Response(switched, secret)
	if switched.Header.Get("Upgrade") != "websocket" || switched.Header.Get("Connection") != "Upgrade" {
		t.Errorf("a switch lost its header: %v", switched.Header)
	}
}

func TestLocation(t *testing.T) {
	for _, tt := range []struct{ upstream, in, want string }{
		{"https://api.test/base", "https://api.test/base/x?q=1#f", "http://" + virtual + "/x?q=1#f"},
		{"https://api.test/base", "https://API.test:443/base", "http://" + virtual + "/"},
		{"https://api.test/base", "//api.test/base/x", "http://" + virtual + "/x"},
		{"https://api.test/base", "/base/a%2fb", "/a%2fb"},
		{"https://api.test/base", "/other", "/other"},
		{"https://api.test/base", "/basement", "/basement"},
		{"https://api.test/base", "x/y", "x/y"},
		{"https://api.test", "https://api.test", "http://" + virtual + "/"},
		{"https://api.test", "https://api.test/x", "http://" + virtual + "/x"},
		{"https://api.test", "http://api.test/x", "http://api.test/x"},
		{"https://api.test", "https://api.test:8443/x", "https://api.test:8443/x"},
		{"https://api.test", "https://other.test/x", "https://other.test/x"},
		{"https://[2001:4860:4860::8888]", "https://[2001:4860:4860:0::8888]/x", "http://" + virtual + "/x"},
		{"https://api.test", "https://api.test:0/x", "https://api.test:0/x"},
		{"https://api.test", "%zz", "%zz"},
	} {
		r := &http.Response{StatusCode: 302, Header: http.Header{"Location": {tt.in}}}
		target(t, tt.upstream).Response(r, httpproxy.Secret{})
		if got := r.Header.Get("Location"); got != tt.want {
			t.Errorf("%s at %s: got %q, want %q", tt.in, tt.upstream, got, tt.want)
		}
	}
}

func TestGuard(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name, upstream string
		addresses      []string
		answer         string
		want           bool
	}{
		{"public", "https://api.test", nil, "93.184.215.14", true},
		{"private", "https://api.test", nil, "10.1.2.3", false},
		{"private, listed", "https://api.test", []string{"10.0.0.0/8"}, "10.1.2.3", true},
		{"private, another listed", "https://api.test", []string{"10.2.0.0/16"}, "10.1.2.3", false},
		{"loopback", "https://api.test:8443", nil, "127.0.0.1", false},
		{"loopback, listed", "https://api.test:8443", []string{"127.0.0.1"}, "127.0.0.1", true},
		{"loopback as a range", "https://api.test:8443", []string{"127.0.0.0/8"}, "127.0.0.1", false},
		{"metadata, listed", "https://api.test", []string{"169.254.169.254"}, "169.254.169.254", false},
		{"IPv6, listed", "https://api.test", []string{"fd00::/8"}, "fd00::1", true},
		{"an address itself", "http://127.0.0.1:9000", nil, "127.0.0.1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := target(t, tt.upstream).Upstream
			list, err := httpproxy.Guard(u.Dest, tt.addresses)
			if err != nil {
				t.Fatal(err)
			}
			d := list.Decide(u.Dest, now)
			if !d.Allowed() {
				t.Fatal(d.Refusal())
			}
			d = d.Addresses([]netip.Addr{netip.MustParseAddr(tt.answer)}, now)
			if got := d.Allowed() && len(d.Dial()) == 1; got != tt.want {
				t.Errorf("got %v (%v), want %v", got, d.Refusal(), tt.want)
			}
		})
	}
	if _, err := httpproxy.Guard(egress.Dest{Name: "api.test", Port: 443}, []string{"10.0.0.0/8", "*"}); err == nil ||
		!strings.Contains(err.Error(), `"*"`) {
		t.Errorf("an address that is none: %v", err)
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{"/", "/a", "/..", "/%2e%2e/", "/..;/", "//", "/a%2fb"} {
		f.Add(s, "X-A", "b")
	}
	u := httpproxy.Target{Virtual: virtual, Upstream: egress.UpstreamURL{
		TLS: true, Dest: egress.Dest{Name: "api.test", Port: 443}, Prefix: "/base"}}
	f.Fuzz(func(t *testing.T, path, name, value string) {
		q := &http.Request{Method: "GET", URL: &url.URL{Opaque: path}, Header: http.Header{}}
		q.Header.Set(name, value)
		out, err := u.Request(t.Context(), q, httpproxy.Secret{Header: "Authorization", Value: "Bearer s"})
		if err != nil {
			return
		}
		if got := out.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer s" {
			t.Errorf("authorization %q", got)
		}
		back, err := url.ParseRequestURI(out.URL.RequestURI())
		if err != nil {
			t.Fatalf("%q: %v", out.URL.RequestURI(), err)
		}
		if !strings.HasPrefix(back.JoinPath().Path, "/base/") {
			t.Errorf("%q leads to %q", path, back.JoinPath().Path)
		}
	})
}
