package cli_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// TestAfterTheDead: a lock that its dead owner's child still holds is waited
// for; one that stays, another error and the end of the context are not.
func TestAfterTheDead(t *testing.T) {
	inUse, other := errors.New("in use"), errors.New("other")
	opens := 0
	after := func(n int, then error) func() (int, error) {
		opens = 0
		return func() (int, error) {
			if opens++; opens < n {
				return 0, inUse
			}
			return opens, then
		}
	}
	if v, err := cli.OpenWithRetry(t.Context(), inUse, after(3, nil)); v != 3 || err != nil {
		t.Errorf("free at the third try: got %d, %v", v, err)
	}
	if _, err := cli.OpenWithRetry(t.Context(), inUse, after(2, other)); !errors.Is(err, other) || opens != 2 {
		t.Errorf("another error: got %v after %d tries", err, opens)
	}
	if _, err := cli.OpenWithRetry(t.Context(), inUse, after(1<<30, nil)); !errors.Is(err, inUse) || opens > 100 {
		t.Errorf("held for ever: got %v after %d tries", err, opens)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cli.OpenWithRetry(over, inUse, after(1<<30, nil)); !errors.Is(err, inUse) || opens > 2 {
		t.Errorf("context over: got %v after %d tries", err, opens)
	}
}
