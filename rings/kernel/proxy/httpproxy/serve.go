package httpproxy

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/httphead"
)

// Limits of data that is discarded, and of the time for it.
const (
	skipBytes   = 64 << 10
	lingerBytes = 256 << 10
	lingerFor   = 2 * time.Second
	maxInterim  = 16 // 1xx responses before the final one
)

// end is what happens after a request.
type end uint8

const (
	endKept     end = iota // with the next request
	endClosed              // the client is gone, or everything was sent
	endAnswered            // the client may still be sending, and must see the response
	endBroken              // in the middle of a response, and the client must notice
	endConnect             // with a tunnel
)

// serving is one client's connection, and the connection to the target of its last request.
type serving struct {
	f      *Forwarder
	guest  Guest
	client Client
	in     *side

	conn Conn // nil: none is open
	up   *side
	dest egress.Dest // of conn

	req  httphead.Request
	body body // of the request, as far as it was read
	res  httphead.Response
	x    exchange
	down flow
	out  *[]byte // while there is something to write
	kept int     // room for the head of the request, and what was built from it

	// The target of the last request, as it was sent: proxy clients often name the same one again.
	authority, host []byte
	target          egress.Dest
	canonical       string
}

func (s *serving) run(ctx context.Context) end {
	for {
		if e := s.head(); e != endKept {
			return e
		}
		e := s.serve(ctx)
		s.releaseAll()
		if e != endKept {
			return e
		}
	}
}

// emptyOut returns the empty write buffer.
func (s *serving) emptyOut() []byte {
	if s.out == nil {
		s.out = s.f.out()
	}
	return (*s.out)[:0]
}

// releaseHead releases the head of the request, which is no longer needed. A large head built from it keeps its
// room until the request is over.
func (s *serving) releaseHead() {
	s.keepRoom(s.in)
	s.in.used(0)
	alive, expect := s.req.KeepAlive, s.req.Expect
	s.req.Reset()
	s.req.KeepAlive, s.req.Expect = alive, expect
}

// keepRoom takes over the room of a buffer that is about to be dropped.
func (s *serving) keepRoom(from *side) {
	if from.r >= from.w && from.held > chunkBytes {
		s.kept, from.held = s.kept+from.held, 0
	}
}

// releaseAll releases everything that a request and its response held.
func (s *serving) releaseAll() {
	s.release()
	s.req.Reset()
	s.res.Reset()
	s.x = exchange{}
	s.in.release(s.kept)
	s.kept = 0
}

// release returns the write buffer.
func (s *serving) release() {
	if s.out != nil && cap(*s.out) <= outBytes {
		*s.out = (*s.out)[:0]
		s.f.outs.Put(s.out)
	}
	s.out = nil
}

// head reads the head of the next request.
func (s *serving) head() end {
	begun := false
	s.in.used(0)
	if b := s.in.buf; b != nil && len(*b) > chunkBytes && !s.in.take(len(*b)) {
		return s.crowded(Request{Listener: s.client.Listener, Dest: s.client.Dest})
	}
	for {
		if b := s.in.unread(); len(b) > 0 {
			n, err := s.req.Read(b)
			switch {
			case err == nil && s.req.Form == httphead.Authority && s.client.Dest == (egress.Dest{}):
				return endConnect
			case err == nil:
				s.in.r += n // without used, because the head is still in use
				return endKept
			case !errors.Is(err, httphead.ErrMore):
				return s.malformed(err)
			}
			if !begun {
				begun = true
				s.in.limitReads(s.f.cfg.Head)
			}
		}
		if !begun {
			s.in.setReadTimeout(s.f.cfg.Idle)
		}
		switch err := s.in.fillHead(); {
		case errors.Is(err, errNoRoom):
			return s.malformed(httphead.ErrLarge)
		case errors.Is(err, errCrowded):
			return s.crowded(Request{Listener: s.client.Listener, Dest: s.client.Dest})
		case err != nil:
			return endClosed
		}
	}
}

// malformed denies an invalid request. The start of the next one is unknown, so the connection ends.
func (s *serving) malformed(err error) end {
	d := s.guest.Refuse(Request{Listener: s.client.Listener, Dest: s.client.Dest}, egress.UnreadHead(err))
	_ = s.in.write(s.f.cfg.Denied(nil, d, false), s.f.cfg.Head) // if the client is gone, it needs no response
	return endAnswered
}

// crowded denies a request because there is no room for its head or for that of its response.
func (s *serving) crowded(r Request) end {
	out := s.f.cfg.Denied(nil, s.client.Room.Crowded(r), false)
	s.in.drop()
	_ = s.in.write(out, s.f.cfg.Head) // as above
	return endAnswered
}

// requestTo returns the request for a decision, without unread parts.
func (s *serving) requestTo(d egress.Dest) Request {
	return Request{Listener: s.client.Listener, Dest: d, Method: methodString(s.req.Method), Path: string(s.req.Path),
		Overrides: egress.OverridesOf(&s.req)}
}

// serve handles the request whose head is in s.req.
func (s *serving) serve(ctx context.Context) end {
	s.body = body{kind: s.req.Body, left: s.req.Length}
	why := s.findTarget()
	r := s.requestTo(s.target)
	if why != nil {
		return s.refuse(r, s.guest.Refuse(r, why))
	}
	reused := s.reuse(r)
	grant, err := s.guest.Ask(r)
	switch {
	case err == nil && !grant.Granted:
		err = &profiles.Denial{Capability: "egress"}
	case err == nil && grant.Virtual:
		s.closeUpstream()
		return newVirtualExchange(s, r).carry(ctx)
	case err == nil && !reused:
		err = s.dial(ctx, r)
	}
	if err != nil {
		if reused {
			s.conn.End()
		}
		return s.answerError(r, err)
	}
	return s.exchange(ctx, r, reused)
}

// findTarget determines the target of the request, and checks its Host field.
func (s *serving) findTarget() *egress.Refusal {
	if d := s.client.Dest; d != (egress.Dest{}) {
		s.target = d
		if s.req.Form != httphead.Origin && s.req.Form != httphead.Asterisk {
			return &egress.Refusal{Code: egress.Request, Why: "the target of a request in a tunnel begins with a slash",
				Entry: -1}
		}
		if s.canonical != "" && bytes.Equal(s.req.Host, s.host) {
			return nil
		}
	} else {
		if s.req.Form != httphead.Absolute {
			s.target, s.canonical = egress.Dest{}, ""
			return &egress.Refusal{Code: egress.Request, Why: "the target of a request to a proxy begins with http://",
				Entry: -1}
		}
		if s.canonical != "" && bytes.Equal(s.req.Authority, s.authority) && bytes.Equal(s.req.Host, s.host) {
			return nil
		}
		var why *egress.Refusal
		s.canonical = ""
		if s.target, _, why = egress.ParseAbsolute(string(s.req.Target)); why != nil {
			return why
		}
	}
	// HTTP/1.0 may omit Host if the target names the server.
	if s.req.Host != nil || s.req.Form != httphead.Absolute {
		if why := egress.SameHost(s.target, string(s.req.Host), httpPort); why != nil {
			return why
		}
	}
	s.authority, s.host = append(s.authority[:0], s.req.Authority...), append(s.host[:0], s.req.Host...)
	s.canonical = authority(s.target)
	return nil
}

const httpPort = 80

// authority returns a target in the form of a Host field.
func authority(d egress.Dest) string {
	text := d.String()
	if d.Port == httpPort {
		return text[:len(text)-len(":80")]
	}
	return text
}

// reuse sets r in flight on the open connection, if that has the same target and is still usable. Otherwise
// it closes the connection.
func (s *serving) reuse(r Request) bool {
	if s.conn == nil {
		return false
	}
	if s.dest == r.Dest && (idempotent(r.Method) || s.up.isIdle()) && s.conn.Begin(r, s.client.Conn) {
		return true
	}
	s.closeUpstream()
	return false
}

func (s *serving) dial(ctx context.Context, r Request) error {
	s.closeUpstream()
	conn, err := s.guest.Dial(ctx, r, s.client.Conn)
	if err != nil {
		return err
	}
	s.conn, s.dest = conn, r.Dest
	s.up = newSide(conn, &s.f.buffers, s.f.cfg.Now, nil, s.client.Room)
	return nil
}

// closeUpstream closes the connection to the last target.
func (s *serving) closeUpstream() {
	if s.conn != nil {
		s.conn.End()
		s.up.close()
		s.conn, s.up = nil, nil
	}
}

// answerError answers a request that was denied, or whose target cannot be reached.
func (s *serving) answerError(r Request, err error) end {
	var denial *profiles.Denial
	if errors.As(err, &denial) {
		return s.refuse(r, denial.Decision)
	}
	return s.unreachable(r, err)
}

// refuse answers with the decision and discards the body. It keeps the connection if the body is short.
func (s *serving) refuse(r Request, d profiles.Decision) end {
	keep := s.req.KeepAlive && !s.req.Expect && (s.body.kind != httphead.Sized || s.body.left <= skipBytes)
	out := s.f.cfg.Denied(s.emptyOut(), d, keep)
	if i := bytes.Index(out, []byte("\r\n\r\n")); r.Method == "HEAD" && i >= 0 {
		out = out[:i+4]
	}
	return s.answer(out, keep)
}

// answer writes a complete response of ringd.
func (s *serving) answer(out []byte, keep bool) end {
	s.in.used(0)
	if err := s.in.write(out, s.f.cfg.Head); err != nil {
		return endClosed
	}
	if !keep || !s.discardBody(&s.body) {
		return endAnswered
	}
	return endKept
}

// discardBody discards a body.
func (s *serving) discardBody(b *body) bool {
	for left := skipBytes; !b.done(); {
		buf := s.in.unread()
		if len(buf) == 0 {
			s.in.limitReads(s.f.cfg.Head)
			if s.in.fill(chunkBytes) != nil {
				return false
			}
			continue
		}
		_, n, err := b.next(buf)
		if left -= n; err != nil || left < 0 {
			return false
		}
		s.in.used(n)
	}
	return true
}

// unreachable answers for a target that could not be dialed, or that did not respond. The client does not get
// the details.
func (s *serving) unreachable(r Request, err error) end {
	status, code, what := "502 Bad Gateway", "unreachable", "could not be reached, or gave no valid answer"
	if timeout(err) || errors.Is(err, context.DeadlineExceeded) {
		status, code, what = "504 Gateway Timeout", "timeout", "did not answer in time"
	}
	text := `{"code":"` + code + `","reason":` + strconv.QuoteToASCII(r.Dest.String()+" "+what) + "}\n"
	out := append(s.emptyOut(), "HTTP/1.1 "+status+"\r\nContent-Type: application/json\r\nContent-Length: "+
		strconv.Itoa(len(text))+"\r\nConnection: close\r\n\r\n"...)
	if r.Method != "HEAD" {
		out = append(out, text...)
	}
	return s.answer(out, false)
}

// linger closes the connection of a client that may still be sending, so that it sees the response before the
// end.
func (s *serving) linger() {
	if c, ok := s.in.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		s.in.limitReads(lingerFor)
		for left := lingerBytes; left > 0; {
			left -= len(s.in.unread())
			s.in.used(len(s.in.unread()))
			if s.in.fill(chunkBytes) != nil {
				break
			}
		}
	}
	s.in.close()
}

// idempotent reports whether a request may be sent twice.
func idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
		return true
	default:
		return false
	}
}

// methodString returns a method as a string, without an allocation for the usual ones.
func methodString(method []byte) string {
	switch string(method) {
	case "GET":
		return "GET"
	case "HEAD":
		return "HEAD"
	case "POST":
		return "POST"
	case "PUT":
		return "PUT"
	case "DELETE":
		return "DELETE"
	case "OPTIONS":
		return "OPTIONS"
	case "PATCH":
		return "PATCH"
	default:
		return string(method)
	}
}
