package proxy

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// read serves a client whose requests are read: of a proxy, or of a tunnel to a
// target. While it does, the client counts as a connection of its holder. A client
// of a proxy may go on to ask for a tunnel.
func (g *Guest) read(c *client, door string, d egress.Dest) {
	g.mu.Lock()
	full := len(g.links)+g.reading >= g.egress.cfg.Connections
	if !full {
		g.reading++
	}
	g.mu.Unlock()
	if full {
		c.refuse(g.refuse(Event{Door: door, Dest: d, Decision: g.egress.full()}))
		return
	}
	defer func() {
		g.mu.Lock()
		g.reading--
		g.mu.Unlock()
	}()
	c.decided()
	connect := false
	early := bytes.Clone(c.buf)
	c.drop()
	c.buf, connect = g.egress.reads.Serve(context.Background(), reader{guest: g}, httpproxy.Client{Conn: c.conn, Early: early, Door: door, Room: reader{guest: g}, Dest: d})
	if !connect {
		return
	}
	c.size = cap(c.buf)
	if c.hold(c.size) != nil {
		c.refuse(g.refuse(Event{Door: DoorConnect, Decision: noRoom()}))
		return
	}
	g.connect(c)
}

// reader is what a forwarder asks of a guest.
type reader struct{ guest *Guest }

// Ask decides one request that came in plain HTTP by itself, takes it from the
// limits of its rule and puts it on record.
func (r reader) Ask(q httpproxy.Request) (httpproxy.Grant, error) { return r.guest.ask(q, true) }

// ask is Ask. Plain says that the request goes out in plain HTTP, which no request
// to an inspected port does.
func (g *Guest) ask(q httpproxy.Request, plain bool) (httpproxy.Grant, error) {
	s, now := g.standing(), g.egress.cfg.Now()
	ev := Event{Generation: s.generation, Door: q.Door, Dest: q.Dest, Method: q.Method, Path: q.Path}
	matches, dec := s.match(q.Dest, now)
	if dec.Verdict == profiles.Allow {
		dec = s.request(q.Dest, matches, q.Method, q.Path, q.Says, now)
	}
	if dec.Verdict == profiles.Allow && plain && egress.Inspected(q.Dest) {
		dec = s.hello(q.Dest, matches, clienthello.Hello{}, clienthello.ErrNotTLS, now)
	}
	if dec.Verdict == profiles.Allow && virtual(matches) {
		credential, ready := g.ready(context.Background(), s, q, matches)
		if ev.Credential = credential; ready.Verdict != profiles.Allow {
			ready.Rule, ready.Revision = dec.Rule, dec.Revision
			dec = ready
		}
	}
	if dec.Verdict == profiles.Allow {
		if _, used := g.spend(s, matches, false, true); used != nil {
			dec = *used
		}
	}
	ev.Decision = dec
	if dec.Verdict != profiles.Allow {
		return httpproxy.Grant{}, g.refuse(ev)
	}
	if err := g.record(ev); err != nil {
		return httpproxy.Grant{}, fmt.Errorf("record the request to %s: %w", q.Dest, err)
	}
	return httpproxy.Grant{Granted: true, Virtual: virtual(matches)}, nil
}

// Hold takes room for a head that is not complete.
func (r reader) Hold(n int) bool { return r.guest.egress.room.take(r.guest.holder.Agent, n) }

// Release gives it back.
func (r reader) Release(n int) { r.guest.egress.room.give(r.guest.holder.Agent, n) }

// Crowded puts on record that there was no room.
func (r reader) Crowded(q httpproxy.Request) profiles.Decision {
	return r.guest.refuse(Event{Door: q.Door, Dest: q.Dest, Method: q.Method, Path: q.Path, Decision: noRoom()}).Decision
}

// Refuse puts on record that a request was not in strict form.
func (r reader) Refuse(q httpproxy.Request, why *egress.Refusal) profiles.Decision {
	return r.guest.refuse(Event{Door: q.Door, Dest: q.Dest, Method: q.Method, Path: q.Path, Decision: refusal(why.Code, why.Why, why.Instead...)}).Decision
}

// Dial opens a connection for a request that Ask has granted.
func (r reader) Dial(ctx context.Context, q httpproxy.Request, client net.Conn) (httpproxy.Conn, error) {
	l, err := r.guest.dial(ctx, wanted{door: q.Door, dest: q.Dest, client: client, reads: true, method: q.Method, path: q.Path, says: q.Says, spent: true})
	if err != nil {
		return nil, err
	}
	return &readConn{TCPConn: l.upstream, l: l}, nil
}

// readConn is a connection for requests, one after the other. Its reads and writes
// count for nothing: who forwards counts them.
type readConn struct {
	*net.TCPConn
	l *link
}

// Begin says which request is in flight, before it is decided: a policy that
// changes from now on is held against it. One that counts against other limits
// than the connection does goes over another one.
func (c *readConn) Begin(q httpproxy.Request, client net.Conn) bool {
	c.l.mu.Lock()
	good := !c.l.over && c.l.claim.dest == q.Dest
	if good {
		c.l.client, c.l.claim.method, c.l.claim.path, c.l.claim.says = client, q.Method, q.Path, q.Says
	}
	c.l.mu.Unlock()
	return good && c.l.counted()
}

// End says that no request is in flight.
func (c *readConn) End() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if !c.l.over { // what was in flight when it was cut is on record with the cut
		c.l.client, c.l.claim.method, c.l.claim.path, c.l.claim.says = nil, "", "", ""
	}
}

// Count counts bytes; false: a limit is used up.
func (c *readConn) Count(up, down int64) bool {
	if int64((*upMeter)(c.l).Take(int(up))) < up || int64((*downMeter)(c.l).Take(int(down))) < down {
		c.l.cut(c.l.usedUp())
		return false
	}
	return true
}

// Close ends the connection.
func (c *readConn) Close() error {
	c.l.close(EndEOF)
	return nil
}

// Ask decides one more request on a connection of DialRequest: it is taken from the
// limits, and recorded. The error is a *profiles.Denial or a fault. As DialRequest
// does, it leaves TLS to the caller, which speaks it on port 443 or sends nothing.
func (g *Guest) Ask(q httpproxy.Request) error {
	_, err := g.ask(q, false)
	return err
}

// Refuse puts on record that q is refused for what it is.
func (g *Guest) Refuse(q httpproxy.Request, why *egress.Refusal) error {
	return denial(reader{guest: g}.Refuse(q, why))
}
