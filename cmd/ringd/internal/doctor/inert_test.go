package doctor_test

import (
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/doctor"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
)

// TestProfileIsInert: a profile that an administrator loads has no line of the path that it
// is for.
func TestProfileIsInert(t *testing.T) {
	if _, ok := doctor.AppArmorProfile("/usr/local/bin/ringd"); !ok {
		t.Error("an ordinary path is refused")
	}
	for _, text := range rendertest.Hostile() {
		if profile, ok := doctor.AppArmorProfile("/opt/" + text); ok {
			rendertest.Check(t, "the profile", text, profile, 0)
		}
	}
}
