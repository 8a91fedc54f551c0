package profiles_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// Equal refusals stand once, with how often; those that differ stand beside each other,
// up to a bound.
func TestRefusals(t *testing.T) {
	no := profiles.Decision{Code: profiles.CodeImportDenied, Reason: `import of "a"`,
		Rule:     &profiles.Rule{File: "p.yaml", Line: 3},
		Evidence: &profiles.Evidence{Argv: []string{"a"}, Line: 1}}
	another := func(change func(*profiles.Decision)) profiles.Decision {
		d := no
		change(&d)
		return d
	}
	var r profiles.Refusals
	told := 0
	add := func(d profiles.Decision) {
		t.Helper()
		if _, tell := r.Add(d, 6); tell {
			told++
		}
	}
	for i := range 50 {
		add(another(func(d *profiles.Decision) { d.Evidence = &profiles.Evidence{Argv: []string{"a"}, Line: i} }))
	}
	if len(r.List) != 1 || r.List[0].Count != 50 || told != 2 || r.List[0].Evidence.Line != 0 {
		t.Fatalf("told %d times of %+v", told, r.List)
	}
	if no.Count != 0 {
		t.Error("what was added is changed")
	}
	for _, change := range []func(*profiles.Decision){
		func(d *profiles.Decision) { d.Code = profiles.CodeImportNotAllowed },
		func(d *profiles.Decision) { d.Rule = &profiles.Rule{File: "p.yaml", Line: 4} },
		func(d *profiles.Decision) { d.Rule = nil },
		func(d *profiles.Decision) { d.Evidence = nil },
		func(d *profiles.Decision) { d.Reason = `import of "b"` },
	} {
		add(another(change))
	}
	if len(r.List) != 6 || told != 7 || r.More != 0 {
		t.Errorf("told %d times of %+v, and %d more", told, r.List, r.More)
	}
	for i := range 10_000 {
		add(another(func(d *profiles.Decision) { d.Reason = fmt.Sprint(i) }))
	}
	add(another(func(d *profiles.Decision) { d.Count = 7 }))
	if len(r.List) != 6 || told != 7 || r.More != 10_000 || r.List[0].Count != 57 {
		t.Errorf("told %d times of %+v, and %d more", told, r.List, r.More)
	}
	// What a guest says overflows nothing.
	for range 4 {
		add(another(func(d *profiles.Decision) { d.Count = math.MaxInt64 - 1 }))
		r.Beyond(math.MaxInt64)
		r.Beyond(-5)
	}
	if r.List[0].Count != profiles.MaxTimes || r.More != profiles.MaxTimes {
		t.Errorf("%d, and %d more", r.List[0].Count, r.More)
	}
}
