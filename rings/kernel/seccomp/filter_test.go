package seccomp_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

func architectures() []string { return []string{seccomp.AMD64, seccomp.ARM64} }

func build(t testing.TB, s seccomp.Spec) []initproto.Instruction {
	t.Helper()
	p, err := seccomp.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask runs a program for a call by its name; false when the architecture has none.
func ask(t testing.TB, p []initproto.Instruction, arch, name string, args ...uint64) (uint32, bool) {
	t.Helper()
	nr, ok := seccomp.Number(arch, name)
	if !ok {
		return 0, false
	}
	d := seccomp.Data{Call: int32(nr), Arch: seccomp.AuditArch(arch)}
	copy(d.Args[:], args)
	ret, err := seccomp.Run(p, d)
	if err != nil {
		t.Fatalf("%s %s%v: %v", arch, name, args, err)
	}
	return ret, true
}

func TestBuildRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec seccomp.Spec
	}{
		{"no architecture", seccomp.Spec{}},
		{"another architecture", seccomp.Spec{Arch: "386"}},
		{"another network", seccomp.Spec{Arch: seccomp.AMD64, Network: "host"}},
		{"code without memory for it", seccomp.Spec{Arch: seccomp.AMD64, JIT: true, WX: true}},
		{"execs shown to nobody", seccomp.Spec{Arch: seccomp.AMD64, Exec: true}},
		{"two listeners", seccomp.Spec{Arch: seccomp.AMD64, Notify: true, Seals: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := seccomp.Build(tt.spec); err == nil || p != nil {
				t.Errorf("%d instructions, %v", len(p), err)
			}
		})
	}
	if p, err := seccomp.Seal("386", true); err == nil || p != nil {
		t.Errorf("%d instructions, %v", len(p), err)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		arch string
		nr   int
		want string
	}{
		{seccomp.AMD64, 41, "socket"},
		{seccomp.ARM64, 198, "socket"},
		{seccomp.AMD64, 2, "open"},
		{seccomp.ARM64, 2, "io_submit"},
		{seccomp.AMD64, 9999, ""},
		{seccomp.AMD64, -1, ""},
		{"386", 41, ""},
	} {
		if got := seccomp.Name(tt.arch, tt.nr); got != tt.want {
			t.Errorf("%s %d: %q, want %q", tt.arch, tt.nr, got, tt.want)
		}
	}
	if n, ok := seccomp.Number(seccomp.ARM64, "open"); ok {
		t.Errorf("arm64 has open: %d", n)
	}
}

func TestForeignCodeIsKilled(t *testing.T) {
	for _, arch := range architectures() {
		p := build(t, seccomp.Spec{Arch: arch, Network: initproto.NetworkOwn, Processes: true, JIT: true})
		for _, other := range []uint32{0, 0x40000003, seccomp.AuditArch(seccomp.AMD64) ^ seccomp.AuditArch(
			seccomp.ARM64) ^ seccomp.AuditArch(arch)} {
			got, err := seccomp.Run(p, seccomp.Data{Call: 1, Arch: other})
			if got != seccomp.RetKill || err != nil {
				t.Errorf("%s takes calls of %#x: %#x, %v", arch, other, got, err)
			}
		}
	}
}

func arguments(t *testing.T, words []string) (out [6]uint64) {
	t.Helper()
	for _, w := range words {
		at, value, _ := strings.Cut(w, "=")
		n, err := strconv.Atoi(at)
		v, err2 := strconv.ParseUint(value, 0, 64)
		if err := errors.Join(err, err2); err != nil || n > 5 {
			t.Fatalf("%s: %v", w, err)
		}
		out[n] = v
	}
	return out
}
