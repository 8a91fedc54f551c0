package proxy

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// link is one connection, from before its dial until its end is on record. While
// it is among the links of its guest, a Recheck finds it.
type link struct {
	guest      *Guest
	id         uint64
	door       string
	began      time.Time
	up, down   atomic.Int64
	tallies    atomic.Pointer[tallies]
	several    atomic.Bool // rules grant requests on it: each request is held against tallies
	summed     atomic.Bool // what was decided of it has no record of its own
	generation int64       // that decided

	mu       sync.Mutex
	claim    claim
	upstream *net.TCPConn // nil while it is dialed
	client   net.Conn     // reset with upstream; nil: there is none
	cancel   context.CancelFunc
	served   bool // somebody waits for its end, and finishes it
	over     bool
	end      ending
	finished bool
	decision profiles.Decision
}

// claim is everything about a connection that a policy has to allow.
type claim struct {
	dest   egress.Dest
	via    *upstream // of a virtual host
	pinned netip.Addr
	reads  bool   // its requests are read
	method string // of the request in flight; "": none is
	path   string
	says   egress.Saying
	hello  bool // its first bytes were a ClientHello, with:
	sni    string
	named  bool
	ech    bool
}

// ending is what became of a link.
type ending struct {
	how      string
	decision *profiles.Decision // that ended it; nil: none did
	after    int64              // the generation that cut it
}

// admit registers a new link, before anything is decided of it: a policy that
// changes from now on finds it.
func (g *Guest) admit(w wanted, cancel context.CancelFunc) (*link, error) {
	e := g.egress
	l := &link{guest: g, id: e.count.Add(1), door: w.door, began: e.cfg.Now(), client: w.client, cancel: cancel, served: true}
	l.claim = claim{dest: w.dest, via: w.via, reads: w.reads, method: w.method, path: w.path, says: w.says}
	if w.client == nil { // else it was counted as it was accepted
		if full := e.crowded(g.holder.Agent); full != "" {
			return nil, g.refuse(Event{Door: w.door, Dest: w.dest, Method: w.method, Path: w.path, Decision: refusal(egress.Budget, full)})
		}
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	if len(g.links)+g.reading >= e.cfg.Connections {
		g.mu.Unlock()
		return nil, g.refuse(Event{Door: w.door, Dest: w.dest, Method: w.method, Path: w.path, Decision: e.full()})
	}
	g.work.Add(1)
	g.links[l] = struct{}{}
	g.mu.Unlock()
	return l, nil
}

// full is the decision for one connection too many.
func (e *Egress) full() profiles.Decision {
	return refusal(egress.Budget, "as many connections are open as one holder may have: "+strconv.Itoa(e.cfg.Connections))
}

// drop takes away a link that was not dialed, and of which nothing more is to be
// put on record.
func (l *link) drop() {
	l.mu.Lock()
	l.over, l.finished = true, true
	l.mu.Unlock()
	l.leave()
	l.guest.work.Done()
}

// leave makes room for another link.
func (l *link) leave() {
	l.hold(nil)
	l.guest.mu.Lock()
	delete(l.guest.links, l)
	l.guest.mu.Unlock()
}

// cut ends a link at once, on both sides; nothing passes on it when cut returns.
// It is false when the link had ended already.
func (l *link) cut(e ending) bool {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return false
	}
	l.over, l.end = true, e
	up, client, cancel, served := l.upstream, l.client, l.cancel, l.served
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if up != nil {
		resetConn(up)
	}
	if client != nil {
		resetConn(client)
	}
	if !served {
		l.finish()
	}
	return true
}

// close ends a link that its owner is done with; the first ending stands.
func (l *link) close(how string) {
	l.mu.Lock()
	if !l.over {
		l.over, l.end = true, ending{how: how}
	}
	up := l.upstream
	l.mu.Unlock()
	if up != nil {
		_ = up.Close()
	}
	l.finish()
}

// finish puts the end of a link on record, once.
func (l *link) finish() {
	l.mu.Lock()
	if l.finished {
		l.mu.Unlock()
		return
	}
	l.finished = true
	ev := l.eventLocked()
	dialed := l.upstream != nil
	ev.End = l.end.how
	if l.end.decision != nil {
		ev.Decision = *l.end.decision
	}
	if l.end.how == EndCut {
		ev.Before, ev.Generation = ev.Generation, l.end.after
	}
	l.mu.Unlock()
	l.leave()
	e := l.guest.egress
	ev.Up, ev.Down, ev.Took = l.up.Load(), l.down.Load(), e.cfg.Now().Sub(l.began)
	// An end has happened, whether it can be recorded or not: the log itself refuses
	// what comes after it once it cannot write.
	if !l.summed.Load() || ev.End == EndCut || l.guest.alone(ev, 0) {
		_ = e.cfg.Record(ev)
	}
	f := Figure{Door: l.door, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code, End: ev.End, Up: ev.Up, Down: ev.Down}
	if dialed {
		f.Open = -1
	}
	e.observe(f)
	l.guest.work.Done()
}

// eventLocked is what is known of the link.
func (l *link) eventLocked() Event {
	ev := l.guest.event()
	ev.Generation, ev.Connection, ev.Door, ev.Dest = l.generation, l.name(), l.door, l.claim.dest
	ev.Method, ev.Path, ev.SNI, ev.Decision = l.claim.method, l.claim.path, l.claim.sni, l.decision
	if l.claim.pinned.IsValid() {
		port := l.claim.dest.Port
		if l.claim.via != nil {
			port = l.claim.via.dest.Port
		}
		ev.Dial = netip.AddrPortFrom(l.claim.pinned, port)
	}
	return ev
}

func (l *link) name() string { return l.guest.egress.prefix + strconv.FormatUint(l.id, 36) }

// event is what is known of the holder.
func (g *Guest) event() Event {
	ev := Event{Agent: g.holder.Agent, Executor: g.holder.Executor}
	if g.holder.Run != nil {
		ev.Run = g.holder.Run()
	}
	return ev
}

// record puts an event of the guest on record that nothing has been dialed for.
func (g *Guest) record(ev Event) error {
	holder := g.event()
	ev.Agent, ev.Executor, ev.Run = holder.Agent, holder.Executor, holder.Run
	if g.alone(ev, recordedAlike) {
		if err := g.egress.cfg.Record(ev); err != nil {
			return err
		}
	}
	g.egress.observe(Figure{Door: ev.Door, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code})
	return nil
}

// usedUp is the end of a connection of which a rule lets no more bytes pass.
func (l *link) usedUp() ending {
	used := usageSpent{Why: "the bytes that the rule allows are used up"}
	if list := l.tallies.Load(); list != nil {
		used = cmp.Or(list.Spent(Up), list.Spent(Down), used)
	}
	return ending{how: EndBudget, decision: spent(used)}
}

func (e *Egress) observe(f Figure) {
	if e.cfg.Observe != nil {
		e.cfg.Observe(f)
	}
}

// current is a copy of what the link claims, and whether it is still there.
func (l *link) current() (claim, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim, !l.over
}

// upMeter and downMeter are the two directions of a link.
type (
	upMeter   link
	downMeter link
)

func (m *upMeter) Bounded() bool  { return m.tallies.Load() != nil }
func (m *upMeter) Take(n int) int { return take(&m.up, m.tallies.Load(), Up, n) }
func (m *upMeter) Back(n int)     { back(&m.up, m.tallies.Load(), Up, n) }

func (m *downMeter) Bounded() bool  { return m.tallies.Load() != nil }
func (m *downMeter) Take(n int) int { return take(&m.down, m.tallies.Load(), Down, n) }
func (m *downMeter) Back(n int)     { back(&m.down, m.tallies.Load(), Down, n) }

func take(sum *atomic.Int64, list *tallies, d direction, n int) int {
	if list != nil {
		n = list.Take(d, n)
	}
	sum.Add(int64(n))
	return n
}

func back(sum *atomic.Int64, list *tallies, d direction, n int) {
	sum.Add(int64(-n))
	if list != nil {
		list.Back(d, n)
	}
}
