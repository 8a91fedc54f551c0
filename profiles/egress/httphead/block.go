package httphead

import (
	"bytes"
	"iter"
)

// span is a field as offsets, so that the buffer may move while more is read. The types are wide enough: a
// head has at most MaxHead bytes, and a line ends before its break.
type span struct {
	name, colon, value, end uint16
	kind                    Kind
	hop                     bool
}

// block is the common part of requests and responses: a first line, fields, an empty line. When more bytes
// have arrived, parsing continues at the last whole line.
type block struct {
	buf                           []byte
	at                            int // start of the next line
	first                         int // end of the first line; 0: not read yet
	fields                        int
	host                          int // 1 + index of the Host field
	length                        int64
	sized                         bool // has a Content-Length
	coded                         bool // has a Transfer-Encoding
	expect                        bool
	named                         bool // a Connection field names another field
	closes                        bool // Connection: close
	switches, websocket, upgrades bool
	spans                         [maxFields]span
}

// reset clears everything but the spans, which are always written before they are read.
func (b *block) reset() {
	b.buf, b.at, b.first, b.fields, b.host, b.length = nil, 0, 0, 0, 0, 0
	b.sized, b.coded, b.expect, b.named, b.closes = false, false, false, false, false
	b.switches, b.websocket, b.upgrades = false, false, false
}

// line returns the next whole line without its break: buf[start:end].
func (b *block) line(buf []byte) (start, end int, err error) {
	start = b.at
	n := bytes.IndexByte(buf[start:], '\n')
	if n < 0 {
		if len(buf) >= MaxHead {
			return 0, 0, ErrLarge
		}
		return 0, 0, ErrMore
	}
	end = start + n - 1
	if end+2 > MaxHead {
		return 0, 0, ErrLarge
	}
	if n == 0 || buf[end] != '\r' {
		return 0, 0, ErrBreak
	}
	b.at = end + 2
	return start, end, nil
}

// rest reads fields up to the empty line, and returns the length of the head.
func (b *block) rest(buf []byte, request bool) (int, error) {
	for {
		start, end, err := b.line(buf)
		if err != nil {
			return 0, err
		}
		if start == end {
			b.buf = buf[:b.at:b.at]
			return b.at, nil
		}
		if err := b.field(buf, start, end, request); err != nil {
			return 0, err
		}
	}
}

// field reads one line.
func (b *block) field(buf []byte, start, end int, request bool) error {
	line := buf[start:end]
	if blank(line[0]) {
		return ErrFold
	}
	n := nameLength(line)
	if n == 0 || n == len(line) || line[n] != ':' {
		return ErrName
	}
	from, to := trim(line, n+1)
	value := line[from:to]
	for _, c := range value {
		if classes[c]&inValue == 0 {
			return ErrValue
		}
	}
	if b.fields == maxFields {
		return ErrLarge
	}
	kind, err := kindOf(line[:n])
	if err != nil {
		return err
	}
	s := &b.spans[b.fields]
	hops := kind != Other && kind != Host && kind != ContentLength && kind != Expect
	*s = span{uint16(start), uint16(start + n), uint16(start + from), uint16(start + to), kind, hops}
	b.fields++
	if kind == Other || kind == hop || kind == proxyAuthorization {
		return nil
	}
	if request && (kind == ContentLength || kind == TransferEncoding || kind == Host) {
		// Other readers may not accept a tab, or a trailing blank, as white space.
		if to != len(line) || bytes.IndexByte(line[n:from], '\t') >= 0 {
			return refusal(kind)
		}
	}
	return b.readKnownField(kind, value)
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// nameLength returns the length of the field name.
func nameLength(line []byte) int {
	n := 0
	for n < len(line) && classes[line[n]]&inToken != 0 {
		n++
	}
	return n
}

// trim returns the start and end of a value without the surrounding blanks.
func trim(line []byte, from int) (int, int) {
	to := len(line)
	for from < to && blank(line[from]) {
		from++
	}
	for to > from && blank(line[to-1]) {
		to--
	}
	return from, to
}

func refusal(kind Kind) Error {
	if kind == ContentLength {
		return ErrLength
	}
	if kind == TransferEncoding {
		return ErrCoding
	}
	return ErrHost
}

// readKnownField reads a field that affects the message itself.
func (b *block) readKnownField(kind Kind, value []byte) error {
	switch kind {
	case Host:
		if b.host != 0 || len(value) == 0 || !allInClass(value, inAuthority) {
			return ErrHost
		}
		b.host = b.fields
	case ContentLength:
		n, ok := decimal(value)
		if b.sized || !ok {
			return ErrLength
		}
		b.sized, b.length = true, n
	case TransferEncoding:
		if b.coded || !equalsWord(value, "chunked") {
			return ErrCoding
		}
		b.coded = true
	case Connection:
		return b.connection(value)
	case Upgrade:
		b.websocket = !b.upgrades && equalsWord(value, "websocket")
		b.upgrades = true
	case Expect:
		if b.expect || !equalsWord(value, "100-continue") {
			return ErrExpect
		}
		b.expect = true
	case Other, proxyAuthorization, hop:
	}
	return nil
}

// connection reads the options of a Connection field.
func (b *block) connection(value []byte) error {
	options := 0
	for option := range list(value) {
		if options++; options > maxNamed || !allInClass(option, inToken) {
			return ErrConnection
		}
		switch {
		case equalsWord(option, "close"):
			b.closes = true
		case equalsWord(option, "keep-alive"):
		case equalsWord(option, "upgrade"):
			b.switches = true
		default:
			b.named = true
		}
	}
	return nil
}

// list yields the elements of a comma-separated list that are not empty.
func list(value []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(value) > 0 {
			var one []byte
			if i := bytes.IndexByte(value, ','); i >= 0 {
				one, value = value[:i], value[i+1:]
			} else {
				one, value = value, nil
			}
			if one = bytes.Trim(one, " \t"); len(one) > 0 && !yield(one) {
				return
			}
		}
	}
}

// name marks the fields that Connection names as hop-by-hop. Host and the fields that frame a body are
// exempt: a client cannot change them.
func (b *block) name() {
	if !b.named {
		return
	}
	for f := range b.Fields() {
		if f.Kind != Connection {
			continue
		}
		for option := range list(f.Value) {
			for i := range b.fields {
				s := &b.spans[i]
				if s.kind == Other && equal(b.buf[s.name:s.colon], option) {
					s.hop = true
				}
			}
		}
	}
}

// equal compares two tokens, ignoring case.
func equal(x, y []byte) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		c, d := x[i], y[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if 'A' <= d && d <= 'Z' {
			d |= 0x20
		}
		if c != d {
			return false
		}
	}
	return true
}

// decimal reads digits: no sign, no leading zero, at most 18 of them.
func decimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 || len(b) > 1 && b[0] == '0' {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Fields yields the fields in their order. Name and Value of each field are slices of the buffer that was
// parsed, not copies.
func (b *block) Fields() iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for i := range b.fields {
			s := b.spans[i]
			if !yield(Field{Name: b.buf[s.name:s.colon:s.colon], Value: b.buf[s.value:s.end:s.end], Kind: s.kind,
				Hop: s.hop}) {
				return
			}
		}
	}
}

// Get returns the value of the first field with a name, given in lower case.
func (b *block) Get(name string) ([]byte, bool) {
	for i := range b.fields {
		s := b.spans[i]
		if equalsWord(b.buf[s.name:s.colon], name) {
			return b.buf[s.value:s.end:s.end], true
		}
	}
	return nil, false
}

// Bytes returns the head as it was read, including the empty line.
func (b *block) Bytes() []byte { return b.buf }

// appendFields appends the fields that are forwarded, without Host and the fields that frame the body. Expect
// is included if expect is true.
func (b *block) appendFields(dst []byte, expect bool) []byte {
	for i := range b.fields {
		s := b.spans[i]
		if s.hop || s.kind == Host || s.kind == ContentLength || s.kind == Expect && !expect {
			continue
		}
		dst = append(dst, b.buf[s.name:s.colon]...)
		dst = append(dst, ": "...)
		dst = append(dst, b.buf[s.value:s.end]...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}
