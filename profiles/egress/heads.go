package egress

import (
	"errors"

	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// ParseTunnel reads the target of a CONNECT. A Host field has to name the same target. Its
// port may be left out.
func ParseTunnel(req *httphead.Request) (Dest, *Refusal) {
	d, r := ParseAuthority(string(req.Authority))
	if r != nil {
		return Dest{}, r
	}
	if req.Host != nil {
		if r := SameHost(d, string(req.Host), d.Port); r != nil {
			return Dest{}, r
		}
	}
	return d, nil
}

// SayingOf lists the fields and parameters of a request that say another request than its
// first line.
func SayingOf(req *httphead.Request) (s Saying) {
	for f := range req.Fields() {
		s = s.Field(string(f.Name))
	}
	return s.Query(string(req.Query))
}

// UnreadHead is the refusal of a head that package httphead does not read.
func UnreadHead(err error) *Refusal {
	code := Request
	switch {
	case errors.Is(err, httphead.ErrTarget), errors.Is(err, httphead.ErrUser), errors.Is(err, httphead.ErrScheme):
		code = Target
	case errors.Is(err, httphead.ErrMethod):
		code = Method
	}
	return refusal(code, "%s", err)
}

// UnreadSOCKS is the refusal of a greeting or a request that package socks does not read.
func UnreadSOCKS(err error) *Refusal {
	code := Request
	if errors.Is(err, socks.ErrDomain) || errors.Is(err, socks.ErrType) {
		code = Target
	}
	return refusal(code, "%s", err)
}
