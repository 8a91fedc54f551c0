package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
	"github.com/ringd/ringd/rings/kernel/listener"
)

const (
	firstBytes = 4 << 10  // of a client, before it is known to need more
	mostBytes  = 80 << 10 // above every limit of what is parsed
	// farewell is how long a client that was refused is listened to, so that it reads
	// the answer before its connection goes.
	farewell     = time.Second
	farewellMost = 64 << 10
	// readAgain is how long a door of packets waits that cannot read.
	readAgain = 50 * time.Millisecond
)

// ServeProxy serves a proxy for the guest on a listener, which is the guest's from
// now on: CONNECT and plain HTTP, and SOCKS5, told apart by their first byte. It
// returns at once; Close of the guest ends it.
func (g *Guest) ServeProxy(l net.Listener) error { return g.serve(l, g.proxy) }

// serve accepts connections and gives each to handle, which closes it or has a
// link do so.
func (g *Guest) serve(l net.Listener, handle func(*client)) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		l.Close()
		return ErrClosed
	}
	door := listener.New(l, "guest", g.egress.cfg.Logger)
	g.doors[door] = struct{}{}
	g.work.Add(1)
	g.mu.Unlock()
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		for {
			conn, err := door.Accept()
			if err != nil {
				_ = door.Close() // it takes no more
				return
			}
			g.accepted(conn, handle)
		}
	})
	return nil
}

// patient waits a little after an error of a read; false: the guest is closed.
func (g *Guest) patient() bool {
	wait := time.NewTimer(readAgain)
	defer wait.Stop()
	<-wait.C
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed
}

// client is a connection that a guest has opened to one of its doors.
type client struct {
	guest   *Guest
	conn    relayStream
	buf     []byte            // what was read of it so far
	first   *[firstBytes]byte // where it is, until it needs more; given back in the end
	size    int               // of what buf is part of
	held    int               // bytes of it that room was taken for
	waiting bool              // nothing is decided of it yet
	taken   bool              // a link, or who reads requests, closes it
}

// accepted gives a connection to handle, unless too many are open or wait for a
// decision.
func (g *Guest) accepted(conn net.Conn, handle func(*client)) {
	stream, ok := conn.(relayStream)
	full := g.egress.crowded(g.holder.Agent)
	g.mu.Lock()
	if full == "" && g.undecided >= g.egress.cfg.Undecided {
		full = "more connections wait for a decision than one holder may have"
	}
	if !ok || g.closed || full != "" {
		closed := g.closed
		g.mu.Unlock()
		resetConn(conn)
		if ok && !closed {
			_ = g.refuse(Event{Decision: refusal(egress.Budget, full)})
		}
		return
	}
	g.undecided++
	g.clients[conn] = struct{}{}
	g.work.Add(1)
	g.mu.Unlock()
	c := &client{guest: g, conn: stream, waiting: true}
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		defer c.leave()
		handle(c)
	})
}

// decided makes room for another client that waits.
func (c *client) decided() {
	if c.waiting {
		c.waiting = false
		c.guest.mu.Lock()
		c.guest.undecided--
		c.guest.mu.Unlock()
	}
}

func (c *client) leave() {
	c.decided()
	c.guest.mu.Lock()
	delete(c.guest.clients, c.conn)
	c.guest.mu.Unlock()
	c.drop()
	if !c.taken {
		c.conn.Close()
	}
}

// errLate says that a client took too long, errLong that it said too much, errNoRoom
// that its agent holds too much that is not complete.
var (
	errLate   = errors.New("the client took too long to say what it wants")
	errLong   = errors.New("the client said more than is read")
	errNoRoom = errors.New("there is no room for a larger head")
)

// within lets f read from the client, and write to it, for so long altogether.
func (c *client) within(d time.Duration, f func() error) error {
	late := time.AfterFunc(d, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !late.Stop() {
		return errLate
	}
	return err
}

// until reads until parse says something else than that it needs more.
func (c *client) until(parse func() error, more error) error {
	if err := parse(); !errors.Is(err, more) {
		return err // nearly always: it came in one piece
	}
	return c.within(c.guest.egress.cfg.FirstBytes, func() error {
		for {
			if err := c.more(); err != nil {
				return err
			}
			if err := parse(); !errors.Is(err, more) {
				return err
			}
		}
	})
}

// say sends an answer to a client that goes on. One that reads nothing is let go.
func (c *client) say(answer []byte) error {
	if len(answer) == 0 {
		return nil
	}
	return c.within(c.guest.egress.cfg.FirstBytes, func() error {
		_, err := c.conn.Write(answer)
		return err
	})
}

// more reads what comes next, behind what was read already. It takes room for the
// buffer, but for that of a client whose first bytes are waited for: what is whole
// with one read needs none.
func (c *client) more() error {
	if len(c.buf) >= mostBytes {
		return errLong
	}
	switch room := cap(c.buf) - len(c.buf); {
	case c.size == 0:
		if !c.waiting {
			if err := c.hold(firstBytes); err != nil {
				return err
			}
		}
		if c.first, _ = c.guest.egress.heads.Get().(*[firstBytes]byte); c.first == nil {
			c.first = new([firstBytes]byte)
		}
		c.buf, c.size = c.first[:0], firstBytes
	case room < firstBytes/8:
		size := max(firstBytes, 2*cap(c.buf))
		if err := c.hold(size); err != nil {
			return err
		}
		next := make([]byte, len(c.buf), size)
		copy(next, c.buf)
		c.buf, c.size = next, size
		if c.first != nil {
			c.guest.egress.heads.Put(c.first)
			c.first = nil
		}
	default:
		if err := c.hold(c.size); err != nil {
			return err
		}
	}
	n, err := c.conn.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// proxy serves one client of a proxy.
func (g *Guest) proxy(c *client) {
	connect := false
	err := c.within(g.egress.cfg.FirstBytes, func() (err error) {
		const word = "CONNECT "
		for len(c.buf) == 0 || strings.HasPrefix(word, string(c.buf[:min(len(c.buf), len(word))])) && len(c.buf) < len(word) {
			if err = c.more(); err != nil {
				return err
			}
		}
		connect = bytes.HasPrefix(c.buf, []byte(word))
		return nil
	})
	switch {
	case errors.Is(err, errNoRoom):
		c.refuse(g.refuse(Event{Door: DoorConnect, Decision: noRoom()}))
		return
	case err != nil:
		return
	case c.buf[0] == 5:
		g.socks(c)
	case connect:
		g.connect(c)
	default:
		g.read(c, DoorHTTP, egress.Dest{})
	}
}

// connect serves a client whose next request is CONNECT.
func (g *Guest) connect(c *client) {
	var r httphead.Request
	size := 0
	err := c.until(func() (err error) { size, err = r.Read(c.buf); return err }, httphead.ErrMore)
	var malformed httphead.Error
	switch {
	case errors.As(err, &malformed), errors.Is(err, errLong):
		why := egress.UnreadHead(err)
		c.refuse(g.refuse(Event{Door: DoorConnect, Decision: refusal(why.Code, why.Why)}))
		return
	case errors.Is(err, errNoRoom):
		c.refuse(g.refuse(Event{Door: DoorConnect, Decision: noRoom()}))
		return
	case err != nil:
		return
	}
	d, why := egress.ParseTunnel(&r)
	if why != nil {
		c.refuse(g.refuse(Event{Door: DoorConnect, Dest: d, Decision: refusal(why.Code, why.Why, why.Instead...)}))
		return
	}
	c.buf = c.buf[size:]
	g.tunnel(c, DoorConnect, d, func(err error) []byte {
		if err == nil {
			return []byte("HTTP/1.1 200 Connection established\r\n\r\n")
		}
		return answerFor(err)
	})
}

// refuse answers a client of HTTP and lets it go.
func (c *client) refuse(err error) { c.farewell(answerFor(err)) }

// farewell sends a last answer. What the client still sends is read for a while:
// a connection that is closed with something unread loses the answer.
func (c *client) farewell(answer []byte) {
	if len(answer) == 0 {
		return
	}
	c.drop()
	_ = c.within(farewell, func() error {
		if _, err := c.conn.Write(answer); err != nil {
			return err
		}
		if err := c.conn.CloseWrite(); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, c.conn, farewellMost)
		return err
	})
}

// socks serves a client of SOCKS5.
func (g *Guest) socks(c *client) {
	var asked socks.Request
	err := c.within(g.egress.cfg.FirstBytes, func() error {
		n, err := c.parse(socks.ReadGreeting)
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
		})
		c.buf = c.buf[n:]
		return err
	})
	reply := func(err error) []byte { return socks.AppendReply(nil, socksReply(err)) }
	var malformed socks.Error
	switch {
	case errors.As(err, &malformed):
		why := egress.UnreadSOCKS(err)
		_ = g.refuse(Event{Door: DoorSOCKS, Decision: refusal(why.Code, why.Why)})
		c.farewell(socks.AppendReply(nil, malformed.Reply()))
		return
	case errors.Is(err, errNoRoom):
		_ = g.refuse(Event{Door: DoorSOCKS, Decision: noRoom()})
		return
	case err != nil:
		return
	}
	d, why := egress.ParseSOCKS(asked.Domain, asked.Addr, asked.Port)
	if why != nil {
		c.farewell(reply(g.refuse(Event{Door: DoorSOCKS, Decision: refusal(why.Code, why.Why, why.Instead...)})))
		return
	}
	g.tunnel(c, DoorSOCKS, d, reply)
}

// parse reads until f has an answer.
func (c *client) parse(f func([]byte) (int, error)) (int, error) {
	for {
		n, err := f(c.buf)
		if !errors.Is(err, socks.ErrMore) {
			return n, err
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
}

// tunnel connects a client with a target that it named, and answers it by reply,
// of which nothing is sent to ErrClosed.
func (g *Guest) tunnel(c *client, door string, d egress.Dest, reply func(error) []byte) {
	l, err := g.dial(context.Background(), wanted{door: door, dest: d, client: c.conn, mayRead: true})
	switch {
	case errors.Is(err, errReads):
		if c.say(reply(nil)) == nil {
			g.read(c, door, d)
		}
		return
	case errors.Is(err, ErrClosed):
		return
	case err != nil:
		c.farewell(reply(err))
		return
	}
	c.decided()
	if c.say(reply(nil)) != nil {
		l.close(EndError)
		return
	}
	if egress.Inspected(d) && !g.inspect(c, l) {
		return
	}
	c.taken = true
	l.relay(c.conn, c.buf)
}

// inspect holds back what a client sends until it is known to be a ClientHello
// that is allowed. Nothing of the target has reached the client before.
func (g *Guest) inspect(c *client, l *link) bool {
	var h clienthello.Hello
	err := c.until(func() (err error) { h, err = clienthello.Parse(c.buf); return err }, clienthello.ErrMore)
	var malformed clienthello.Error
	switch {
	case errors.As(err, &malformed), errors.Is(err, errLong):
		return l.greeted(h, err)
	case errors.Is(err, errNoRoom):
		dec := noRoom()
		l.cut(ending{how: EndRefused, decision: &dec})
		return false
	case err != nil:
		l.cut(ending{how: EndError})
		return false
	default:
		return l.greeted(h, nil)
	}
}

// greeted decides on the first bytes of a link. What they were is held against
// every policy from then on.
func (l *link) greeted(h clienthello.Hello, malformed error) bool {
	l.mu.Lock()
	if malformed == nil {
		l.claim.hello, l.claim.sni, l.claim.named, l.claim.ech = true, h.Name, h.HasName, h.ECH
	}
	c := l.claim
	l.mu.Unlock()
	g := l.guest
	s, now := g.standing(), g.egress.cfg.Now()
	matches, dec := s.allows(c, g.egress.own, now)
	if dec.Verdict == profiles.Allow && malformed != nil {
		dec = s.hello(c.dest, matches, clienthello.Hello{}, malformed, now)
	}
	if dec.Verdict != profiles.Allow || malformed != nil {
		l.cut(ending{how: EndRefused, decision: &dec})
		return false
	}
	return true
}

// relay copies both ways from now on, early bytes first. It closes the client.
func (l *link) relay(client relayStream, early []byte) {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		resetConn(client)
		return
	}
	l.served = true
	l.mu.Unlock()
	done := func(err error) {
		l.mu.Lock()
		if !l.over {
			l.over = true
			switch {
			case err == nil:
				l.end.how = EndEOF
			case errors.Is(err, errUsedUp):
				l.end = l.usedUp()
			default:
				l.end.how = EndError
			}
		}
		l.mu.Unlock()
		l.finish()
	}
	if err := l.send(early); err != nil {
		resetConn(client)
		resetConn(l.upstream)
		done(err)
		return
	}
	l.guest.egress.pump.Tunnel(l.guest.egress.cfg.Go, client, l.upstream, (*upMeter)(l), (*downMeter)(l), done)
}

// send sends what a client said before there was anybody to send it to.
func (l *link) send(early []byte) error {
	if len(early) == 0 {
		return nil
	}
	m := (*upMeter)(l)
	may := m.Take(len(early))
	n, err := l.upstream.Write(early[:may])
	m.Back(may - n)
	if err == nil && may < len(early) {
		return errUsedUp
	}
	return err
}
