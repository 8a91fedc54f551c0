package httphead

import "strconv"

// Limits of the framing around the chunks of one body. It is dropped.
const (
	maxExtensions = 16 << 10
	maxTrailer    = 8 << 10
	maxDigits     = 15 // of a chunk size, so that it fits int64
)

// LastChunk ends a chunked body without trailers.
const LastChunk = "0\r\n\r\n"

// Chunks parses a chunked body. The zero Chunks is ready for use. It is not safe for concurrent use.
type Chunks struct {
	state  state
	digits int
	left   int64 // unread bytes of the current chunk
	around int   // bytes of extensions so far, then bytes of trailers
}

// state says which bytes may come next.
type state uint8

const (
	size      state = iota // a digit
	digits                 // a digit, ; or CR
	extension              // the start of an extension
	inside                 // an extension, or CR
	sizeLF
	data
	dataCR
	dataLF
	line // in the trailers: a name, or CR for the end
	trailer
	value
	valueLF
	lastLF
	done
	broken
)

// Done reports whether the body has been read to its end.
func (c *Chunks) Done() bool { return c.state == done }

// Next consumes n bytes of buf. body is the part of them that is content and may be empty. It consumes
// nothing if buf is empty or the body is done. An error is an [Error], and every later call returns it too.
func (c *Chunks) Next(buf []byte) (body []byte, n int, err error) {
	for n < len(buf) {
		if c.state == data {
			m := int(min(c.left, int64(len(buf)-n)))
			if c.left -= int64(m); c.left == 0 {
				c.state = dataCR
			}
			return buf[n : n+m : n+m], n + m, nil
		}
		if c.state == done {
			return nil, n, nil
		}
		if c.state = c.step(buf[n]); c.state == broken {
			return nil, n, ErrChunk
		}
		n++
	}
	if c.state == broken {
		return nil, n, ErrChunk
	}
	return nil, n, nil
}

// step consumes one byte that is not content.
func (c *Chunks) step(b byte) state {
	switch c.state {
	case size, digits:
		return c.size(b)
	case extension, inside:
		return c.extension(b)
	case sizeLF:
		return c.sized(b)
	case dataCR:
		return want(b, '\r', dataLF)
	case dataLF:
		return want(b, '\n', size)
	case line, trailer, value:
		return c.trailer(b)
	case valueLF:
		return want(b, '\n', line)
	case lastLF:
		return want(b, '\n', done)
	case data, done, broken:
	}
	return broken
}

func want(b, only byte, then state) state {
	if b != only {
		return broken
	}
	return then
}

func (c *Chunks) size(b byte) state {
	switch {
	case is(b, inHex):
		if c.digits++; c.digits > maxDigits {
			return broken
		}
		c.left = c.left<<4 | int64(digit(b))
		return digits
	case c.state == size:
		return broken
	case b == ';':
		c.around++
		return extension
	}
	return want(b, '\r', sizeLF)
}

func digit(b byte) byte {
	switch {
	case b <= '9':
		return b - '0'
	default:
		return b&^0x20 - 'A' + 10
	}
}

func (c *Chunks) extension(b byte) state {
	if b == '\r' && c.state == inside {
		return sizeLF
	}
	if c.around++; c.around > maxExtensions || !is(b, inValue) {
		return broken
	}
	if c.state == extension && !is(b, inToken) {
		if b == ' ' || b == '\t' {
			return extension
		}
		return broken
	}
	return inside
}

func (c *Chunks) sized(b byte) state {
	c.digits = 0
	if c.left == 0 {
		c.around = 0
		return want(b, '\n', line)
	}
	return want(b, '\n', data)
}

func (c *Chunks) trailer(b byte) state {
	if c.around++; c.around > maxTrailer {
		return broken
	}
	switch {
	case c.state == line && b == '\r':
		return lastLF
	case c.state == value && b == '\r':
		return valueLF
	case c.state == value && is(b, inValue):
		return value
	case c.state == trailer && b == ':':
		return value
	case c.state != value && is(b, inToken):
		return trailer
	}
	return broken
}

// AppendSize appends the size line of a chunk of n bytes. The caller appends "\r\n" after its bytes. n must
// be above 0, since an empty chunk ends the body.
func AppendSize(dst []byte, n int) []byte {
	return append(strconv.AppendInt(dst, int64(n), 16), "\r\n"...)
}
