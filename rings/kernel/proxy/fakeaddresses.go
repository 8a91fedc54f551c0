// This file gives names addresses that stand for them inside of one guest: a
// program asks for a name, gets an address of a range that is nowhere, and by the
// address that it connects to its name is known again. Package egress alone calls
// it, and decides before what it asks for an address.

package proxy

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"sync"
)

// mostNames is how many names a Table knows; beyond it the one that was used the
// longest ago goes. A name that a program asked for takes less than 1 KiB.
const mostNames = 1 << 13

// The addresses: 198.18.0.0/15, which is for measurements between networks, and a
// range of one's own. The number of a name is the same in both.
const (
	firstV4 = 198<<24 | 18<<16
	manyV4  = 1 << 17
)

func prefix() [8]byte { return [8]byte{0xfd, 'r', 'i', 'n', 'g', 'd'} }

// fakeAddresses is the names of one guest. The zero Table knows none. It is safe for
// concurrent use.
type fakeAddresses struct {
	mu     sync.Mutex
	names  map[string]*list.Element
	number map[uint32]*list.Element
	order  *list.List // of *entry, the one used last in front
	last   uint32
	most   int // 0: mostNames
}

type entry struct {
	name   string
	number uint32
}

// Address returns those that stand for a name, the same each time while the name
// is known.
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

// addLocked gives a name the next free number, so that the one of a name that went
// stays unused for long.
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
		t.last = t.last%(manyV4-2) + 1 // neither the first address nor the last
		if t.number[t.last] == nil {
			break
		}
	}
	e := t.order.PushFront(&entry{name: name, number: t.last})
	t.names[name], t.number[t.last] = e, e
	return e
}

// Name returns the name that an address stands for. fake is false of an address
// of no such range; name is "" of one that stands for nothing.
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

// number is that of an address; false when it is of neither range.
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
			return 0, true // of the range, and nobody's: the number 0 is never given
		}
		return binary.BigEndian.Uint32(six[12:]), true
	default:
		return 0, false
	}
}
