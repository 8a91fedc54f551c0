package value

import (
	"bytes"
	"encoding/json"
)

// text reads a string that must be written without escapes, and returns the text between the quotes.
func (c *checker) text() []byte {
	start := c.p + 1
	if c.peek() != '"' {
		c.fail("want a string")
		return nil
	}
	for i := start; i < len(c.b); i++ {
		switch b := c.b[i]; {
		case b == '"':
			c.p = i + 1
			return c.b[start:i]
		case b < 0x20:
			c.p = i
			c.fail("a control character in a string")
			return nil
		case b == '\\':
			n := escape(c.b[i:])
			if n == 0 {
				c.p = i
				c.fail("unknown escape")
				return nil
			}
			i += n - 1
		}
	}
	c.fail("a string does not end")
	return nil
}

// escape returns the length of the escape sequence at the start of b, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, h := range b[2:6] {
			if !(h >= '0' && h <= '9' || h >= 'a' && h <= 'f' || h >= 'A' && h <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// string reads a string and returns its decoded value.
func (c *checker) string() (string, bool) {
	raw := c.text()
	if c.err != nil {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), true
	}
	var s string
	if err := json.Unmarshal(c.b[c.p-len(raw)-2:c.p], &s); err != nil {
		c.fail("not a string")
		return "", false
	}
	return s, true
}

// number reads a JSON number.
func (c *checker) number() {
	digits := func() bool {
		start := c.p
		for b := c.peek(); b >= '0' && b <= '9'; b = c.peek() {
			c.p++
		}
		return c.p > start
	}
	if c.peek() == '-' {
		c.p++
	}
	ok := true
	if c.peek() == '0' {
		c.p++
	} else {
		ok = digits()
	}
	if ok && c.peek() == '.' {
		c.p++
		ok = digits()
	}
	if b := c.peek(); ok && (b == 'e' || b == 'E') {
		c.p++
		if b := c.peek(); b == '+' || b == '-' {
			c.p++
		}
		ok = digits()
	}
	if !ok {
		c.fail("not a number")
	}
}

// isInteger matches -?(0|[1-9][0-9]*), without -0.
func isInteger(s []byte) bool {
	s = bytes.TrimPrefix(s, []byte("-"))
	if len(s) == 0 || s[0] == '0' && len(s) > 1 {
		return false
	}
	return allDigits(s)
}

func allDigits(s []byte) bool {
	for _, b := range s {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// isDate matches the output of Date.prototype.toISOString.
func isDate(s []byte) bool {
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		if len(s) != 27 || !allDigits(s[1:3]) {
			return false
		}
		s = s[3:]
	}
	const form = "0000-00-00T00:00:00.000Z"
	if len(s) != len(form) {
		return false
	}
	for i := range form {
		if digit := form[i] == '0'; digit && (s[i] < '0' || s[i] > '9') || !digit && s[i] != form[i] {
			return false
		}
	}
	return true
}

// isFlags matches regular expression flags, each at most once.
func isFlags(s []byte) bool {
	for i, b := range s {
		if bytes.IndexByte([]byte("dgimsuvy"), b) < 0 || bytes.IndexByte(s[:i], b) >= 0 {
			return false
		}
	}
	return true
}
