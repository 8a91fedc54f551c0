package hello_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress/hello"
)

// clientHello is what crypto/tls sends first.
func clientHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	c := &first{}
	if err := tls.Client(c, config).HandshakeContext(t.Context()); err == nil {
		t.Fatal("a handshake without a server")
	}
	return c.Bytes()
}

// first takes what is written, and has nothing to read.
type first struct {
	net.Conn
	bytes.Buffer
}

func (f *first) Write(b []byte) (int, error) { return f.Buffer.Write(b) }
func (f *first) Read([]byte) (int, error)    { return 0, io.EOF }
func (f *first) Close() error                { return nil }

func TestParse(t *testing.T) {
	raw := clientHello(t, &tls.Config{ServerName: "Api.example.com", NextProtos: []string{"h2", "http/1.1"}})
	want := hello.Hello{Name: "Api.example.com", HasName: true, ALPN: []string{"h2", "http/1.1"}}
	for n := range raw {
		if h, err := hello.Parse(raw[:n]); !errors.Is(err, hello.ErrMore) {
			t.Fatalf("%d of %d bytes: %+v, %v", n, len(raw), h, err)
		}
	}
	for _, more := range []string{"", "\x14\x03\x03\x00\x01\x01", "anything"} {
		h, err := hello.Parse(append(bytes.Clone(raw), more...))
		if diff := cmp.Diff(want, h); diff != "" || err != nil {
			t.Errorf("followed by %q: %v\n%s", more, err, diff)
		}
	}
}
