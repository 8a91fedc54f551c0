package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Trust says who signs pushes. With it nothing unsigned is taken.
type Trust struct {
	// Roles are policy, which signs each push, lockdown, and owners that policies name
	// in approvedBy: "group:security@acme.example".
	Roles map[string]TrustRole `yaml:"roles"`
	// InOrder refuses a push when this host has missed one before it.
	InOrder bool `yaml:"inOrder"`
}

// TrustRole is the keys of a role, and how many of them have to sign. A key is a line
// of ringd keygen (ed25519:…) or the absolute path of a .pub file.
type TrustRole struct {
	Keys      []string `yaml:"keys"`
	Threshold int      `yaml:"threshold"`
}

// check refuses what no file has to be read for. Keys are read when the roots are made.
func (t *Trust) check() error {
	if t == nil {
		return nil
	}
	var errs []error
	if _, ok := t.Roles["policy"]; !ok {
		errs = append(errs, errors.New("trust.roles: no role policy: nobody could sign a push"))
	}
	for _, name := range sortedKeys(t.Roles) {
		r := t.Roles[name]
		if name != "policy" && name != "lockdown" && !owner.MatchString(name) {
			errs = append(errs, fmt.Errorf("trust.roles.%s: want policy, lockdown, or an owner such as group:security@acme.example", name))
		}
		if len(r.Keys) == 0 {
			errs = append(errs, fmt.Errorf("trust.roles.%s: no keys", name))
		}
		if r.Threshold < 1 || r.Threshold > len(r.Keys) {
			errs = append(errs, fmt.Errorf("trust.roles.%s: threshold %d: want at least 1 and at most the number of keys, %d", name, r.Threshold, len(r.Keys)))
		}
		for _, k := range r.Keys {
			if !strings.HasPrefix(k, "ed25519:") && !filepath.IsAbs(k) {
				errs = append(errs, fmt.Errorf("trust.roles.%s: key %q: want a line of ringd keygen (ed25519:…) or the absolute path of a .pub file", name, k))
			}
		}
	}
	return errors.Join(errs...)
}
