// Package value checks the tagged encoding in which values cross between a program and its host, and makes it
// from plain JSON. ENCODING.md, one folder up, defines it.
//
// Both sides use it. The guest process checks the values of a program and the answers of the daemon. The daemon
// checks the values of a guest process. It trusts no input.
package value

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Mark is the key that no plain object of the encoding has.
const Mark = "$ringd"

// Undefined is the encoding of undefined.
const Undefined = `{"$ringd":"undefined"}`

// MaxDepth is how deep containers nest, in both directions.
const MaxDepth = 100

// Limits of one value. Zero fields allow nothing.
type Limits struct {
	Bytes int64 // of the text
	Nodes int   // values, holes included
}

// ErrInvalid wraps every reason for which Check rejects a text.
var ErrInvalid = errors.New("not a tagged value")

// Check returns nil if text is exactly one value of the encoding within l. Tags must have their keys in the
// documented order, and a ref must name an id before it.
func Check(text []byte, l Limits) error {
	if int64(len(text)) > l.Bytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, len(text), l.Bytes)
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: not UTF-8", ErrInvalid)
	}
	c := &checker{b: text, nodes: l.Nodes}
	c.space()
	c.value(false)
	c.space()
	if c.err == nil && c.p != len(c.b) {
		c.fail("text after the value")
	}
	return c.err
}

// checker is one pass over a text. The first error is kept and moves the position to the end, where every read
// fails.
type checker struct {
	b     []byte
	p     int
	nodes int
	depth int
	ids   map[int]bool
	err   error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at byte %d: %s", ErrInvalid, c.p, fmt.Sprintf(format, args...))
		c.p = len(c.b)
	}
}

func (c *checker) space() {
	for c.p < len(c.b) && (c.b[c.p] == ' ' || c.b[c.p] == '\n' || c.b[c.p] == '\t' || c.b[c.p] == '\r') {
		c.p++
	}
}

// peek returns the next byte, 0 at the end.
func (c *checker) peek() byte {
	if c.p < len(c.b) {
		return c.b[c.p]
	}
	return 0
}

// skip skips spaces, token and spaces, and reports whether the token was there.
func (c *checker) skip(token byte) bool {
	c.space()
	if c.peek() != token {
		return false
	}
	c.p++
	c.space()
	return true
}

func (c *checker) expect(token byte) {
	if !c.skip(token) {
		c.fail("want %q", token)
	}
}

func (c *checker) word(w string) {
	if !bytes.HasPrefix(c.b[c.p:], []byte(w)) {
		c.fail("unknown word")
		return
	}
	c.p += len(w)
}

// value reads one value. A hole is allowed only if hole is set.
func (c *checker) value(hole bool) {
	if c.nodes--; c.nodes < 0 {
		c.fail("too many values")
		return
	}
	switch b := c.peek(); {
	case b == '"':
		c.text()
	case b == '{':
		c.object(hole)
	case b == '[':
		c.deeper(func() { c.items(true) })
	case b == 't':
		c.word("true")
	case b == 'f':
		c.word("false")
	case b == 'n':
		c.word("null")
	case b == '-' || b >= '0' && b <= '9':
		c.number()
	default:
		c.fail("want a value")
	}
}

func (c *checker) deeper(read func()) {
	if c.depth++; c.depth > MaxDepth {
		c.fail("nested deeper than %d", MaxDepth)
	}
	read()
	c.depth--
}

// items reads an array of values.
func (c *checker) items(holes bool) {
	c.list(func() { c.value(holes) })
}

// list reads '[', items with commas between them, and ']'.
func (c *checker) list(item func()) {
	c.expect('[')
	if c.skip(']') {
		return
	}
	for c.err == nil {
		item()
		if c.skip(']') {
			return
		}
		c.expect(',')
	}
}

// object reads a plain or a tagged object.
func (c *checker) object(hole bool) {
	start := c.p
	c.expect('{')
	if c.peek() == '"' && bytes.HasPrefix(c.b[c.p:], []byte(`"$ringd"`)) {
		c.p += len(Mark) + 2
		c.expect(':')
		c.tagged(string(c.text()), hole)
		return
	}
	c.p = start
	c.deeper(c.plain)
}

// plain reads an object without the mark.
func (c *checker) plain() {
	c.expect('{')
	if c.skip('}') {
		return
	}
	for c.err == nil {
		if key, ok := c.string(); ok && key == Mark {
			c.fail("the mark is not the first key, or is escaped")
		}
		c.expect(':')
		c.value(false)
		if c.skip('}') {
			return
		}
		c.expect(',')
	}
}

// tagged reads the rest of a tagged object, after its tag.
func (c *checker) tagged(tag string, hole bool) {
	switch tag {
	case "undefined":
	case "hole":
		if !hole {
			c.fail("a hole outside an array")
		}
	case "number":
		c.field("value")
		c.oneOf("NaN", "Infinity", "-Infinity", "-0")
	case "bigint":
		c.field("value")
		if s := c.text(); !isInteger(s) {
			c.fail("not an integer")
		}
	case "ref":
		c.field("id")
		if id := c.id(); !c.ids[id] {
			c.fail("ref to %d, which stands nowhere before", id)
		}
	case "object", "array", "map", "set", "entries":
		c.identified(tag == "object" || tag == "array")
		c.field("value")
		c.deeper(func() { c.container(tag) })
	case "date", "bytes", "error", "regexp":
		c.identified(false)
		c.leaf(tag)
	default:
		c.fail("unknown tag %.20q", tag)
	}
	c.expect('}')
}

// container reads the value of a tagged container.
func (c *checker) container(tag string) {
	switch tag {
	case "object":
		c.space()
		c.plain()
	case "array":
		c.items(true)
	case "set":
		c.items(false)
	default:
		c.list(func() {
			c.expect('[')
			if tag == "entries" {
				c.text()
			} else {
				c.value(false)
			}
			c.expect(',')
			c.value(false)
			c.expect(']')
		})
	}
}

// leaf reads the fields of a tagged value without values in it.
func (c *checker) leaf(tag string) {
	switch tag {
	case "date":
		c.field("value")
		if c.peek() == 'n' {
			c.word("null")
		} else if s := c.text(); !isDate(s) {
			c.fail("not a date")
		}
	case "bytes":
		c.field("type")
		size := c.bytesType()
		c.field("value")
		c.base64(size)
	case "error":
		c.field("name")
		c.text()
		c.field("message")
		c.text()
	case "regexp":
		c.field("source")
		c.text()
		c.field("flags")
		if s := c.text(); !isFlags(s) {
			c.fail("unknown flags")
		}
	}
}

// field reads a comma, the key and a colon.
func (c *checker) field(key string) {
	c.expect(',')
	if string(c.text()) != key {
		c.fail("want the key %q", key)
	}
	c.expect(':')
}

// identified reads an id, if there is one or must be one.
func (c *checker) identified(must bool) {
	rest := bytes.TrimLeft(c.b[c.p:], " \t\r\n,")
	if !must && !bytes.HasPrefix(rest, []byte(`"id"`)) {
		return
	}
	c.field("id")
	id := c.id()
	if c.ids[id] {
		c.fail("id %d twice", id)
	}
	if c.ids == nil {
		c.ids = map[int]bool{}
	}
	c.ids[id] = true
}

func (c *checker) id() int {
	start := c.p
	for b := c.peek(); b >= '0' && b <= '9'; b = c.peek() {
		c.p++
	}
	n, err := strconv.Atoi(string(c.b[start:c.p]))
	if err != nil || n < 1 || c.b[start] == '0' || n > 1<<30 {
		c.fail("not an id")
		return 0
	}
	return n
}

func (c *checker) oneOf(words ...string) {
	s := string(c.text())
	for _, w := range words {
		if s == w {
			return
		}
	}
	c.fail("unknown value")
}

// bytesType reads the name of a kind of bytes and returns the size of its
// elements.
func (c *checker) bytesType() int {
	switch string(c.text()) {
	case "Int8Array", "Uint8Array", "Uint8ClampedArray", "ArrayBuffer", "DataView":
		return 1
	case "Int16Array", "Uint16Array", "Float16Array":
		return 2
	case "Int32Array", "Uint32Array", "Float32Array":
		return 4
	case "Float64Array", "BigInt64Array", "BigUint64Array":
		return 8
	}
	c.fail("unknown kind of bytes")
	return 1
}

func (c *checker) base64(size int) {
	s := c.text()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Strict().Decode(out, s)
	if err != nil || n%size != 0 || bytes.ContainsAny(s, "\r\n") {
		c.fail("not base64 of whole elements")
	}
}
