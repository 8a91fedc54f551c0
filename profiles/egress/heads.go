package egress

import (
	"errors"

	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// ParseTunnel reads the target of a CONNECT. A Host field must name the same target. Its port may be omitted.
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

// OverridesOf lists the fields and parameters of a request that may change its meaning.
func OverridesOf(req *httphead.Request) (s Overrides) {
	for f := range req.Fields() {
		s = s.Field(string(f.Name))
	}
	return s.Query(string(req.Query))
}

// UnreadHead returns the denial for a head that package httphead rejects.
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

// UnreadSOCKS returns the denial for a greeting or a request that package socks rejects.
func UnreadSOCKS(err error) *Refusal {
	code := Request
	if errors.Is(err, socks.ErrDomain) || errors.Is(err, socks.ErrType) {
		code = Target
	}
	return refusal(code, "%s", err)
}
