package finding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema/finding"
)

// TestSort: what says the same about one place is told once, and what refuses a policy is
// told however a warning beside it reads.
func TestSort(t *testing.T) {
	at := finding.Pos{File: "p.yaml", Line: 2, Column: 1}
	warning := finding.Diagnostic{Pos: at, Code: "c", Msg: "spec.a: bad", Severity: finding.Warning}
	one := finding.Diagnostic{Pos: at, Code: "c", Msg: "spec.a: bad"}
	again := finding.Diagnostic{Pos: at, Code: "c", Msg: "spec.b: bad"}
	later := finding.Diagnostic{Pos: finding.Pos{File: "p.yaml", Line: 10, Column: 1}, Code: "a", Msg: "worse"}
	got := finding.Diagnostics{later, warning, again, one}.Sort()
	if diff := cmp.Diff(finding.Diagnostics{one, warning, later}, got); diff != "" || !got.Refused() {
		t.Error(diff)
	}
}
