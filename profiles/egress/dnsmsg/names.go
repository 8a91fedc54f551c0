// Package dnsmsg answers DNS queries of a guest from a list of names, without any other
// server. A listed name has the addresses of the guest's listeners. Every other name does
// not exist. It owns the form of queries and answers. It refuses every query that is not
// exactly one question with an uncompressed name.
//
// No part of a query leaves the host, so a guest cannot send data out in a query.
package dnsmsg

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// Limits. Every client accepts an answer of MaxAnswer bytes.
const (
	MaxQuery  = 4096
	MaxAnswer = 512
	ttl       = 5    // seconds
	payload   = 1232 // UDP size announced in OPT
)

const (
	headerSize  = 12
	badVersion  = 16 // of EDNS
	typeOPT     = dnsmessage.TypeOPT
	pointerBits = 0xc0
)

// Lookup returns the addresses of a name (lower case, without a trailing dot). ok is false if the name does
// not exist. An invalid address means that the name has none of that family.
type Lookup func(name string) (v4, v6 netip.Addr, ok bool)

// Answer returns the answer to a query. It returns nil if the query must not be answered: it is shorter than
// a header, or is an answer itself. It calls lookup at most once, and only with the name of a well-formed
// question that could be a host.
func Answer(query []byte, lookup Lookup) []byte {
	if len(query) < headerSize || query[2]&0x80 != 0 {
		return nil
	}
	q, code := read(query)
	a := answer{question: q, code: code, header: dnsmessage.Header{
		ID:               binary.BigEndian.Uint16(query),
		Response:         true,
		OpCode:           dnsmessage.OpCode(query[2] >> 3 & 15),
		RecursionDesired: query[2]&1 != 0, RecursionAvailable: true,
	}}
	if code == dnsmessage.RCodeSuccess {
		a.resolve(lookup)
	}
	return a.pack()
}

// question is a parsed query.
type question struct {
	dnsmessage.Question
	asked bool // the question was read
	edns  bool
}

// read parses a whole query. A question that could be read is returned with an error code too, so that the
// answer can echo it.
func read(query []byte) (question, dnsmessage.RCode) {
	var q question
	if query[2]>>3&15 != 0 {
		return q, dnsmessage.RCodeNotImplemented
	}
	counts := [4]uint16{}
	for i := range counts {
		counts[i] = binary.BigEndian.Uint16(query[4+2*i:])
	}
	if len(query) > MaxQuery || counts[0] != 1 || counts[1] != 0 || counts[2] != 0 || counts[3] > 1 ||
		!isUncompressedName(query[headerSize:]) {
		return q, dnsmessage.RCodeFormatError
	}
	var p dnsmessage.Parser
	if _, err := p.Start(query); err != nil {
		return q, dnsmessage.RCodeFormatError
	}
	one, err := p.Question()
	if err != nil {
		return q, dnsmessage.RCodeFormatError
	}
	q.Question, q.asked = one, true
	end := headerSize + int(one.Name.Length) + 1 + 4
	if one.Name.Length == 1 {
		end-- // the root label
	}
	return readAdditional(query[end:], q, counts[3] == 1)
}

// isUncompressedName reports whether text starts with a name that is not compressed.
func isUncompressedName(text []byte) bool {
	for n := 0; n < len(text) && n < 255; n += 1 + int(text[n]) {
		if text[n] == 0 {
			return true
		}
		if text[n]&pointerBits != 0 {
			return false
		}
	}
	return false
}

// readAdditional reads the part after the question: nothing, or one OPT record.
func readAdditional(rest []byte, q question, opt bool) (question, dnsmessage.RCode) {
	if !opt {
		if len(rest) != 0 {
			return q, dnsmessage.RCodeFormatError
		}
		return q, dnsmessage.RCodeSuccess
	}
	// The root name, a type, a class that is the UDP size, a TTL that is flags, and a length.
	if len(rest) < 11 || rest[0] != 0 || dnsmessage.Type(binary.BigEndian.Uint16(rest[1:])) != typeOPT ||
		int(binary.BigEndian.Uint16(rest[9:])) != len(rest)-11 || !validOptions(rest[11:]) {
		return q, dnsmessage.RCodeFormatError
	}
	q.edns = true
	if rest[6] != 0 {
		return q, badVersion
	}
	return q, dnsmessage.RCodeSuccess
}

// validOptions reports whether the options of an OPT record fill it exactly.
func validOptions(rest []byte) bool {
	for len(rest) > 0 {
		if len(rest) < 4 || len(rest) < 4+int(binary.BigEndian.Uint16(rest[2:])) {
			return false
		}
		rest = rest[4+int(binary.BigEndian.Uint16(rest[2:])):]
	}
	return true
}

// answer is the response to a query.
type answer struct {
	question
	header dnsmessage.Header
	code   dnsmessage.RCode
	addr   netip.Addr
}

// resolve answers a well-formed question.
func (a *answer) resolve(lookup Lookup) {
	if a.Class != dnsmessage.ClassINET {
		a.code = dnsmessage.RCodeRefused
		return
	}
	name, ok := host(a.Name)
	if !ok {
		a.code = dnsmessage.RCodeNameError
		return
	}
	v4, v6, ok := lookup(name)
	switch {
	case !ok:
		a.code = dnsmessage.RCodeNameError
	case a.Type == dnsmessage.TypeA && v4.Unmap().Is4():
		a.addr = v4.Unmap()
	case a.Type == dnsmessage.TypeAAAA && v6.Is6() && !v6.Is4In6():
		a.addr = v6.WithZone("")
	}
}

// host returns a name in lower case and without its trailing dot, if it could be the name of a host. Names of
// reverse lookups, for example, could not.
func host(name dnsmessage.Name) (string, bool) {
	n := int(name.Length) - 1
	if n <= 0 || n > 253 {
		return "", false
	}
	out := make([]byte, n)
	for i, c := range name.Data[:n] {
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return "", false
		}
		out[i] = c
	}
	text := string(out)
	return text, text != "arpa" && !(n > 5 && text[n-5:] == ".arpa")
}

// pack encodes the answer. The question is echoed byte by byte, because clients mix its case and compare it.
func (a *answer) pack() []byte {
	a.header.RCode = a.code & 15
	b := dnsmessage.NewBuilder(make([]byte, 0, MaxAnswer), a.header)
	b.EnableCompression()
	err := a.build(&b)
	out, ferr := b.Finish()
	if err != nil || ferr != nil || len(out) > MaxAnswer {
		return nil
	}
	return out
}

func (a *answer) build(b *dnsmessage.Builder) error {
	if a.asked {
		if err := b.StartQuestions(); err != nil {
			return err
		}
		if err := b.Question(a.Question); err != nil {
			return err
		}
	}
	if err := a.address(b); err != nil || !a.edns {
		return err
	}
	if err := b.StartAdditionals(); err != nil {
		return err
	}
	var h dnsmessage.ResourceHeader
	if err := h.SetEDNS0(payload, a.code, false); err != nil {
		return err
	}
	return b.OPTResource(h, dnsmessage.OPTResource{})
}

func (a *answer) address(b *dnsmessage.Builder) error {
	if !a.addr.IsValid() {
		return nil
	}
	if err := b.StartAnswers(); err != nil {
		return err
	}
	h := dnsmessage.ResourceHeader{Name: a.Name, Class: dnsmessage.ClassINET, TTL: ttl}
	if a.addr.Is4() {
		return b.AResource(h, dnsmessage.AResource{A: a.addr.As4()})
	}
	return b.AAAAResource(h, dnsmessage.AAAAResource{AAAA: a.addr.As16()})
}

// Frame returns the message at the start of buf, which over TCP follows its length, and the bytes that both
// take. n is 0 if the message is incomplete. ok is false if its length cannot be that of a query; then the
// rest of the stream is unreadable.
func Frame(buf []byte) (message []byte, n int, ok bool) {
	if len(buf) < 2 {
		return nil, 0, true
	}
	size := int(binary.BigEndian.Uint16(buf))
	if size < headerSize || size > MaxQuery {
		return nil, 0, false
	}
	if len(buf) < 2+size {
		return nil, 0, true
	}
	return buf[2 : 2+size : 2+size], 2 + size, true
}

// AppendFrame appends an answer in the form of TCP.
func AppendFrame(dst, answer []byte) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(answer))), answer...)
}
