// In the package, since the steps of a program are not for others.
package seccomp

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// walk is what a graph means: it needs no jumps.
func walk(n *node, d Data) uint32 {
	var a uint32
	for {
		switch n.op {
		case opReturn:
			return n.k
		case opLoad:
			a, _ = d.word(n.k)
			n = n.yes
		case opAnd:
			a &= n.k
			n = n.yes
		default:
			yes := n.op == opEqual && a == n.k || n.op == opAtLeast && a >= n.k || n.op == opAnyBit && a&n.k != 0
			if yes {
				n = n.yes
			} else {
				n = n.no
			}
		}
	}
}

// graph makes steps that lead anywhere before them, near and far.
func graph(r *rand.Rand, size int) *node {
	nodes := []*node{give(1), give(2), give(3)}
	pick := func() *node {
		if r.IntN(2) == 0 {
			return nodes[max(0, len(nodes)-1-r.IntN(3))]
		}
		return nodes[r.IntN(len(nodes))]
	}
	for range size {
		k := r.Uint32N(8)
		nodes = append(nodes, []*node{
			load(4*r.Uint32N(16), pick()), and(k, pick()), equal(k, pick(), pick()), atLeast(k, pick(), pick()),
			anyBit(k, pick(), pick()),
		}[r.IntN(5)])
	}
	top := nodes[len(nodes)-1]
	for i := len(nodes) - 2; i >= 0; i -= 7 { // so that most of it is reached
		top = equal(r.Uint32N(8), nodes[i], top)
	}
	return load(0, top)
}

// TestAssemble: a program does what its graph means, whatever the jumps.
func TestAssemble(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	bridges := 0
	for range 200 {
		n := graph(r, 3+r.IntN(900))
		p, err := assemble(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range p {
			if in.Code == opGo {
				bridges++
			}
		}
		for range 50 {
			d := Data{Call: r.Int32N(8), Arch: r.Uint32N(8), Pointer: r.Uint64N(8)}
			for i := range d.Args {
				d.Args[i] = r.Uint64N(8) | r.Uint64N(8)<<32
			}
			got, err := Run(p, d)
			if want := walk(n, d); err != nil || got != want {
				t.Fatalf("%#x, %v, want %#x", got, err, want)
			}
		}
	}
	if bridges < 1000 {
		t.Errorf("%d bridges: nothing was far", bridges)
	}
}

func TestAssembleTooLong(t *testing.T) {
	n := give(1)
	for range initproto.MaxInstructions {
		n = and(1, n)
	}
	if p, err := assemble(n); err == nil {
		t.Errorf("%d instructions", len(p))
	}
}

func TestRunRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program []initproto.Instruction
		want    string
	}{
		{"nothing", nil, "runs past its end"},
		{"no end", []initproto.Instruction{{Code: opAnd}}, "runs past its end"},
		{"a jump over the end", []initproto.Instruction{{Code: opEqual, Jt: 9, Jf: 9}, {Code: opReturn}}, "runs past its end"},
		{"a far jump over the end", []initproto.Instruction{{Code: opGo, K: 1 << 31}, {Code: opReturn}}, "jumps by"},
		{"a load between words", []initproto.Instruction{{Code: opLoad, K: 2}, {Code: opReturn}}, "loads offset 2"},
		{"a load behind the arguments", []initproto.Instruction{{Code: opLoad, K: 64}, {Code: opReturn}}, "loads offset 64"},
		{"an unknown operation", []initproto.Instruction{{Code: 0x30}, {Code: opReturn}}, "unknown code"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(tt.program, Data{})
			if err == nil || got != 0 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%#x, %v", got, err)
			}
		})
	}
}

// TestTableHasReasons: every line says why, and no call stands in two.
func TestTableHasReasons(t *testing.T) {
	for _, rows := range [][]row{append(allowed(), refused()...), sealed()} {
		seen := map[string]bool{}
		for _, r := range rows {
			if r.why == "" || r.calls == "" {
				t.Errorf("%+v", r)
			}
			for name := range strings.FieldsSeq(r.calls) {
				if seen[name] {
					t.Errorf("%s stands in two lines", name)
				}
				seen[name] = true
			}
		}
	}
}

func TestUnknownCallInATable(t *testing.T) {
	b, err := newBuilder(AMD64)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := b.build([]row{{"read nosuch", any, "x"}}); err == nil || p != nil {
		t.Errorf("%d instructions, %v", len(p), err)
	}
}
