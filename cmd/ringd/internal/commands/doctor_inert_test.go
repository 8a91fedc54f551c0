package commands_test

import (
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
)

// TestProfileIsInert: a profile that an administrator loads has no line of the path that it
// is for.
func TestProfileIsInert(t *testing.T) {
	if _, ok := commands.AppArmorProfile("/usr/local/bin/ringd"); !ok {
		t.Error("an ordinary path is refused")
	}
	for _, text := range clitest.Hostile() {
		if profile, ok := commands.AppArmorProfile("/opt/" + text); ok {
			clitest.Check(t, "the profile", text, profile, 0)
		}
	}
}
