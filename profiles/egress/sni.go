package egress

import (
	"errors"
	"time"

	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// Inspected reports whether the first bytes on a connection to d are held back until [Decision.Hello] has
// decided on them. Bytes on other ports are not inspected.
func Inspected(d Dest) bool { return d.Port == 443 }

// hello decides on the ClientHello of an inspected connection that m covers. The server name must be the
// name of the target, or a name that the list covers on the same port. If the target is a listed address,
// the server name may be missing. An encrypted ClientHello may hide the name, so it is denied unless an
// entry allows it.
func (l *List) hello(d Dest, m Match, h clienthello.Hello, err error, now time.Time) *Refusal {
	entry := -1
	if len(m.Entries) > 0 {
		entry = m.Entries[0]
	}
	refuse := func(code Code, why string) *Refusal { return &Refusal{Code: code, Why: why, Entry: entry} }
	switch {
	case l == nil || entry < 0:
		return refusal(NotGranted, "no entry covers the target")
	case !Inspected(d):
		return nil
	case m.Reads:
		return refuse(Opaque, "the entry names methods or paths, and no request can be read in TLS")
	case errors.Is(err, clienthello.ErrName):
		return refuse(SNI, "the server name in the ClientHello is not one host name")
	case err != nil:
		return refuse(NotTLS, "what comes first on port 443 is a ClientHello of TLS, in a strict form")
	case h.ECH && !l.passesECH(m):
		return refuse(ECH, "an encrypted ClientHello hides which host is asked for")
	case h.HasName:
		return l.server(d, h.Name, entry, now)
	case !d.Addr.IsValid():
		r := refuse(SNI, "the ClientHello names no server")
		r.Instead = []string{d.Name}
		return r
	default:
		return nil
	}
}

// server decides on the server name in a ClientHello for d.
func (l *List) server(d Dest, text string, entry int, now time.Time) *Refusal {
	name, err := readName(text)
	if err != nil {
		return &Refusal{Code: SNI, Why: "the server name in the ClientHello is not a host name", Entry: entry}
	}
	if name == d.Name {
		return nil
	}
	m, r := l.match(Dest{Name: name, Port: d.Port}, now)
	if r == nil && !m.Reads {
		return nil
	}
	out := &Refusal{Code: SNI, Why: "the ClientHello names another server, which the list does not cover on this port",
		Entry: entry}
	if r != nil && r.Deny {
		out.Entry, out.Deny = r.Entry, true
	}
	if d.Name != "" {
		out.Instead = []string{d.Name}
	}
	return out
}

func (l *List) passesECH(m Match) bool {
	for _, i := range m.Entries {
		if i >= 0 && i < len(l.allow) && l.allow[i].ECH {
			return true
		}
	}
	return false
}
