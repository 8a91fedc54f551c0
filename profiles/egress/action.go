package egress

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// Kinds of requests.
const (
	KindConnect = "connect"
	KindHTTP    = "http"
	kindSOCKS5  = "socks5"
	KindFetch   = "fetch"
	KindDNS     = "dns"
)

// Action describes one request. Which fields matter depends on Kind.
type Action struct {
	Kind        string      `json:"kind"` // connect, http, kindSOCKS5, fetch, dns
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
	Dest  Dest
	Match Match
	Dial  netip.Addr // the address that is dialed; invalid: none is, or the description says no answer
}

// DecideAction answers a request by a list at the time now. Of one with several hops
// the outcome is that of the last.
func DecideAction(l *List, r Action, now time.Time) (Outcome, *Refusal) {
	if closed := l.Closed(); closed != nil {
		return Outcome{}, closed
	}
	t := trial{Action: r, list: l, now: now}
	if why := t.check(); why != "" {
		return Outcome{}, refusal(Target, "%s", why)
	}
	switch r.Kind {
	case KindConnect:
		return t.connect()
	case KindHTTP:
		return t.http()
	case kindSOCKS5:
		return t.socks()
	case KindFetch:
		return t.fetch()
	case KindDNS:
		return t.dns()
	default:
		return Outcome{}, refusal(Target, "no request is of this kind")
	}
}

// trial is one request on its way.
type trial struct {
	Action
	list    *List
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
	case t.Kind != KindFetch && len(t.Redirects) > 0:
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
func (t *trial) resolve(d Dest) (answers []netip.Addr, told bool, no *Refusal) {
	if d.Addr.IsValid() {
		return nil, true, nil
	}
	if t.NoDNS {
		return nil, true, refusal(NoAddress, "the name would be looked up, and nothing may be")
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
func (t *trial) open(d Dest) (Outcome, *Refusal) {
	m, r := t.list.Match(d, t.now)
	if r != nil {
		return Outcome{}, r
	}
	return t.address(d, m)
}

// address looks a target up that was matched, and pins its address.
func (t *trial) address(d Dest, m Match) (Outcome, *Refusal) {
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
func (t *trial) dns() (Outcome, *Refusal) {
	d, r := ParseHost(t.Target, 53)
	if r != nil {
		return Outcome{}, r
	}
	if d.Addr.IsValid() {
		return Outcome{}, refusal(Target, "an address is no name to ask for")
	}
	m, r := t.list.Name(d.Name, t.now)
	return Outcome{Dest: Dest{Name: d.Name}, Match: m}, r
}
