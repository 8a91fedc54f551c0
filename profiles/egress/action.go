package egress

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// Kinds of actions.
const (
	KindConnect = "connect"
	KindHTTP    = "http"
	kindSOCKS5  = "socks5"
	KindFetch   = "fetch"
	KindDNS     = "dns"
)

// Action describes one hypothetical request of a guest: the bytes that a client would send, and the answers
// of a resolver. Kind selects the fields that apply.
type Action struct {
	Kind       string      `json:"kind"` // connect, http, socks5, fetch, dns
	Target     string      `json:"target"`
	Method     string      `json:"method,omitempty"`
	Path       string      `json:"path,omitempty"` // for a target without a path, and for a request inside a tunnel
	HostHeader *string     `json:"host_header,omitempty"`
	Headers    [][2]string `json:"headers,omitempty"` // in order
	Raw        string      `json:"raw,omitempty"`     // the bytes on the wire, instead of all other fields
	RawHex     string      `json:"raw_hex,omitempty"`
	// ResolvesTo has the answer of each lookup. The last answer repeats for all further lookups. Nil means
	// one public address. In the ResolveMode rrset, each lookup returns all of the answers.
	ResolvesTo  []string `json:"resolves_to,omitzero"`
	ResolveMode string   `json:"resolve_mode,omitempty"`
	Cname       []string `json:"cname,omitempty"`     // aliases before the addresses: ignored
	NoDNS       bool     `json:"no_dns,omitempty"`    // lookups are not allowed
	Redirects   []string `json:"redirects,omitempty"` // of a fetch
	// SOCKS: domain, ipv4, ipv6; if empty, from the form of the target
	Atyp    string  `json:"atyp,omitempty"`
	Cmd     string  `json:"cmd,omitempty"` // SOCKS; if empty, connect
	SNI     *string `json:"sni,omitempty"` // nil: not tested; empty: a ClientHello without a name
	ECH     bool    `json:"ech,omitempty"`
	TLS     string  `json:"tls,omitempty"` // none: the first bytes are Payload
	Payload string  `json:"payload,omitempty"`
}

// DecideAction decides an action at the time now with the same steps as the listeners. If an action has
// several hops, it returns the Decision of the last hop. If a hop is denied, it returns the Decision of
// that hop. Addresses are decided only if the action has answers.
func DecideAction(l *List, a Action, now time.Time) Decision {
	if closed := l.Closed(); closed != nil {
		return denied(closed)
	}
	t := trial{Action: a, list: l, now: now}
	if why := t.check(); why != "" {
		return denied(refusal(Target, "%s", why))
	}
	switch a.Kind {
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
		return denied(refusal(Target, "no request is of this kind"))
	}
}

// denied returns a Decision that was denied without a list.
func denied(r *Refusal) Decision { return Decision{refusal: r} }

// trial is an action that is being decided.
type trial struct {
	Action
	list    *List
	now     time.Time
	wire    []byte // nil: made from the other fields
	lookups int
}

// check rejects fields that contradict each other, and decodes the bytes on the wire.
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

// open decides on a target and its addresses, before the first byte is sent to it.
func (t *trial) open(target Dest) Decision { return t.address(t.list.Decide(target, t.now)) }

// address resolves the target and decides on the answers. A virtual host is not resolved.
func (t *trial) address(d Decision) Decision {
	if !d.Allowed() || d.Match().Virtual != 0 {
		return d
	}
	answers, described, no := t.resolve(d.Target())
	switch {
	case no != nil:
		return denied(no)
	case !described:
		return d
	default:
		return d.Addresses(answers, t.now)
	}
}

// resolve returns the answers of the next lookup. described is false if the action has none.
func (t *trial) resolve(d Dest) (answers []netip.Addr, described bool, no *Refusal) {
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

// dns decides on a query for a name. The guest's answer comes from the list alone, without a lookup, so the
// answers of the action are ignored.
func (t *trial) dns() Decision {
	d, r := ParseHost(t.Target, 53)
	if r != nil {
		return denied(r)
	}
	if d.Addr.IsValid() {
		return denied(refusal(Target, "an address is no name to ask for"))
	}
	return t.list.DecideName(d.Name, t.now)
}
