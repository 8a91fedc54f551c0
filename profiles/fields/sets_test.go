package fields // unlisted is not exported

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnlisted: a list of the language without a row of its own is compared by its order, and its name is the sentence.
// A field that is listed, a switch, and one that no profile carries have none.
func TestUnlisted(t *testing.T) {
	language := []Field{
		{Policy: "Binary.DenyHosts", Profile: "Binary.DenyHosts", Order: Accumulates},
		{Policy: "Args.MaxArgs", Profile: "Binary.MaxArgs", Order: AtMost, Unit: Count},
		{Policy: "Shell.Switch", Profile: "Shell.Switch", Order: Opens},
		{Policy: "Egress.Binaries", Order: Subset},
	}
	want := []SetField{{Field: "Binary.DenyHosts", Order: Accumulates, Says: "denyHosts %s", None: "none"}}
	if d := cmp.Diff(want, unlisted(language, map[string]bool{"Binary.MaxArgs": true})); d != "" {
		t.Error(d)
	}
}
