package network

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	target "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// Host is the egress part of a host's configuration. The zero Host has no credential and no gateway. It is
// immutable.
type Host struct {
	Credentials map[string]config.Credential
	Gateways    map[string]config.Gateway
	Env         config.Environment
	Resolver    []string // name servers, address:port; empty means those of the host
	Listen      []string // IP:PORT of the API, which no run may reach
	Roots       string   // file of certificates to trust besides those of the host; may be empty
}

// HostOf returns the egress part of a configuration file.
func HostOf(f config.File, env config.Environment) Host {
	h := Host{
		Credentials: f.Credentials,
		Gateways:    f.Gateways,
		Env:         env,
		Resolver:    f.Egress.Resolver,
		Roots:       f.Egress.Roots,
	}
	for _, l := range f.Listen {
		h.Listen = append(h.Listen, l.TCP)
	}
	return h
}

// HostOfFlags parses the flags about egress, in the format of config.ParseCredential and config.ParseGateway.
// A credential that cannot be read is an error.
func HostOfFlags(credentials, gateways []string, env config.Environment) (Host, error) {
	h := Host{Env: env, Credentials: map[string]config.Credential{}, Gateways: map[string]config.Gateway{}}
	dir, err := os.Getwd()
	if err != nil {
		return Host{}, fmt.Errorf("find this folder: %w", err)
	}
	for _, text := range credentials {
		name, c, err := config.ParseCredential(text, dir)
		if err != nil {
			return Host{}, fmt.Errorf("--credential: %w", err)
		}
		if _, twice := h.Credentials[name]; twice {
			return Host{}, fmt.Errorf("--credential %s is given twice", name)
		}
		h.Credentials[name] = c
	}
	for _, text := range gateways {
		name, g, err := config.ParseGateway(text)
		if err != nil {
			return Host{}, fmt.Errorf("--gateway: %w", err)
		}
		if _, twice := h.Gateways[name]; twice {
			return Host{}, fmt.Errorf("--gateway %s is given twice", name)
		}
		if _, ok := h.Credentials[g.Credential]; g.Credential != "" && !ok {
			return Host{}, fmt.Errorf("--gateway %s: no --credential has the name it uses", name)
		}
		h.Gateways[name] = g
	}
	for _, name := range slices.Sorted(maps.Keys(h.Credentials)) {
		if _, _, err := h.Credentials[name].Field(env, target.Dest{}); err != nil {
			return Host{}, fmt.Errorf("--credential %s: %w", name, err)
		}
	}
	return h, nil
}

// Files returns the files that hold credentials.
func (h Host) Files() (out []string) {
	for _, c := range h.Credentials {
		if c.Secret.File != "" {
			out = append(out, c.Secret.File)
		}
	}
	slices.Sort(out)
	return out
}

// Secret reads a credential. It reads on each call, so that a replaced file counts from the next request. An
// error names the credential and never contains it.
func (h Host) Secret(_ context.Context, name string, upstream target.Dest) (proxy.Secret, error) {
	return h.secret(name, upstream)
}

func (h Host) secret(name string, upstream target.Dest) (proxy.Secret, error) {
	c, ok := h.Credentials[name]
	if !ok {
		return proxy.Secret{}, fmt.Errorf(
			"no credential %s on this host; add credentials.%s to the configuration",
			name,
			name,
		)
	}
	header, value, err := c.Field(h.Env, upstream)
	if err != nil {
		return proxy.Secret{}, fmt.Errorf("credential %s: %w", name, err)
	}
	return proxy.Secret{Header: header, Value: value}, nil
}

// Upstream returns the upstream of a gateway for which a policy names none. It is zero if the configuration
// has none either.
func (h Host) Upstream(gateway string) proxy.Upstream {
	g, ok := h.Gateways[gateway]
	if !ok {
		return proxy.Upstream{}
	}
	return proxy.Upstream{URL: g.Upstream, Addresses: g.Reach(), Credential: g.Credential}
}

// Servers returns the name servers.
func (h Host) Servers() ([]netip.AddrPort, error) { return addresses("egress.resolver", h.Resolver) }

// Own returns the addresses of the daemon itself. A listener on all addresses has only its port.
func (h Host) Own() ([]netip.AddrPort, error) {
	out, err := addresses("listen", h.Listen)
	for i, a := range out {
		if a.Addr().IsUnspecified() {
			out[i] = netip.AddrPortFrom(netip.Addr{}, a.Port())
		}
	}
	return slices.Clip(out), err
}

// Trusted returns the certificates that servers may chain to. Nil means those of the host.
func (h Host) Trusted() (*x509.CertPool, error) {
	if h.Roots == "" {
		return nil, nil
	}
	text, err := os.ReadFile(h.Roots)
	if err != nil {
		return nil, fmt.Errorf("egress.roots: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil { // the host has no certificates
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("egress.roots: no certificate in %s", h.Roots)
	}
	return pool, nil
}

func addresses(what string, all []string) (out []netip.AddrPort, err error) {
	for _, text := range all {
		a, err := netip.ParseAddrPort(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		out = append(out, netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()))
	}
	return out, nil
}

// Records receives events.
type Records interface {
	Record(ctx context.Context, v proxy.Event) error
}

// Egress returns the proxy configuration of a host. It counts at r and records under ctx.
func (h Host) Egress(ctx context.Context, r *Ring, to Records, run func(func())) (proxy.Config, error) {
	servers, err := h.Servers()
	if err != nil {
		return proxy.Config{}, err
	}
	own, err := h.Own()
	if err != nil {
		return proxy.Config{}, err
	}
	roots, err := h.Trusted()
	return proxy.Config{
		Go: run, Now: r.cfg.Now, Resolve: Resolver(servers), Observe: r.Observe, Secret: h.Secret, Upstream: h.Upstream,
		Own: own, Roots: roots,
		Most:   hostcheck.Here().Counts().Connections(),
		Record: func(v proxy.Event) error { return to.Record(ctx, v) },
	}, err
}
