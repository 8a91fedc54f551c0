package seccomp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// errno is a number of Linux. It is the same on every architecture here.
type errno uint32

const (
	eperm           errno = 1
	enomem          errno = 12
	eacces          errno = 13
	einval          errno = 22
	enotty          errno = 25
	enosys          errno = 38
	enoprotoopt     errno = 92
	eprotonosupport errno = 93
	eopnotsupp      errno = 95
	eafnosupport    errno = 97
)

// row is a line of the table: some calls, the checks of their arguments, and the reason. No call is in two rows
// of a table.
type row struct {
	calls string // names, separated by spaces
	rule  rule
	why   string
}

// rule decides calls by their arguments. It returns the steps that lead to an end.
type rule func(b *builder) *node

// builder makes one program.
type builder struct {
	arch  string
	spec  Spec
	allow *node
	loud  *node // reported to the listener instead of an errno; nil if there is no listener
	hush  bool  // an expected denial gets its errno at once
	ends  map[uint32]*node

	strict bool // a call that does not exist is reported too
}

func newBuilder(arch string) (*builder, error) {
	if AuditArch(arch) == 0 {
		return nil, fmt.Errorf("filter: unknown architecture %q", arch)
	}
	return &builder{arch: arch, allow: give(RetAllow), ends: map[uint32]*node{}}, nil
}

// end returns the single step that returns k.
func (b *builder) end(k uint32) *node {
	if b.ends[k] == nil {
		b.ends[k] = give(k)
	}
	return b.ends[k]
}

// deny denies calls that no ordinary program makes: they are reported if there is a listener.
func (b *builder) deny(e errno) *node {
	if b.loud != nil {
		return b.loud
	}
	return b.end(RetErrno | uint32(e))
}

// lack denies calls that ordinary programs try and can do without.
func (b *builder) lack(e errno) *node {
	if b.loud != nil && !b.hush {
		return b.loud
	}
	return b.end(RetErrno | uint32(e))
}

// prove answers a canary: always with an errno.
func (b *builder) prove(e errno) *node { return b.end(RetErrno | uint32(e)) }

// own reports whether the guest has a network.
func (b *builder) own() bool { return b.spec.Network == initproto.NetworkOwn }

// arg loads the low half of an argument, high the other.
func arg(n int, next *node) *node  { return load(uint32(offsetArgs+8*n), next) }
func high(n int, next *node) *node { return load(uint32(offsetArgs+8*n+4), next) }

// isNull tests whether all 64 bits of an argument are 0.
func isNull(n int, yes, no *node) *node {
	return arg(n, equal(0, high(n, equal(0, yes, no)), no))
}

// hasBits tests whether an argument has any of the bits of a mask.
func hasBits(n int, mask uint32, yes, no *node) *node { return arg(n, anyBit(mask, yes, no)) }

// oneOf tests whether an argument is one of some values.
func oneOf(n int, values []uint32, yes, no *node) *node { return arg(n, among(values, yes, no)) }

// among compares the loaded value with some values, by binary search.
func among(values []uint32, yes, no *node) *node {
	sorted := slices.Sorted(slices.Values(values))
	return halves(slices.Compact(sorted), yes, no)
}

func halves(values []uint32, yes, no *node) *node {
	if len(values) <= 4 {
		out := no
		for _, v := range slices.Backward(values) {
			out = equal(v, yes, out)
		}
		return out
	}
	m := len(values) / 2
	return atLeast(values[m], halves(values[m:], yes, no), halves(values[:m], yes, no))
}

// build returns the program of some rows. Calls of the architecture that no row names are denied with EPERM.
// All other numbers do not exist.
func (b *builder) build(rows []row) ([]initproto.Instruction, error) {
	known := map[string]int{}
	for _, c := range numbers() {
		if n, ok := c.number(b.arch); ok {
			known[c.name] = n
		} else {
			known[c.name] = -1
		}
	}
	ends := map[int]*node{}
	for _, n := range known {
		if n >= 0 {
			ends[n] = b.deny(eperm)
		}
	}
	for _, r := range rows {
		steps := r.rule(b)
		for name := range strings.FieldsSeq(r.calls) {
			n, ok := known[name]
			if !ok {
				return nil, fmt.Errorf("filter: no call is named %q", name)
			}
			if n >= 0 {
				ends[n] = steps
			}
		}
	}
	tree := search(b.ranges(ends))
	start := load(offsetArch, equal(AuditArch(b.arch), load(offsetCall, tree), b.end(RetKill)))
	return assemble(start)
}

// span is the range of calls from its number to that of the next span.
type span struct {
	from  uint32
	steps *node
}

// ranges joins numbers that lead to the same steps. Numbers between known ones do not exist, and neither do
// those of x32, which have a high bit.
func (b *builder) ranges(ends map[int]*node) []span {
	absent := b.lack(enosys)
	if b.strict {
		absent = b.deny(enosys)
	}
	out := []span{{0, absent}}
	last := slices.Max(slices.Collect(maps.Keys(ends)))
	for n := 0; n <= last+1; n++ {
		steps := absent
		if s, ok := ends[n]; ok {
			steps = s
		}
		switch at := len(out) - 1; {
		case n == 0:
			out[0].steps = steps
		case out[at].steps != steps:
			out = append(out, span{uint32(n), steps})
		}
	}
	return out
}

// search finds the span of the loaded number, in about nine steps.
func search(spans []span) *node {
	if len(spans) == 1 {
		return spans[0].steps
	}
	m := len(spans) / 2
	return atLeast(spans[m].from, search(spans[m:]), search(spans[:m]))
}
