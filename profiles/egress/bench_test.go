package egress_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles/egress"
)

func thousand(tb testing.TB) *egress.List {
	tb.Helper()
	var allow []egress.Entry
	for i := range 1000 {
		text := fmt.Sprintf("host%d.example%d.com", i, i%7)
		switch i % 10 {
		case 0:
			text = "*." + text
		case 1:
			text = fmt.Sprintf("93.%d.%d.0/24", i%200, i%100)
		case 2:
			text += ":8443"
		}
		e, err := egress.ReadEntry(text)
		if err != nil {
			tb.Fatal(err)
		}
		allow = append(allow, e)
	}
	return egress.NewList(egress.Allowlist, allow, nil, nil)
}

func BenchmarkMatch(b *testing.B) {
	l, now := thousand(b), time.Unix(1e9, 0)
	for _, bb := range []struct{ name, target string }{
		{"exact", "host333.example4.com:443"},
		{"wildcard", "a.b.host330.example1.com:443"},
		{"address", "93.1.1.7:443"},
		{"refused", "nothing.of.this.example.net:443"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, r := egress.ParseAuthority(bb.target)
				if r != nil {
					b.Fatal(r)
				}
				if d := l.Decide(d, now); d.Allowed() != (bb.name != "refused") {
					b.Fatal(d.Refusal())
				}
			}
		})
	}
}

func BenchmarkAddresses(b *testing.B) {
	l, now := thousand(b), time.Unix(1e9, 0)
	d := l.Decide(egress.Dest{Name: "host333.example4.com", Port: 443}, now)
	if !d.Allowed() {
		b.Fatal(d.Refusal())
	}
	answers := []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:4700::6810:84e5")}
	b.ReportAllocs()
	for b.Loop() {
		if kept := d.Addresses(answers, now); !kept.Allowed() || len(kept.Dial()) != 2 {
			b.Fatal(kept.Dial(), kept.Refusal())
		}
	}
}
