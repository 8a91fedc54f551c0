// This file carries the queries for names that programs of a guest send, by
// packets and by streams, to whoever answers them, and the answers back. It knows
// nothing of names; package egress alone calls it.

package proxy

import (
	"errors"
	"net"
	"time"

	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

// queryAnswer gives the answer to a query; nil: there is none.
type queryAnswer func(query []byte) []byte

// queryPackets is a UDP socket of a guest's network. Close ends its Serve.
type queryPackets struct{ conn *net.UDPConn }

// newQueryPackets takes a socket, which is closed with the Packets, or upon an error.
func newQueryPackets(conn net.PacketConn) (*queryPackets, error) {
	c, ok := conn.(*net.UDPConn)
	err := errors.New("serve names: no UDP socket")
	if ok {
		err = tellOrigins(c)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &queryPackets{c}, nil
}

// Close closes the socket.
func (p *queryPackets) Close() error { return p.conn.Close() }

// originBytes is more than the kernel says of where a packet was meant to go.
const originBytes = 128

// Serve answers packets, each from the address that it was sent to, whichever that
// is. After an error it goes on while again is true.
func (p *queryPackets) Serve(answer queryAnswer, again func() bool) {
	query, origin := make([]byte, dnsmsg.MaxQuery+1), make([]byte, originBytes)
	for {
		n, on, _, from, err := p.conn.ReadMsgUDPAddrPort(query, origin)
		if err != nil {
			if !again() {
				return
			}
			continue
		}
		if a := answer(query[:n]); a != nil {
			// Where the query was meant to go is what the answer comes from. A program
			// that is gone needs none.
			_, _, _ = p.conn.WriteMsgUDPAddrPort(a, origin[:on], from)
		}
	}
}

const (
	idle = 10 * time.Second // between two queries of a stream
	many = 1000             // queries of a stream
)

// serveStream answers the queries of one connection, until there is none for long. The
// caller closes it.
func serveStream(conn net.Conn, answer queryAnswer) {
	var buf []byte
	for range many {
		query, rest, err := next(conn, buf)
		if err != nil {
			return
		}
		a := answer(query)
		if a == nil {
			return
		}
		if err := within(conn, func() error {
			_, err := conn.Write(dnsmsg.AppendFrame(nil, a))
			return err
		}); err != nil {
			return
		}
		buf = rest
	}
}

var errNoQuery = errors.New("no query")

// next reads one query behind what was read already.
func next(conn net.Conn, buf []byte) (query, rest []byte, err error) {
	err = within(conn, func() error {
		for {
			q, n, ok := dnsmsg.Frame(buf)
			if !ok {
				return errNoQuery
			}
			if n > 0 {
				query, rest = q, buf[n:]
				return nil
			}
			more := make([]byte, dnsmsg.MaxQuery)
			got, err := conn.Read(more)
			buf = append(buf[:len(buf):len(buf)], more[:got]...)
			if got == 0 && err != nil {
				return err
			}
		}
	})
	return query, rest, err
}

// within ends f's use of the connection after a while.
func within(conn net.Conn, f func() error) error {
	late := time.AfterFunc(idle, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	return f()
}
