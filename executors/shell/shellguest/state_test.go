// In the package: a state is opaque outside of it.
package shellguest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/shell/runner"
)

func session() *runner.State {
	return &runner.State{
		Dir: "/workspace", Options: "e",
		Variables: []runner.Variable{
			{Name: "a", Value: "1", Exported: true}, {Name: "l", Kind: "list", List: []string{"x", "y"}},
			{Name: "m", Kind: "map", Map: map[string]string{"k": "v"}},
		},
		Functions: map[string]string{"f": "f() { echo hi; }"},
	}
}

func TestStateGoesRound(t *testing.T) {
	for _, want := range []state{
		{Session: session()},
		{Waits: &waits{Asks: []awaited{{Argv: []string{"git", "push"}, Call: 1}, {Argv: []string{"git", "fetch"}}}}},
	} {
		b, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeState(b)
		want.Format = stateFormat
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

// A state that no guest wrote is refused. Each attack is one change of a state
// that is taken.
func TestForgedStates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forge func(*state)
	}{
		{"of both kinds", func(s *state) { s.Waits = &waits{Asks: []awaited{{Argv: []string{"x"}, Call: 1}}} }},
		{"of no kind", func(s *state) { s.Session = nil }},
		{"another format", func(s *state) { s.Format = 2 }},
		{"a relative folder", func(s *state) { s.Session.Dir = "../etc" }},
		{"a folder with dots", func(s *state) { s.Session.Dir = "/workspace/../etc" }},
		{"a variable of no name", func(s *state) { s.Session.Variables[0].Name = "" }},
		{"a variable that is a command", func(s *state) { s.Session.Variables[0].Name = "a=$(id)" }},
		{"a variable twice", func(s *state) { s.Session.Variables[1].Name = "a" }},
		{"a variable of another kind", func(s *state) { s.Session.Variables[0].Kind = "nameref" }},
		{"a text that is a list", func(s *state) { s.Session.Variables[0].List = []string{"x"} }},
		{"indexes of nothing", func(s *state) { s.Session.Variables[1].Indexes = []int{1} }},
		{"a map with a value", func(s *state) { s.Session.Variables[2].Value = "x" }},
		{"a function of no name", func(s *state) { s.Session.Functions[""] = "x" }},
		{"a function too long", func(s *state) { s.Session.Functions["g"] = strings.Repeat("x", 1<<17) }},
		{"options too long", func(s *state) { s.Session.Options = strings.Repeat("e", 5000) }},
		{"waiting for nothing", func(s *state) { *s = state{Format: 1, Waits: &waits{Asks: []awaited{{Argv: []string{"x"}}}}} }},
		{"waiting twice for one call", func(s *state) {
			*s = state{Format: 1, Waits: &waits{Asks: []awaited{
				{Argv: []string{"x"}, Call: 1}, {Argv: []string{"y"}, Call: 1}}}}
		}},
		{"waiting for no words", func(s *state) { *s = state{Format: 1, Waits: &waits{Asks: []awaited{{Call: 1}}}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := state{Format: stateFormat, Session: session()}
			tt.forge(&s)
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeState(b); !errors.Is(err, errState) {
				t.Errorf("taken: %v", err)
			}
		})
	}
	for _, text := range []string{"", "null", "{}", `{"format":1,"session":{"dir":"/a"},"more":1}`,
		`{"format":1,"session":{"dir":"/a"}} x`, "\xff"} {
		if _, err := decodeState([]byte(text)); !errors.Is(err, errState) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What JSON would change without saying so is not kept.
func TestStateThatIsNoText(t *testing.T) {
	s := session()
	s.Variables[0].Value = "a\xffb"
	if b, err := (state{Session: s}).encode(); err == nil {
		t.Errorf("kept as %s", b)
	}
}

func FuzzDecodeState(f *testing.F) {
	for _, s := range []state{
		{Session: session()}, {Waits: &waits{Asks: []awaited{{Argv: []string{"git", "push"}, Call: 1}}}}} {
		b, err := s.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err != nil {
			return
		}
		again, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		if s2, err := decodeState(again); err != nil || cmp.Diff(s, s2) != "" {
			t.Errorf("%v %s", err, cmp.Diff(s, s2))
		}
	})
}
