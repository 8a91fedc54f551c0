package filter_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/filter"
	"github.com/ringd/ringd/rings/kernel/order"
)

func architectures() []string { return []string{filter.AMD64, filter.ARM64} }

func build(t testing.TB, s filter.Spec) []order.Instruction {
	t.Helper()
	p, err := filter.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask runs a program for a call by its name; false when the architecture has none.
func ask(t testing.TB, p []order.Instruction, arch, name string, args ...uint64) (uint32, bool) {
	t.Helper()
	nr, ok := filter.Number(arch, name)
	if !ok {
		return 0, false
	}
	d := filter.Data{Call: int32(nr), Arch: filter.AuditArch(arch)}
	copy(d.Args[:], args)
	ret, err := filter.Run(p, d)
	if err != nil {
		t.Fatalf("%s %s%v: %v", arch, name, args, err)
	}
	return ret, true
}

func TestBuildRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec filter.Spec
	}{
		{"no architecture", filter.Spec{}},
		{"another architecture", filter.Spec{Arch: "386"}},
		{"another network", filter.Spec{Arch: filter.AMD64, Network: "host"}},
		{"code without memory for it", filter.Spec{Arch: filter.AMD64, JIT: true, WX: true}},
		{"execs shown to nobody", filter.Spec{Arch: filter.AMD64, Exec: true}},
		{"two listeners", filter.Spec{Arch: filter.AMD64, Notify: true, Seals: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := filter.Build(tt.spec); err == nil || p != nil {
				t.Errorf("%d instructions, %v", len(p), err)
			}
		})
	}
	if p, err := filter.Seal("386", true); err == nil || p != nil {
		t.Errorf("%d instructions, %v", len(p), err)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		arch string
		nr   int
		want string
	}{
		{filter.AMD64, 41, "socket"},
		{filter.ARM64, 198, "socket"},
		{filter.AMD64, 2, "open"},
		{filter.ARM64, 2, "io_submit"},
		{filter.AMD64, 9999, ""},
		{filter.AMD64, -1, ""},
		{"386", 41, ""},
	} {
		if got := filter.Name(tt.arch, tt.nr); got != tt.want {
			t.Errorf("%s %d: %q, want %q", tt.arch, tt.nr, got, tt.want)
		}
	}
	if n, ok := filter.Number(filter.ARM64, "open"); ok {
		t.Errorf("arm64 has open: %d", n)
	}
}

func TestForeignCodeIsKilled(t *testing.T) {
	for _, arch := range architectures() {
		p := build(t, filter.Spec{Arch: arch, Network: order.NetworkOwn, Processes: true, JIT: true})
		for _, other := range []uint32{0, 0x40000003, filter.AuditArch(filter.AMD64) ^ filter.AuditArch(filter.ARM64) ^ filter.AuditArch(arch)} {
			got, err := filter.Run(p, filter.Data{Call: 1, Arch: other})
			if got != filter.RetKill || err != nil {
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
