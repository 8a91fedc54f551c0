// Package request owns what a connection comes to that is only described: what a
// client would send, what a resolver would answer. It goes the way that every
// door goes, with the same functions, and dials nothing. Package profiles asks it
// for an action; a test asks it what a door has to do.
//
// It refuses what cannot be sent as it stands, and a description that says two
// things at once.
package request

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles/egress"
)

// Kinds of requests.
const (
	Connect = "connect"
	HTTP    = "http"
	socks5  = "socks5"
	Fetch   = "fetch"
	DNS     = "dns"
)

// Request describes one request. Which fields matter depends on Kind.
type Request struct {
	Kind        string      `json:"kind"` // connect, http, socks5, fetch, dns
	Target      string      `json:"target"`
	Method      string      `json:"method,omitempty"`
	Path        string      `json:"path,omitempty"` // of a target that has none, and of a request that is read in a tunnel
	HostHeader  *string     `json:"host_header,omitempty"`
	Headers     [][2]string `json:"headers,omitempty"` // in order
	Raw         string      `json:"raw,omitempty"`     // the bytes on the wire, in place of all these
	RawHex      string      `json:"raw_hex,omitempty"`
	ResolvesTo  []string    `json:"resolves_to,omitzero"`   // one for each lookup, the last again and again; nil: one public address
	ResolveMode string      `json:"resolve_mode,omitempty"` // rrset: all of them for every lookup
	Cname       []string    `json:"cname,omitempty"`        // names on the way to the addresses: they do not count
	NoDNS       bool        `json:"no_dns,omitempty"`       // nothing may be looked up
	Redirects   []string    `json:"redirects,omitempty"`    // of a fetch
	Atyp        string      `json:"atyp,omitempty"`         // of SOCKS: domain, ipv4, ipv6; "": as the target looks
	Cmd         string      `json:"cmd,omitempty"`          // of SOCKS; "": connect
	SNI         *string     `json:"sni,omitempty"`          // nil: not under test; "": a hello without a name
	ECH         bool        `json:"ech,omitempty"`
	TLS         string      `json:"tls,omitempty"` // none: the first bytes are Payload
	Payload     string      `json:"payload,omitempty"`
}

// Outcome is what a request comes to that is not refused.
type Outcome struct {
	Dest  egress.Dest
	Match egress.Match
	Dial  netip.Addr // the address that is dialed; invalid: none is, or the description says no answer
}

// Decide answers a request by a list at the time now. Of one with several hops
// the outcome is that of the last.
func Decide(l *egress.List, r Request, now time.Time) (Outcome, *egress.Refusal) {
	if closed := l.Closed(); closed != nil {
		return Outcome{}, closed
	}
	t := trial{Request: r, list: l, now: now}
	if why := t.check(); why != "" {
		return Outcome{}, refuse(egress.Target, why)
	}
	switch r.Kind {
	case Connect:
		return t.connect()
	case HTTP:
		return t.http()
	case socks5:
		return t.socks()
	case Fetch:
		return t.fetch()
	case DNS:
		return t.dns()
	default:
		return Outcome{}, refuse(egress.Target, "no request is of this kind")
	}
}

func refuse(code egress.Code, why string) *egress.Refusal {
	return &egress.Refusal{Code: code, Why: why, Entry: -1}
}

// trial is one request on its way.
type trial struct {
	Request
	list    *egress.List
	now     time.Time
	wire    []byte // nil: it is to be made from the parts
	lookups int
}

// check reads what has more than one form.
func (t *trial) check() string {
	switch {
	case t.TLS != "" && t.TLS != "none":
		return "tls is none, or left out"
	case t.ResolveMode != "" && t.ResolveMode != "rrset":
		return "resolve_mode is rrset, or left out"
	case t.Raw != "" && t.RawHex != "":
		return "raw and raw_hex stand for the same bytes"
	case t.Kind != Fetch && len(t.Redirects) > 0:
		return "only a fetch is redirected"
	case t.Raw != "":
		t.wire = []byte(t.Raw)
	case t.RawHex != "":
		b, err := hex.DecodeString(t.RawHex)
		if err != nil {
			return "raw_hex is not in hexadecimal"
		}
		t.wire = b
	}
	return ""
}

// resolve gives the answers of the next lookup for a host; told is false where
// the description leaves them open.
func (t *trial) resolve(d egress.Dest) (answers []netip.Addr, told bool, refusal *egress.Refusal) {
	if d.Addr.IsValid() {
		return nil, true, nil
	}
	if t.NoDNS {
		return nil, true, refuse(egress.NoAddress, "the name would be looked up, and nothing may be")
	}
	texts := t.ResolvesTo
	if texts == nil {
		return nil, false, nil
	}
	if t.ResolveMode == "" && len(texts) > 0 {
		at := min(t.lookups, len(texts)-1)
		texts = texts[at : at+1]
	}
	t.lookups++
	for _, text := range texts {
		if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
			answers = append(answers, a)
		}
	}
	return answers, true, nil
}

// open decides what happens before the first byte goes to a target.
func (t *trial) open(d egress.Dest) (Outcome, *egress.Refusal) {
	m, r := t.list.Match(d, t.now)
	if r != nil {
		return Outcome{}, r
	}
	return t.address(d, m)
}

// address looks a target up that was matched, and pins its address.
func (t *trial) address(d egress.Dest, m egress.Match) (Outcome, *egress.Refusal) {
	out := Outcome{Dest: d, Match: m}
	if m.Virtual != 0 {
		return out, nil
	}
	answers, told, r := t.resolve(d)
	if r != nil || !told {
		return out, r
	}
	kept, r := t.list.Addresses(d, m, answers, t.now)
	if r != nil {
		return Outcome{}, r
	}
	out.Dial = kept[0]
	return out, nil
}

// dns decides on a question for a name. It is answered from the list alone:
// nothing is looked up, so no answer counts.
func (t *trial) dns() (Outcome, *egress.Refusal) {
	d, r := egress.ParseHost(t.Target, 53)
	if r != nil {
		return Outcome{}, r
	}
	if d.Addr.IsValid() {
		return Outcome{}, refuse(egress.Target, "an address is no name to ask for")
	}
	m, r := t.list.Name(d.Name, t.now)
	return Outcome{Dest: egress.Dest{Name: d.Name}, Match: m}, r
}
