package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

const (
	maxCandidates = 6  // addresses of one name that are tried
	maxAnswers    = 64 // of them that are put on record
	// mostSettled is how often a policy may change while a connection settles; a
	// Recheck finds it for any change after that.
	mostSettled = 8
)

var errReads = errors.New("the requests to this host are to be read")

// wanted is what a door asks for.
type wanted struct {
	door   string
	dest   egress.Dest
	client net.Conn // cut with the connection; nil: there is none
	reads  bool     // requests are read
	// mayRead says that errReads is an answer: the requests to the target are to be
	// read, of which nothing is on record yet.
	mayRead bool
	method  string // of the first request
	path    string // of the first request
	says    egress.Saying
	via     *upstream // of a virtual host
	spent   bool      // its rule was charged for it already
	secret  string    // name of the credential that goes with it
}

// dial decides, looks the name up once, guards the answers, puts the decision on
// record and opens the connection, in this order. The error is a *profiles.Denial
// that is on record already, or a fault.
func (g *Guest) dial(ctx context.Context, w wanted) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, g.egress.cfg.DialWithin)
	defer cancel()
	l, err := g.admit(w, cancel)
	if err != nil {
		return nil, err
	}
	s, now := g.standing(), g.egress.cfg.Now()
	l.generation = s.generation
	matches, dec := s.allows(l.claim, g.egress.own, now)
	if w.mayRead && dec.Verdict != profiles.Allow && dec.Code == profiles.Code(egress.Opaque) {
		l.drop()
		return nil, errReads
	}
	if dec.Verdict != profiles.Allow {
		return nil, l.refused(dec)
	}
	l.decision = dec
	l.several.Store(several(matches))
	tallies, used := g.spend(s, matches, true, !w.spent)
	if used != nil {
		return nil, l.refused(*used)
	}
	l.hold(tallies)
	answers, err := g.lookUp(ctx, l.claim.target())
	if err != nil {
		return nil, l.broken(err)
	}
	candidates, dec := g.egress.guards.first(g.egress, s, l.claim, matches, answers, now)
	if dec.Verdict != profiles.Allow {
		return nil, l.refused(dec)
	}
	ev := l.eventLocked() // nobody else writes what it reads before the dial
	ev.Answers, ev.Dial, ev.Credential = answers[:min(len(answers), maxAnswers)], candidates[0], w.secret
	if !g.alone(ev, recordedAlike) {
		l.summed.Store(true)
	} else if err := g.egress.cfg.Record(ev); err != nil {
		l.drop()
		return nil, fmt.Errorf("record the connection to %s: %w", w.dest, err)
	}
	g.egress.observe(Figure{Door: w.door, Verdict: dec.Verdict, Code: l.decision.Code})
	conn, at, err := dialPinned(ctx, g.egress.cfg.Go, candidates, g.paced, func(a netip.AddrPort) error { return g.egress.guards.second(g.egress, s, l.claim, a) })
	if errors.Is(err, errPinned) {
		err = denial(refusal(egress.Address, errPinned.Error()))
	}
	if err != nil {
		return nil, l.broken(err)
	}
	return l.opened(conn, at, s)
}

// route is what dials are paced by. A closed connection keeps a port of the host
// towards its address for a minute, and agents share the ports.
type route struct {
	agent string
	at    netip.AddrPort
}

// agentsAtOnce is how many agents may dial one address as fast as each of them may.
// Where more do, all of them have a share: the ports that they leave behind are three
// quarters of those that a host has towards an address.
const agentsAtOnce = 3

// paced waits until the agent may dial the address once more: by its own pace, and then
// in turn with the agents that dial it too.
func (g *Guest) paced(ctx context.Context, at netip.AddrPort) error {
	if err := g.egress.pace.Wait(ctx, route{g.holder.Agent, at}); err != nil {
		return err
	}
	return g.egress.all.Wait(ctx, at, g.holder.Agent)
}

// opened settles a link that was dialed: a policy that changed while it was has
// its say.
func (l *link) opened(conn *net.TCPConn, at netip.AddrPort, s standing) (*link, error) {
	g := l.guest
	e := g.egress
	l.mu.Lock()
	l.upstream, l.claim.pinned, l.cancel, l.served = conn, at.Addr(), nil, false
	over := l.over
	l.mu.Unlock()
	now := e.cfg.Now()
	e.observe(Figure{Door: l.door, Verdict: profiles.Allow, Code: l.decision.Code, Dialed: max(now.Sub(l.began), 1), Open: 1})
	if over {
		_ = conn.Close()
		return nil, l.lost()
	}
	// Limits too: a Recheck that went by while there were none to replace has set none.
	for range mostSettled {
		again := g.standing()
		if s.same(again) {
			break
		}
		s = again
		c, _ := l.current()
		o := g.outcome(s, c, now)
		if o.decision != nil {
			l.cut(ending{how: EndCut, decision: o.decision, after: s.generation})
			return nil, l.lost()
		}
		l.several.Store(o.several)
		l.rehold(s, o.limits)
	}
	g.expires(s, now)
	return l, nil
}

// refused ends a link that was not dialed, and puts the refusal on record.
func (l *link) refused(d profiles.Decision) error {
	l.mu.Lock()
	l.decision = d
	ev := l.eventLocked()
	l.mu.Unlock()
	ev.Connection = ""
	l.drop()
	return l.guest.refuse(ev)
}

// broken ends a link that could not be dialed.
func (l *link) broken(err error) error {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over {
		return l.lost()
	}
	var d *profiles.Denial
	if errors.As(err, &d) {
		l.mu.Lock()
		l.over, l.end = true, ending{how: EndRefused, decision: &d.Decision}
		l.mu.Unlock()
		l.finish()
		return d
	}
	l.close(EndError)
	return err
}

// lost finishes a link that was cut while it was dialed, and says why.
func (l *link) lost() error {
	l.finish()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end.decision != nil {
		return denial(*l.end.decision)
	}
	return ErrClosed
}

// lookUp asks for the addresses of a target, once. A name without any has none;
// it is the guard that refuses it.
func (g *Guest) lookUp(ctx context.Context, d egress.Dest) ([]netip.Addr, error) {
	if d.Addr.IsValid() {
		return []netip.Addr{d.Addr}, nil
	}
	answers, err := g.egress.cfg.Resolve(ctx, d.Name+".")
	var not *net.DNSError
	if errors.As(err, &not) && not.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", d.Name, err)
	}
	return answers, nil
}

// guards are over the addresses of a target. Each refuses without the other.
type guards struct {
	first  answersGuard
	second addressGuard
}

// answersGuard returns which of the addresses that a name was found to have may be
// dialed, at most maxCandidates. Without any the decision denies.
type answersGuard func(e *Egress, s standing, c claim, matches []egress.Match, answers []netip.Addr, now time.Time) ([]netip.AddrPort, profiles.Decision)

// addressGuard refuses the address that a socket is about to connect to, or returns nil.
type addressGuard func(e *Egress, s standing, c claim, at netip.AddrPort) error

// answers is the first guard.
func (e *Egress) answers(s standing, c claim, matches []egress.Match, answers []netip.Addr, now time.Time) ([]netip.AddrPort, profiles.Decision) {
	kept, dec := s.guard(c, matches, answers, now)
	if dec.Verdict != profiles.Allow {
		return nil, dec
	}
	out := make([]netip.AddrPort, 0, min(len(kept), maxCandidates))
	for _, a := range kept {
		if at := netip.AddrPortFrom(a.Unmap(), c.target().Port); len(out) < maxCandidates && !e.own(at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return nil, refusal(egress.Address, "no address of the host may be dialed")
	}
	return out, dec
}

// address is the second guard. It asks what the first did not: about the address and
// the port alone.
func (e *Egress) address(s standing, c claim, at netip.AddrPort) error {
	if e.own(at) {
		return denial(refusal(egress.Address, "no address of the host may be dialed"))
	}
	if c.via != nil {
		if r := c.via.list.Dialable(at, e.cfg.Now()); r != nil {
			return denial(refusal(r.Code, r.Why, r.Instead...))
		}
		return nil
	}
	dec := s.each(func(_ int, decider *profiles.Decider) profiles.Decision {
		return decider.EgressDialable(at, e.cfg.Now())
	})
	if dec.Verdict != profiles.Allow {
		return denial(dec)
	}
	return nil
}
