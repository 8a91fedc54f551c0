package proxy

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"sync"
)

// mostNames is the largest number of names in a table. The least recently used name is dropped for a new one.
// A name takes less than 1 KiB.
const mostNames = 1 << 13

// The ranges of synthetic addresses: 198.18.0.0/15, reserved for benchmarks between networks, and a unique
// local IPv6 range. A name has the same number in both.
const (
	firstV4 = 198<<24 | 18<<16
	manyV4  = 1 << 17
)

func prefix() [8]byte { return [8]byte{0xfd, 'r', 'i', 'n', 'g', 'd'} }

// fakeAddresses maps the names of one guest to synthetic addresses. A program resolves a name, gets such an
// address, and its connection to that address identifies the name. The caller decides on the name first. The
// zero value is empty. It is safe for concurrent use.
type fakeAddresses struct {
	mu     sync.Mutex
	names  map[string]*list.Element
	number map[uint32]*list.Element
	order  *list.List // of *entry, the most recently used one in front
	last   uint32
	most   int // 0: mostNames
}

type entry struct {
	name   string
	number uint32
}

// Address returns the addresses of a name. They are stable while the name is in the table.
func (t *fakeAddresses) Address(name string) (v4, v6 netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names, t.number, t.order = map[string]*list.Element{}, map[uint32]*list.Element{}, list.New()
	}
	e, ok := t.names[name]
	if ok {
		t.order.MoveToFront(e)
	} else {
		e = t.addLocked(name)
	}
	return addresses(e.Value.(*entry).number)
}

// addLocked gives a name the next free number, so that the numbers of dropped names stay unused for long.
func (t *fakeAddresses) addLocked(name string) *list.Element {
	most := t.most
	if most == 0 {
		most = mostNames
	}
	if t.order.Len() >= most {
		gone := t.order.Remove(t.order.Back()).(*entry)
		delete(t.names, gone.name)
		delete(t.number, gone.number)
	}
	for {
		t.last = t.last%(manyV4-2) + 1 // neither the first nor the last address
		if t.number[t.last] == nil {
			break
		}
	}
	e := t.order.PushFront(&entry{name: name, number: t.last})
	t.names[name], t.number[t.last] = e, e
	return e
}

// Name returns the name of an address. fake is false if the address is not synthetic. name is "" if the
// address belongs to no name.
func (t *fakeAddresses) Name(a netip.Addr) (name string, fake bool) {
	n, fake := number(a.Unmap())
	if !fake {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.number[n]
	if !ok {
		return "", true
	}
	t.order.MoveToFront(e)
	return e.Value.(*entry).name, true
}

func addresses(n uint32) (v4, v6 netip.Addr) {
	var four [4]byte
	var six [16]byte
	binary.BigEndian.PutUint32(four[:], firstV4+n)
	p := prefix()
	copy(six[:], p[:])
	binary.BigEndian.PutUint32(six[12:], n)
	return netip.AddrFrom4(four), netip.AddrFrom16(six)
}

// number returns the number of an address, or false if it is in neither range.
func number(a netip.Addr) (n uint32, ok bool) {
	switch {
	case a.Is4():
		four := a.As4()
		n = binary.BigEndian.Uint32(four[:]) - firstV4
		return n, n < manyV4
	case a.Is6():
		six := a.As16()
		if [8]byte(six[:8]) != prefix() {
			return 0, false
		}
		if binary.BigEndian.Uint32(six[8:]) != 0 {
			return 0, true // in the range, but the number 0 is never assigned
		}
		return binary.BigEndian.Uint32(six[12:]), true
	default:
		return 0, false
	}
}
