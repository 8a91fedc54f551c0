// Package clienthello parses the first bytes of a connection as a TLS ClientHello: the
// server name in it, and whether it may hide another name. It owns that syntax only:
// profiles/egress decides on the name.
//
// It rejects everything that two servers could read differently: a message that does not
// fill its records, a wrong length, a repeated extension, more than one server name or one
// of another type, and bytes that no name contains.
package clienthello

import "encoding/binary"

// MaxSize is the largest ClientHello with its records. For that many bytes Parse never returns ErrMore.
const MaxSize = maxMessage + 4 + 5*maxRecords

const (
	maxMessage = 64 << 10
	maxRecords = 256
	maxRecord  = 16 << 10

	maxExtensions = 256 // at least 64
)

// Error is the reason why bytes are rejected: one of the constants below. Only ErrMore is not a rejection.
type Error string

// Error returns the reason.
func (e Error) Error() string { return string(e) }

// Refusals.
const (
	ErrMore   Error = "the ClientHello is not complete"
	ErrNotTLS Error = "the first bytes are not a ClientHello of TLS"
	ErrForm   Error = "the ClientHello is not in a strict form"
	ErrName   Error = "the server name in the ClientHello is not one host name"
	ErrLarge  Error = "the ClientHello is larger than 64 KiB, or in more than 256 records"
)

// Hello is the cleartext part of a ClientHello.
type Hello struct {
	Name    string // of the server, as sent: letters, digits, - _ and dots, possibly a trailing dot
	HasName bool
	// ECH is true for an encrypted ClientHello of any draft. It may contain another name or only noise: the
	// two cannot be told apart.
	ECH  bool
	ALPN []string
}

// Parse reads the ClientHello at the start of buf. ErrMore means that it is incomplete: call again with the
// same bytes and more. Bytes after its last record are ignored.
func Parse(buf []byte) (Hello, error) {
	message, err := assemble(buf)
	if err != nil {
		return Hello{}, err
	}
	h, err := read(message)
	if err != nil {
		return Hello{}, err
	}
	return h, nil
}

// assemble returns the body of the handshake message. If one record holds it, the body is a part of buf.
func assemble(buf []byte) ([]byte, error) {
	var joined []byte
	want := -1 // length including the header, once known
	for records := 0; ; records++ {
		if records == maxRecords {
			return nil, ErrLarge
		}
		fragment, whole, err := record(buf)
		if err != nil {
			return nil, err
		}
		buf = buf[5+len(fragment):]
		if joined == nil && whole {
			joined = fragment[:len(fragment):len(fragment)]
		} else {
			joined = append(joined, fragment...)
		}
		if len(joined) > 0 && joined[0] != 1 {
			return nil, ErrNotTLS
		}
		if want < 0 && len(joined) >= 4 {
			want = 4 + int(joined[1])<<16 + int(joined[2])<<8 + int(joined[3])
		}
		switch {
		case want > 4+maxMessage:
			return nil, ErrLarge
		case want >= 0 && len(joined) > want:
			return nil, ErrForm // another message in its record
		case !whole:
			return nil, ErrMore
		case len(joined) == want:
			return joined[4:], nil
		}
	}
}

// record returns the available bytes of the record at the start of buf.
func record(buf []byte) (fragment []byte, whole bool, err error) {
	for i, c := range buf[:min(len(buf), 3)] {
		if i == 0 && c != 22 || i == 1 && c != 3 || i == 2 && c > 4 {
			return nil, false, ErrNotTLS
		}
	}
	if len(buf) < 5 {
		return nil, false, ErrMore
	}
	n := int(binary.BigEndian.Uint16(buf[3:]))
	if n == 0 || n > maxRecord {
		return nil, false, ErrNotTLS
	}
	if len(buf) < 5+n {
		return buf[5:], false, nil
	}
	return buf[5 : 5+n], true, nil
}

// text is the unread rest. Its methods report whether there were enough bytes.
type text []byte

func (t *text) take(n int) (text, bool) {
	if len(*t) < n {
		return nil, false
	}
	out := (*t)[:n:n]
	*t = (*t)[n:]
	return out, true
}

// number reads an unsigned number of the given size.
func (t *text) number(bytes int) (int, bool) {
	b, ok := t.take(bytes)
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n, ok
}

// vector reads a length of the given size, and that many bytes.
func (t *text) vector(bytes int) (text, bool) {
	n, ok := t.number(bytes)
	if !ok {
		return nil, false
	}
	return t.take(n)
}

// read reads a ClientHello to its last byte.
func read(t text) (Hello, error) {
	version, ok1 := t.number(2)
	_, ok2 := t.take(32) // random
	id, ok3 := t.vector(1)
	suites, ok4 := t.vector(2)
	methods, ok5 := t.vector(1) // of compression
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || version>>8 != 3 || len(id) > 32 || len(suites) == 0 ||
		len(suites)%2 != 0 || len(methods) == 0 {
		return Hello{}, ErrForm
	}
	if len(t) == 0 {
		return Hello{}, nil
	}
	extensions, ok := t.vector(2)
	if !ok || len(t) != 0 {
		return Hello{}, ErrForm
	}
	return readExtensions(extensions)
}

func readExtensions(t text) (Hello, error) {
	var h Hello
	var seen set
	for len(t) > 0 {
		kind, ok1 := t.number(2)
		body, ok2 := t.vector(2)
		if !ok1 || !ok2 || !seen.add(uint16(kind)) {
			return Hello{}, ErrForm
		}
		switch {
		case kind == 0:
			name, err := serverName(body)
			if err != nil {
				return Hello{}, err
			}
			h.Name, h.HasName = name, true
		case kind == 16:
			names, ok := protocols(body)
			if !ok {
				return Hello{}, ErrForm
			}
			h.ALPN = names
		case hidesServerName(kind):
			h.ECH = true
		}
	}
	return h, nil
}

// hidesServerName reports whether an extension can carry an unreadable name: encrypted_client_hello and its drafts,
// extensions used for its parts, and the older encrypted_server_name.
func hidesServerName(kind int) bool {
	return kind >= 0xfe08 && kind <= 0xfe0d || kind == 0xfd00 || kind == 0xffce || kind >= 0xff02 && kind <= 0xff04
}

// set holds the extensions seen so far. The usual ones are bits.
type set struct {
	low  uint64
	high []uint16
}

// add adds n. It returns false if n was there already, or if there are too many.
func (s *set) add(n uint16) bool {
	if n < 64 {
		bit := uint64(1) << n
		fresh := s.low&bit == 0
		s.low |= bit
		return fresh
	}
	for _, m := range s.high {
		if m == n {
			return false
		}
	}
	s.high = append(s.high, n)
	return len(s.high) <= maxExtensions
}

// serverName reads a list of exactly one host name.
func serverName(t text) (string, error) {
	list, ok := t.vector(2)
	if !ok || len(t) != 0 {
		return "", ErrForm
	}
	kind, ok1 := list.number(1)
	name, ok2 := list.vector(2)
	if !ok1 || !ok2 {
		return "", ErrForm
	}
	// RFC 6066 omits the trailing dot, but some clients send it. The name with one dot is the same name, and
	// may have 253 bytes without the dot.
	bare := name
	if n := len(name); n > 0 && name[n-1] == '.' {
		bare = name[:n-1]
	}
	if kind != 0 || len(list) != 0 || len(bare) == 0 || len(bare) > 253 || bare[len(bare)-1] == '.' {
		return "", ErrName
	}
	for _, c := range bare {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return "", ErrName
		}
	}
	return string(name), nil
}

// protocols reads a list of non-empty names.
func protocols(t text) ([]string, bool) {
	list, ok := t.vector(2)
	if !ok || len(t) != 0 || len(list) == 0 {
		return nil, false
	}
	var out []string
	for len(list) > 0 {
		name, ok := list.vector(1)
		if !ok || len(name) == 0 {
			return nil, false
		}
		out = append(out, string(name))
	}
	return out, true
}
