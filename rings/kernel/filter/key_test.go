package filter_test

import (
	"testing"

	"github.com/ringd/ringd/rings/kernel/filter"
	"github.com/ringd/ringd/rings/kernel/order"
)

// TestKey: a program starts with the key alone, by all of its bits.
func TestKey(t *testing.T) {
	key := order.Key{0x1122334455667788, 0x99aabbccddeeff01, 0x0f1e2d3c4b5a6979}
	for _, arch := range architectures() {
		for _, s := range []filter.Spec{{Arch: arch, Key: key}, {Arch: arch, Key: key, Notify: true, Processes: true}} {
			p := build(t, s)
			exec, _ := filter.Number(arch, "execve")
			start := func(path uint64, key order.Key) uint32 {
				ret, err := filter.Run(p, filter.Data{Call: int32(exec), Arch: filter.AuditArch(arch), Args: [6]uint64{path, 1, 2, key[0], key[1], key[2]}})
				if err != nil {
					t.Fatal(err)
				}
				return ret
			}
			if got := start(0x7fff00001000, key); got != filter.RetAllow {
				t.Errorf("with the key: %#x", got)
			}
			refused := uint32(filter.RetErrno | 1)
			if s.Notify {
				refused = filter.RetNotify
			}
			for word := range key {
				for bit := range 64 {
					other := key
					other[word] ^= 1 << bit
					if got := start(1<<32, other); got != refused {
						t.Fatalf("bit %d of word %d is not looked at: %#x", bit, word, got)
					}
				}
			}
			if got := start(0, order.Key{}); got != filter.RetErrno|1 {
				t.Errorf("the canary gets %#x", got)
			}
			at, _ := filter.Number(arch, "execveat")
			if got, err := filter.Run(p, filter.Data{Call: int32(at), Arch: filter.AuditArch(arch), Args: [6]uint64{0, 0, 0, key[0], key[1], key[2]}}); err != nil || got == filter.RetAllow {
				t.Errorf("execveat: %#x %v", got, err)
			}
		}
	}
	for name, s := range map[string]filter.Spec{
		"a word of none": {Arch: filter.AMD64, Key: order.Key{1, 0, 2}}, "a listener that lets it pass": {Arch: filter.AMD64, Key: key, Notify: true, Exec: true},
	} {
		if _, err := filter.Build(s); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}
