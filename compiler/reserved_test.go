package compiler_test

import (
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// The error classes of a program are names that no bridge may have.
func TestErrorNamesAreReserved(t *testing.T) {
	for _, name := range profiles.CatchableErrors() {
		if !schema.ReservedGlobal(name) {
			t.Errorf("a bridge may be named %s, as the class of an error is", name)
		}
	}
}
