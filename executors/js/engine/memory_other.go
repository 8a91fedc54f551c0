//go:build !linux

package engine

// backing is not available: VMs copy the image.
type backing struct{}

func newBacking(*image) *backing { return nil }

func (*backing) close() error { return nil }

func (*backing) overlay([]byte) error { return nil }

// reserve returns n zero bytes of the Go heap.
func reserve(n int) ([]byte, error) { return make([]byte, n), nil }

func release([]byte) {}
