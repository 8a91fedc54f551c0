package engine

import "github.com/tetratelabs/wazero/experimental"

// heapAllocator gives memory of the Go heap, for building the image.
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

// vmAllocator gives a VM its memory: one reservation of most bytes, over whose
// start the image is mapped when there is a backing.
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

// Reallocate returns nil over the cap, which is also the end of the VM.
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
