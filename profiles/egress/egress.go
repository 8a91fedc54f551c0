// Package egress owns the rules of the network: how the text of a target is read, which
// entry of a list covers it, which addresses may be dialed for it, and what the first
// bytes of a connection must be. All code that opens a connection for a guest decides
// here. Callers look up names and pass the time.
//
// It denies by default: the zero List allows nothing, and so does one with an invalid
// entry. Values are immutable and safe for concurrent use.
package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Dest is one end of a connection. Exactly one of Name and Addr is set. The zero Dest is invalid.
type Dest struct {
	Name string     // lower case, A-labels, no trailing dot
	Addr netip.Addr // an IPv4 address is never mapped into IPv6; no zone
	Port uint16     // not 0
}

// Host returns the name, or the address without brackets.
func (d Dest) Host() string {
	if d.Addr.IsValid() {
		return d.Addr.String()
	}
	return d.Name
}

// String returns host:port, with an IPv6 address in brackets.
func (d Dest) String() string {
	if d.Addr.IsValid() {
		return netip.AddrPortFrom(d.Addr, d.Port).String()
	}
	return d.Name + ":" + strconv.Itoa(int(d.Port))
}

// Code names the reason of a denial. Package profiles lists all of them among its codes.
type Code string

// The reasons.
const (
	Off        Code = "egress.off"         // the network is off
	NotGranted Code = "egress.not_granted" // no entry covers the host
	Port       Code = "egress.port"        // an entry covers the host, but not on this port
	Denied     Code = "egress.denied"      // an entry denies the host
	Expired    Code = "egress.expired"     // the entry that covered the target has expired
	Target     Code = "egress.target"      // not a valid target in the strict form
	Address    Code = "egress.address"     // none of the resolved addresses may be dialed
	NoAddress  Code = "egress.no_address"  // the name has no address
	NotTLS     Code = "egress.not_tls"     // the first bytes on port 443 are not a ClientHello
	SNI        Code = "egress.sni"         // the name in the ClientHello is missing or not listed
	ECH        Code = "egress.ech"         // an encrypted ClientHello
	Request    Code = "egress.request"     // not a valid request in the strict form
	Method     Code = "egress.method"      // the entry does not grant the method
	Path       Code = "egress.path"        // the entry does not grant the path
	Field      Code = "egress.field"       // a field or a parameter names another request than the granted one
	Redirect   Code = "egress.redirect"    // a hop of a redirect is denied, or there are too many
	Opaque     Code = "egress.opaque"      // requests must be read, but this listener cannot read them
	Budget     Code = "egress.budget"      // a limit of the entry is used up
	Gateways   Code = "egress.gateway"     // the gateway has no upstream or no credential on this host
)

// Refusal is the reason of a denial. Entry is the index of the entry that denies, in the list that decided.
// It is -1 if no entry denies.
type Refusal struct {
	Code    Code
	Why     string // a sentence without a capital or a full stop; never contains a resolved address
	Entry   int
	Deny    bool     // Entry is an index in the list of denied entries
	Virtual int      // 1 + index of the virtual host that denies; 0: none
	Instead []string // suggested targets
}

// Error returns the code and the reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

// Modes of a list.
type Mode uint8

// The modes. The zero Mode is Closed.
const (
	Closed    Mode = iota // nothing is allowed
	Gateway               // only the virtual gateway hosts
	Allowlist             // the listed hosts, and the virtual gateway hosts
)

// Entry is one entry of a list. If Methods or Paths are set, requests are read.
type Entry struct {
	Host    string // name, *.name, address or range, in canonical form
	Ports   []int
	AnyPort bool
	Methods []string
	Paths   []string // clean; each covers itself and everything below it
	ECH     bool
	Expires time.Time // zero: never
}

// Virtual is a virtual host: Name.ringd.internal, on port 80.
type Virtual struct {
	Name    string // one label
	Methods []string
	Paths   []string
	Headers []string // fields forwarded in addition to those of FieldPasses; lower case
	Expires time.Time
}

// Domain is the parent domain of all virtual hosts. It is never resolved.
const Domain = "ringd.internal"

// Match holds the entries of a list that cover a Dest, or one virtual host. The zero Match covers nothing.
type Match struct {
	// Entries are indexes of entries, the most specific entry first. Decisions name the first entry, and its
	// limits apply.
	Entries []int
	Virtual int // 1 + index; 0: none
	// Reads is true if each of the entries requires that requests are read.
	Reads bool
}
