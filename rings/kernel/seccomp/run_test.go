// In the package, since the operations are not for others.
package seccomp

import (
	"fmt"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Data is the input of a filter about a system call: struct seccomp_data.
type Data struct {
	Call    int32
	Arch    uint32 // AuditArch
	Pointer uint64 // where the call was made
	Args    [6]uint64
}

// word returns the four bytes at an offset, little-endian as both architectures are.
func (d Data) word(offset uint32) (uint32, bool) {
	if offset%4 != 0 || offset >= offsetArgs+8*6 {
		return 0, false
	}
	switch offset {
	case offsetCall:
		return uint32(d.Call), true
	case offsetArch:
		return d.Arch, true
	case 8:
		return uint32(d.Pointer), true
	case 12:
		return uint32(d.Pointer >> 32), true
	}
	arg := d.Args[(offset-offsetArgs)/8]
	if offset%8 != 0 {
		arg >>= 32
	}
	return uint32(arg), true
}

// Run returns the result of the kernel for a call, RetAllow and so on with an errno in its low half. It accepts
// the operations that Build and Seal use. Any other operation, and a jump or an end outside the program, is an
// error. It is safe for concurrent use.
func Run(program []initproto.Instruction, d Data) (uint32, error) {
	var a uint32
	for at := 0; at >= 0 && at < len(program); {
		in := program[at]
		at++
		switch in.Code {
		case opReturn:
			return in.K, nil
		case opLoad:
			w, ok := d.word(in.K)
			if !ok {
				return 0, fmt.Errorf("filter: instruction %d loads offset %d", at-1, in.K)
			}
			a = w
		case opAnd:
			a &= in.K
		case opGo:
			if in.K >= uint32(len(program)) {
				return 0, fmt.Errorf("filter: instruction %d jumps by %d", at-1, in.K)
			}
			at += int(in.K)
		case opEqual:
			at += jump(in, a == in.K)
		case opAtLeast:
			at += jump(in, a >= in.K)
		case opAnyBit:
			at += jump(in, a&in.K != 0)
		default:
			return 0, fmt.Errorf("filter: instruction %d has the unknown code %#x", at-1, in.Code)
		}
	}
	return 0, fmt.Errorf("filter: runs past its end")
}

func jump(in initproto.Instruction, yes bool) int {
	if yes {
		return int(in.Jt)
	}
	return int(in.Jf)
}

// Number returns the number of a system call. It returns false if the architecture has none with this name.
func Number(arch, name string) (int, bool) {
	for _, c := range numbers() {
		if c.name == name {
			return c.number(arch)
		}
	}
	return 0, false
}
