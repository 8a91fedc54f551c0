package compiler // how text becomes numbers is not exported

import (
	"testing"

	"github.com/ringd/ringd/schema"
)

func TestReadUnit(t *testing.T) {
	d := &document{compilation: &compilation{}, policy: &schema.Policy{}}
	for text, want := range map[string]int64{"64MiB": 64 << 20, "1KiB": 1024, "3GiB": 3 << 30, "5B": 5, "0B": 0} {
		if got, ok := d.size("x", text); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for text, want := range map[string]int64{"500ms": 500, "30s": 30_000, "5m": 300_000, "2h": 7_200_000,
		"3d": 259_200_000} {
		if got, ok := d.duration("x", text); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "B", "64", "64MB", "64 MiB", "-1B", "+1B", "1.5GiB", "9999999999999GiB", "0x10B",
		"1_000B", "１B", "s", "5min", "1e3s", "d", "1w", "-1d", "1.5d", "9999999999999999d"} {
		if got, ok := d.size("x", text); ok {
			t.Errorf("size %q: %d", text, got)
		}
		if got, ok := d.duration("x", text); ok {
			t.Errorf("duration %q: %d", text, got)
		}
	}
}
