// Package network owns the egress of the kernel ring inside the daemon. It keeps the ring in step with the
// generations and reports its state: open connections, the next rules to expire, and gateways that cannot
// work on this host. It also resolves names. It leaves decisions and dialing to rings/kernel/proxy.
// cmd/ringd connects it with the daemon's one Egress.
package network

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/profiles"
	target "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/schema/wire"
)

// Connections owns the connections of guests.
type Connections interface {
	// Recheck closes the connections that the policies in force no longer allow.
	Recheck()
	// Close closes all connections and waits for them.
	Close()
}

// Config configures a Ring.
type Config struct {
	Now     func() time.Time
	Host    Host
	Metrics *metrics.Metrics // nil counts nothing
}

// Ring is the egress as a ring of the daemon. It prepares nothing, because the rings before it commit what
// decides. Its own commit rechecks the live connections. It is safe for concurrent use.
type Ring struct {
	cfg         Config
	connections atomic.Pointer[Connections]
	open        atomic.Int64
	force       atomic.Pointer[inForce]
	next        atomic.Pointer[func() int64] // returns the number of the generation that is being prepared
}

// inForce is the part of a set that the status shows.
type inForce struct {
	number   int64
	expires  []wire.EgressExpiry // soonest first
	gateways []gateway
	strict   map[string]bool // agents whose records are each synced
}

type gateway struct{ agent, name, upstream, credential string }

// maxNext limits the expiring rules in the status.
const maxNext = 8

// New returns a ring without connections, and a commit closes none. Config must be complete.
func New(cfg Config) (*Ring, error) {
	if cfg.Now == nil {
		return nil, errors.New("network.Config: Now is missing")
	}
	r := &Ring{cfg: cfg}
	r.force.Store(&inForce{})
	return r, nil
}

// Attach sets the connections, which the ring closes from then on.
func (r *Ring) Attach(c Connections) { r.connections.Store(&c) }

// Name is "egress".
func (*Ring) Name() string { return "egress" }

// Prepare reads the part of a set that the status shows. commit rechecks the live connections.
func (r *Ring) Prepare(_ context.Context, set *profiles.Set) (commit func(), err error) {
	next := statusOf(set)
	if number := r.next.Load(); number != nil {
		next.number = (*number)()
	}
	return func() {
		r.force.Store(next)
		r.Recheck()
	}, nil
}

// Generation returns the number of the generation in force, or 0 if there was none yet.
func (r *Ring) Generation() int64 { return r.force.Load().number }

// Recheck closes the connections that the policies in force no longer allow.
func (r *Ring) Recheck() {
	if c := r.connections.Load(); c != nil {
		(*c).Recheck()
	}
}

// Close closes all connections.
func (r *Ring) Close() error {
	if c := r.connections.Load(); c != nil {
		(*c).Close()
	}
	return nil
}

// Strict reports whether each record of an agent is synced under the set in force.
func (r *Ring) Strict(agent string) bool { return r.force.Load().strict[agent] }

// Observe counts an event of an Egress.
func (r *Ring) Observe(f proxy.Figure) {
	r.open.Add(int64(f.Open))
	e := metrics.Egress{
		Listener: f.Listener,
		Code:     string(f.Code),
		End:      f.End,
		Dialed:   f.Dialed,
		Up:       f.Up,
		Down:     f.Down,
		Open:     f.Open,
	}
	if f.End == "" && f.Dialed == 0 && f.Open == 0 {
		e.Verdict = f.Verdict.String()
	} else { // the decision was counted by an event before
		e.Code = ""
	}
	r.cfg.Metrics.Egress(e)
}

// Egress returns the status of the egress, and a condition for each gateway that cannot work.
func (r *Ring) Egress() (wire.Network, []wire.Condition) {
	now, force := r.cfg.Now(), r.force.Load()
	out := wire.Network{Connections: r.open.Load(), Next: []wire.EgressExpiry{}, Gateways: []wire.EgressGateway{}}
	from, _ := slices.BinarySearchFunc(
		force.expires,
		now,
		func(e wire.EgressExpiry, t time.Time) int { return e.At.Compare(t) },
	)
	left := force.expires[from:]
	out.Next = append(out.Next, left[:min(len(left), maxNext)]...)
	var conditions []wire.Condition
	for _, g := range force.gateways {
		g = r.withUpstream(g)
		part := wire.EgressGateway{Agent: g.agent, Name: g.name, Credential: g.credential, State: wire.PartReady}
		if why := r.unmet(g); why != "" {
			part.State, part.Reason = wire.PartUnavailable, why
			conditions = append(conditions, wire.Condition{Code: wire.ConditionGateway,
				Message: "agent " + g.agent + ": gateway " + g.name + ": " + why})
		}
		out.Gateways = append(out.Gateways, part)
	}
	return out, conditions
}

// withUpstream fills in the host's upstream of a gateway if the policy names none.
func (r *Ring) withUpstream(g gateway) gateway {
	if g.upstream == "" {
		u := r.cfg.Host.Upstream(g.name)
		g.upstream, g.credential = u.URL, cmp.Or(u.Credential, g.credential)
	}
	return g
}

// unmet returns why a gateway cannot work on this host, with a remedy, or "" if it can.
func (r *Ring) unmet(g gateway) string {
	if g.upstream == "" {
		return "neither the policy nor the configuration has its upstream; add gateways." + g.name +
			".upstream to the configuration"
	}
	to, err := target.ReadUpstream(g.upstream)
	if err != nil {
		return "its upstream: " + err.Error()
	}
	if g.credential == "" {
		return ""
	}
	if _, err := r.cfg.Host.secret(g.credential, to.Dest); err != nil {
		return err.Error()
	}
	return ""
}

// statusOf returns the part of a set that the status shows. A nil set is the closed generation.
func statusOf(set *profiles.Set) *inForce {
	out := &inForce{strict: map[string]bool{}}
	if set == nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		if a.Audit == strict {
			out.strict[name] = true
		}
		if a.Egress.Mode != profiles.EgressAllowlist && a.Egress.Mode != profiles.EgressGatewayOnly {
			continue
		}
		if a.Egress.Mode == profiles.EgressAllowlist {
			for _, rule := range a.Egress.Allow {
				if rule.Expires != nil {
					out.expires = append(
						out.expires,
						wire.EgressExpiry{Agent: name, Host: rule.Host, At: rule.Expires.UTC()},
					)
				}
			}
		}
		for _, g := range a.Egress.Gateways {
			out.gateways = append(out.gateways, gateway{name, g.Name, g.Upstream, g.Credential})
			if g.Expires != nil {
				out.expires = append(out.expires, wire.EgressExpiry{Agent: name, Host: g.Name, At: g.Expires.UTC()})
			}
		}
	}
	slices.SortStableFunc(out.expires, func(a, b wire.EgressExpiry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Host, b.Host))
	})
	return out
}
