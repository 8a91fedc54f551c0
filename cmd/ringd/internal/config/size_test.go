package config_test

import (
	"testing"

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
