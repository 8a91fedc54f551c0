// Package egress owns what may be reached over the network: how the text of a
// target is read, which entry of a list covers it, which addresses may be dialed
// for it, and what the first bytes of a connection have to be. Everything that
// opens a connection for a guest decides here. It is pure: names are looked up,
// and time is read, by who asks.
//
// It refuses by default: the zero List reaches nothing, and so does one with an
// entry that cannot be read. Values are immutable after they were made and safe
// for concurrent use.
package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Dest is one end of a connection. Exactly one of Name and Addr is set; the zero
// Dest is nowhere.
type Dest struct {
	Name string     // lower case, A-labels, no trailing dot
	Addr netip.Addr // an IPv4 address is never mapped into IPv6; no zone
	Port uint16     // not 0
}

// Host is the name, or the address without brackets.
func (d Dest) Host() string {
	if d.Addr.IsValid() {
		return d.Addr.String()
	}
	return d.Name
}

// String is host:port, with an IPv6 address in brackets.
func (d Dest) String() string {
	if d.Addr.IsValid() {
		return netip.AddrPortFrom(d.Addr, d.Port).String()
	}
	return d.Name + ":" + strconv.Itoa(int(d.Port))
}

// Code names the reason of a refusal. Package profiles lists them all among its
// codes.
type Code string

// The reasons.
const (
	Off        Code = "egress.off"         // there is no network
	NotGranted Code = "egress.not_granted" // no entry covers the host
	Port       Code = "egress.port"        // an entry covers the host, and not on this port
	Denied     Code = "egress.denied"      // an entry denies the host
	Expired    Code = "egress.expired"     // the entry that covered it has expired
	Target     Code = "egress.target"      // not a target in its strict form
	Address    Code = "egress.address"     // no answer may be dialed
	NoAddress  Code = "egress.no_address"  // the name has no address
	NotTLS     Code = "egress.not_tls"     // the first bytes on port 443 are no ClientHello
	SNI        Code = "egress.sni"         // the name in the ClientHello is missing or not listed
	ECH        Code = "egress.ech"         // an encrypted ClientHello
	Request    Code = "egress.request"     // not a request in its strict form
	Method     Code = "egress.method"      // the entry does not grant the method
	Path       Code = "egress.path"        // the entry does not grant the path
	Field      Code = "egress.field"       // a field or a parameter says another request than the one that is granted
	Redirect   Code = "egress.redirect"    // a hop of a redirect is refused, or there are too many
	Opaque     Code = "egress.opaque"      // requests are to be read, and cannot be through this door
	Budget     Code = "egress.budget"      // a limit of the entry is used up
	Gateways   Code = "egress.gateway"     // the gateway has no upstream or no credential on this host
)

// Refusal is why something is not reached. Entry is the index, in the list that
// was asked, of the entry that says so; -1 when none does.
type Refusal struct {
	Code    Code
	Why     string // a sentence without a capital or a stop; never an address that was looked up
	Entry   int
	Deny    bool     // Entry counts among the denied ones
	Virtual int      // 1 + index of the virtual host that says so; 0: none does
	Instead []string // what to ask for
}

// Error is the code and the sentence.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

// Modes of a list.
type Mode uint8

// The modes. The zero Mode is Closed.
const (
	Closed    Mode = iota // nothing
	Gateway               // the virtual gateway hosts alone
	Allowlist             // the listed hosts, and the virtual gateway hosts
)

// Entry is one entry of a list. Where Methods or Paths stand, requests are read.
type Entry struct {
	Host    string // name, *.name, address or range, in canonical form
	Ports   []int
	AnyPort bool
	Methods []string
	Paths   []string // clean; each covers itself and what is below it
	ECH     bool
	Expires time.Time // zero: never
}

// Virtual is a virtual host: Name.ringd.internal, on port 80.
type Virtual struct {
	Name    string // one label
	Methods []string
	Paths   []string
	Headers []string // fields that pass beside those of FieldPasses; lower case
	Expires time.Time
}

// Domain is above every virtual host. It is never looked up.
const Domain = "ringd.internal"

// Match is what of a list covers a Dest: the entries, or one virtual host. The
// zero Match covers nothing.
type Match struct {
	Entries []int // indices, the most specific first; what is first is what a decision names, and its limits count
	Virtual int   // 1 + index; 0: none
	// Reads says that each of them needs requests to be read.
	Reads bool
}
