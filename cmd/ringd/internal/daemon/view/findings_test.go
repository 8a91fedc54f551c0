package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// A finding of two places has both in the API.
func TestFindings(t *testing.T) {
	got := view.Findings(schema.Diagnostics{
		{Pos: schema.Pos{File: "a.yaml", Line: 3, Column: 5}, Code: "widens-parent", Msg: "m", Hint: "h", Related: []schema.Pos{{File: "org.yaml", Line: 7, Column: 9}}},
		{Pos: schema.Pos{File: "a.yaml", Line: 4, Column: 1}, Code: "c", Msg: "n", Severity: schema.Warning},
	})
	want := []wire.Diagnostic{
		{File: "a.yaml", Line: 3, Column: 5, Code: "widens-parent", Message: "m", Hint: "h", Severity: "error", Related: []wire.Place{{File: "org.yaml", Line: 7, Column: 9}}},
		{File: "a.yaml", Line: 4, Column: 1, Code: "c", Message: "n", Severity: "warning"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if view.Findings(nil) == nil {
		t.Error("nil, which JSON writes as null")
	}
}
