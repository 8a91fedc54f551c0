package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

const (
	maxCandidates = 6  // addresses of one name that are tried
	maxAnswers    = 64 // addresses of one name that are recorded
	// maxSettles is how many policy changes are followed while a connection is being set up. A Recheck covers
	// later changes.
	maxSettles = 8
)

var errReads = errors.New("the policy limits the requests to this host")

// dialSpec is the request of a listener for a connection.
type dialSpec struct {
	listener string
	dest     egress.Dest
	client   net.Conn // cut together with the connection; may be nil
	reads    bool     // requests are read
	// mayRead means that the caller handles errReads, which says that the requests to the target must be
	// read. Nothing is recorded in that case.
	mayRead   bool
	method    string // of the first request
	path      string // of the first request
	overrides egress.Overrides
	via       *upstream // for a virtual host
	spent     bool      // its rule has already been charged
	secret    string    // name of its credential
}

// dial opens a connection. It decides, resolves the name once, guards the addresses, records the decision and
// then dials, in this order. The error is a recorded *profiles.Denial, or a fault.
func (g *Guest) dial(ctx context.Context, spec dialSpec) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.egress.cfg.DialWithin)
	defer cancel()
	c, err := g.admit(spec, cancel)
	if err != nil {
		return nil, err
	}
	d, now := g.deciders(), g.egress.cfg.Now()
	c.generation = d.generation
	decision := d.decide(c.request, g.egress.own, now)
	if spec.mayRead && !decision.Allowed() && decision.Decision().Code == profiles.Code(egress.Opaque) {
		c.drop()
		return nil, errReads
	}
	if !decision.Allowed() {
		return nil, c.refused(decision.Decision())
	}
	c.decision = decision.Decision()
	c.several.Store(decision.Several())
	tallies, used := g.budgets.spend(decision, d.generation, true, !spec.spent)
	if used != nil {
		return nil, c.refused(*used)
	}
	c.hold(tallies)
	answers, err := g.egress.lookUp(ctx, c.request.target())
	if err != nil {
		return nil, c.dialFailed(err)
	}
	candidates, dialed := g.egress.guards.answers(g.egress, c.request, decision, answers, now)
	if !dialed.Allowed() {
		return nil, c.refused(dialed.Decision())
	}
	if err := c.recordDial(answers, candidates[0], spec.secret); err != nil {
		return nil, err
	}
	guard := func(at netip.AddrPort) error { return g.egress.guards.socket(g.egress, c.request, dialed, at) }
	upstream, at, err := dialPinned(ctx, g.egress.cfg.Go, candidates, g.paced, guard)
	if errors.Is(err, errPinned) {
		err = denial(refusal(egress.Address, errPinned.Error()))
	}
	if err != nil {
		return nil, c.dialFailed(err)
	}
	return c.settle(upstream, at, d)
}

// lookUp resolves a target once. A name that does not exist has no addresses, and the guard denies it.
func (e *Egress) lookUp(ctx context.Context, d egress.Dest) ([]netip.Addr, error) {
	if d.Addr.IsValid() {
		return []netip.Addr{d.Addr}, nil
	}
	answers, err := e.cfg.Resolve(ctx, d.Name+".")
	var not *net.DNSError
	if errors.As(err, &not) && not.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", d.Name, err)
	}
	return answers, nil
}

// recordDial records the decision before anything is dialed. A connection that cannot be recorded is dropped.
func (c *conn) recordDial(answers []netip.Addr, dial netip.AddrPort, secret string) error {
	ev := c.eventLocked() // before the dial no other goroutine writes these fields
	ev.Answers, ev.Dial, ev.Credential = answers[:min(len(answers), maxAnswers)], dial, secret
	if !c.guest.journal.isRecorded(ev, recordedAlike) {
		c.summed.Store(true)
	} else if err := c.guest.egress.cfg.Record(ev); err != nil {
		c.drop()
		return fmt.Errorf("record the connection to %s: %w", c.request.dest, err)
	}
	c.guest.egress.observe(Figure{Listener: c.listener, Verdict: c.decision.Verdict, Code: c.decision.Code})
	return nil
}

// route is the key for pacing dials. A closed connection occupies a port of the host towards its address for
// a minute, and agents share the ports.
type route struct {
	agent string
	at    netip.AddrPort
}

// agentsAtOnce is how many agents may dial one address at full speed. With more, all of them share. The ports
// in use are then at most three quarters of those that a host has towards an address.
const agentsAtOnce = 3

// paced waits until the agent may dial the address again: first by the agent's own pace, then by that of all
// agents.
func (g *Guest) paced(ctx context.Context, at netip.AddrPort) error {
	if err := g.egress.pace.Wait(ctx, route{g.holder.Agent, at}); err != nil {
		return err
	}
	return g.egress.all.Wait(ctx, at, g.holder.Agent)
}

// settle settles a dialed connection: if the policy changed meanwhile, the connection is decided again.
func (c *conn) settle(upstream *net.TCPConn, at netip.AddrPort, d deciders) (*conn, error) {
	g := c.guest
	e := g.egress
	c.mu.Lock()
	c.upstream, c.request.pinned, c.cancel, c.served = upstream, at.Addr(), nil, false
	over := c.over
	c.mu.Unlock()
	now := e.cfg.Now()
	took := max(now.Sub(c.began), 1)
	e.observe(Figure{Listener: c.listener, Verdict: profiles.Allow, Code: c.decision.Code, Dialed: took, Open: 1})
	if over {
		_ = upstream.Close()
		return nil, c.cutReason()
	}
	// This also sets the limits, because a Recheck during the dial set none.
	for range maxSettles {
		again := g.deciders()
		if d.same(again) {
			break
		}
		d = again
		q, _ := c.current()
		if !c.recheck(d, d.decide(q, e.own, now)) {
			return nil, c.cutReason()
		}
	}
	g.expires(d, now)
	return c, nil
}

// refused ends a connection that was not dialed, and records the denial.
func (c *conn) refused(d profiles.Decision) error {
	c.mu.Lock()
	c.decision = d
	ev := c.eventLocked()
	c.mu.Unlock()
	ev.Connection = ""
	c.drop()
	return c.guest.journal.refuse(ev)
}

// dialFailed ends a connection that could not be dialed.
func (c *conn) dialFailed(err error) error {
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over {
		return c.cutReason()
	}
	var d *profiles.Denial
	if errors.As(err, &d) {
		c.mu.Lock()
		c.over, c.end = true, ending{how: EndRefused, decision: &d.Decision}
		c.mu.Unlock()
		c.finish()
		return d
	}
	c.close(EndError)
	return err
}

// cutReason finishes a connection that was cut while it was dialed, and returns the reason.
func (c *conn) cutReason() error {
	c.finish()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end.decision != nil {
		return denial(*c.end.decision)
	}
	return ErrClosed
}
