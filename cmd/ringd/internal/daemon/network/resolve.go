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

// lookupTime bounds one lookup at one server. The daemon is not kept by a
// resolver that does not answer.
const lookupTime = 5 * time.Second

// Resolver looks absolute names up: at the servers given, one after the other, or
// with none by the resolver of the host (/etc/resolv.conf). /etc/hosts comes
// first either way, as the host's nsswitch.conf says. A name without an address
// gives none, which is no error.
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

// errRelative: a name would be tried below the domains of the host as well.
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
