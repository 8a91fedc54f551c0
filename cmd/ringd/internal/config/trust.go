package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Trust names the signers of pushes. If it is set, unsigned pushes are refused.
type Trust struct {
	// Roles are policy, which signs each push, lockdown, and owners that policies name in approvedBy, such as
	// "group:security@acme.example".
	Roles map[string]trustRole `yaml:"roles"`
	// InOrder refuses a push if this host has missed a previous one.
	InOrder bool `yaml:"inOrder"`
	// Audience is the name of this host for signers. A push for another audience, or for none, is refused. If
	// Audience is empty, a push that names an audience is refused.
	Audience string `yaml:"audience"`
	// Lift is the number of keys of the role lockdown that must sign an order to lift a lockdown. If it is
	// nil, as many as for a start.
	Lift *trustLift `yaml:"lift"`
}

// trustLift is the type of Trust.Lift.
type trustLift struct {
	Threshold int `yaml:"threshold"`
}

// trustRole is the keys of a role, and the number of them that must sign. A key is a line of ringd keygen
// (ed25519:…) or the absolute path of a .pub file.
type trustRole struct {
	Keys      []string `yaml:"keys"`
	Threshold int      `yaml:"threshold"`
}

// check checks everything that needs no file. Keys are read when the roots are made.
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
