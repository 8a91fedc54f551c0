package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// List holds the network rules of one profile. The nil List allows nothing.
type List struct {
	mode    Mode
	allow   []Entry
	deny    []Entry
	virtual []Virtual
	allowed index
	denied  index
	bad     string // if set, the list is invalid and allows nothing
}

// NewList indexes a list. An allowed entry without a port applies to port 443, a denied one to every port. An
// invalid entry closes the whole list. The List keeps the slices: the caller must not modify them afterwards.
func NewList(mode Mode, allow, deny []Entry, virtual []Virtual) *List {
	l := &List{mode: mode, virtual: virtual}
	if mode != Gateway && mode != Allowlist {
		l.mode = Closed
		return l
	}
	if mode == Allowlist {
		l.allow = withPorts(allow, func(e *Entry) { e.Ports = []int{443} })
	}
	l.deny = withPorts(deny, func(e *Entry) { e.AnyPort = true })
	for i := range virtual {
		if name := virtual[i].Name; !isName(name) || strings.Contains(name, ".") {
			return closed(fmt.Sprintf("the virtual host %s is no single label", quoted(name)))
		}
	}
	var err error
	if l.allowed, err = newIndex(l.allow); err != nil {
		return closed(err.Error())
	}
	if l.denied, err = newIndex(l.deny); err != nil {
		return closed(err.Error())
	}
	return l
}

func closed(why string) *List { return &List{mode: Closed, bad: why} }

func withPorts(entries []Entry, fill func(*Entry)) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		if e := &out[i]; len(e.Ports) == 0 && !e.AnyPort {
			fill(e)
		}
	}
	return out
}

func (e *Entry) on(port uint16) bool {
	if e.AnyPort {
		return true
	}
	for _, p := range e.Ports {
		if p == int(port) {
			return true
		}
	}
	return false
}

func (e *Entry) live(now time.Time) bool { return live(e.Expires, now) }
func (e *Entry) reads() bool             { return len(e.Methods) > 0 || len(e.Paths) > 0 }

// live reports whether an expiry is in the future. At the zero time every expiry has passed.
func live(expires, now time.Time) bool {
	return expires.IsZero() || !now.IsZero() && now.Before(expires)
}

// index finds the entries that cover a host.
type index struct {
	names  map[string]node
	blocks map[netip.Prefix][]int32
	bits4  []int // lengths of the ranges that exist, the longest first
	bits6  []int
}

type node struct{ exact, wild []int32 }

func newIndex(entries []Entry) (index, error) {
	x := index{names: make(map[string]node, len(entries)), blocks: map[netip.Prefix][]int32{}}
	for i := range entries {
		e := &entries[i]
		p, err := readHost(e.Host)
		if err != nil {
			return index{}, fmt.Errorf("%s: %w", quoted(e.Host), err)
		}
		if slices.ContainsFunc(e.Ports, func(p int) bool { return p < 1 || p > 65535 }) {
			return index{}, fmt.Errorf("%s: %w", quoted(e.Host), errPort)
		}
		switch {
		case p.block.IsValid() && p.block.Addr().Is4():
			x.bits4 = append(x.bits4, p.block.Bits())
		case p.block.IsValid():
			x.bits6 = append(x.bits6, p.block.Bits())
		}
		if p.block.IsValid() {
			x.blocks[p.block] = append(x.blocks[p.block], int32(i))
			continue
		}
		n := x.names[p.name]
		if p.wild {
			n.wild = append(n.wild, int32(i))
		} else {
			n.exact = append(n.exact, int32(i))
		}
		x.names[p.name] = n
	}
	for _, bits := range []*[]int{&x.bits4, &x.bits6} {
		slices.SortFunc(*bits, func(a, b int) int { return b - a })
		*bits = slices.Compact(*bits)
	}
	return x, nil
}

// hosts calls found for every entry whose host covers that of d, the most specific first.
func (x *index) hosts(d Dest, found func(i int)) {
	if d.Addr.IsValid() {
		x.addresses(d.Addr, func(i int, _ netip.Prefix) { found(i) })
		return
	}
	if len(x.names) == 0 {
		return
	}
	for _, i := range x.names[d.Name].exact {
		found(int(i))
	}
	for rest := d.Name; ; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			return
		}
		rest = rest[dot+1:]
		for _, i := range x.names[rest].wild {
			found(int(i))
		}
	}
}

func (x *index) addresses(a netip.Addr, found func(i int, p netip.Prefix)) {
	bits := x.bits6
	if a.Is4() {
		bits = x.bits4
	}
	for _, n := range bits {
		p, err := a.Prefix(n)
		if err != nil {
			return
		}
		for _, i := range x.blocks[p] {
			found(int(i), p)
		}
	}
}

// covers returns an entry that covers an address and port, or -1.
func (x *index) covers(a netip.Addr, port uint16, entries []Entry) int {
	at := -1
	x.addresses(a, func(i int, _ netip.Prefix) {
		if at < 0 && entries[i].on(port) {
			at = i
		}
	})
	return at
}

// match finds the entries that cover d at the time now. If now is zero, an entry that has an expiry grants
// nothing. If a denied entry covers d, d is denied.
func (l *List) match(d Dest, now time.Time) (Match, *Refusal) {
	if r := l.checkTarget(d); r != nil {
		return Match{}, r
	}
	denied := -1
	l.denied.hosts(d, func(i int) {
		if denied < 0 && l.deny[i].on(d.Port) {
			denied = i
		}
	})
	if denied >= 0 {
		return Match{}, &Refusal{Code: Denied, Why: l.deny[denied].Host + " is denied", Entry: denied, Deny: true}
	}
	if label, ok := Label(d.Name); ok {
		return l.matchVirtual(label, d, now)
	}
	if l.mode != Allowlist {
		return Match{}, refusal(NotGranted, "%s is not listed: only the gateways can be reached", d)
	}
	return l.matchEntries(d, now)
}

// Closed returns the reason why nothing is allowed, or nil.
func (l *List) Closed() *Refusal {
	switch {
	case l == nil:
		return refusal(Off, "there is no network")
	case l.bad != "":
		return refusal(Off, "the list is not valid, so it grants nothing: %s", l.bad)
	case l.mode != Gateway && l.mode != Allowlist:
		return refusal(Off, "there is no network")
	default:
		return nil
	}
}

// checkTarget denies an invalid target, and every target of a closed list.
func (l *List) checkTarget(d Dest) *Refusal {
	if r := l.Closed(); r != nil {
		return r
	}
	if d.Port == 0 || d.Addr.IsValid() == (d.Name != "") || d.Addr.Is4In6() || d.Addr.Zone() != "" ||
		!d.Addr.IsValid() && !isName(d.Name) {
		return refusal(Target, "not a target in its usual form")
	}
	return nil
}

// Label returns the label of a virtual host. It returns false for a name outside of Domain, and "" for a name
// in Domain that cannot be a virtual host.
func Label(name string) (string, bool) {
	if name == Domain {
		return "", true
	}
	label, ok := strings.CutSuffix(name, "."+Domain)
	if ok && strings.Contains(label, ".") {
		return "", true
	}
	return label, ok
}

func (l *List) matchVirtual(label string, d Dest, now time.Time) (Match, *Refusal) {
	for i := range l.virtual {
		v := &l.virtual[i]
		switch {
		case v.Name != label:
		case d.Port != 80:
			r := refusal(Port, "the gateway is on port 80")
			r.Virtual = i + 1
			r.Instead = []string{"http://" + d.Name}
			return Match{}, r
		case !live(v.Expires, now):
			r := refusal(Expired, "the gateway %s has expired", v.Name)
			r.Virtual = i + 1
			return Match{}, r
		default:
			return Match{Virtual: i + 1, Reads: true}, nil
		}
	}
	return Match{}, refusal(NotGranted, "the policy has no gateway %s", d.Name)
}

// matchEntries collects the entries for d. Entries that do not require that requests are read come first.
// Within each of the two groups the most specific entry comes first.
func (l *List) matchEntries(d Dest, now time.Time) (Match, *Refusal) {
	var few [16]int
	opaque, read := few[:0:8], few[8:8]
	expired, other := -1, -1
	l.allowed.hosts(d, func(i int) {
		switch e := &l.allow[i]; {
		case !e.on(d.Port):
			other = i
		case !e.live(now):
			expired = i
		case e.reads():
			read = append(read, i)
		default:
			opaque = append(opaque, i)
		}
	})
	switch {
	case len(opaque)+len(read) > 0:
		m := Match{Entries: make([]int, 0, len(opaque)+len(read)), Reads: len(opaque) == 0}
		m.Entries = append(append(m.Entries, opaque...), read...)
		if m.Reads && d.Port == 443 {
			return Match{}, &Refusal{
				Code: Opaque, Why: "the entry names methods or paths, and port 443 carries TLS, in which no request " +
					"can be read", Entry: m.Entries[0]}
		}
		return m, nil
	case expired >= 0:
		return Match{}, &Refusal{Code: Expired, Why: fmt.Sprintf("the entry for %s has expired", d), Entry: expired}
	case other >= 0:
		return Match{}, &Refusal{Code: Port, Why: fmt.Sprintf(
			"%s is not listed: the policy lists the host on other ports", d), Entry: other, Instead: l.portsOf(d, now)}
	case d.Addr.IsValid():
		return Match{}, refusal(NotGranted, "%s is not listed; an address needs an entry of its own", d)
	default:
		return Match{}, refusal(NotGranted, "%s is not listed", d)
	}
}

// portsOf lists d with each of the ports on which it is allowed.
func (l *List) portsOf(d Dest, now time.Time) (out []string) {
	l.allowed.hosts(d, func(i int) {
		for _, p := range l.allow[i].Ports {
			if len(out) < 8 && l.allow[i].live(now) {
				out = append(out, Dest{Name: d.Name, Addr: d.Addr, Port: uint16(p)}.String())
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// Ports lists the ports of all entries, sorted, including expired entries. any is true if an entry is for
// every port.
func (l *List) Ports() (ports []uint16, any bool) {
	if l == nil || l.mode == Closed {
		return nil, false
	}
	if len(l.virtual) > 0 {
		ports = append(ports, 80)
	}
	for i := range l.allow {
		any = any || l.allow[i].AnyPort
		for _, p := range l.allow[i].Ports {
			ports = append(ports, uint16(p))
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), any
}

// Listed reports whether a name is allowed on some port at the time now. Only then may a guest get an address
// for it.
func (l *List) Listed(name string, now time.Time) bool {
	_, r := l.matchName(name, now)
	return r == nil
}

// matchName finds the entries that cover a name on any port.
func (l *List) matchName(name string, now time.Time) (Match, *Refusal) {
	if r := l.checkTarget(Dest{Name: name, Port: 80}); r != nil { // any port will do
		return Match{}, r
	}
	d := Dest{Name: name}
	if i := l.deniedOnEveryPort(d); i >= 0 {
		return Match{}, &Refusal{Code: Denied, Why: l.deny[i].Host + " is denied", Entry: i, Deny: true}
	}
	if label, ok := Label(name); ok {
		d.Port = 80
		return l.matchVirtual(label, d, now)
	}
	var m Match
	expired := -1
	l.allowed.hosts(d, func(i int) {
		if l.allow[i].live(now) {
			m.Entries = append(m.Entries, i)
		} else {
			expired = i
		}
	})
	switch {
	case len(m.Entries) > 0:
		return m, nil
	case expired >= 0:
		return Match{}, &Refusal{Code: Expired, Why: "the entry has expired", Entry: expired}
	default:
		return Match{}, refusal(NotGranted, "%s is not listed", name)
	}
}

// deniedOnEveryPort returns an entry that denies a host on every port, or -1.
func (l *List) deniedOnEveryPort(d Dest) int {
	at := -1
	l.denied.hosts(d, func(i int) {
		if at < 0 && l.deny[i].AnyPort {
			at = i
		}
	})
	return at
}

// NextExpiry returns the time of the next expiry after now, or false.
func (l *List) NextExpiry(now time.Time) (at time.Time, ok bool) {
	if l == nil {
		return at, false
	}
	sooner := func(t time.Time) {
		if t.After(now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	for i := range l.allow {
		sooner(l.allow[i].Expires)
	}
	for i := range l.virtual {
		sooner(l.virtual[i].Expires)
	}
	return at, ok
}
