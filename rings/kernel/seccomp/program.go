package seccomp

import (
	"fmt"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// The operations of classic BPF that a filter uses. They are the same on every
// architecture, as are the offsets in struct seccomp_data on a little-endian one.
const (
	opLoad     = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd      = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opGo       = 0x05 // BPF_JMP | BPF_JA
	opEqual    = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opAtLeast  = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	opAnyBit   = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	opReturn   = 0x06 // BPF_RET | BPF_K
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16 // eight bytes each, the low half first
)

// node is one step of a filter. Steps form a graph without cycles. It is built from its ends: a step knows its
// successors, and many steps may share one.
type node struct {
	op      uint16
	k       uint32
	yes, no *node // of a comparison; a load or an and has only yes, a return none
}

func give(k uint32) *node                   { return &node{op: opReturn, k: k} }
func load(offset uint32, next *node) *node  { return &node{op: opLoad, k: offset, yes: next} }
func and(k uint32, next *node) *node        { return &node{op: opAnd, k: k, yes: next} }
func equal(k uint32, yes, no *node) *node   { return &node{op: opEqual, k: k, yes: yes, no: no} }
func atLeast(k uint32, yes, no *node) *node { return &node{op: opAtLeast, k: k, yes: yes, no: no} }
func anyBit(k uint32, yes, no *node) *node  { return &node{op: opAnyBit, k: k, yes: yes, no: no} }

// layout orders a graph into a sequence, from its end to its start. All jumps go forward, so the targets of a
// step are placed before it, and their distance is known. A jump that is too far for a byte goes through a
// nearer jump.
type layout struct {
	back []initproto.Instruction // the last instruction first
	at   map[*node]int           // index in back
}

// assemble returns the program that starts at n.
func assemble(n *node) ([]initproto.Instruction, error) {
	l := layout{at: map[*node]int{}}
	l.put(n)
	if last := len(l.back) - 1; l.at[n] != last {
		return nil, fmt.Errorf("filter: the program does not begin at its start")
	}
	if len(l.back) > initproto.MaxInstructions {
		return nil, fmt.Errorf("filter: %d instructions, at most %d", len(l.back), initproto.MaxInstructions)
	}
	out := make([]initproto.Instruction, len(l.back))
	for i, in := range l.back {
		out[len(out)-1-i] = in
	}
	return out, nil
}

// put places n after all its successors.
func (l *layout) put(n *node) {
	if _, ok := l.at[n]; ok {
		return
	}
	switch n.op {
	case opReturn:
		l.add(initproto.Instruction{Code: n.op, K: n.k})
	case opLoad, opAnd:
		l.put(n.yes)
		if l.distance(n.yes) != 0 {
			l.bridge(n.yes)
		}
		l.add(initproto.Instruction{Code: n.op, K: n.k})
	default:
		l.put(n.yes)
		l.put(n.no)
		l.compare(n)
	}
	l.at[n] = len(l.back) - 1
}

// compare adds a comparison. A bridge to one side moves the other further away, so both are checked until both
// are near: twice at most.
func (l *layout) compare(n *node) {
	yes, no := l.at[n.yes], l.at[n.no]
	for {
		switch top := len(l.back) - 1; {
		case top-yes > maxJump:
			l.bridgeTo(n.yes, yes)
			yes = len(l.back) - 1
		case top-no > maxJump:
			l.bridgeTo(n.no, no)
			no = len(l.back) - 1
		default:
			l.add(initproto.Instruction{Code: n.op, K: n.k, Jt: uint8(top - yes), Jf: uint8(top - no)})
			return
		}
	}
}

// maxJump is the longest jump of a comparison.
const maxJump = 255

// distance from an instruction that would be added now to n.
func (l *layout) distance(n *node) int { return len(l.back) - 1 - l.at[n] }

func (l *layout) bridge(n *node) { l.bridgeTo(n, l.at[n]) }

// bridgeTo adds a jump to n, which is at index at. If n is an end, it repeats n instead: that is as short and
// saves the jump.
func (l *layout) bridgeTo(n *node, at int) {
	if n.op == opReturn {
		l.add(initproto.Instruction{Code: n.op, K: n.k})
		return
	}
	l.add(initproto.Instruction{Code: opGo, K: uint32(len(l.back) - 1 - at)})
}

func (l *layout) add(i initproto.Instruction) { l.back = append(l.back, i) }
