package profiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/spelling"
)

// Narrow returns the agent with only the grants in g. No action gets a looser verdict and no limit grows.
// Narrowing is idempotent and commutative. Grants that the agent does not have are ignored: see
// [Agent.CheckGrants]. The receiver is not changed, and the result shares unchanged parts with it. The error
// wraps ErrGrants.
func (a Agent) Narrow(g Grants) (Agent, error) {
	if err := g.Check(); err != nil {
		return Agent{}, err
	}
	if g.Bridges != nil {
		kept := make(map[string]Bridge, len(g.Bridges))
		for name, by := range g.Bridges {
			b, ok := a.Bridges[name]
			if !ok {
				continue
			}
			if err := b.narrow(by); err != nil {
				return Agent{}, fmt.Errorf("%w: bridges.%s: %w", ErrGrants, name, err)
			}
			kept[name] = b
		}
		a.Bridges = kept
	}
	if g.Imports != nil {
		if a.JS != nil {
			js := *a.JS
			js.Imports.Allow = keepListed(js.Imports.Allow, g.Imports)
			a.JS = &js
		}
		if a.Python != nil {
			py := *a.Python
			py.Imports.Only = modules.Within(py.Imports.Only, g.Imports)
			a.Python = &py
		}
	}
	if g.Hosts != nil {
		if err := a.Egress.narrow(g.Hosts); err != nil {
			return Agent{}, fmt.Errorf("%w: hosts: %w", ErrGrants, err)
		}
	}
	if g.Deadline != nil && (a.Deadline == nil || g.Deadline.Before(*a.Deadline)) {
		at := g.Deadline.UTC()
		a.Deadline = &at
	}
	return a, nil
}

// narrow reduces the calls and arguments of a bridge.
func (b *Bridge) narrow(by GrantOfBridge) error {
	if by.Calls != nil {
		b.Limits.CallsPerRun = min(b.Limits.CallsPerRun, *by.Calls)
	}
	if by.Arguments == nil {
		return nil
	}
	text, err := canonicalArguments(by.Arguments)
	if err != nil {
		return err
	}
	also := append(slices.Clone(b.Also), text)
	slices.SortFunc(also, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	b.Also = slices.CompactFunc(also, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
	return nil
}

// keepListed keeps the rules whose name is listed.
func keepListed(rules []ImportRule, names []string) (kept []ImportRule) {
	for _, r := range rules {
		if slices.Contains(names, r.Name) {
			kept = append(kept, r)
		}
	}
	return kept
}

// narrow keeps those allowed hosts and gateways that are listed. A gateway is listed under the name that
// guests use. If several listed hosts are within one entry, they share the limits of that entry. If two
// entries match a host, the more specific entry still decides.
func (e *Egress) narrow(listed []string) error {
	only := make([]egress.Pattern, len(listed))
	for i, text := range listed {
		var err error
		if only[i], err = egress.ReadPattern(text); err != nil {
			return err
		}
	}
	var gateways []Gateway
	for _, g := range e.Gateways {
		name, err := egress.ReadPattern(g.Name + "." + egress.Domain)
		if err == nil && slices.ContainsFunc(only, func(o egress.Pattern) bool { return o.Covers(name) }) {
			gateways = append(gateways, g)
		}
	}
	e.Gateways = gateways
	if e.Mode == EgressGatewayOnly && len(gateways) == 0 {
		e.Mode = EgressOff
	}
	names := make([]string, len(e.Allow))
	for i, r := range e.Allow {
		names[i] = r.Host
	}
	rules := e.Allow
	e.Allow = nil
	for _, p := range egress.Parts(names, only) {
		r := rules[p.At]
		if p.Host != r.Host && r.Of == "" && r.Limits != (EgressLimits{}) {
			r.Of = r.Host
		}
		r.Host = p.Host
		e.Allow = append(e.Allow, r)
	}
	return nil
}

// CheckGrants returns an error if the grants name something that the agent does not have. Without this
// check, a run would find out only when it uses the grant. The error wraps ErrGrants.
func (a Agent) CheckGrants(g Grants) error {
	if err := g.Check(); err != nil {
		return err
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(g.Bridges)) {
		if _, ok := a.Bridges[name]; !ok {
			missing = append(missing, "bridge "+name)
		}
	}
	d := NewDecider(a, "", Environment{})
	for _, name := range g.Imports {
		bare := strings.TrimSuffix(name, ".*")
		if d.Import(ExecutorJS, bare).Verdict == Deny && d.Import(ExecutorPython, bare).Verdict == Deny &&
			(d.python == nil || !d.python.Below(bare)) {
			missing = append(missing, "module "+clip(name))
		}
	}
	for _, host := range g.Hosts {
		e := a.Egress
		if err := e.narrow([]string{host}); err != nil || !e.reaches() {
			missing = append(missing, "host "+clip(host))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: the agent does not have %s", ErrGrants,
			strings.Join(missing[:min(len(missing), spelling.MaxInstead)], ", "))
	}
	return nil
}

// reaches reports whether any host or gateway is granted.
func (e *Egress) reaches() bool {
	switch e.Mode {
	case EgressGatewayOnly:
		return len(e.Gateways) > 0
	case EgressAllowlist:
		return len(e.Gateways) > 0 || len(e.Allow) > 0
	default:
		return false
	}
}
