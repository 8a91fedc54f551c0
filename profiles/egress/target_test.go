package egress_test

import (
	"net/netip"
	"testing"

	"github.com/ringd/ringd/profiles/egress"
)

// TestReadDest: what String writes is read again, and no other text is a target.
func TestReadDest(t *testing.T) {
	for _, want := range []egress.Dest{
		{Name: "api.example.com", Port: 443},
		{Addr: netip.MustParseAddr("192.0.2.7"), Port: 5432},
		{Addr: netip.MustParseAddr("2001:db8::7"), Port: 1},
	} {
		if got, ok := egress.ReadDest(want.String()); !ok || got != want {
			t.Errorf("%s: got %v, %t", want, got, ok)
		}
	}
	for _, text := range []string{"", ":443", "api.example.com", "api.example.com:", "api.example.com:0443",
		"api.example.com:65536",
		"api.example.com:443:1", "[2001:db8:0::7]:1", "2001:db8::7:1", "https://api.example.com:443"} {
		if got, ok := egress.ReadDest(text); ok {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
