package egress

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Expiry keeps the difference between no Expiry and one at the zero time, which
// is over.
func Expiry(at *time.Time) time.Time {
	switch {
	case at == nil:
		return time.Time{}
	case at.IsZero():
		return at.Add(1)
	default:
		return *at
	}
}

// HostOf gives what looks like the host in a target, to find what is near it.
func HostOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	if i := strings.IndexAny(target, ":/?#\\"); i >= 0 {
		target = target[:i]
	}
	return target
}

// ReadDest reads what String of a Dest writes, as records hold it, and nothing else.
func ReadDest(text string) (Dest, bool) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		d := Dest{Addr: a.Addr(), Port: a.Port()}
		return d, d.String() == text
	}
	name, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	d := Dest{Name: name, Port: uint16(n)}
	return d, err == nil && name != "" && d.String() == text
}
