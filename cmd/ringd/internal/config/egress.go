package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
)

// Credential is a secret that a gateway adds to requests, if the policy names it. No policy and no guest ever
// sees it.
type Credential struct {
	Secret Secret `yaml:",inline"`
	// Header is the header field of the secret. Empty means Authorization.
	Header string `yaml:"header"`
	// Scheme is put before the secret. Nil means Bearer for Authorization, and nothing for other fields. With
	// Basic, a secret NAME:PASSWORD is encoded as Basic requires.
	Scheme *string `yaml:"scheme"`
	// Hosts lists the hosts it may be sent to, host or host:port as in an upstream. Empty means every host of
	// a policy.
	Hosts []string `yaml:"hosts"`
}

// Gateway is the host's part of a gateway, if the policy names no upstream.
type Gateway struct {
	Upstream string `yaml:"upstream"` // https://host[:port][/prefix]
	// Addresses may be dialed for it besides public ones. They are addresses or ranges.
	Addresses []string `yaml:"addresses"`
	// Credential is the name of a credential. If it is empty, the credential that the policy names is used.
	Credential string `yaml:"credential"`
}

// Egress configures how the daemon reaches granted targets.
type Egress struct {
	// Resolver lists name servers, address:port. Empty means those of the host.
	Resolver []string `yaml:"resolver"`
	// Roots is a file of certificates that upstreams and hosts of fetch may chain to, besides those of the
	// host. It is an absolute path.
	Roots string `yaml:"roots"`
}

var (
	credentialName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	gatewayName    = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	fieldName      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	schemeName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~+/-]{0,63}$`)
)

// header returns the header field of the credential.
func (c Credential) header() string {
	if c.Header == "" {
		return "Authorization"
	}
	return c.Header
}

// Field reads the secret and returns the header field that carries it to an upstream. An error never contains
// the secret. A secret that is not valid in a header field is refused.
func (c Credential) Field(e Environment, upstream egress.Dest) (header, value string, err error) {
	if len(c.Hosts) > 0 && !slices.ContainsFunc(c.Hosts, func(h string) bool {
		return h == upstream.Host() || h == upstream.String()
	}) {
		return "", "", fmt.Errorf("it is not for %s", upstream)
	}
	if value, err = c.Secret.Value(e); err != nil {
		return "", "", err
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", "", errors.New("the secret contains characters that a request header cannot have: line breaks, " +
			"control characters, or letters beyond ASCII")
	}
	scheme := ""
	switch {
	case c.Scheme != nil:
		scheme = *c.Scheme
	case strings.EqualFold(c.header(), "Authorization"):
		scheme = "Bearer"
	}
	if strings.EqualFold(scheme, "Basic") && strings.Contains(value, ":") {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	if scheme != "" {
		value = scheme + " " + value
	}
	return c.header(), value, nil
}

func (c Credential) check() error {
	if err := c.Secret.check(); err != nil {
		return err
	}
	switch name := strings.ToLower(c.header()); {
	case !fieldName.MatchString(name):
		return fmt.Errorf("header: %q is not a header name", c.Header)
	case strings.HasPrefix(name, "proxy-"), strings.HasPrefix(name, "sec-"),
		slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer",
			"upgrade", "expect", "keep-alive", "date", "via"}, name):
		return fmt.Errorf("header: %s cannot be used for a credential", c.Header)
	}
	if c.Scheme != nil && *c.Scheme != "" && !schemeName.MatchString(*c.Scheme) {
		return errors.New(`scheme: want a word such as Bearer, Basic or "" for none`)
	}
	if c.Hosts != nil && len(c.Hosts) == 0 {
		return errors.New("hosts: the list is empty; leave it out if policies decide where the credential is sent")
	}
	for _, h := range c.Hosts {
		if u, err := egress.ReadUpstream("https://" + h); err != nil || u.Prefix != "" || h != u.Dest.Host() &&
			h != u.Dest.String() {
			return fmt.Errorf("hosts: %q is not a host or host:port, as in an upstream", h)
		}
	}
	return nil
}

// Reach returns what may be dialed for the gateway besides public addresses: its Addresses, and the address
// of its upstream if that is an IP address.
func (g Gateway) Reach() []string {
	out := slices.Clone(g.Addresses)
	if u, err := egress.ReadUpstream(g.Upstream); err == nil && u.Dest.Addr.IsValid() &&
		!slices.Contains(out, u.Dest.Host()) {
		out = append(out, u.Dest.Host())
	}
	return out
}

func checkCredentials(credentials map[string]Credential) error {
	var errs []error
	for _, name := range sortedKeys(credentials) {
		if !credentialName.MatchString(name) {
			errs = append(errs, errors.New("credentials: a name has lower-case letters, digits and dashes, starts "+
				"with a letter, and is no secret itself"))
			continue
		}
		if err := credentials[name].check(); err != nil {
			errs = append(errs, fmt.Errorf("credentials.%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func checkGateways(gateways map[string]Gateway, credentials map[string]Credential) error {
	var errs []error
	for _, name := range sortedKeys(gateways) {
		if !gatewayName.MatchString(name) {
			errs = append(errs, fmt.Errorf("gateways: %q is not one label of a name", name))
			continue
		}
		g := gateways[name]
		if err := g.check(); err != nil {
			errs = append(errs, fmt.Errorf("gateways.%s: %w", name, err))
			continue
		}
		c, ok := credentials[g.Credential]
		if g.Credential != "" && !ok {
			errs = append(errs, fmt.Errorf("gateways.%s: credentials has no entry with the name that it uses", name))
		}
		if u, _ := egress.ReadUpstream(g.Upstream); ok && len(c.Hosts) > 0 &&
			!slices.Contains(c.Hosts, u.Dest.Host()) && !slices.Contains(c.Hosts, u.Dest.String()) {
			errs = append(errs, fmt.Errorf("gateways.%s: credential %s is not for %s", name, g.Credential, u.Dest))
		}
	}
	return errors.Join(errs...)
}

func (g Gateway) check() error {
	if _, err := egress.ReadUpstream(g.Upstream); err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	for _, text := range g.Addresses {
		if _, err := readRange(text); err != nil {
			return fmt.Errorf("addresses: %q: %w", text, err)
		}
	}
	return nil
}

// readRange parses an address or a range.
func readRange(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		if p != p.Masked() || p.Addr().Is4In6() || p.Bits() == 0 {
			return netip.Prefix{}, errors.New("want a range such as 10.1.0.0/16, without bits outside its mask")
		}
		return p, nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Prefix{}, errors.New("want an address or a range")
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func (e Egress) check() error {
	for _, r := range e.Resolver {
		if a, err := netip.ParseAddrPort(r); err != nil || a.Port() == 0 || a.Addr().Zone() != "" {
			return fmt.Errorf("egress.resolver: %q: want address:port", r)
		}
	}
	if e.Roots != "" && !filepath.IsAbs(e.Roots) {
		return fmt.Errorf("egress.roots: %q is not an absolute path", e.Roots)
	}
	return nil
}

// ParseCredential parses the flag NAME=file:PATH or NAME=env:VARIABLE. A relative path is relative to dir.
// The suffix ",header=H" sets the header field, and ",scheme=S" the scheme. Errors do not contain the text.
func ParseCredential(text, dir string) (string, Credential, error) {
	name, from, ok := strings.Cut(text, "=")
	if !ok || !credentialName.MatchString(name) {
		return "", Credential{},
			errors.New("want NAME=file:PATH or NAME=env:VARIABLE, the name in lower-case letters, digits and dashes")
	}
	var c Credential
	for {
		i := strings.LastIndexByte(from, ',')
		if i < 0 {
			break
		}
		what, value, _ := strings.Cut(from[i+1:], "=")
		if what == "header" && c.Header == "" && value != "" {
			c.Header = value
		} else if what == "scheme" && c.Scheme == nil {
			c.Scheme = &value
		} else {
			break
		}
		from = from[:i]
	}
	kind, where, _ := strings.Cut(from, ":")
	switch {
	case kind == "file" && where != "":
		if !filepath.IsAbs(where) {
			where = filepath.Join(dir, where)
		}
		c.Secret.File = filepath.Clean(where)
	case kind == "env" && variable.MatchString(where):
		c.Secret.Env = where
	default:
		return "", Credential{},
			fmt.Errorf("%s: want file:PATH or env:VARIABLE; never put a secret into an argument, which every user of "+
				"the host can read", name)
	}
	if err := c.check(); err != nil {
		return "", Credential{}, fmt.Errorf("%s: %w", name, err)
	}
	return name, c, nil
}

// ParseGateway parses the flag NAME=URL. With the suffix ",credential=C" the credential C is added if the
// policy names none. Errors do not contain the URL.
func ParseGateway(text string) (string, Gateway, error) {
	name, url, ok := strings.Cut(text, "=")
	if !ok || !gatewayName.MatchString(name) {
		return "", Gateway{}, errors.New("want NAME=URL, the name one label such as gateway")
	}
	g := Gateway{Upstream: url}
	if before, credential, ok := strings.Cut(url, ",credential="); ok {
		if g.Upstream, g.Credential = before, credential; !credentialName.MatchString(credential) {
			return "", Gateway{}, fmt.Errorf("%s: credential: want the name of one, in lower-case letters, digits "+
				"and dashes", name)
		}
	}
	if err := g.check(); err != nil {
		return "", Gateway{}, fmt.Errorf("%s: %w", name, err)
	}
	return name, g, nil
}
