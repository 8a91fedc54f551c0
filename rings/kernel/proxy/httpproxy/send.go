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

// Bounds of a connection to an upstream.
const (
	handshake         = 15 * time.Second
	answer            = 15 * time.Minute // models think
	idle              = 30 * time.Second
	kept              = 4
	upstreamHeadBytes = 64 << 10
)

// NewTransport returns a transport whose connections are opened by dial, and which
// keeps a few that are idle. Upstreams have to chain to roots; nil: those of the
// system. It follows no redirect, speaks HTTP/1.1 and knows no other proxy.
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

// ErrTimeout says that an upstream took too long, ErrUpstream that it could not be
// reached or gave no valid answer.
var (
	errTimeout  = context.DeadlineExceeded
	errUpstream = errors.New("the upstream of the gateway could not be reached, or gave no valid answer")
)

// Flight is one request under way.
type Flight interface {
	// Took is called with the connection that the request goes over, as it was
	// dialed, before it does; of a request that is sent again, once more.
	Took(net.Conn)
	// Over is called when the body of the answer is closed, or there is none. The
	// connection may carry another request by then.
	Over()
}

// Send sends q to the upstream with the secret and gives the answer as the client
// gets it. The error is a *profiles.Denial that a dial gave, ErrTimeout or
// ErrUpstream: whatever else went wrong may be in the upstream's own words, and
// they are not repeated.
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

// upstreamBody is that of an answer.
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

// duplex is the body of an answer that switched to a WebSocket.
type duplex struct {
	upstreamBody
	io.Writer
}
