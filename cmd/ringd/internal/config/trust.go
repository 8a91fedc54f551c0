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
	Roles map[string]trustRole `yaml:"roles"`
	// InOrder refuses a push when this host has missed one before it.
	InOrder bool `yaml:"inOrder"`
	// Audience is what this host is for. A push for another audience, or for none, is
	// refused. If it is empty, a push that names an audience is refused.
	Audience string `yaml:"audience"`
	// Lift says how many keys of the role lockdown have to sign an order that opens; nil:
	// as many as one that closes.
	Lift *trustLift `yaml:"lift"`
}

// trustLift is Trust.Lift.
type trustLift struct {
	Threshold int `yaml:"threshold"`
}

// trustRole is the keys of a role, and how many of them have to sign. A key is a line
// of ringd keygen (ed25519:…) or the absolute path of a .pub file.
type trustRole struct {
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
		errs = append(errs, errors.New("trust.roles: the role policy is missing, so no push could be signed"))
	}
	if down, ok := t.Roles["lockdown"]; t.Lift != nil && (!ok || t.Lift.Threshold < down.Threshold ||
		t.Lift.Threshold > len(down.Keys) || t.Lift.Threshold < 1) {
		errs = append(errs, fmt.Errorf("trust.lift: threshold %d: want at least that of the role lockdown, %d, and "+
			"at most the number of its keys, %d",
			t.Lift.Threshold, down.Threshold, len(down.Keys)))
	}
	if t.Audience != "" && !audience.MatchString(t.Audience) {
		errs = append(errs, fmt.Errorf("trust.audience: %q: want a short name in lower-case letters, digits, dots "+
			"and dashes", t.Audience))
	}
	for _, name := range sortedKeys(t.Roles) {
		r := t.Roles[name]
		if name != "policy" && name != "lockdown" && !owner.MatchString(name) {
			errs = append(errs, fmt.Errorf("trust.roles.%s: want policy, lockdown, or an owner such as "+
				"group:security@acme.example", name))
		}
		if len(r.Keys) == 0 {
			errs = append(errs, fmt.Errorf("trust.roles.%s: no keys", name))
		}
		if r.Threshold < 1 || r.Threshold > len(r.Keys) {
			errs = append(errs, fmt.Errorf("trust.roles.%s: threshold %d: want at least 1 and at most the number of "+
				"keys, %d", name, r.Threshold, len(r.Keys)))
		}
		for _, k := range r.Keys {
			if !strings.HasPrefix(k, "ed25519:") && !filepath.IsAbs(k) {
				errs = append(errs, fmt.Errorf("trust.roles.%s: key %q: want a line of ringd keygen (ed25519:…) or "+
					"the absolute path of a .pub file", name, k))
			}
		}
	}
	return errors.Join(errs...)
}
