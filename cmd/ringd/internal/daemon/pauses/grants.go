package pauses

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// maxGrants bounds what one request takes back.
const maxGrants = 256

// CheckGrants checks the names of grants that are to be taken from a run.
func CheckGrants(grants []string) error {
	if len(grants) == 0 || len(grants) > maxGrants {
		return fmt.Errorf("want 1 to %d of them", maxGrants)
	}
	for _, g := range grants {
		kind, name, ok := strings.Cut(g, ":")
		known := kind == "bridge" || kind == "host" || kind == "import"
		if !ok || !known || name == "" || len(g) > store.MaxID {
			return fmt.Errorf("%q: want bridge:NAME, host:NAME or import:NAME", Clip(g))
		}
	}
	return nil
}
