package proxy

import (
	"errors"
	"net"
	"time"

	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

// queryAnswer returns the answer to a query, or nil.
type queryAnswer func(query []byte) []byte

// queryPackets is a UDP socket in a guest's network. Close ends its Serve.
type queryPackets struct{ conn *net.UDPConn }

// newQueryPackets takes a socket. It is closed with the queryPackets, or on an error.
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

// originBytes is enough for the control message with a packet's destination.
const originBytes = 128

// Serve answers packets, each from the address to which it was sent. After a read error it continues while
// again returns true.
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
			// The answer comes from the address that the query was sent to. If the program is gone, the error
			// does not matter.
			_, _, _ = p.conn.WriteMsgUDPAddrPort(a, origin[:on], from)
		}
	}
}

const (
	idle = 10 * time.Second // between two queries of a stream
	many = 1000             // queries of a stream
)

// serveStream answers the queries of one connection, until the client stops or is idle for too long. The
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

// next reads one query after the bytes that were already read.
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

// within limits the time for f to use the connection.
func within(conn net.Conn, f func() error) error {
	late := time.AfterFunc(idle, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	return f()
}
