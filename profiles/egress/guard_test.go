package egress_test

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"github.com/ringd/ringd/profiles/egress"
)

func now() time.Time { return time.Unix(1e9, 0) }

func entry(t testing.TB, texts ...string) (out []egress.Entry) {
	t.Helper()
	for _, text := range texts {
		e, err := egress.ReadEntry(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, e)
	}
	return out
}

func allow(t testing.TB, texts ...string) *egress.List {
	return egress.NewList(egress.Allowlist, entry(t, texts...), nil, nil)
}

// kinds lists addresses by what a guard has to make of them: never, listed alone
// with its port, listed alone or in a range, or public.
func kinds() map[string][]string {
	return map[string][]string{
		"never": {
			"0.0.0.0", "0.0.0.1", "0.255.255.255", "169.254.169.254", "169.254.170.2", "169.254.0.1", "224.0.0.1", "239.255.255.255",
			"240.0.0.1", "255.255.255.255", "168.63.129.16", "192.0.0.192", "100.100.100.200",
			"::", "fe80::1", "febf::1", "ff02::1", "ff0e::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:c1::a9fe:a9fe",
			"::ffff:169.254.169.254", "::ffff:0.0.0.0", "::127.0.0.1", "::8.8.8.8", "::2", "::ffff:0:8.8.8.8", "::ffff:0:127.0.0.1",
			"2002:7f00:1::1", "2002:808:808::1", "2001::1", "2001:0:53aa:64c:0:7fff:f7f7:f7f7",
			"64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::0.0.0.0", "64:ff9b::168.63.129.16", "64:ff9b:1::7f00:1",
			"64:ff9b:1:7f00:0:100::", "64:ff9b:1:0:7f:0:100:0", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00:808:808",
			"2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1", "2606:4700::5efe:8.8.8.8", "fe80::5efe:127.0.0.1",
		},
		"alone": {"127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.1"},
		"special": {
			"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255", "192.0.0.1",
			"192.0.2.1", "198.51.100.1", "203.0.113.7", "198.18.0.1", "198.19.255.255", "192.88.99.1", "192.31.196.1", "192.52.193.1", "192.175.48.1",
			"fc00::1", "fd12:3456::1", "fdff::1", "fec0::1", "2001:db8::1", "3fff::1", "2001:2::1", "2001:20::1", "100::1", "5f00::1", "4000::1", "64:ff9b:2::1",
			"2620:4f:8000::1", "64:ff9b::10.0.0.1", "64:ff9b::192.168.1.1", "64:ff9b:1::10.0.0.1", "64:ff9b:1:a00:0:100:808:808", "::ffff:10.0.0.1",
		},
		"public": {
			"93.184.215.14", "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "11.0.0.0", "9.255.255.255", "126.255.255.255", "128.0.0.1",
			"169.253.255.255", "169.255.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15",
			"2606:4700::6810:84e5", "2a00:1450::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8", "::ffff:8.8.8.8",
		},
	}
}

func TestGuard(t *testing.T) {
	for kind, addrs := range kinds() {
		for _, text := range addrs {
			a := netip.MustParseAddr(text)
			single := a.Unmap().String()
			if a.Unmap().Is6() {
				single = "[" + single + "]"
			}
			wide, err := a.Unmap().Prefix(a.Unmap().BitLen() / 8)
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				name  string
				list  []string
				open  map[string]bool // kinds that are dialed by it
				port  uint16
				every bool
			}{
				{"name alone", []string{"a.example.com:8080"}, map[string]bool{"public": true}, 8080, false},
				{"listed with the port", []string{single + ":8080"}, map[string]bool{"public": true, "special": true, "alone": true}, 8080, false},
				{"listed with another port", []string{single + ":8081"}, map[string]bool{"public": true}, 8080, false},
				{"listed with every port", []string{single + ":*"}, map[string]bool{"public": true, "special": true}, 8080, false},
				{"in a wide range", []string{wide.String()}, map[string]bool{"public": true}, 443, true},
			} {
				if tt.every && kind == "special" {
					continue // depends on how wide its kind is: see below
				}
				r := allow(t, append(tt.list, "x.example.com")...).Dialable(netip.AddrPortFrom(a, tt.port), now())
				if got := r == nil; got != tt.open[kind] {
					t.Errorf("%s, %s, %s: dialed is %v (%v)", kind, text, tt.name, got, r)
				}
				if r != nil && r.Code != egress.Address {
					t.Errorf("%s: %v", text, r)
				}
			}
		}
	}
}

// A range opens what is not public only as far as it is a range of that kind.
func TestGuardRanges(t *testing.T) {
	for _, tt := range []struct {
		entry, addr string
		want        bool
	}{
		{"10.0.0.0/8:443", "10.1.2.3", true}, {"10.1.0.0/16:443", "10.1.2.3", true}, {"8.0.0.0/5:443", "10.1.2.3", false},
		{"8.0.0.0/5:443", "9.1.2.3", true}, {"10.1.0.0/16:443", "10.2.2.3", false},
		{"127.0.0.0/8:443", "127.0.0.1", false}, {"127.0.0.1/32:443", "127.0.0.1", true}, {"[::1]:443", "::1", true}, {"127.0.0.1:443", "::1", false},
		{"fd00::/8", "fd12::1", true}, {"fc00::/6", "fd12::1", false}, {"fd00::/8", "fd00:ec2::254", false},
		{"169.254.0.0/16", "169.254.169.254", false}, {"100.64.0.0/10", "100.100.100.200", false}, {"100.64.0.0/10", "100.100.100.201", true},
		{"10.0.0.1:443", "64:ff9b::10.0.0.1", true}, {"10.0.0.1:443", "64:ff9b::10.0.0.2", false}, {"8.8.8.8:443", "64:ff9b:1:a00:0:100:808:808", false},
		{"127.0.0.1:443", "64:ff9b::127.0.0.1", false}, {"203.0.113.0/24", "203.0.113.7", true},
		{"[fd12::1]:443", "fd12::1%eth0", false}, {"[2606:4700::1]:443", "2606:4700::1%eth0", false},
	} {
		r := allow(t, tt.entry).Dialable(netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 443), now())
		if (r == nil) != tt.want {
			t.Errorf("%s for %s: %v", tt.entry, tt.addr, r)
		}
	}
}

// An address of a gateway's upstream is held to the same guard.
func TestUpstream(t *testing.T) {
	listed, err := egress.ReadRanges([]string{"10.1.0.0/16", "127.0.0.1", "169.254.169.254", "8.0.0.0/5"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"93.184.215.14": true, "10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": true, "127.0.0.2": false, "169.254.169.254": false, "192.168.0.1": false,
	} {
		if r := egress.Upstream(netip.MustParseAddr(text), listed); (r == nil) != want {
			t.Errorf("%s: %v", text, r)
		}
	}
	for _, bad := range []string{"a.example.com", "10.0.0.1/8", "0.0.0.0/0", "", "fe80::1%eth0", "10.0.0.1:80"} {
		if _, err := egress.ReadRanges([]string{bad}); err == nil {
			t.Errorf("%q is a range", bad)
		}
	}
}

// What the library refuses and this guard does not, and the other way round, is
// known and named: over every edge of its tables and a large sample.
func TestGuardAgainstLibrary(t *testing.T) {
	theirs := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())
	l := allow(t, "x.example.com")
	nat := netip.MustParsePrefix("64:ff9b::/96")
	local := netip.MustParsePrefix("64:ff9b:1::/48")
	var sample []netip.Addr
	for _, p := range append(append([]netip.Prefix{ssrf.IPv6GlobalUnicast, nat, local}, ssrf.IPv4DeniedPrefixes...),
		ssrf.IPv6DeniedPrefixes...) {
		last := lastOf(p)
		sample = append(sample, p.Addr(), p.Addr().Prev(), p.Addr().Next(), last, last.Next(), last.Prev())
	}
	random := rand.New(rand.NewPCG(1, 2))
	turns := 40_000
	if os.Getenv("RINGD_LONG") != "" {
		turns = 400_000
	}
	for range turns {
		var b [16]byte
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		sample = append(sample, netip.AddrFrom4([4]byte(b[:4])), netip.AddrFrom16(b))
		b[0] = 0x20 | b[0]&0x1f // global unicast
		sample = append(sample, netip.AddrFrom16(b))
		copy(b[:], []byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})
		sample = append(sample, netip.AddrFrom16(b))
	}
	public, wider, stricter := 0, 0, 0
	for _, a := range sample {
		if !a.IsValid() || a.Is4In6() {
			continue
		}
		ours, safe := l.Dialable(netip.AddrPortFrom(a, 443), now()) == nil, theirs.SafeAddr(a) == nil
		switch b := a.As16(); {
		case ours && safe:
			public++
		case ours: // the library refuses every translated address
			if v4 := netip.AddrFrom4([4]byte(b[12:])); !nat.Contains(a) && !local.Contains(a) ||
				theirs.SafeAddr(v4) != nil {
				t.Fatalf("%s is dialed, and the library refuses it", a)
			}
			wider++
		case safe: // it knows of no metadata and no tunnels inside of public ranges
			if a != netip.MustParseAddr("168.63.129.16") && !(b[10] == 0x5e && b[11] == 0xfe) {
				t.Fatalf("%s is refused, and the library lets it pass", a)
			}
			stricter++
		}
	}
	if public < turns/2 || wider < turns/20 {
		t.Errorf("the sample is too poor: %d public, %d translated, %d metadata", public, wider, stricter)
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < p.Addr().BitLen(); i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
