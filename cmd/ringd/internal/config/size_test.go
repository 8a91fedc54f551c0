package config_test

import (
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]config.Size{
		"512KiB": 512 << 10, "256MiB": 256 << 20, `"2GiB"`: 2 << 30, "1TiB": 1 << 40,
		"": 0, "0MiB": 0, "12": 0, "-1MiB": 0, "1MB": 0, "1.5GiB": 0, "9223372036854775807KiB": 0, "MiB": 0,
	} {
		var z config.Size
		if err := z.UnmarshalYAML([]byte(text)); (err == nil) != (want > 0) || z != want {
			t.Errorf("%q: %d, %v", text, z, err)
		}
	}
}

// TestSpan: durations of policies, of Go, and nothing negative or without a unit.
func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"500ms": 500 * time.Millisecond, "5m": 5 * time.Minute, "30d": 720 * time.Hour, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "0": 0,
	} {
		if got, err := config.Span(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "5", "-1d", "-5m", "1.5d", "1w", "999999999d", "1d12h"} {
		if got, err := config.Span(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}
