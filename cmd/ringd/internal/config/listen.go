package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Listener is one TCP address of the API, for callers with a token over TLS 1.3. The API has no other form on
// TCP.
type Listener struct {
	TCP string `yaml:"tcp"` // IP:PORT
	TLS TLS    `yaml:"tls"`
	// ClientCA is a file of authorities. If it is set, a caller also needs a certificate of one of them.
	ClientCA string `yaml:"clientCA"`
}

// TLS names two absolute paths: the certificate with its chain, and its key, readable only by its owner.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Token is one caller over TCP, "token:NAME" in records. Exactly one of File, Credential and Env names its
// secret.
type Token struct {
	Name       string   `yaml:"name"`
	File       string   `yaml:"file"`
	Credential string   `yaml:"credential"`
	Env        string   `yaml:"env"`
	Roles      []string `yaml:"roles"`   // harness, approver, operator, viewer; a harness cannot be an approver
	Owners     []string `yaml:"owners"`  // owners that an approver stands for, as in Approvers
	Expires    string   `yaml:"expires"` // RFC 3339; empty means never
}

// Secret returns the location of the token.
func (t Token) Secret() Secret {
	return Secret{File: t.File, Credential: t.Credential, Env: t.Env}
}

// Until returns the expiry of the token, or zero for never.
func (t Token) Until() (time.Time, error) {
	if t.Expires == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, t.Expires)
	if err != nil {
		return time.Time{}, fmt.Errorf("expires: %q is not a time such as 2027-01-31T00:00:00Z", t.Expires)
	}
	if at.IsZero() {
		return time.Time{}, fmt.Errorf("expires: %q is out of range", t.Expires)
	}
	return at, nil
}

var tokenName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func checkListeners(list []Listener, tokens []Token) error {
	var errs []error
	if len(list) > 0 && len(tokens) == 0 {
		errs = append(errs, errors.New("listen: no caller could authenticate: tokens is empty"))
	}
	if len(tokens) > 0 && len(list) == 0 {
		errs = append(errs, errors.New("tokens: they are for TCP only, and listen is empty"))
	}
	seen := map[string]bool{}
	for i, l := range list {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("listen[%d]: "+format, append([]any{i}, args...)...))
		}
		at, err := netip.ParseAddrPort(l.TCP)
		switch {
		case err != nil:
			bad("tcp: %q is not IP:PORT, such as 127.0.0.1:7443", l.TCP)
		case at.Port() != 0 && seen[at.String()]:
			bad("tcp: %s is listed twice", l.TCP)
		}
		seen[at.String()] = true
		if l.TLS.Cert == "" || l.TLS.Key == "" {
			bad("tls: cert and key are required: TCP is served over TLS only")
		}
		for _, p := range []struct{ field, path string }{{"tls.cert", l.TLS.Cert}, {"tls.key", l.TLS.Key},
			{"clientCA", l.ClientCA}} {
			if p.path != "" && !filepath.IsAbs(p.path) {
				bad("%s: %q is not an absolute path", p.field, p.path)
			}
		}
	}
	return errors.Join(errs...)
}

func checkTokens(tokens []Token) error {
	var errs []error
	seen := map[string]bool{}
	for i, t := range tokens {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("tokens[%d]: "+format, append([]any{i}, args...)...))
		}
		switch {
		case !tokenName.MatchString(t.Name):
			bad("name: %q: want lower-case letters, digits, dots and dashes, at most 63", t.Name)
		case seen[t.Name]:
			bad("name: %s is listed twice", t.Name)
		}
		seen[t.Name] = true
		if err := t.Secret().check(); err != nil {
			bad("%w", err)
		}
		if _, err := t.Until(); err != nil {
			bad("%w", err)
		}
		if len(t.Roles) == 0 {
			bad("roles: a token needs at least one role")
		}
		for _, r := range t.Roles {
			if !slices.Contains([]string{"harness", "approver", "operator", "viewer"}, r) {
				bad("roles: %q: want harness, approver, operator or viewer", r)
			}
		}
		approves := slices.Contains(t.Roles, "approver")
		if approves && slices.Contains(t.Roles, "harness") {
			bad("roles: %s is a harness and an approver; a harness can never approve", t.Name)
		}
		if len(t.Owners) > 0 && !approves {
			bad("owners: %s is not an approver", t.Name)
		}
		for _, o := range t.Owners {
			if !owner.MatchString(o) {
				bad("owners: %q is not an owner such as user:a@b.example, team:… or group:…", o)
			}
		}
	}
	return errors.Join(errs...)
}

// isApprover reports whether a token with this name is an approver.
func isApprover(tokens []Token, name string) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool {
		return t.Name == name && slices.Contains(t.Roles, "approver") && !slices.Contains(t.Roles, "harness")
	})
}
