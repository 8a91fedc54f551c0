package httpproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Limits of a connection to an upstream.
const (
	handshake         = 15 * time.Second
	answer            = 15 * time.Minute // long, because models take time to think
	idle              = 30 * time.Second
	kept              = 4
	upstreamHeadBytes = 64 << 10
)

// NewTransport returns a transport whose connections are opened by dial, and which keeps a few idle ones.
// Certificates of upstreams must chain to roots; nil means those of the system. It follows no redirect,
// speaks HTTP/1.1 and uses no other proxy.
func NewTransport(dial func(context.Context) (net.Conn, error), roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSHandshakeTimeout:    handshake,
		ResponseHeaderTimeout:  answer,
		IdleConnTimeout:        idle,
		MaxIdleConnsPerHost:    kept,
		MaxResponseHeaderBytes: upstreamHeadBytes,
		DisableCompression:     true,
	}
}

// ErrTimeout means that an upstream took too long. ErrUpstream means that it could not be reached or gave no
// valid response.
var (
	errTimeout  = context.DeadlineExceeded
	errUpstream = errors.New("the upstream of the gateway could not be reached, or gave no valid answer")
)

// Flight is one request in progress.
type Flight interface {
	// Took is called with the dialed connection before the request is sent over it, and again if the request
	// is sent again.
	Took(net.Conn)
	// Over is called when the body of the response is closed, or if there is none. The connection may already
	// carry another request.
	Over()
}

// Send sends q to the upstream with the secret and returns the response for the client. The error is a
// *profiles.Denial of a dial, ErrTimeout or ErrUpstream. Other errors may contain the upstream's own text, so
// they are not passed on.
func (t Target) Send(ctx context.Context, by http.RoundTripper, q *http.Request, s Secret, f Flight) (
	*http.Response, error) {
	out, err := t.Request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		conn := i.Conn
		if secured, ok := conn.(*tls.Conn); ok {
			conn = secured.NetConn()
		}
		f.Took(conn)
	}}), q, s)
	if err != nil {
		return nil, err
	}
	r, err := by.RoundTrip(out)
	if err != nil {
		f.Over()
		var denial *profiles.Denial
		var late net.Error
		switch {
		case errors.As(err, &denial):
			return nil, denial
		case errors.As(err, &late) && late.Timeout():
			return nil, errTimeout
		default:
			return nil, errUpstream
		}
	}
	t.Response(r, s)
	if w, ok := r.Body.(io.Writer); ok && r.StatusCode == http.StatusSwitchingProtocols {
		r.Body = duplex{upstreamBody{r.Body, f}, w}
	} else {
		r.Body = upstreamBody{r.Body, f}
	}
	return r, nil
}

// upstreamBody is the body of a response.
type upstreamBody struct {
	io.ReadCloser
	flight Flight
}

// Close ends the request.
func (b upstreamBody) Close() error {
	err := b.ReadCloser.Close()
	b.flight.Over()
	return err
}

// duplex is the body of a response that switched to a WebSocket.
type duplex struct {
	upstreamBody
	io.Writer
}
