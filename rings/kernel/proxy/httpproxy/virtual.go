package httpproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// virtualExchange is a request for a virtual host, which the guest sends, and its response.
type virtualExchange struct {
	s       *serving
	r       Request
	minor   uint8 // HTTP version of the client
	keep    bool  // keep the client's connection open
	upgrade bool  // the client requests a WebSocket
	body    content
}

func newVirtualExchange(s *serving, r Request) *virtualExchange {
	x := &virtualExchange{s: s, r: r, minor: s.req.Minor, keep: s.req.KeepAlive, upgrade: s.req.Upgrade}
	x.body.s, x.body.waits = s, s.req.Expect
	return x
}

// carry lets the guest send the request in s.req, and writes the response.
func (x *virtualExchange) carry(ctx context.Context) end {
	s := x.s
	q := x.httpRequest()
	if s.req.Body != httphead.None {
		q.Body = &x.body
	}
	s.releaseHead()
	answer, err := s.guest.RoundTrip(ctx, x.r, s.client.Conn, q)
	if err != nil {
		x.body.takeBack()
		return s.answerError(x.r, err)
	}
	e := x.writeAnswer(answer)
	closing := answer.Body.Close()
	if whole := x.body.takeBack(); e == endKept && (!whole || closing != nil) {
		e = endAnswered
	}
	return e
}

// httpRequest converts s.req to a request of net/http. Its target is unchanged.
func (x *virtualExchange) httpRequest() *http.Request {
	s := x.s
	q := &http.Request{
		Method: x.r.Method, Host: s.canonical, Header: make(http.Header, 8), Body: http.NoBody,
		URL:   &url.URL{Scheme: "http", Host: s.canonical, Opaque: x.r.Path, RawQuery: "", ForceQuery: false},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(s.req.Query) > 0 {
		q.URL.RawQuery = string(s.req.Query[1:])
		q.URL.ForceQuery = len(s.req.Query) == 1
	}
	switch s.req.Body {
	case httphead.Sized:
		q.ContentLength = s.req.Length
	case httphead.Chunked:
		q.ContentLength = -1
	case httphead.None, httphead.UntilClose: // a request body never ends with its connection
	}
	for f := range s.req.Fields() {
		if !f.Hop && f.Kind != httphead.Host && f.Kind != httphead.ContentLength && f.Kind != httphead.Expect {
			q.Header.Add(string(f.Name), string(f.Value))
		}
	}
	if s.req.Upgrade {
		q.Header.Set("Connection", "Upgrade")
		q.Header.Set("Upgrade", "websocket")
	}
	return q
}

// writeAnswer writes a response of net/http to the client, as it arrives.
func (x *virtualExchange) writeAnswer(answer *http.Response) end {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		target, both := answer.Body.(io.ReadWriteCloser)
		if !x.upgrade || !both {
			return x.s.unreachable(x.r, httphead.ErrUpgrade)
		}
		return x.forwardWebSocket(target, answer)
	}
	keep := x.keep
	bodiless := x.r.Method == "HEAD" || answer.StatusCode == http.StatusNoContent ||
		answer.StatusCode == http.StatusNotModified
	chunked := !bodiless && answer.ContentLength < 0
	if chunked && x.minor == 0 {
		chunked, keep = false, false
	}
	out := appendAnswer(x.s.emptyOut(), answer)
	switch {
	case chunked:
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	case answer.ContentLength >= 0 && answer.StatusCode != http.StatusNoContent &&
		(!bodiless || answer.ContentLength > 0):
		out = strconv.AppendInt(append(out, "Content-Length: "...), answer.ContentLength, 10)
		out = append(out, "\r\n"...)
	}
	if !keep {
		out = append(out, "Connection: close\r\n"...)
	}
	out = append(out, "\r\n"...)
	x.body.stopContinue()
	if err := x.s.in.write(out, x.s.f.cfg.Stall); err != nil {
		return endClosed
	}
	if !bodiless {
		if err := x.stream(answer.Body, chunked); err != nil {
			return endBroken
		}
	}
	if !keep {
		return endAnswered
	}
	return endKept
}

// appendAnswer appends a head without the fields that frame a body, and without characters that could end a
// line early.
func appendAnswer(out []byte, answer *http.Response) []byte {
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(answer.StatusCode), 10)
	out = append(append(append(out, ' '), http.StatusText(answer.StatusCode)...), "\r\n"...)
	for name, values := range answer.Header {
		switch name {
		case "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		for _, v := range values {
			if printable(name) && printable(v) {
				out = append(append(append(append(out, name...), ": "...), v...), "\r\n"...)
			}
		}
	}
	return out
}

func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// stream writes a body as it arrives.
func (x *virtualExchange) stream(from io.Reader, chunked bool) error {
	s := x.s
	buf := s.f.buffers.take()
	defer s.f.buffers.give(buf)
	to := httphead.Sized
	if chunked {
		to = httphead.Chunked
	}
	for {
		n, err := from.Read(*buf)
		if n > 0 {
			if err := s.in.write(appendPart(s.emptyOut(), (*buf)[:n], to), s.f.cfg.Stall); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && chunked:
			return s.in.write([]byte(httphead.LastChunk), s.f.cfg.Stall)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// forwardWebSocket forwards a WebSocket of a virtual host until both directions have ended.
func (x *virtualExchange) forwardWebSocket(target io.ReadWriteCloser, answer *http.Response) end {
	s := x.s
	out := append(appendAnswer(s.emptyOut(), answer), "\r\n"...)
	if err := s.in.write(out, s.f.cfg.Stall); err != nil {
		return endClosed
	}
	_ = s.in.conn.SetReadDeadline(time.Time{}) // on a closed connection no read waits
	s.in.readBy = time.Time{}
	over := make(chan struct{})
	s.f.cfg.Go(func() {
		defer close(over)
		for {
			if b := s.in.unread(); len(b) > 0 {
				if _, err := target.Write(b); err != nil {
					return
				}
				s.in.used(len(b))
			}
			if err := s.in.fill(chunkBytes); err != nil {
				_ = target.Close() // also ends the other direction, because it has no half-close
				return
			}
		}
	})
	_ = x.stream(target, false) // an end of one direction ends both
	resetConn(s.in.conn)
	<-over
	return endClosed
}

// content is the body of a client's request for net/http, which may read it in any goroutine and for any
// time. takeBack ends that.
type content struct {
	s *serving

	reading sync.Mutex // held while reading
	over    atomic.Bool

	asking sync.Mutex
	waits  bool // the client waits for a 100 before it sends the body
}

// errSettled is the error of a body that was taken back.
var errSettled = errors.New("the request is over")

// stopContinue is called before the response is written: from then on no 100 is sent.
func (c *content) stopContinue() {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.waits = false
}

// sendContinue sends a 100 to a client that waits for it.
func (c *content) sendContinue() error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if !c.waits {
		return nil
	}
	c.waits = false
	return c.s.in.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"), c.s.f.cfg.Head)
}

// Read reads from the client.
func (c *content) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	in, b := c.s.in, &c.s.body
	for {
		switch {
		case c.over.Load():
			return 0, errSettled
		case b.done():
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		buf := in.unread()
		if len(buf) == 0 {
			if err := c.more(in); err != nil {
				return 0, err
			}
			continue
		}
		part, n, err := b.next(buf[:min(len(buf), len(p))])
		got := copy(p, part)
		in.used(n)
		if err != nil || got > 0 {
			return got, err
		}
	}
}

func (c *content) more(in *side) error {
	if err := c.sendContinue(); err != nil {
		return err
	}
	in.setReadTimeout(c.s.f.cfg.Stall)
	if c.over.Load() {
		return errSettled // after setReadTimeout, because the deadline of takeBack must be the last one set
	}
	err := in.fill(chunkBytes)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close does nothing: net/http calls it when it needs no more.
func (c *content) Close() error { return nil }

// takeBack takes the body back, and reports whether it was read completely. Otherwise the start of the next
// request is unknown.
func (c *content) takeBack() bool {
	c.over.Store(true)
	_ = c.s.in.conn.SetReadDeadline(time.Unix(1, 0)) // on a closed connection no read waits
	c.reading.Lock()
	defer c.reading.Unlock()
	c.s.in.readBy = time.Time{}
	return c.s.body.done()
}
