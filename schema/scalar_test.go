package schema

import (
	"testing"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		word    string
		kind    ValueKind
		trapped bool // YAML 1.1 readers see another value
		refused bool
	}{
		{"", Null, false, false}, {"~", Null, false, false}, {"Null", Null, false, false},
		{"true", Bool, false, false}, {"False", Bool, false, false}, {"tRue", String, false, false},
		{"off", String, true, false}, {"NO", String, true, false}, {"y", String, true, false},
		{"0", Int, false, false}, {"-12", Int, false, false}, {"+4", Int, false, true},
		{"010", String, false, true}, {"0o10", String, false, true}, {"0xff", String, false, true},
		{"1.5", Float, false, false}, {"1e3", Float, false, false}, {".5", String, false, true},
		{".inf", String, false, true}, {"12:30", String, true, false}, {"2026-12-31", String, true, false},
		{"1_000", String, true, false}, {"99999999999999999999", Float, false, false},
		{"pandas", String, false, false}, {"5s", String, false, false}, {"10.0.0.1", String, false, false},
	} {
		kind, trap, refused := ResolveScalar(tt.word)
		if kind != tt.kind || (trap != "") != tt.trapped || (refused != "") != tt.refused {
			t.Errorf("%q: got %v, %q, %q", tt.word, kind, trap, refused)
		}
	}
}
