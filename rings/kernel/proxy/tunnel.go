package proxy

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// proxy serves a proxy client: SOCKS5, CONNECT or plain HTTP, distinguished by its first bytes.
func (c *client) proxy() {
	connect := false
	err := c.within(c.guest.egress.cfg.FirstBytes, func() (err error) {
		const word = "CONNECT "
		for len(c.buf) == 0 || len(c.buf) < len(word) && strings.HasPrefix(word, string(c.buf)) {
			if err = c.more(); err != nil {
				return err
			}
		}
		connect = bytes.HasPrefix(c.buf, []byte(word))
		return nil
	})
	switch {
	case errors.Is(err, errNoRoom):
		c.refuse(c.guest.journal.refuse(Event{Listener: ListenerConnect, Decision: noRoom()}))
		return
	case err != nil:
		return
	case c.buf[0] == 5:
		c.socks()
	case connect:
		c.connect()
	default:
		c.read(ListenerHTTP, egress.Dest{})
	}
}

// connect serves a client whose next request is CONNECT.
func (c *client) connect() {
	refuse := func(ev Event) {
		ev.Listener = ListenerConnect
		c.refuse(c.guest.journal.refuse(ev))
	}
	var r httphead.Request
	size := 0
	err := c.until(func() (err error) { size, err = r.Read(c.buf); return err }, httphead.ErrMore)
	var malformed httphead.Error
	switch {
	case errors.As(err, &malformed), errors.Is(err, errLong):
		refuse(Event{Decision: unreadDenial(egress.UnreadHead(err))})
		return
	case errors.Is(err, errNoRoom):
		refuse(Event{Decision: noRoom()})
		return
	case err != nil:
		return
	}
	d, why := egress.ParseTunnel(&r)
	if why != nil {
		refuse(Event{Dest: d, Decision: unreadDenial(why)})
		return
	}
	c.buf = c.buf[size:]
	c.tunnel(ListenerConnect, d, func(err error) []byte {
		if err == nil {
			return []byte("HTTP/1.1 200 Connection established\r\n\r\n")
		}
		return answerFor(err)
	})
}

// socks serves a SOCKS5 client.
func (c *client) socks() {
	refuse := func(ev Event) error {
		ev.Listener = ListenerSOCKS
		return c.guest.journal.refuse(ev)
	}
	reply := func(err error) []byte { return socks.AppendReply(nil, socksReply(err)) }
	asked, err := c.readSOCKS()
	var malformed socks.Error
	switch {
	case errors.As(err, &malformed):
		_ = refuse(Event{Decision: unreadDenial(egress.UnreadSOCKS(err))})
		c.farewell(socks.AppendReply(nil, malformed.Reply()))
		return
	case errors.Is(err, errNoRoom):
		_ = refuse(Event{Decision: noRoom()})
		return
	case err != nil:
		return
	}
	d, why := egress.ParseSOCKS(asked.Domain, asked.Addr, asked.Port)
	if why != nil {
		c.farewell(reply(refuse(Event{Decision: unreadDenial(why)})))
		return
	}
	c.tunnel(ListenerSOCKS, d, reply)
}

// readSOCKS reads a greeting, answers it, and reads the request.
func (c *client) readSOCKS() (asked socks.Request, err error) {
	err = c.within(c.guest.egress.cfg.FirstBytes, func() error {
		n, err := c.parse(socks.ReadGreeting, socks.ErrMore)
		if n > 0 {
			if _, err := c.conn.Write(socks.AppendMethod(nil, err == nil)); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		c.buf = c.buf[n:]
		n, err = c.parse(func(b []byte) (n int, err error) {
			asked, n, err = socks.ReadRequest(b)
			return n, err
		}, socks.ErrMore)
		c.buf = c.buf[n:]
		return err
	})
	return asked, err
}

// tunnel connects a client to the target that it named, and answers it with reply. If the guest is closed,
// the client gets no answer.
func (c *client) tunnel(listener string, d egress.Dest, reply func(error) []byte) {
	spec := dialSpec{listener: listener, dest: d, client: c.conn, mayRead: true}
	conn, err := c.guest.dial(context.Background(), spec)
	switch {
	case errors.Is(err, errReads):
		if c.answer(reply(nil)) == nil {
			c.read(listener, d)
		}
		return
	case errors.Is(err, ErrClosed):
		return
	case err != nil:
		c.farewell(reply(err))
		return
	}
	c.decided()
	if c.answer(reply(nil)) != nil {
		conn.close(EndError)
		return
	}
	if egress.Inspected(d) && !c.inspect(conn) {
		return
	}
	c.taken = true
	conn.relay(c.conn, c.buf)
}

// inspect holds back the bytes of a client until they are an allowed ClientHello. Until then no byte of the
// target reaches the client.
func (c *client) inspect(conn *conn) bool {
	var h clienthello.Hello
	err := c.until(func() (err error) { h, err = clienthello.Parse(c.buf); return err }, clienthello.ErrMore)
	var malformed clienthello.Error
	switch {
	case errors.As(err, &malformed), errors.Is(err, errLong):
		return conn.decideHello(h, err)
	case errors.Is(err, errNoRoom):
		dec := noRoom()
		conn.cut(ending{how: EndRefused, decision: &dec})
		return false
	case err != nil:
		conn.cut(ending{how: EndError})
		return false
	default:
		return conn.decideHello(h, nil)
	}
}

// decideHello decides on the first bytes of a connection. They are stored for the decisions of later policies.
func (c *conn) decideHello(h clienthello.Hello, malformed error) bool {
	c.mu.Lock()
	if malformed == nil {
		c.request.hello, c.request.sni, c.request.named, c.request.ech = true, h.Name, h.HasName, h.ECH
	}
	q := c.request
	c.mu.Unlock()
	e := c.guest.egress
	now := e.cfg.Now()
	decision := c.guest.deciders().decide(q, e.own, now)
	if malformed != nil {
		decision = decision.Hello(clienthello.Hello{}, malformed, now)
	}
	if !decision.Allowed() || malformed != nil {
		why := decision.Decision()
		c.cut(ending{how: EndRefused, decision: &why})
		return false
	}
	return true
}

// relay copies in both directions, early bytes first. It closes the client.
func (c *conn) relay(client relayStream, early []byte) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		resetConn(client)
		return
	}
	c.served = true
	c.mu.Unlock()
	done := func(err error) {
		c.mu.Lock()
		if !c.over {
			c.over = true
			switch {
			case err == nil:
				c.end.how = EndEOF
			case errors.Is(err, errUsedUp):
				c.end = c.usedUp()
			default:
				c.end.how = EndError
			}
		}
		c.mu.Unlock()
		c.finish()
	}
	if err := c.send(early); err != nil {
		resetConn(client)
		resetConn(c.upstream)
		done(err)
		return
	}
	e := c.guest.egress
	e.pump.Tunnel(e.cfg.Go, client, c.upstream, (*upMeter)(c), (*downMeter)(c), done)
}

// send sends the bytes that a client sent before its target was connected.
func (c *conn) send(early []byte) error {
	if len(early) == 0 {
		return nil
	}
	m := (*upMeter)(c)
	may := m.Take(len(early))
	n, err := c.upstream.Write(early[:may])
	m.Back(may - n)
	if err == nil && may < len(early) {
		return errUsedUp
	}
	return err
}
