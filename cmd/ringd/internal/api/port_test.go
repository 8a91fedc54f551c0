package api_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

// log is what a port has logged.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

// open serves a port that echoes what it gets.
func open(t *testing.T, cfg api.PortConfig) (*api.Port, *log) {
	t.Helper()
	l := &log{}
	cfg.Address, cfg.Logger = "127.0.0.1:0", slog.New(slog.NewTextHandler(l, nil))
	p, err := api.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	echo(t, p)
	return p, l
}

// echo serves l until the test ends.
func echo(t *testing.T, l net.Listener) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
}

// speaks reports whether what is said comes back.
func speaks(c net.Conn) error {
	const said = "GET / HTTP/1.1\r\n"
	if _, err := c.Write([]byte(said)); err != nil {
		return err
	}
	b := make([]byte, len(said))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if string(b) != said {
		return errors.New("something else came back")
	}
	return nil
}

func reach(addr string, cfg *tls.Config) error {
	c, err := tls.Dial("tcp", addr, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	return speaks(c)
}

func withoutGoTypes(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return speaks(c)
}

// Each attack works against a listener that lacks the check, and none against a
// port.
func TestNothingButTLS13(t *testing.T) {
	ca, other := apitest.New(t), apitest.New(t)
	files := ca.Write(t, t.TempDir(), "server")
	stranger := other.Write(t, t.TempDir(), "client").Pair(t)
	friend := ca.Write(t, t.TempDir(), "client").Pair(t)
	p, _ := open(t, api.PortConfig{Cert: files.Cert, Key: files.Key, ClientCA: files.CA})

	lax, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	echo(t, lax)
	laxTLS, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{files.Pair(t)}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	echo(t, laxTLS)

	for _, tc := range []struct {
		name   string
		attack func(addr string) error
		lax    net.Listener
	}{
		{"plaintext", withoutGoTypes, lax},
		{"TLS 1.2", func(a string) error {
			return reach(a, &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{friend},
				MaxVersion: tls.VersionTLS12})
		}, laxTLS},
		{"no certificate", func(a string) error { return reach(a, &tls.Config{RootCAs: ca.Pool()}) }, laxTLS},
		{"a certificate of nobody's", func(a string) error {
			return reach(a, &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{stranger}})
		}, laxTLS},
	} {
		if err := tc.attack(tc.lax.Addr().String()); err != nil {
			t.Errorf("%s: the attack proves nothing: %v", tc.name, err)
		}
		if err := tc.attack(p.Addr().String()); err == nil {
			t.Errorf("%s gets through", tc.name)
		}
	}
	if err := reach(p.Addr().String(), &tls.Config{RootCAs: ca.Pool(),
		Certificates: []tls.Certificate{friend}}); err != nil {
		t.Errorf("whoever has everything is kept out: %v", err)
	}
	c, err := tls.Dial("tcp", p.Addr().String(), &tls.Config{
		RootCAs: ca.Pool(), Certificates: []tls.Certificate{friend}, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.ConnectionState(); s.NegotiatedProtocol != "http/1.1" || s.Version != tls.VersionTLS13 {
		t.Errorf("negotiated %q, %x", s.NegotiatedProtocol, s.Version)
	}
}

func TestFilesAreRefused(t *testing.T) {
	ca := apitest.New(t)
	for _, tc := range []struct {
		name, want string
		spoil      func(t *testing.T, f *apitest.Files)
	}{
		{"key for the group", "can be read by others (mode 0640): chmod 600", func(t *testing.T, f *apitest.Files) { chmod(t, f.Key, 0o640) }},
		{"key for everybody", "can be read by others", func(t *testing.T, f *apitest.Files) { chmod(t, f.Key, 0o604) }},
		{"certificate of everybody", "can be written by others", func(t *testing.T, f *apitest.Files) { chmod(t, f.Cert, 0o666) }},
		{"authorities of everybody", "clientCA: ", func(t *testing.T, f *apitest.Files) { chmod(t, f.CA, 0o666) }},
		{"no key", "no such file", func(t *testing.T, f *apitest.Files) { os.Remove(f.Key) }},
		{"key of another", "private key does not match", func(t *testing.T, f *apitest.Files) { f.Key = ca.Write(t, t.TempDir(), "x").Key }},
		{"no certificate in it", "tls: ", func(t *testing.T, f *apitest.Files) { f.Cert = f.Key }},
		{"no authority in it", "contains no certificate", func(t *testing.T, f *apitest.Files) { f.CA = f.Key }},
		{"relative", "is not an absolute path", func(t *testing.T, f *apitest.Files) { f.Cert = "cert.pem" }},
		{"folder", "is not a file", func(t *testing.T, f *apitest.Files) { f.Cert = filepath.Dir(f.Cert) }},
		{"pipe", "is not a file", func(t *testing.T, f *apitest.Files) {
			f.Key += ".pipe"
			clitest.NamedPipe(t, f.Key)
		}},
		{"nothing", "", func(*testing.T, *apitest.Files) {}},
	} {
		f := ca.Write(t, t.TempDir(), "server")
		tc.spoil(t, &f)
		p, err := api.Open(api.PortConfig{Address: "127.0.0.1:0", Cert: f.Cert, Key: f.Key, ClientCA: f.CA,
			Logger: slog.New(slog.DiscardHandler)})
		if p != nil {
			p.Close()
		}
		if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	f := ca.Write(t, t.TempDir(), "server")
	for _, address := range []string{"", ":7443", "localhost:7443", "127.0.0.1", "/run/x.sock"} {
		if _, err := api.Open(api.PortConfig{Address: address, Cert: f.Cert, Key: f.Key,
			Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "want IP:PORT") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// A new certificate is taken at the next connection, one that does not hold is
// not, and a connection that is open goes on through all of it.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	first, second := apitest.New(t), apitest.New(t)
	files := first.Write(t, dir, "server")
	p, logged := open(t, api.PortConfig{Cert: files.Cert, Key: files.Key})
	addr := p.Addr().String()
	under := func(a *apitest.Authority) error { return reach(addr, &tls.Config{RootCAs: a.Pool()}) }

	open, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: first.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	step := func(what string, stands, gone *apitest.Authority) {
		t.Helper()
		if err := under(stands); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var unknown x509.UnknownAuthorityError
		if err := under(gone); !errors.As(err, &unknown) {
			t.Errorf("%s: the other authority: %v", what, err)
		}
		if err := speaks(open); err != nil {
			t.Errorf("%s: the connection that was open: %v", what, err)
		}
	}
	step("at first", first, second)
	second.Write(t, dir, "server")
	step("a new pair", second, first)
	chmod(t, files.Key, 0o644)
	step("a key that others can read", second, first)
	if n := logged.count("the changed certificate is not valid"); n != 1 {
		t.Errorf("told %d times that a change was not taken", n)
	}
	third := first.Write(t, t.TempDir(), "server") // half of a change: another key
	if err := os.Rename(third.Key, files.Key); err != nil {
		t.Fatal(err)
	}
	step("half of a pair", second, first)
	os.Remove(files.Key)
	step("no key", second, first)
	first.Write(t, dir, "server")
	step("a pair again", first, second)
}

// Authorities of clients that were taken away let nobody in any more.
func TestReloadOfAuthorities(t *testing.T) {
	dir := t.TempDir()
	first, second := apitest.New(t), apitest.New(t)
	files := first.Write(t, dir, "server")
	p, _ := open(t, api.PortConfig{Cert: files.Cert, Key: files.Key, ClientCA: files.CA})
	client := &tls.Config{RootCAs: first.Pool(), Certificates: []tls.Certificate{
		first.Write(t, t.TempDir(), "client").Pair(t)}, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	for range 2 {
		if err := reach(p.Addr().String(), client); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(files.CA+".new", second.PEM, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(files.CA+".new", files.CA); err != nil {
		t.Fatal(err)
	}
	if err := reach(p.Addr().String(), client); err == nil {
		t.Error("a certificate counts whose authority was taken away")
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	ca := apitest.New(t)
	files := ca.Write(t, t.TempDir(), "server")
	for name, cfg := range map[string]api.PortConfig{
		"of one address": {Cert: files.Cert, Key: files.Key, PerAddress: 2},
		"of all":         {Cert: files.Cert, Key: files.Key, Total: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := open(t, cfg)
			trust := &tls.Config{RootCAs: ca.Pool()}
			var held []*tls.Conn
			for range 2 {
				c, err := tls.Dial("tcp", p.Addr().String(), trust)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := speaks(c); err != nil {
					t.Fatal(err)
				}
				held = append(held, c)
			}
			if err := reach(p.Addr().String(), trust); err == nil {
				t.Error("a third connection was served")
			}
			held[0].Close()
			for reach(p.Addr().String(), trust) != nil { // the place is free once the port has seen the close
				if t.Context().Err() != nil {
					t.Fatal("the place was never free")
				}
			}
		})
	}
}

func TestSource(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for name, c := range map[string]net.Conn{"no TLS": a, "TLS of another listener": tls.Server(b, &tls.Config{})} {
		if from, ok := api.ConnSource(c); ok {
			t.Errorf("%s is from %s", name, from)
		}
	}
}
