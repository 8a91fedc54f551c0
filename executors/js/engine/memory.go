package engine

import "github.com/tetratelabs/wazero/experimental"

// heapAllocator allocates memory of the Go heap, for building the image.
type heapAllocator struct{}

func (heapAllocator) Allocate(_, _ uint64) experimental.LinearMemory { return &heapMemory{} }

type heapMemory struct{ b []byte }

func (m *heapMemory) Reallocate(size uint64) []byte {
	if n := uint64(len(m.b)); size > n {
		m.b = append(m.b, make([]byte, size-n)...)
	}
	return m.b[:size]
}

func (m *heapMemory) Free() { m.b = nil }

// vmAllocator allocates the memory of a VM: one reservation of most bytes. If there is a backing, the image is
// mapped over its start.
type vmAllocator struct {
	vm     *VM
	image  *image
	most   uint64
	mapped bool
	err    error
}

func (a *vmAllocator) Allocate(_, _ uint64) experimental.LinearMemory {
	b, err := reserve(int(a.most))
	if err != nil {
		a.err = err
		return &vmMemory{a: a}
	}
	if a.image.backing != nil {
		if a.err = a.image.backing.overlay(b); a.err == nil {
			a.mapped = true
		}
	}
	return &vmMemory{a: a, b: b}
}

type vmMemory struct {
	a *vmAllocator
	b []byte
}

// Reallocate returns nil over the limit, which also ends the VM.
func (m *vmMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		if m.a.vm.fuel != nil {
			m.a.vm.kill(ErrMemory)
		}
		return nil
	}
	return m.b[:size:size]
}

func (m *vmMemory) Free() {
	if m.b != nil {
		release(m.b)
		m.b = nil
	}
}
