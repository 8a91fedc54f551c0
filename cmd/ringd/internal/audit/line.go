package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
)

const (
	formatVersion = 1
	shortHash     = 16  // bytes of a hash in a record line
	maxFrame      = 128 // maximum bytes of a record line around its record
	maxLine       = MaxRecord + maxFrame
	signDomain    = "ringd audit commit v1\n"
)

// header is the first line of a segment.
type header struct {
	version int64
	segment int64
	first   int64 // sequence of the first record
	prev    Hash
	key     [ed25519.PublicKeySize]byte
}

func (h header) append(b []byte) []byte {
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, h.version, 10)
	b = append(b, `,"n":`...)
	b = strconv.AppendInt(b, h.segment, 10)
	b = append(b, `,"s":`...)
	b = strconv.AppendInt(b, h.first, 10)
	b = append(b, `,"p":"`...)
	b = hex.AppendEncode(b, h.prev[:])
	b = append(b, `","k":"`...)
	b = hex.AppendEncode(b, h.key[:])
	return append(b, `"}`...)
}

func parseHeader(b []byte) (h header, ok bool) {
	c := cursor{b: b}
	c.literal(`{"v":`)
	h.version = c.number()
	c.literal(`,"n":`)
	h.segment = c.number()
	c.literal(`,"s":`)
	h.first = c.number()
	c.literal(`,"p":"`)
	c.hex(h.prev[:])
	c.literal(`","k":"`)
	c.hex(h.key[:])
	c.literal(`"}`)
	return h, c.end()
}

// entry is a record line; body is part of the line it was parsed from.
type entry struct {
	seq  int64
	prev [shortHash]byte
	body []byte
}

func (e entry) append(b []byte) []byte {
	b = append(b, `{"s":`...)
	b = strconv.AppendInt(b, e.seq, 10)
	b = append(b, `,"p":"`...)
	b = hex.AppendEncode(b, e.prev[:])
	b = append(b, `","r":`...)
	b = append(b, e.body...)
	return append(b, '}')
}

func parseEntry(b []byte) (e entry, ok bool) {
	c := cursor{b: b}
	c.literal(`{"s":`)
	e.seq = c.number()
	c.literal(`,"p":"`)
	c.hex(e.prev[:])
	c.literal(`","r":`)
	if c.bad || len(c.b) < len(`{}}`) || c.b[0] != '{' || !bytes.HasSuffix(c.b, []byte(`}}`)) {
		return entry{}, false
	}
	e.body = c.b[:len(c.b)-1]
	return e, true
}

// commit is a commit line; sig is nil when it is not signed.
type commit struct {
	seq   int64
	hash  Hash
	bytes int64
	sig   []byte
}

// appendUnsigned appends the line up to the signature or the end. This is the part that a signature covers.
func (c commit) appendUnsigned(b []byte) []byte {
	b = append(b, `{"c":`...)
	b = strconv.AppendInt(b, c.seq, 10)
	b = append(b, `,"h":"`...)
	b = hex.AppendEncode(b, c.hash[:])
	b = append(b, `","b":`...)
	return strconv.AppendInt(b, c.bytes, 10)
}

func (c commit) append(b []byte) []byte {
	b = c.appendUnsigned(b)
	if c.sig != nil {
		b = append(b, `,"sig":"`...)
		b = base64.StdEncoding.AppendEncode(b, c.sig)
		b = append(b, '"')
	}
	return append(b, '}')
}

// message returns the bytes that the host signs.
func (c commit) message() []byte { return c.appendUnsigned([]byte(signDomain)) }

func parseCommit(b []byte) (c commit, ok bool) {
	p := cursor{b: b}
	p.literal(`{"c":`)
	c.seq = p.number()
	p.literal(`,"h":"`)
	p.hex(c.hash[:])
	p.literal(`","b":`)
	c.bytes = p.number()
	if !p.bad && bytes.Equal(p.b, []byte(`}`)) {
		return c, true
	}
	p.literal(`,"sig":"`)
	c.sig = p.signature()
	p.literal(`"}`)
	return c, p.end()
}

// cursor parses one line from the left. After the first mismatch it is bad, and all values are zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || len(c.b) < n {
		c.bad = true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) literal(s string) {
	if got := c.take(len(s)); !c.bad && string(got) != s {
		c.bad = true
	}
}

// number parses a decimal in the form of strconv: no sign, no leading zero, within int64.
func (c *cursor) number() int64 {
	n := 0
	for n < len(c.b) && n < 20 && c.b[n] >= '0' && c.b[n] <= '9' {
		n++
	}
	digits := c.take(n)
	if c.bad || n == 0 || (n > 1 && digits[0] == '0') {
		c.bad = true
		return 0
	}
	v, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		c.bad = true
		return 0
	}
	return v
}

// hex fills out from lower-case hex digits.
func (c *cursor) hex(out []byte) {
	digits := c.take(hex.EncodedLen(len(out)))
	if c.bad {
		return
	}
	if bytes.ContainsAny(digits, "ABCDEF") {
		c.bad = true
		return
	}
	if _, err := hex.Decode(out, digits); err != nil {
		c.bad = true
	}
}

func (c *cursor) signature() []byte {
	text := c.take(base64.StdEncoding.EncodedLen(ed25519.SignatureSize))
	if c.bad {
		return nil
	}
	sig, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil || len(sig) != ed25519.SignatureSize {
		c.bad = true
		return nil
	}
	return sig
}

func (c *cursor) end() bool { return !c.bad && len(c.b) == 0 }

func hashLine(b []byte) Hash { return sha256.Sum256(b) }
