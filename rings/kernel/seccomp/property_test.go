package seccomp_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// specs are all that Build takes, of one architecture.
func specs(arch string) (out []seccomp.Spec) {
	for bits := range 1 << 8 {
		s := seccomp.Spec{
			Arch: arch, Processes: bits&1 != 0, JIT: bits&2 != 0, WX: bits&4 != 0, Sessions: bits&8 != 0,
			Notify: bits&16 != 0, Exec: bits&32 != 0, Seals: bits&64 != 0,
		}
		if bits&128 != 0 {
			s.Network = initproto.NetworkOwn
		}
		if s.JIT && s.WX || s.Exec && !s.Notify || s.Seals && s.Notify {
			continue
		}
		out = append(out, s)
	}
	return out
}

// dice makes calls that are near to what rules look at.
func dice(r *rand.Rand, arch string) seccomp.Data {
	d := seccomp.Data{Call: r.Int32N(480), Arch: seccomp.AuditArch(arch), Pointer: r.Uint64()}
	switch r.IntN(20) {
	case 0:
		d.Call = int32(r.Uint32())
	case 1:
		d.Call |= 0x40000000
	}
	all := attacks()
	for i := range d.Args {
		a := all[r.IntN(len(all))].args
		switch n := r.IntN(8); {
		case n < 4 && i < len(a):
			d.Args[i] = a[i]
		case n == 4:
			d.Args[i] = 1 << r.IntN(64)
		case n == 5:
			d.Args[i] = r.Uint64()
		case n == 6:
			d.Args[i] = uint64(r.Uint32N(64))
		}
	}
	return d
}

// grants tells whether a call goes on: at once, or by a listener that is asked
// about programs that are started.
func grants(t testing.TB, p []initproto.Instruction, s seccomp.Spec, d seccomp.Data) bool {
	t.Helper()
	ret, err := seccomp.Run(p, d)
	if err != nil {
		t.Fatal(err)
	}
	exec, _ := seccomp.Number(s.Arch, "execve")
	return ret == seccomp.RetAllow || s.Exec && int(d.Call) == exec && ret == seccomp.RetNotify
}

// within tells whether b was granted all that a was.
func within(a, b seccomp.Spec) bool {
	le := func(x, y bool) bool { return !x || y }
	return a.Arch == b.Arch && le(a.Network == initproto.NetworkOwn, b.Network == initproto.NetworkOwn) &&
		le(a.Processes, b.Processes) &&
		le(a.JIT, b.JIT) && le(b.WX, a.WX) && le(a.Sessions, b.Sessions) && le(a.Seals, b.Seals)
}

// TestMoreGrantsRefuseNoMore: what a filter allows, one with more grants allows.
func TestMoreGrantsRefuseNoMore(t *testing.T) {
	for _, arch := range architectures() {
		all := specs(arch)
		programs := make([][]initproto.Instruction, len(all))
		for i, s := range all {
			programs[i] = build(t, s)
		}
		r := rand.New(rand.NewPCG(1, 2))
		compared := 0
		for range 400 {
			d := dice(r, arch)
			granted := make([]bool, len(all))
			for i, s := range all {
				granted[i] = grants(t, programs[i], s, d)
			}
			for i := range all {
				for j := range all {
					if !within(all[i], all[j]) {
						continue
					}
					if compared++; granted[i] && !granted[j] {
						t.Fatalf("%s%#x: allowed by %+v, refused by %+v", seccomp.Name(arch, int(d.Call)), d.Args,
							all[i], all[j])
					}
				}
			}
		}
		if compared < 500_000 {
			t.Errorf("%d comparisons", compared)
		}
	}
}

// TestRefusalsDiffer: a listener, or none, changes what a refused call returns and
// never which calls are refused.
func TestRefusalsDiffer(t *testing.T) {
	for _, arch := range architectures() {
		plain, notify, seals := seccomp.Spec{Arch: arch}, seccomp.Spec{Arch: arch, Notify: true},
			seccomp.Spec{Arch: arch, Seals: true}
		a, b, c := build(t, plain), build(t, notify), build(t, seals)
		r := rand.New(rand.NewPCG(3, 4))
		number, _ := seccomp.Number(arch, "seccomp")
		notified := 0
		for range 10_000 {
			d := dice(r, arch)
			if int(d.Call) == number {
				continue
			}
			x, _ := seccomp.Run(a, d)
			y, _ := seccomp.Run(b, d)
			z, _ := seccomp.Run(c, d)
			if (x == seccomp.RetAllow) != (y == seccomp.RetAllow) ||
				(x == seccomp.RetAllow) != (z == seccomp.RetAllow) {
				t.Fatalf("%s%#x: %#x, %#x, %#x", seccomp.Name(arch, int(d.Call)), d.Args, x, y, z)
			}
			if z == seccomp.RetNotify {
				notified++
			}
			if x != y && y != seccomp.RetNotify || x != seccomp.RetAllow && z != seccomp.RetNotify && !canary(arch, d) {
				t.Fatalf("%s%#x: %#x, %#x, %#x", seccomp.Name(arch, int(d.Call)), d.Args, x, y, z)
			}
		}
		if notified < 500 {
			t.Errorf("%d refusals", notified)
		}
	}
}

// canary tells whether a call is one that is always answered with an errno, or with a
// success that nothing was done for.
func canary(arch string, d seccomp.Data) bool {
	switch seccomp.Name(arch, int(d.Call)) {
	case "unshare":
		return uint32(d.Args[0]) == 0
	case "socket":
		return uint32(d.Args[0]) == 16 && d.Args[1]&15 == 15 || uint32(d.Args[0]) == 1 && uint32(d.Args[1]) == 0x80801
	case "setsockopt": // SO_SNDBUF, SO_RCVBUF
		return uint32(d.Args[1]) == 1 && (uint32(d.Args[2]) == 7 || uint32(d.Args[2]) == 8)
	default:
		return false
	}
}

// TestNameServiceIsUnseen: what programs of the GNU C library ask at every start is
// refused without a report, and no other socket is.
func TestNameServiceIsUnseen(t *testing.T) {
	for arch, socket := range map[string]int32{seccomp.AMD64: 41, seccomp.ARM64: 198} {
		loud, sealing := build(t, seccomp.Spec{Arch: arch, Notify: true}),
			build(t, seccomp.Spec{Arch: arch, Seals: true})
		for _, c := range []struct {
			args [6]uint64
			want uint32
		}{
			{[6]uint64{1, 0x80801}, eafnosupport},
			{[6]uint64{1 | 1<<40, 0x80801 | 1<<33}, eafnosupport},
			{[6]uint64{1, 1}, seccomp.RetNotify},
			{[6]uint64{1, 0x80001}, seccomp.RetNotify},
			{[6]uint64{1, 0x80802}, seccomp.RetNotify},
			{[6]uint64{2, 0x80801}, seccomp.RetNotify},
		} {
			d := seccomp.Data{Call: socket, Arch: seccomp.AuditArch(arch), Args: c.args}
			if got, err := seccomp.Run(loud, d); got != c.want || err != nil {
				t.Errorf("%s %#x: %#x, want %#x, %v", arch, c.args, got, c.want, err)
			}
			if got, err := seccomp.Run(sealing, d); got != seccomp.RetNotify || err != nil {
				t.Errorf("%s %#x before a seal: %#x, %v", arch, c.args, got, err)
			}
		}
	}
}

// TestAbsent: numbers that are no call do not exist, those of x32 among them.
func TestAbsent(t *testing.T) {
	for _, arch := range architectures() {
		p, sealed := build(t, seccomp.Spec{Arch: arch, Notify: true}), seal(t, arch, true)
		for _, nr := range []int32{-1, -2, 600, 9999, 0x3fffffff, 0x40000000, 0x40000000 | 41, 0x40000000 | 521,
			-0x80000000} {
			d := seccomp.Data{Call: nr, Arch: seccomp.AuditArch(arch)}
			if got, err := seccomp.Run(p, d); got != enosys || err != nil {
				t.Errorf("%s %d: %#x, %v", arch, nr, got, err)
			}
			if got, err := seccomp.Run(sealed, d); got != seccomp.RetNotify || err != nil {
				t.Errorf("%s sealed %d: %#x, %v", arch, nr, got, err)
			}
		}
		for nr := range int32(512) {
			if seccomp.Name(arch, int(nr)) != "" {
				continue
			}
			if got, _ := seccomp.Run(p, seccomp.Data{Call: nr, Arch: seccomp.AuditArch(arch)}); got != enosys {
				t.Errorf("%s %d: %#x", arch, nr, got)
			}
		}
	}
}

func seal(t testing.TB, arch string, notify bool) []initproto.Instruction {
	t.Helper()
	p, err := seccomp.Seal(arch, notify)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// every program that this package makes.
func every(t testing.TB) (out map[string][]initproto.Instruction) {
	t.Helper()
	out = map[string][]initproto.Instruction{}
	for _, arch := range architectures() {
		for _, s := range specs(arch) {
			out[fmt.Sprintf("%+v", s)] = build(t, s)
		}
		for _, notify := range []bool{false, true} {
			out[fmt.Sprintf("seal %s %v", arch, notify)] = seal(t, arch, notify)
		}
	}
	return out
}

// TestShape: what the kernel checks at the loading, of every program.
func TestShape(t *testing.T) {
	longest := 0
	for name, p := range every(t) {
		longest = max(longest, len(p))
		for i, in := range p {
			left := len(p) - i - 1
			switch in.Code {
			case 0x06: // return
			case 0x20: // load
				if in.K%4 != 0 || in.K >= 64 || left == 0 {
					t.Errorf("%s: %d: load of %d", name, i, in.K)
				}
			case 0x05:
				if int(in.K) >= left {
					t.Errorf("%s: %d: jump of %d with %d left", name, i, in.K, left)
				}
			case 0x15, 0x35, 0x45:
				if int(in.Jt) >= left || int(in.Jf) >= left {
					t.Errorf("%s: %d: jumps of %d and %d with %d left", name, i, in.Jt, in.Jf, left)
				}
			case 0x54:
				if left == 0 {
					t.Errorf("%s: ends in an and", name)
				}
			default:
				t.Errorf("%s: %d: code %#x", name, i, in.Code)
			}
		}
	}
	if t.Logf("the longest has %d instructions", longest); longest > initproto.MaxInstructions || longest < 256 {
		t.Errorf("%d instructions", longest)
	}
}

// TestRunAgrees compares Run with another machine for the same programs.
func TestRunAgrees(t *testing.T) {
	for name, p := range every(t) {
		raw := make([]bpf.RawInstruction, 0, len(p))
		for _, in := range p {
			raw = append(raw, bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K})
		}
		ins, known := bpf.Disassemble(raw)
		if !known {
			t.Fatalf("%s: an unknown instruction", name)
		}
		vm, err := bpf.NewVM(ins)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 80 {
			d := dice(r, []string{seccomp.AMD64, seccomp.ARM64}[n%2])
			want, err := vm.Run(packet(d))
			got, err2 := seccomp.Run(p, d)
			if err != nil || err2 != nil || uint32(want) != got {
				t.Fatalf("%s: %+v: %#x, %v; the other machine %#x, %v", name, d, got, err2, want, err)
			}
		}
	}
}

// packet lays Data out as that machine reads it, each word with its high byte first.
func packet(d seccomp.Data) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(d.Call))
	b = binary.BigEndian.AppendUint32(b, d.Arch)
	for _, v := range append([]uint64{d.Pointer}, d.Args[:]...) {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
		b = binary.BigEndian.AppendUint32(b, uint32(v>>32))
	}
	return b
}

// FuzzRun: no program makes Run go on for ever or read where nothing is.
func FuzzRun(f *testing.F) {
	f.Add([]byte{0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x06, 0, 0, 0x7f, 0xff, 0, 0}, int32(1), uint64(2))
	f.Add([]byte{0, 0x05, 0, 0, 0xff, 0xff, 0xff, 0xff}, int32(0), uint64(0))
	f.Add([]byte{0, 0x20, 0, 0, 0, 0, 0, 63, 0, 0x15, 255, 255, 0, 0, 0, 0}, int32(0), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, nr int32, arg uint64) {
		var p []initproto.Instruction
		for ; len(b) >= 8 && len(p) < initproto.MaxInstructions; b = b[8:] {
			p = append(p, initproto.Instruction{Code: binary.BigEndian.Uint16(b), Jt: b[2], Jf: b[3],
				K: binary.BigEndian.Uint32(b[4:])})
		}
		ret, err := seccomp.Run(p, seccomp.Data{Call: nr, Args: [6]uint64{arg, arg, arg, arg, arg, arg}})
		if err != nil && ret != 0 {
			t.Errorf("%#x, %v", ret, err)
		}
	})
}

// FuzzBuild: every filter decides every call, and refuses as its spec says.
func FuzzBuild(f *testing.F) {
	f.Add(uint8(0), true, int32(41), uint64(2), uint64(1), uint64(0))
	f.Add(uint8(255), false, int32(56), uint64(0x10000000), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, bits uint8, amd bool, nr int32, a, b, c uint64) {
		s := seccomp.Spec{
			Arch: seccomp.ARM64, Processes: bits&1 != 0, JIT: bits&2 != 0, WX: bits&4 != 0, Sessions: bits&8 != 0,
			Notify: bits&16 != 0, Exec: bits&32 != 0, Seals: bits&64 != 0,
		}
		if amd {
			s.Arch = seccomp.AMD64
		}
		if bits&128 != 0 {
			s.Network = initproto.NetworkOwn
		}
		p, err := seccomp.Build(s)
		if err != nil {
			return
		}
		d := seccomp.Data{Call: nr, Arch: seccomp.AuditArch(s.Arch), Args: [6]uint64{a, b, c, a, b, c}}
		ret, err := seccomp.Run(p, d)
		if err != nil {
			t.Fatal(err)
		}
		if name := seccomp.Name(s.Arch, int(nr)); name == "" && ret == seccomp.RetAllow {
			t.Errorf("%d is allowed and is no call", nr)
		}
		if !s.Notify && !s.Seals && ret == seccomp.RetNotify || ret == seccomp.RetKill {
			t.Errorf("%+v %+v: %#x", s, d, ret)
		}
		d.Arch ^= 1
		if ret, err := seccomp.Run(p, d); ret != seccomp.RetKill || err != nil {
			t.Errorf("another architecture: %#x, %v", ret, err)
		}
	})
}
