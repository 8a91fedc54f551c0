package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/ringd/ringd/schema/wire"
)

// tcpConn is one TCP connection.
type tcpConn struct {
	from   string      // remote address
	proved atomic.Bool // a token on this connection was valid
	keep   func()      // called when a token was valid
}

type tcpConnKey struct{}

// retryAfter is the wait of one address before its next attempt, in seconds.
const retryAfter = "5"

// admit authenticates a request over TCP. No part of the request is processed before. Its context ends when
// the token expires.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, over *tcpConn) (_ *http.Request, done func(), _ error) {
	done = func() {}
	now := s.cfg.Now()
	holder, record, err := s.gate.Check(TokenAttempt{From: over.from, Secret: bearer(r), Proved: over.proved.Load(),
		Now: now})
	over.proved.Store(err == nil)
	if record && s.cfg.Refused != nil {
		s.cfg.Refused(r.Context(), Refusal{From: over.from, Why: err})
	}
	switch {
	case errors.Is(err, ErrTooMany):
		w.Header().Set("Retry-After", retryAfter)
		return nil, done, &codedError{http.StatusTooManyRequests, wire.CodeTooManyAttempts, ErrTooMany.Error()}
	case err != nil: // the caller does not learn which of the errors it is
		w.Header().Set("WWW-Authenticate", `Bearer realm="ringd"`)
		return nil, done, &codedError{http.StatusUnauthorized, wire.CodeUnauthorized,
			"a valid token is required: Authorization: Bearer TOKEN"}
	}
	over.keep()
	ctx := context.WithValue(r.Context(), peerKey{}, peer{known: true, tcp: true, token: holder.Name})
	if !holder.Expires.IsZero() {
		ctx, done = context.WithTimeout(ctx, holder.Expires.Sub(now))
	}
	return r.WithContext(ctx), done, nil
}

// bearer returns the token of a request, from its only Authorization header, or "". A token in the query or a
// cookie does not count.
func bearer(r *http.Request) string {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return ""
	}
	scheme, secret, _ := strings.Cut(all[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return secret
}

// refuseUnknown answers an unauthenticated caller and closes the connection, so that the next attempt costs a
// handshake.
func (s *Server) refuseUnknown(c *call, err error) {
	began := s.cfg.Now()
	c.w.Header().Set("Connection", "close")
	s.fail(c, "unauthorized", err)
	if s.cfg.Meter != nil {
		s.cfg.Meter.Requested("unauthorized", c.w.status, s.cfg.Now().Sub(began), false)
	}
}
