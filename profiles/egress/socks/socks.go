// Package socks parses the messages of a SOCKS5 client before its connection is made, and
// writes the answers. It owns that syntax only: profiles/egress decides on the target.
//
// It refuses SOCKS4, every command but CONNECT (so UDP and BIND too), every authentication
// method but none, and a domain with a byte that no name contains.
package socks

import (
	"encoding/binary"
	"net/netip"
)

// MaxSize is the largest greeting or request.
const MaxSize = 4 + 1 + 255 + 2

// Error is the reason why bytes are rejected: one of the constants below. Only ErrMore is not a rejection.
type Error string

// Error returns the reason.
func (e Error) Error() string { return string(e) }

// Refusals.
const (
	ErrMore    Error = "the message is not complete"
	ErrVersion Error = "the version is not SOCKS5"
	ErrMethod  Error = "the client offers no method without authentication"
	ErrForm    Error = "the message is not in a strict form"
	ErrCommand Error = "the command is not CONNECT"
	ErrType    Error = "the type of the address is not known"
	ErrDomain  Error = "the domain is empty or has bytes that no name has"
)

// Reply is the result of a request, as sent to the client.
type Reply byte

// The replies of RFC 1928.
const (
	Succeeded Reply = iota
	Failed
	NotAllowed
	networkUnreachable
	HostUnreachable
	Refused
	expired
	NotCommand
	NotAddress
)

// Reply returns the answer to a request that was rejected with the error.
func (e Error) Reply() Reply {
	switch e {
	case ErrCommand:
		return NotCommand
	case ErrType:
		return NotAddress
	case ErrDomain:
		return NotAllowed
	case ErrMore, ErrVersion, ErrMethod, ErrForm:
	}
	return Failed
}

// ReadGreeting reads the greeting at the start of buf and returns its length. AppendMethod answers it.
// ErrMore means that it is incomplete. After ErrMethod with a length above 0 the answer can still be sent.
func ReadGreeting(buf []byte) (int, error) {
	if len(buf) > 0 && buf[0] != 5 {
		return 0, ErrVersion
	}
	if len(buf) > 1 && buf[1] == 0 {
		return 2, ErrMethod
	}
	if len(buf) < 2 || len(buf) < 2+int(buf[1]) {
		return 0, ErrMore
	}
	n := 2 + int(buf[1])
	for _, method := range buf[2:n] {
		if method == 0 {
			return n, nil
		}
	}
	return n, ErrMethod
}

// AppendMethod appends the answer to a greeting: no authentication, or no acceptable method.
func AppendMethod(dst []byte, ok bool) []byte {
	if ok {
		return append(dst, 5, 0)
	}
	return append(dst, 5, 0xff)
}

// Request asks for a connection. Exactly one of Domain and Addr is set.
type Request struct {
	Domain string     // as sent: printable ASCII
	Addr   netip.Addr // as sent: an IPv4 address may be mapped into IPv6
	Port   uint16
}

// ReadRequest reads the request at the start of buf and returns its length. ErrMore means that it is
// incomplete. Any other error is an [Error] that ends the connection, with its [Error.Reply].
func ReadRequest(buf []byte) (Request, int, error) {
	if len(buf) > 0 && buf[0] != 5 {
		return Request{}, 0, ErrVersion
	}
	if len(buf) > 1 && buf[1] != 1 {
		return Request{}, 0, ErrCommand
	}
	if len(buf) > 2 && buf[2] != 0 {
		return Request{}, 0, ErrForm
	}
	if len(buf) < 4 {
		return Request{}, 0, ErrMore
	}
	switch buf[3] {
	case 1:
		return address(buf, 4)
	case 4:
		return address(buf, 16)
	case 3:
		return domain(buf)
	}
	return Request{}, 0, ErrType
}

func address(buf []byte, size int) (Request, int, error) {
	n := 4 + size + 2
	if len(buf) < n {
		return Request{}, 0, ErrMore
	}
	addr, ok := netip.AddrFromSlice(buf[4 : 4+size])
	if !ok {
		return Request{}, 0, ErrForm
	}
	return finish(Request{Addr: addr}, buf[:n])
}

func domain(buf []byte) (Request, int, error) {
	if len(buf) < 5 {
		return Request{}, 0, ErrMore
	}
	n := 5 + int(buf[4])
	for _, c := range buf[5:min(n, len(buf))] {
		if c <= ' ' || c > '~' {
			return Request{}, 0, ErrDomain
		}
	}
	if buf[4] == 0 {
		return Request{}, 0, ErrDomain
	}
	if len(buf) < n+2 {
		return Request{}, 0, ErrMore
	}
	return finish(Request{Domain: string(buf[5:n])}, buf[:n+2])
}

// finish reads the port at the end of a request.
func finish(r Request, whole []byte) (Request, int, error) {
	r.Port = binary.BigEndian.Uint16(whole[len(whole)-2:])
	if r.Port == 0 {
		return Request{}, 0, ErrForm
	}
	return r, len(whole), nil
}

// AppendReply appends the answer to a request. It contains no address, so that the client does not learn
// which one was dialed.
func AppendReply(dst []byte, reply Reply) []byte {
	return append(dst, 5, byte(reply), 0, 1, 0, 0, 0, 0, 0, 0)
}
