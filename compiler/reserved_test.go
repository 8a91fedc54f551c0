package compiler_test

import (
	"testing"

	"github.com/ringd/ringd/compiler/plain"
	"github.com/ringd/ringd/profiles"
)

// The error classes of a program are names that no bridge may have.
func TestErrorNamesAreReserved(t *testing.T) {
	for _, name := range profiles.CatchableErrors() {
		if !plain.ReservedGlobal(name) {
			t.Errorf("a bridge may be named %s, as the class of an error is", name)
		}
	}
}
