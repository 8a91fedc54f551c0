package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/ringd/ringd/schema/wire"
)

// line is one connection over TCP.
type line struct {
	from   string      // address
	proved atomic.Bool // its last token was right
	keep   func()      // called when one was
}

type lineKey struct{}

// retryAfter is what one address waits for its next attempt, in seconds.
const retryAfter = "5"

// admit finds out whose request came over TCP. Nothing of it was looked at before,
// and its context ends with the token.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, over *line) (_ *http.Request, done func(), _ error) {
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
		return nil, done, &coded{http.StatusTooManyRequests, wire.CodeTooManyAttempts, ErrTooMany.Error()}
	case err != nil: // which of them is not for the caller
		w.Header().Set("WWW-Authenticate", `Bearer realm="ringd"`)
		return nil, done, &coded{http.StatusUnauthorized, wire.CodeUnauthorized,
			"a valid token is required: Authorization: Bearer TOKEN"}
	}
	over.keep()
	ctx := context.WithValue(r.Context(), peerKey{}, peer{known: true, tcp: true, token: holder.Name})
	if !holder.Expires.IsZero() {
		ctx, done = context.WithTimeout(ctx, holder.Expires.Sub(now))
	}
	return r.WithContext(ctx), done, nil
}

// bearer is the token of a request: that of its only Authorization header, or "".
// One in the query or a cookie is none.
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

// turnAway answers a caller that is nobody, and lets the connection go: the next
// attempt pays for a handshake.
func (s *Server) turnAway(c *call, err error) {
	began := s.cfg.Now()
	c.w.Header().Set("Connection", "close")
	s.fail(c, "unauthorized", err)
	if s.cfg.Meter != nil {
		s.cfg.Meter.Requested("unauthorized", c.w.status, s.cfg.Now().Sub(began), false)
	}
}
