package engine

// code meters every function and adds the two that replace memory.copy and memory.fill. It returns the new
// section and the number of checks in it.
func (m *module) code() ([]byte, int, error) {
	r := &reader{b: m.body[secCode]}
	n := r.count(maxItems)
	if r.err == nil && n != len(m.funcs) {
		return nil, 0, refused("%d functions, %d bodies", len(m.funcs), n)
	}
	out := unsigned(make([]byte, 0, len(r.b)+len(r.b)/4), uint32(n+2))
	sites := 0
	for i := 0; i < n && r.err == nil; i++ {
		body := r.take(int(r.u32()))
		if r.err != nil {
			break
		}
		f, checks, err := m.function(body, m.params[m.funcs[i]])
		if err != nil {
			return nil, 0, err
		}
		sites += checks
		out = append(unsigned(out, uint32(len(f))), f...)
	}
	if r.more() {
		r.fail("code section has bytes after its end")
	}
	for _, op := range []byte{opCopy, opFill} {
		f := m.bulkFunction(op)
		out = append(unsigned(out, uint32(len(f))), f...)
	}
	return out, sites + 2, r.err
}

// check appends the instructions for: fuel -= cost, which is on the stack; if fuel is below zero, call the hook
// and trap unless it returns zero. tmp is an i64 local.
func (m *module) check(out []byte, tmp uint32) []byte {
	fuel := uint32(m.globals)
	out = append(out, 0x7d)                          // i64.sub
	out = unsigned(append(out, 0x22), tmp)           // local.tee tmp
	out = unsigned(append(out, 0x24), fuel)          // global.set fuel
	out = unsigned(append(out, 0x20), tmp)           // local.get tmp
	out = append(out, 0x42, 0x00, 0x53, 0x04, 0x40)  // i64.const 0; i64.lt_s; if
	out = unsigned(append(out, 0x10), m.hook)        // call hook
	return append(out, 0x04, 0x40, 0x00, 0x0b, 0x0b) // if; unreachable; end; end
}

// charge appends a check with a constant cost.
func (m *module) charge(out []byte, cost int, tmp uint32) []byte {
	out = unsigned(append(out, 0x23), uint32(m.globals))
	out = signed(append(out, 0x42), int64(min(cost, maxCost)))
	return m.check(out, tmp)
}

// bulkFunction is (dst, src or value, n): it charges n bytes and then performs op.
func (m *module) bulkFunction(op byte) []byte {
	out := []byte{1, 1, typeI64}
	out = unsigned(append(out, 0x23), uint32(m.globals))
	out = append(out, 0x20, 2, 0x41, bulkShift, 0x76, 0xad) // n >> shift, extended
	out = m.check(out, 3)
	out = append(out, 0x20, 0, 0x20, 1, 0x20, 2, 0xfc, op, 0)
	if op == opCopy {
		out = append(out, 0)
	}
	return append(out, 0x0b)
}

// cut is a position in a body where fuel is taken for the instructions from there to the next cut, in the order
// of the text.
type cut struct {
	at, cost int
	call     uint32 // if replaced > 0, call this instead of a bulk instruction
	replaced int    // bytes
}

// function meters one body.
func (m *module) function(body []byte, params int) ([]byte, int, error) {
	r := &reader{b: body}
	locals := params
	groups := r.count(maxLocals)
	decl := r.p
	for i := 0; i < groups && r.err == nil; i++ {
		n := r.count(maxLocals)
		if locals += n; locals > maxLocals || !valueType(r.u8()) {
			r.fail("unknown or too many locals")
		}
	}
	start := r.p
	cuts := []cut{{at: start}}
	site := 0 // the cut that pays now
	last := byte(0)
	for r.more() {
		cuts[site].cost++
		at := r.p
		last = r.u8()
		switch last {
		case 0x03: // loop
			blockType(r)
			site = len(cuts)
			cuts = append(cuts, cut{at: r.p})
		case 0xfc:
			if fn := m.prefixed(r); fn != 0 {
				cuts = append(cuts, cut{at: at, call: fn, replaced: r.p - at})
			}
		default:
			instruction(r, last)
		}
	}
	if r.err == nil && last != 0x0b {
		r.fail("function does not end")
	}
	if r.err != nil {
		return nil, 0, r.err
	}
	out := unsigned(make([]byte, 0, len(body)+24*len(cuts)), uint32(groups+1))
	out = append(out, body[decl:start]...)
	out = append(out, 1, typeI64)
	checks, prev := 0, start
	for _, c := range cuts {
		out = append(out, body[prev:c.at]...)
		if c.replaced > 0 {
			out = unsigned(append(out, 0x10), c.call)
		} else {
			out = m.charge(out, c.cost, uint32(locals))
			checks++
		}
		prev = c.at + c.replaced
	}
	return append(out, body[prev:]...), checks, nil
}

const (
	opCopy = 0x0a // after 0xfc
	opFill = 0x0b
)

// prefixed reads an instruction after 0xfc. It returns the function to call in its place, or 0.
func (m *module) prefixed(r *reader) uint32 {
	switch op := r.u32(); {
	case op <= 7: // truncations that saturate
		return 0
	case op == opCopy:
		if r.u8() != 0 || r.u8() != 0 {
			r.fail("unknown memory")
		}
		return m.copyFn
	case op == opFill:
		if r.u8() != 0 {
			r.fail("unknown memory")
		}
		return m.fillFn
	default:
		r.fail("unknown instruction 0xfc %d", op)
		return 0
	}
}

func blockType(r *reader) {
	if t := r.u8(); t != 0x40 && !valueType(t) {
		r.fail("unknown block type %#x", t)
	}
}

// instruction skips the operands of op. It supports WebAssembly 1.0 and the sign extensions, and rejects all
// others: reference, table, vector, atomic, exception and tail-call instructions.
func instruction(r *reader, op byte) {
	switch {
	case op == 0x02 || op == 0x04: // block, if
		blockType(r)
	case op == 0x0c || op == 0x0d || op == 0x10 || op >= 0x20 && op <= 0x24: // br, br_if, call, variables
		r.u32()
	case op == 0x0e: // br_table
		for n := r.count(uint32(len(r.b))); n >= 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == 0x11: // call_indirect
		r.u32()
		if r.u8() != 0 {
			r.fail("unknown table")
		}
	case op >= 0x28 && op <= 0x3e: // loads and stores
		if r.u32() > 3 {
			r.fail("unknown alignment")
		}
		r.u32()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		if r.u8() != 0 {
			r.fail("unknown memory")
		}
	case op == 0x41:
		r.signed(5)
	case op == 0x42:
		r.signed(10)
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op <= 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
	default:
		r.fail("unknown instruction %#x", op)
	}
}
