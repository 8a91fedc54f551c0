package pyproto

import (
	"slices"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestReach: addresses of the policy are spans, names are none.
func TestReach(t *testing.T) {
	bare := len(reach(nil))
	got := reach([]profiles.EgressRule{{Host: "example.com"}, {Host: "*.example.com"}, {Host: "192.0.2.7"},
		{Host: "198.51.100.0/23"}, {Host: "2001:db8::/127"}})[bare:]
	want := []span{
		{"c0000207", "c0000207"}, {"c6336400", "c63365ff"},
		{"20010db8000000000000000000000000", "20010db8000000000000000000000001"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if bare != len(inside()) {
		t.Errorf("%d of %d ranges of a guest are read", bare, len(inside()))
	}
}
