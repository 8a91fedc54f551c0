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

// read serves a client whose requests are read: of the proxy, or of a tunnel to a target. Meanwhile the
// client counts as a connection of its holder. A proxy client may then ask for a tunnel.
func (c *client) read(listener string, d egress.Dest) {
	g := c.guest
	g.mu.Lock()
	full := len(g.conns)+g.reading >= g.egress.cfg.Connections
	if !full {
		g.reading++
	}
	g.mu.Unlock()
	if full {
		c.refuse(g.journal.refuse(Event{Listener: listener, Dest: d, Decision: g.egress.fullDenial()}))
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
	r := reader{guest: g}
	served := httpproxy.Client{Conn: c.conn, Early: early, Listener: listener, Room: r, Dest: d}
	c.buf, connect = g.egress.reads.Serve(context.Background(), r, served)
	if !connect {
		return
	}
	c.size = cap(c.buf)
	if c.hold(c.size) != nil {
		c.refuse(g.journal.refuse(Event{Listener: ListenerConnect, Decision: noRoom()}))
		return
	}
	c.connect()
}

// reader implements httpproxy.Guest.
type reader struct{ guest *Guest }

// Ask decides one plain HTTP request, counts it against the limits of its rule and records it.
func (r reader) Ask(q httpproxy.Request) (httpproxy.Grant, error) { return r.guest.ask(q, true) }

// ask implements Ask. plain is true if the request is sent as plain HTTP, which is denied on an inspected
// port.
func (g *Guest) ask(q httpproxy.Request, plain bool) (httpproxy.Grant, error) {
	d, now := g.deciders(), g.egress.cfg.Now()
	ev := Event{Generation: d.generation, Listener: q.Listener, Dest: q.Dest, Method: q.Method, Path: q.Path}
	c := d.connect(q.Dest, now).Request(q.Method, q.Path, q.Overrides, now)
	if plain && egress.Inspected(q.Dest) {
		c = c.Hello(clienthello.Hello{}, clienthello.ErrNotTLS, now)
	}
	if c.Virtual() {
		credential, ready := g.gateways.ready(context.Background(), c, q.Dest)
		if ev.Credential = credential; ready.Verdict != profiles.Allow {
			granted := c.Decision()
			ready.Rule, ready.Revision = granted.Rule, granted.Revision
			c = c.Deny(ready)
		}
	}
	if c.Allowed() {
		if _, used := g.budgets.spend(c, d.generation, false, true); used != nil {
			c = c.Deny(*used)
		}
	}
	ev.Decision = c.Decision()
	if !c.Allowed() {
		return httpproxy.Grant{}, g.journal.refuse(ev)
	}
	if err := g.journal.record(ev); err != nil {
		return httpproxy.Grant{}, fmt.Errorf("record the request to %s: %w", q.Dest, err)
	}
	return httpproxy.Grant{Granted: true, Virtual: c.Virtual()}, nil
}

// Hold reserves room for an incomplete head.
func (r reader) Hold(n int) bool { return r.guest.egress.room.take(r.guest.holder.Agent, n) }

// Release releases it.
func (r reader) Release(n int) { r.guest.egress.room.give(r.guest.holder.Agent, n) }

// Crowded records that there was no room.
func (r reader) Crowded(q httpproxy.Request) profiles.Decision { return r.refuse(q, noRoom()) }

// Refuse records that a request was malformed.
func (r reader) Refuse(q httpproxy.Request, why *egress.Refusal) profiles.Decision {
	return r.refuse(q, unreadDenial(why))
}

func (r reader) refuse(q httpproxy.Request, d profiles.Decision) profiles.Decision {
	ev := Event{Listener: q.Listener, Dest: q.Dest, Method: q.Method, Path: q.Path, Decision: d}
	return r.guest.journal.refuse(ev).Decision
}

// Dial opens a connection for a request that Ask has allowed.
func (r reader) Dial(ctx context.Context, q httpproxy.Request, client net.Conn) (httpproxy.Conn, error) {
	spec := dialSpec{listener: q.Listener, dest: q.Dest, client: client, reads: true, spent: true}
	spec.method, spec.path, spec.overrides = q.Method, q.Path, q.Overrides
	c, err := r.guest.dial(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &readConn{TCPConn: c.upstream, conn: c}, nil
}

// readConn is a connection for a sequence of requests. The forwarder counts its bytes, so its reads and
// writes do not.
type readConn struct {
	*net.TCPConn
	conn *conn
}

// Begin sets the request in flight before it is decided, so that policy changes apply to it. It returns false
// if the request counts against other limits than the connection; then it needs another connection.
func (r *readConn) Begin(q httpproxy.Request, client net.Conn) bool {
	c := r.conn
	c.mu.Lock()
	good := !c.over && c.request.dest == q.Dest
	if good {
		c.client, c.request.method, c.request.path, c.request.overrides = client, q.Method, q.Path, q.Overrides
	}
	c.mu.Unlock()
	return good && c.counted()
}

// End clears the request in flight.
func (r *readConn) End() {
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over { // the cut records a request that was in flight
		c.client, c.request.method, c.request.path, c.request.overrides = nil, "", "", ""
	}
}

// Count counts bytes. It returns false if a limit is used up.
func (r *readConn) Count(up, down int64) bool {
	c := r.conn
	if int64((*upMeter)(c).Take(int(up))) < up || int64((*downMeter)(c).Take(int(down))) < down {
		c.cut(c.usedUp())
		return false
	}
	return true
}

// Close ends the connection.
func (r *readConn) Close() error {
	r.conn.close(EndEOF)
	return nil
}

// Ask decides one more request on a connection of DialRequest, counts it against the limits, and records it.
// The error is a *profiles.Denial or a fault. The caller handles TLS, as with DialRequest: it must speak TLS
// on port 443.
func (g *Guest) Ask(q httpproxy.Request) error {
	_, err := g.ask(q, false)
	return err
}

// Refuse records that q is denied because of its content.
func (g *Guest) Refuse(q httpproxy.Request, why *egress.Refusal) error {
	return denial(reader{guest: g}.Refuse(q, why))
}
