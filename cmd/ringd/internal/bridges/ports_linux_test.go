package bridges_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// TestMain runs the tests in a network namespace of their own: the ports 80 and 443,
// which have rules of their own, are free there, and every address is local.
func TestMain(m *testing.M) {
	if code, over := proxytest.Enter(); over {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// onPort starts a server at an address, and counts its connections. Its answer is
// how it was asked.
func onPort(t *testing.T, at string, secured bool) (s *httptest.Server, conns *atomic.Int64) {
	t.Helper()
	conns = &atomic.Int64{}
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if to := q.URL.Query().Get("to"); to != "" {
			http.Redirect(w, q, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s %s %v", q.Method, q.Host, q.RequestURI, q.TLS != nil)
	}))
	_ = s.Listener.Close()
	s.Listener = proxytest.New(t).Listen(at)
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	if secured {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, conns
}

// TestStandardPorts: the ports that URLs leave out are the ones that the egress looks
// into. A connection is kept there as on any other port, and each request over it is
// decided on.
func TestStandardPorts(t *testing.T) {
	secured, sealed := onPort(t, "127.0.0.1:443", true)
	_, plain := onPort(t, "127.0.0.1:80", false)
	roots := x509.NewCertPool()
	roots.AddCert(secured.Certificate())
	both := profiles.EgressRule{Host: "127.0.0.1", Ports: []int{80, 443}}
	r := newRig(t, func(c *bridges.Config) { c.Roots = roots }, both)
	for _, tt := range []struct {
		name, args, want string
		sealed, plain    int64 // connections so far
	}{
		{"TLS, first", `{"url":"https://127.0.0.1/a"}`, "GET 127.0.0.1 /a true", 1, 0},
		{"TLS, second", `{"url":"https://127.0.0.1/b"}`, "GET 127.0.0.1 /b true", 1, 0},
		{"TLS, the port named", `{"url":"https://127.0.0.1:443/c","method":"POST","body":"x"}`, "POST 127.0.0.1 /c true", 1, 0},
		{"TLS, redirected to itself", `{"url":"https://127.0.0.1/?to=/d"}`, "GET 127.0.0.1 /d true", 1, 0},
		{"plain, first", `{"url":"http://127.0.0.1/a"}`, "GET 127.0.0.1 /a false", 1, 1},
		{"plain, second", `{"url":"http://127.0.0.1/b"}`, "GET 127.0.0.1 /b false", 1, 1},
		{"plain, the port named", `{"url":"http://127.0.0.1:80/c"}`, "GET 127.0.0.1 /c false", 1, 1},
		{"from plain to TLS", `{"url":"http://127.0.0.1/?to=https://127.0.0.1/e"}`, "GET 127.0.0.1 /e true", 1, 1},
		{"from TLS to plain", `{"url":"https://127.0.0.1/?to=http://127.0.0.1/f"}`, "GET 127.0.0.1 /f false", 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := r.get(tt.args); a.Body != tt.want || sealed.Load() != tt.sealed || plain.Load() != tt.plain {
				t.Errorf("got %+v over %d and %d connections, want %q over %d and %d", a, sealed.Load(), plain.Load(),
					tt.want, tt.sealed, tt.plain)
			}
		})
	}
	all := len(r.kinds())
	for _, args := range []string{`{"url":"http://127.0.0.1:443/"}`,
		`{"url":"https://127.0.0.1/?to=http://127.0.0.1:443/"}`} {
		if _, err := r.call("run", args); !strings.Contains(told(err), "TLS") {
			t.Errorf("%s: %v", args, told(err))
		}
	}
	if n := len(r.kinds()); n != all+3 || sealed.Load() != 1 {
		t.Errorf("%d records, %d connections: %q", n-all, sealed.Load(), r.kinds())
	}
	r.allow(profiles.EgressRule{Host: "127.0.0.1", Ports: []int{80}}) // nothing has cut what is kept
	if _, err := r.call("run", `{"url":"https://127.0.0.1/g"}`); !strings.HasPrefix(told(err), "egress.port") ||
		sealed.Load() != 1 {
		t.Errorf("over a connection that is there: %v", told(err))
	}
}

// TestKeptForTheName: of two names of one address each has its own connection, and the
// one that is taken off the list has no more of it.
func TestKeptForTheName(t *testing.T) {
	secured, conns := onPort(t, "93.184.216.34:443", true)
	var asked []string
	secured.TLS.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		asked = append(asked, h.ServerName)
		return nil, nil
	}
	roots := x509.NewCertPool()
	roots.AddCert(secured.Certificate())
	one, other := profiles.EgressRule{Host: "example.com", Ports: []int{443}},
		profiles.EgressRule{Host: "www.example.com", Ports: []int{443}}
	r := newRig(t, func(c *bridges.Config) { c.Roots = roots }, one, other)
	r.names = map[string]netip.Addr{"example.com.": netip.MustParseAddr("93.184.216.34"),
		"www.example.com.": netip.MustParseAddr("93.184.216.34")}
	for _, tt := range []struct{ url, want string }{
		{"https://example.com/1", "GET example.com /1 true"}, {"https://example.com/2", "GET example.com /2 true"},
		{"https://www.example.com/3", "GET www.example.com /3 true"}, {"https://www.example.com/4", "GET www.example.com /4 true"},
		{"https://example.com/5", "GET example.com /5 true"},
	} {
		if a := r.get(`{"url":"` + tt.url + `"}`); a.Body != tt.want {
			t.Errorf("%s: %+v", tt.url, a)
		}
	}
	r.allow(one)
	if _, err := r.call("run", `{"url":"https://www.example.com/6"}`); !strings.HasPrefix(
		told(err), "egress.not_granted") {
		t.Errorf("a name that is off the list: %v", told(err))
	}
	if got := r.get(`{"url":"https://example.com/7"}`).Body; got != "GET example.com /7 true" {
		t.Errorf("the name that is on it: %v", got)
	}
	if want := []string{"example.com", "www.example.com"}; conns.Load() != 2 || !slices.Equal(asked, want) {
		t.Errorf("%d connections, for %q", conns.Load(), asked)
	}
}
