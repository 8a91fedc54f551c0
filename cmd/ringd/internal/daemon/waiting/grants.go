package waiting

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// maxGrants bounds the grants of one request to revoke.
const maxGrants = 256

// Revocable refuses to revoke a bridge that neither the waiting run nor a subagent of it can have. A
// mistyped name would otherwise leave the run the bridge that was meant.
func Revocable(p pause.Record, grants []string) error {
	for _, g := range grants {
		name, bridge := strings.CutPrefix(g, "bridge:")
		if bridge && len(p.Profiles) > 0 && !p.Profiles[0].Has(name) {
			return fmt.Errorf("revoke %s: the run has no such bridge", Clip(g))
		}
	}
	return nil
}

// CheckGrants checks the names of grants that a request revokes from a run.
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
