package seccomp_test

import (
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// TestKey: a program starts with the key alone, by all of its bits.
func TestKey(t *testing.T) {
	key := initproto.Key{0x1122334455667788, 0x99aabbccddeeff01, 0x0f1e2d3c4b5a6979}
	for _, arch := range architectures() {
		for _, s := range []seccomp.Spec{{Arch: arch, Key: key},
			{Arch: arch, Key: key, Notify: true, Processes: true}} {
			p := build(t, s)
			exec, _ := seccomp.Number(arch, "execve")
			start := func(path uint64, key initproto.Key) uint32 {
				ret, err := seccomp.Run(p, seccomp.Data{Call: int32(exec), Arch: seccomp.AuditArch(arch),
					Args: [6]uint64{path, 1, 2, key[0], key[1], key[2]}})
				if err != nil {
					t.Fatal(err)
				}
				return ret
			}
			if got := start(0x7fff00001000, key); got != seccomp.RetAllow {
				t.Errorf("with the key: %#x", got)
			}
			refused := uint32(seccomp.RetErrno | 1)
			if s.Notify {
				refused = seccomp.RetNotify
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
			if got := start(0, initproto.Key{}); got != seccomp.RetErrno|1 {
				t.Errorf("the canary gets %#x", got)
			}
			at, _ := seccomp.Number(arch, "execveat")
			if got, err := seccomp.Run(p, seccomp.Data{Call: int32(at), Arch: seccomp.AuditArch(arch),
				Args: [6]uint64{0, 0, 0, key[0], key[1], key[2]}}); err != nil || got == seccomp.RetAllow {
				t.Errorf("execveat: %#x %v", got, err)
			}
		}
	}
	for name, s := range map[string]seccomp.Spec{
		"a word of none": {Arch: seccomp.AMD64, Key: initproto.Key{1, 0, 2}}, "a listener that lets it pass": {Arch: seccomp.AMD64, Key: key, Notify: true, Exec: true},
	} {
		if _, err := seccomp.Build(s); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}
