package proxy

// In the package: the bound is lowered, so that a test need not fill it.

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestAddressStays(t *testing.T) {
	var table fakeAddresses
	a4, a6 := table.Address("a.example")
	b4, b6 := table.Address("b.example")
	if a4 == b4 || a6 == b6 {
		t.Fatalf("two names have the addresses %s, %s and %s, %s", a4, a6, b4, b6)
	}
	if again4, again6 := table.Address("a.example"); again4 != a4 || again6 != a6 {
		t.Errorf("the addresses are %s, %s now, and were %s, %s", again4, again6, a4, a6)
	}
	for _, a := range []netip.Addr{a4, a6, netip.AddrFrom16(a4.As16())} {
		if name, fake := table.Name(a); name != "a.example" || !fake {
			t.Fatalf("%s stands for %q, %v", a, name, fake)
		}
	}
	if !netip.MustParsePrefix("198.18.0.0/15").Contains(a4) || !a6.IsPrivate() {
		t.Errorf("addresses %s and %s", a4, a6)
	}
}

func TestOthers(t *testing.T) {
	var table fakeAddresses
	a4, a6 := table.Address("a.example")
	for text, want := range map[string]bool{
		"198.17.255.255": false, "198.20.0.0": false, "127.0.0.1": false, "93.184.216.34": false, "::1": false, "fd00::1": false,
		"fd72:696e:6764:1::1": false,
		"198.18.0.0":          true, "198.19.255.255": true, a4.Next().String(): true, a6.Next().String(): true,
		"fd72:696e:6764::1:0:1": true, "fd72:696e:6764::": true,
	} {
		if name, fake := table.Name(netip.MustParseAddr(text)); name != "" || fake != want {
			t.Errorf("%s stands for %q, %v, want %v", text, name, fake, want)
		}
	}
	var none fakeAddresses
	if name, _ := none.Name(a4); name != "" {
		t.Error("a table without names knows one")
	}
}

// What was used the longest ago goes; its address is not the next name's.
func TestBound(t *testing.T) {
	table := fakeAddresses{most: 3}
	first, _ := table.Address("first.example")
	second, _ := table.Address("second.example")
	third, _ := table.Address("third.example")
	table.Address("second.example") // asked for again
	table.Name(first)               // connected to
	fourth, _ := table.Address("fourth.example")
	if name, fake := table.Name(third); name != "" || !fake || fourth == third {
		t.Errorf("%s still stands for %q", third, name)
	}
	for _, a := range []netip.Addr{first, second, fourth} {
		if name, _ := table.Name(a); name == "" {
			t.Errorf("%s is not known any more", a)
		}
	}
	for i := range 3 * manyV4 / 2 {
		table.Address(fmt.Sprintf("%d.more.example", i))
	}
	if n := table.order.Len(); n != 3 || len(table.names) != 3 || len(table.number) != 3 {
		t.Errorf("%d, %d, %d names are known", n, len(table.names), len(table.number))
	}
}

// TestMany: a program that asks for ever more names has so many, and the address of
// one that went stands for no other before very many came.
func TestMany(t *testing.T) {
	var table fakeAddresses
	first, _ := table.Address("first.example")
	for i := range 100_000 {
		table.Address(fmt.Sprintf("%d.more.example", i))
	}
	if n := table.order.Len(); n != 8192 || len(table.names) != n || len(table.number) != n {
		t.Errorf("%d, %d, %d names are known", n, len(table.names), len(table.number))
	}
	if name, fake := table.Name(first); name != "" || !fake {
		t.Errorf("%s stands for %q, %v", first, name, fake)
	}
}
