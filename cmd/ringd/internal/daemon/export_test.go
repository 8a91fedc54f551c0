package daemon

import (
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// StuckCode is the code that a pause gets which cannot be opened for err.
func StuckCode(err error) string { return waiting.Stuck("", err).Code }

// Halted reports whether a run was told to end.
func (d *runTable) Halted(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[id] != nil && d.live[id].stopped
}

// Late reports whether err says that somebody else goes on with the run.
func Late(err error) bool {
	var claimed *store.ClaimedError
	return errors.As(err, &claimed)
}
