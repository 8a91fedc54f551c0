package egress

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Expiry returns the zero time for nil, which means no expiry. An expiry at the zero time, which has passed,
// becomes a time just after it.
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

// HostOf returns the text that looks like the host of a target, for suggestions.
func HostOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	if i := strings.IndexAny(target, ":/?#\\"); i >= 0 {
		target = target[:i]
	}
	return target
}

// ReadDest is the inverse of [Dest.String], which records contain. It accepts nothing else.
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
