package scalar_test

import (
	"testing"

	"github.com/ringd/ringd/schema/scalar"
	"github.com/ringd/ringd/schema/shape"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		word    string
		kind    shape.Kind
		trapped bool // YAML 1.1 readers see another value
		refused bool
	}{
		{"", shape.Null, false, false}, {"~", shape.Null, false, false}, {"Null", shape.Null, false, false},
		{"true", shape.Bool, false, false}, {"False", shape.Bool, false, false}, {"tRue", shape.String, false, false},
		{"off", shape.String, true, false}, {"NO", shape.String, true, false}, {"y", shape.String, true, false},
		{"0", shape.Int, false, false}, {"-12", shape.Int, false, false}, {"+4", shape.Int, false, true},
		{"010", shape.String, false, true}, {"0o10", shape.String, false, true}, {"0xff", shape.String, false, true},
		{"1.5", shape.Float, false, false}, {"1e3", shape.Float, false, false}, {".5", shape.String, false, true},
		{".inf", shape.String, false, true}, {"12:30", shape.String, true, false}, {"2026-12-31", shape.String, true, false},
		{"1_000", shape.String, true, false}, {"99999999999999999999", shape.Float, false, false},
		{"pandas", shape.String, false, false}, {"5s", shape.String, false, false}, {"10.0.0.1", shape.String, false, false},
	} {
		kind, trap, refused := scalar.Resolve(tt.word)
		if kind != tt.kind || (trap != "") != tt.trapped || (refused != "") != tt.refused {
			t.Errorf("%q: got %v, %q, %q", tt.word, kind, trap, refused)
		}
	}
}
