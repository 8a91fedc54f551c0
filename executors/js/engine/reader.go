package engine

// Limits of a module.
const (
	maxModule = 16 << 20
	maxItems  = 1 << 16 // in a vector, except code
	maxLocals = 50_000
	maxName   = 1 << 12
)

// reader decodes a byte slice. The first error is kept: from then on every read returns zero and more returns
// false.
type reader struct {
	b   []byte
	p   int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = refused("at byte %d: "+format, append([]any{r.p}, args...)...)
		r.p = len(r.b)
	}
}

func (r *reader) more() bool { return r.err == nil && r.p < len(r.b) }

func (r *reader) u8() byte {
	if r.p >= len(r.b) {
		r.fail("unexpected end")
		return 0
	}
	c := r.b[r.p]
	r.p++
	return c
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b)-r.p {
		r.fail("unexpected end")
		return nil
	}
	s := r.b[r.p : r.p+n : r.p+n]
	r.p += n
	return s
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.u8()
		if shift == 28 && c > 0x0f {
			r.fail("number does not fit 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("number does not fit 32 bits")
	return 0
}

// signed skips a signed LEB128 number of at most n bytes and returns it.
func (r *reader) signed(n int) int64 {
	var v int64
	for i := range n {
		c := r.u8()
		v |= int64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if shift := 7 * (i + 1); shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.fail("number is too long")
	return 0
}

// count reads the length of a vector.
func (r *reader) count(limit uint32) int {
	n := r.u32()
	if n > limit {
		r.fail("%d items, at most %d", n, limit)
		return 0
	}
	return int(n)
}

func (r *reader) name() string { return string(r.take(r.count(maxName))) }

// limits skips the limits of a table or a memory.
func (r *reader) limits() {
	switch r.u8() {
	case 0:
		r.u32()
	case 1:
		r.u32()
		r.u32()
	default:
		r.fail("unknown limits")
	}
}

func valueType(t byte) bool { return t >= 0x7c && t <= 0x7f }

func unsigned(out []byte, v uint32) []byte {
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

func signed(out []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}
