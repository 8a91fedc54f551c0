package pyguest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// importNames are names of every sort: the standard library and what it leaves out,
// below and beside them, packages, and what is no name.
func importNames() []string {
	names := append(modules.StandardNames(), modules.NeverNames()...)
	_, without := modules.DefaultNames()
	names = append(names, without...)
	for _, n := range names {
		names = append(names, n+".x", n+"x", "x."+n, "_"+n, n+"._y.z")
	}
	names = append(names, strings.Fields(`numpy numpy.linalg numpy.linalg.lapack pandas pandas.io pandas.io.sql requests requests.adapters
		urllib3 xml.etree xml.etree.ElementTree importlib.util os.path js jso jsonx ringd.aio ringdx __main__ __main__.x __future__.y
		_sysconfigdata_ _sysconfigdata__linux_x86_64-linux-gnu _sysconfigdata_x.y a.b a.b.c A.B`)...)
	return append(names, "", ".", "a.", ".a", "a..b", "1a", "a.1", "a b", "a\x00b", "é", "json.é", "ｊson", "a/b", "a-b",
		"a\n",
		strings.Repeat("a", 255), strings.Repeat("a", 256), "json."+strings.Repeat("b", 300),
		strings.Repeat("a.", 127)+"b")
}

// someImports are the lists of a policy, of every combination.
func someImports(r *rand.Rand, names []string) profiles.Imports {
	some := func(most int) []profiles.ImportRule {
		out := []string{}
		for range r.IntN(most + 1) {
			if n := names[r.IntN(len(names))]; modules.Valid(false, n) {
				out = append(out, n)
			}
		}
		return listed(out...)
	}
	im := profiles.Imports{Allow: some(9), Deny: some(9), Process: some(4), Default: r.IntN(2) == 0}
	if r.IntN(4) == 0 {
		im.Any = &profiles.Rule{File: "p.yaml", Line: 3, Column: 1}
	}
	if r.IntN(4) == 0 {
		im.Only = []string{}
		for _, n := range append(some(20), listed("json", "numpy", "xml.etree")...) {
			im.Only = append(im.Only, n.Name)
		}
	}
	return im
}

// TestGuardEqualsDecider: what the guard says of the program's own import is what
// `ringd decide` says without Python.
func TestGuardEqualsDecider(t *testing.T) {
	names := importNames()
	if len(names) < 2000 {
		t.Fatalf("%d names", len(names))
	}
	r := rand.New(rand.NewPCG(7, 11))
	deciders, told := []*profiles.Decider{}, []pyproto.Profile{}
	for i := range 60 {
		im := someImports(r, names)
		switch i {
		case 0:
			im = profiles.Imports{Default: true}
		case 1:
			im = profiles.Imports{Any: &profiles.Rule{File: "p.yaml", Line: 1, Column: 1}}
		case 2:
			im = profiles.Imports{}
		}
		a := profiles.Agent{Python: &profiles.Python{Imports: im}}
		deciders = append(deciders, profiles.NewDecider(a, "", profiles.Environment{}))
		told = append(told, pyproto.ProfileOf(pyproto.ProfileConfig{Agent: &a}))
	}
	each(t, func(t *testing.T, python string) {
		var got struct{ Answers [][]*string }
		ask(t, python, map[string]any{"profiles": told, "names": names}, &got)
		if len(got.Answers) != len(told) {
			t.Fatalf("%d answers", len(got.Answers))
		}
		kinds := map[string]int{}
		for i, answers := range got.Answers {
			for j, answer := range answers {
				want := deciders[i].Import(profiles.ExecutorPython, names[j])
				code := profiles.CodeAllowed
				if answer != nil {
					code = profiles.Code(*answer)
				}
				if code != want.Code {
					t.Fatalf("import of %q: the guard says %s, the decider %+v\n%+v", names[j], code, want, told[i])
				}
				kinds[fmt.Sprint(code)]++
			}
		}
		if kinds["allowed"] < 1000 || kinds["import.denied"] < 1000 || kinds["import.not_allowed"] < 1000 {
			t.Errorf("the table is lopsided: %v", kinds)
		}
	})
}
