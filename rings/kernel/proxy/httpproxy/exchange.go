package httpproxy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// exchange is one request in progress over an open connection.
type exchange struct {
	r      Request
	keep   bool  // keep the client's connection open
	minor  uint8 // HTTP version of the client
	asked  httphead.Asked
	upload *upload // nil: the body was sent together with the head
	begun  bool    // a part of the response has been written
}

// exchange sends the request in s.req over the open connection and forwards the response. A reused connection
// may have been closed by its target meanwhile. If nothing came back and the request is idempotent, it is
// sent again over a new connection.
func (s *serving) exchange(ctx context.Context, r Request, reused bool) end {
	x := &s.x
	*x = exchange{r: r, keep: s.req.KeepAlive, minor: s.req.Minor,
		asked: httphead.Asked{Head: r.Method == "HEAD", Upgrade: s.req.Upgrade}}
	out := s.req.AppendForward(s.emptyOut(), s.canonical)
	s.releaseHead()
	out, err := s.body.gather(out, s.in, s.body.kind)
	*s.out = out
	if err != nil {
		s.closeUpstream()
		return s.malformed(err)
	}
	again := reused && idempotent(r.Method) && s.body.done()
	for {
		e, stale := s.attempt(x, again)
		if !stale {
			return e
		}
		if err := s.dial(ctx, r); err != nil {
			return s.answerError(r, err)
		}
		again = false
	}
}

// attempt sends the request once. stale means that it may be sent again.
func (s *serving) attempt(x *exchange, again bool) (e end, stale bool) {
	if !s.conn.Count(int64(len(*s.out)), 0) {
		s.closeUpstream()
		return endBroken, false
	}
	if err := s.up.write(*s.out, s.f.cfg.Stall); err != nil && again {
		return endKept, true
	} // otherwise it may have answered before it closed
	if !again {
		s.release() // nothing is sent twice
	}
	if !s.body.done() {
		s.upload(x)
	}
	e, err := s.respond(x)
	if x.upload != nil {
		if whole, wrong := s.endUpload(x); !whole {
			s.closeUpstream()
			if e == endKept {
				e = endAnswered
			}
			if err != nil && !x.begun && wrong != "" {
				return s.malformed(wrong), false
			}
		}
	}
	if err == nil {
		return e, false
	}
	heard := s.up != nil && len(s.up.unread()) > 0
	s.closeUpstream()
	switch {
	case x.begun:
		return endBroken, false
	case again && !heard && !timeout(err) && !isRefusal(err):
		return endKept, true
	case errors.Is(err, errCrowded):
		return s.crowded(x.r), false
	default:
		return s.unreachable(x.r, err), false
	}
}

func isRefusal(err error) bool {
	var e httphead.Error
	return errors.As(err, &e)
}

// respond forwards the response to the client. An error is one of the target, or of its response.
func (s *serving) respond(x *exchange) (end, error) {
	for interim := 0; ; interim++ {
		if err := s.awaitHead(x.asked); err != nil {
			return endClosed, err
		}
		if !s.res.Interim {
			break
		}
		if interim == maxInterim {
			return endClosed, httphead.ErrStatus
		}
		if err := s.forwardInterim(x); err != nil {
			return endClosed, nil
		}
	}
	to := s.res.Body
	switch {
	case to == httphead.Chunked && x.minor == 0:
		to = httphead.UntilClose
	case to == httphead.UntilClose && x.minor > 0:
		to = httphead.Chunked
	}
	keep := x.keep && to != httphead.UntilClose
	*s.out = s.res.AppendForward(s.emptyOut(), to, keep)
	s.down = flow{dst: s.in, src: s.up, conn: s.conn, body: body{kind: s.res.Body, left: s.res.Length}, to: to,
		stall: s.f.cfg.Stall}
	reusable, upgrade := s.res.KeepAlive, s.res.Upgrade
	s.keepRoom(s.up)
	s.up.used(0)
	s.res.Reset()
	x.begun = true
	if upgrade {
		return s.forwardWebSocket(), nil
	}
	if err := s.down.run(*s.out); err != nil {
		s.closeUpstream()
		return endBroken, nil
	}
	if reusable && len(s.up.unread()) == 0 {
		s.conn.End()
	} else {
		s.closeUpstream()
	}
	if !keep {
		return endAnswered, nil
	}
	return endKept, nil
}

// awaitHead reads the next head of the response.
func (s *serving) awaitHead(asked httphead.Asked) error {
	for {
		if b := s.up.unread(); len(b) > 0 {
			n, err := s.res.Read(b, asked)
			if err == nil {
				s.up.r += n // without used, because the head is still in use
				return nil
			}
			if !errors.Is(err, httphead.ErrMore) {
				return err
			}
		}
		s.up.setReadTimeout(s.f.cfg.Stall)
		if err := s.up.fillHead(); err != nil {
			if errors.Is(err, errNoRoom) {
				return httphead.ErrLarge
			}
			return err
		}
	}
}

// forwardInterim forwards a 1xx response, except to HTTP/1.0 clients, which do not know them.
func (s *serving) forwardInterim(x *exchange) error {
	defer s.up.used(0)
	if x.minor == 0 {
		return nil
	}
	out := s.res.AppendForward(nil, httphead.None, true)
	if !s.conn.Count(0, int64(len(out))) {
		return errUsedUp
	}
	return s.in.write(out, s.f.cfg.Stall)
}

// upload is a request body that is sent while the response is read.
type upload struct {
	flow flow
	over chan struct{}
	stop atomic.Bool
	err  error // set before over is closed
}

// upload sends the rest of the body. If the client breaks it off, the connection to the target and the wait
// for its response end as well. A target that stops reading may still respond.
func (s *serving) upload(x *exchange) {
	up := &upload{over: make(chan struct{})}
	up.flow = flow{dst: s.up, src: s.in, conn: s.conn, up: true, body: s.body, to: s.body.kind, stall: s.f.cfg.Stall,
		stop: &up.stop}
	x.upload = up
	target := s.conn
	s.f.cfg.Go(func() {
		defer close(up.over)
		up.err = up.flow.run(nil)
		if up.err != nil && !up.flow.writing {
			resetConn(target)
		}
	})
}

// endUpload ends the upload after the response. whole means that the complete body was sent. wrong is the
// reason if the body was malformed.
func (s *serving) endUpload(x *exchange) (whole bool, wrong httphead.Error) {
	up := x.upload
	select {
	case <-up.over:
	default:
		up.stop.Store(true)
		past := time.Unix(1, 0)
		_ = s.in.conn.SetReadDeadline(past) // on a closed connection no read waits
		if s.up != nil {
			_ = s.up.conn.SetWriteDeadline(past) // and no write either
		}
		<-up.over
		s.in.readBy = time.Time{}
		if s.up != nil {
			s.up.writeBy = time.Time{}
		}
	}
	s.body = up.flow.body
	if up.err == nil {
		return true, ""
	}
	_ = errors.As(up.err, &wrong) // empty for other errors
	return false, wrong
}

// forwardWebSocket forwards a WebSocket until both directions have ended.
func (s *serving) forwardWebSocket() end {
	if err := s.down.send(*s.out); err != nil {
		s.closeUpstream()
		return endBroken
	}
	s.release()
	for _, side := range [...]*side{s.in, s.up} {
		_ = side.conn.SetDeadline(time.Time{}) // on a closed connection no read waits
		side.readBy, side.writeBy = time.Time{}, time.Time{}
	}
	back := &flow{dst: s.up, src: s.in, conn: s.conn, up: true, stall: s.f.cfg.Stall}
	over := make(chan error, 1)
	s.f.cfg.Go(func() { over <- s.forwardOneWay(back) })
	err := s.forwardOneWay(&s.down)
	if other := <-over; err == nil {
		err = other
	}
	s.closeUpstream()
	if err != nil {
		return endBroken
	}
	return endClosed
}

// forwardOneWay forwards one direction of a WebSocket. If it breaks, the other one is broken as well.
func (s *serving) forwardOneWay(w *flow) error {
	err := w.pass()
	if err != nil {
		resetConn(s.in.conn)
		resetConn(s.up.conn)
		return err
	}
	if c, ok := w.dst.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // if it is already closed, the other direction notices
		return nil
	}
	resetConn(w.dst.conn)
	return nil
}
