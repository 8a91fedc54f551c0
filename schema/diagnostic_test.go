package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema"
)

// TestSort: what says the same about one place is told once, and what refuses a policy is
// told however a warning beside it reads.
func TestSort(t *testing.T) {
	at := schema.Pos{File: "p.yaml", Line: 2, Column: 1}
	warning := schema.Diagnostic{Pos: at, Code: "c", Msg: "spec.a: bad", Severity: schema.Warning}
	one := schema.Diagnostic{Pos: at, Code: "c", Msg: "spec.a: bad"}
	again := schema.Diagnostic{Pos: at, Code: "c", Msg: "spec.b: bad"}
	later := schema.Diagnostic{Pos: schema.Pos{File: "p.yaml", Line: 10, Column: 1}, Code: "a", Msg: "worse"}
	got := schema.Diagnostics{later, warning, again, one}.Sort()
	if diff := cmp.Diff(schema.Diagnostics{one, warning, later}, got); diff != "" || !got.Refused() {
		t.Error(diff)
	}
}
