package pauses_test

import (
	"fmt"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/pauses"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/schema/wire"
)

// Only what is known to be wrong with a record is called damage: that is not tried
// again by itself.
func TestStuckNamesTheCause(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{executors.ErrSnapshot, wire.CodeIntegrity},
		{store.ErrDamaged, wire.CodeIntegrity},
		{executors.ErrEngine, wire.CodeEngineUnknown},
		{executors.ErrSlow, wire.CodeResumeFailed},
		{executors.ErrGuest, wire.CodeResumeFailed},
	} {
		if got := pauses.Stuck("r1", fmt.Errorf("resume: %w", tt.err)); got.Code != tt.want {
			t.Errorf("%v is %s, want %s", tt.err, got.Code, tt.want)
		}
	}
}
