package wasmguest

import "github.com/tetratelabs/wazero/experimental"

// Memory is the linear memory of one interpreter, with a limit that may be set while it waits. Only the
// goroutine that runs the interpreter uses it.
type Memory struct {
	limit   uint64
	size    uint64
	refused bool
	b       []byte // reserved
	err     error
}

// newMemory returns a memory that may grow to limit bytes.
func newMemory(limit int64) *Memory { m := &Memory{}; m.Limit(limit); return m }

// Limit sets the limit. Memory above it is kept.
func (m *Memory) Limit(limit int64) { m.limit = uint64(max(0, min(limit, maxMemoryBytes))) }

// Refused reports whether it had to grow above its limit.
func (m *Memory) Refused() bool { return m.refused }

// Bytes returns its size.
func (m *Memory) Bytes() int64 { return int64(m.size) }

// Allocate implements experimental.MemoryAllocator.
func (m *Memory) Allocate(_, _ uint64) experimental.LinearMemory {
	m.b, m.err = reserve(maxMemoryBytes)
	return m
}

// Reallocate implements experimental.LinearMemory. Python turns nil into a MemoryError.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > m.limit || size > uint64(len(m.b)) {
		m.refused = true
		return nil
	}
	if size > m.size {
		if m.err = open(m.b[m.size:size]); m.err != nil {
			m.refused = true
			return nil
		}
		m.size = size
	}
	return m.b[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *Memory) Free() {
	if m.b != nil {
		release(m.b)
		m.b = nil
	}
}
