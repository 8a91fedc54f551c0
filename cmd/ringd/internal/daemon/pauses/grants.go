package pauses

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// maxGrants bounds what one request takes back.
const maxGrants = 256

// Revocable refuses to take from a run that waits a bridge that neither it nor a
// subagent of it can have: a name that is not meant would leave it the other.
func Revocable(p pause.Record, grants []string) error {
	for _, g := range grants {
		name, bridge := strings.CutPrefix(g, "bridge:")
		if bridge && len(p.Profiles) > 0 && !p.Profiles[0].Has(name) {
			return fmt.Errorf("revoke %s: the run has no such bridge", Clip(g))
		}
	}
	return nil
}

// CheckGrants checks the names of grants that are to be taken from a run.
func CheckGrants(grants []string) error {
	if len(grants) == 0 || len(grants) > maxGrants {
		return fmt.Errorf("want 1 to %d of them", maxGrants)
	}
	for _, g := range grants {
		kind, name, ok := strings.Cut(g, ":")
		known := kind == "bridge" || kind == "host" || kind == "import" || kind == "exec" && path.IsAbs(name)
		if !ok || !known || name == "" || len(g) > store.MaxID {
			return fmt.Errorf("%q: want bridge:NAME, host:NAME, exec:PATH or import:NAME", Clip(g))
		}
		if kind == "host" {
			if _, err := egress.ReadPattern(name); err != nil {
				return fmt.Errorf("%q: %w", Clip(g), err)
			}
		}
	}
	return nil
}
