package engine

import "bytes"

// Section ids.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

const (
	typeI32 = 0x7f
	typeI64 = 0x7e
)

// module is a parsed module: section bodies, and the data that the rewriter needs to add to them.
type module struct {
	body    [secDataCount + 1][]byte
	have    [secDataCount + 1]bool
	params  []int    // of each type
	funcs   []uint32 // type of each defined function
	imports int      // number of imported functions
	hook    uint32
	globals int
	copyFn  uint32 // index of the added function that copies memory
	fillFn  uint32
	bulk    uint32 // type (i32, i32, i32) -> ()
}

// parse splits wasm and reads all sections but code and data.
func parse(wasm []byte, hookModule, hookName string) (*module, error) {
	if len(wasm) > maxModule {
		return nil, refused("longer than %d bytes", maxModule)
	}
	m := &module{}
	if err := m.split(wasm); err != nil {
		return nil, err
	}
	for _, read := range []func() error{
		m.readTypes,
		func() error { return m.readImports(hookModule, hookName) },
		m.readFunctions,
		m.readGlobals,
		m.readMemories,
		m.readExports,
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	m.copyFn = uint32(m.imports + len(m.funcs))
	m.fillFn = m.copyFn + 1
	m.bulk = uint32(len(m.params))
	return m, nil
}

// split cuts wasm into sections, each at most once and in order. Custom
// sections are dropped.
func (m *module) split(wasm []byte) error {
	r := &reader{b: wasm}
	if !bytes.Equal(r.take(8), []byte("\x00asm\x01\x00\x00\x00")) {
		return refused("not a WebAssembly 1.0 binary")
	}
	order := [...]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6,
		secExport: 7, secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12}
	last := 0
	for r.more() {
		id := int(r.u8())
		body := r.take(int(r.u32()))
		switch {
		case r.err != nil:
		case id == secCustom:
		case id == secStart:
			r.fail("start functions are not allowed")
		case id > secDataCount || order[id] <= last:
			r.fail("unknown, repeated or misplaced section %d", id)
		default:
			last = order[id]
			m.body[id], m.have[id] = body, true
		}
	}
	for _, id := range []int{secType, secImport, secFunction, secMemory, secGlobal, secExport, secCode} {
		if r.err == nil && !m.have[id] {
			return refused("section %d is missing", id)
		}
	}
	return r.err
}

// vector reads a section that is a vector of items and nothing after it.
func (m *module) vector(id int, item func(r *reader, i int)) error {
	r := &reader{b: m.body[id]}
	n := r.count(maxItems)
	for i := 0; i < n && r.err == nil; i++ {
		item(r, i)
	}
	if r.more() {
		r.fail("section %d has bytes after its end", id)
	}
	return r.err
}

func (m *module) readTypes() error {
	return m.vector(secType, func(r *reader, _ int) {
		if r.u8() != 0x60 {
			r.fail("only function types are known")
			return
		}
		params := r.count(1000)
		for _, t := range append(r.take(params), r.take(r.count(1))...) {
			if !valueType(t) {
				r.fail("unknown value type %#x", t)
			}
		}
		m.params = append(m.params, params)
	})
}

func (m *module) readImports(hookModule, hookName string) error {
	found := false
	err := m.vector(secImport, func(r *reader, i int) {
		from, name := r.name(), r.name()
		if r.u8() != 0 {
			r.fail("import %s.%s is not a function", from, name)
			return
		}
		if t := r.u32(); int(t) >= len(m.params) {
			r.fail("import %s.%s has no type", from, name)
		}
		if from == hookModule && name == hookName {
			found, m.hook = true, uint32(i)
		}
		m.imports++
	})
	if err == nil && !found {
		return refused("import %s.%s is missing", hookModule, hookName)
	}
	return err
}

func (m *module) readFunctions() error {
	return m.vector(secFunction, func(r *reader, _ int) {
		t := r.u32()
		if int(t) >= len(m.params) {
			r.fail("function without a type")
			return
		}
		m.funcs = append(m.funcs, t)
	})
}

// readGlobals reads globals whose initial value is a constant.
func (m *module) readGlobals() error {
	return m.vector(secGlobal, func(r *reader, _ int) {
		if !valueType(r.u8()) || r.u8() > 1 {
			r.fail("unknown global")
			return
		}
		switch r.u8() {
		case 0x41:
			r.signed(5)
		case 0x42:
			r.signed(10)
		case 0x43:
			r.take(4)
		case 0x44:
			r.take(8)
		default:
			r.fail("global without a constant")
		}
		if r.u8() != 0x0b {
			r.fail("global without a constant")
		}
		m.globals++
	})
}

func (m *module) readMemories() error {
	return m.vector(secMemory, func(r *reader, i int) {
		if i > 0 {
			r.fail("more than one memory")
			return
		}
		r.limits()
	})
}

func (m *module) readExports() error {
	return m.vector(secExport, func(r *reader, _ int) {
		if r.name() == fuelGlobal {
			r.fail("export %s is taken", fuelGlobal)
		}
		if r.u8() > 3 {
			r.fail("unknown export")
		}
		r.u32()
	})
}

// segments reads the data section: active segments of memory 0 at constant
// offsets.
func (m *module) segments() ([]meteredSegment, error) {
	if !m.have[secData] {
		return nil, nil
	}
	var out []meteredSegment
	err := m.vector(secData, func(r *reader, _ int) {
		if r.u32() != 0 || r.u8() != 0x41 {
			r.fail("data segment is not active at a constant offset")
			return
		}
		offset := r.signed(5)
		if r.u8() != 0x0b {
			r.fail("data segment is not active at a constant offset")
			return
		}
		out = append(out, meteredSegment{Offset: uint32(offset), Bytes: r.take(int(r.u32()))})
	})
	return out, err
}

// encode writes the module with the added type, functions, global and export,
// without data.
func (m *module) encode(code []byte) []byte {
	out := make([]byte, 0, len(code)+1<<17)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	for _, id := range []int{
		secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secElement, secCode,
	} {
		if !m.have[id] {
			continue
		}
		body := m.body[id]
		switch id {
		case secType:
			body = extend(body, 1, []byte{0x60, 3, typeI32, typeI32, typeI32, 0})
		case secFunction:
			t := unsigned(nil, m.bulk)
			body = extend(body, 2, append(t, t...))
		case secGlobal:
			body = extend(body, 1, []byte{typeI64, 1, 0x42, 0, 0x0b})
		case secExport:
			e := append(unsigned(nil, uint32(len(fuelGlobal))), fuelGlobal...)
			body = extend(body, 1, unsigned(append(e, 3), uint32(m.globals)))
		case secCode:
			body = code
		}
		out = unsigned(append(out, byte(id)), uint32(len(body)))
		out = append(out, body...)
	}
	return out
}

// extend appends n encoded items to a vector that was read before.
func extend(vector []byte, n uint32, items []byte) []byte {
	r := &reader{b: vector}
	count := r.u32()
	out := unsigned(make([]byte, 0, len(vector)+len(items)+5), count+n)
	return append(append(out, vector[r.p:]...), items...)
}
