package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// lookupTime limits one lookup at one server, so that a resolver that does not answer cannot block the
// daemon.
const lookupTime = 5 * time.Second

// Resolver returns a function that looks up absolute names. It asks the given servers in order, or the
// resolver of the host (/etc/resolv.conf) if there are none. /etc/hosts comes first in both cases, as the
// host's nsswitch.conf says. A name without an address returns no address and no error.
func Resolver(servers []netip.AddrPort) func(ctx context.Context, name string) ([]netip.Addr, error) {
	if len(servers) == 0 {
		return func(ctx context.Context, name string) ([]netip.Addr, error) {
			return lookup(ctx, &net.Resolver{PreferGo: true}, name)
		}
	}
	return func(ctx context.Context, name string) (out []netip.Addr, err error) {
		for _, server := range servers {
			r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, server.String())
			}}
			if out, err = lookup(ctx, r, name); err == nil || ctx.Err() != nil {
				return out, err
			}
		}
		return nil, err
	}
}

// errRelative: a name that is not absolute would also be tried below the domains of the host.
var errRelative = errors.New("not an absolute name")

func lookup(ctx context.Context, r *net.Resolver, name string) ([]netip.Addr, error) {
	if !strings.HasSuffix(name, ".") {
		return nil, fmt.Errorf("look up %s: %w", name, errRelative)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	all, err := r.LookupNetIP(ctx, "ip", name)
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all, nil
}
