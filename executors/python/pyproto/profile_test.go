package pyproto_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

func rules(names ...string) (out []profiles.ImportRule) {
	for i, n := range names {
		out = append(out, profiles.ImportRule{Name: n, Rule: profiles.Rule{File: "p.yaml", Line: 7 + i, Column: 3}})
	}
	return out
}

// program decides as the comment of Profile has the guard decide, by the
// profile alone: names that cover others, Nobody over Deny over Allow over the set.
func program(p pyproto.Profile, module string) bool {
	covered := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return module == n || strings.HasPrefix(module, n+".")
		})
	}
	in := func(list []pyproto.Name) bool {
		return slices.ContainsFunc(list, func(n pyproto.Name) bool {
			return module == n.Name || strings.HasPrefix(module, n.Name+".")
		})
	}
	switch {
	case in(p.Nobody) || in(p.Deny) || p.Only != nil && !covered(p.Only):
		return false
	case in(p.Allow) || p.Any:
		return true
	default:
		return p.Default && covered(p.Standard) && !covered(p.Outside)
	}
}

// TestProfileOfDecides: the profile says of every name what the decider says, for
// programs, and refuses libraries what the decider refuses them.
func TestProfileOfDecides(t *testing.T) {
	words := strings.Fields(`json os sys _io _socket socket ctypes ctypes.util numpy numpy.linalg pandas pandas.io requests requests.adapters urllib urllib.parse
		urllib.request http http.client http.cookies xml xml.etree xml.etree.ElementTree importlib importlib._bootstrap concurrent.futures concurrent.futures.process
		concurrent.interpreters _interpreters _testcapi subprocess threading js jso ringd ringd.aio __main__ __future__ asyncio asyncio.unix_events dbm dbm.gnu zzz`)
	r := rand.New(rand.NewPCG(7, 7))
	some := func() (out []string) {
		for range r.IntN(6) {
			out = append(out, words[r.IntN(len(words))])
		}
		return out
	}
	for range 3000 {
		im := profiles.Imports{Allow: rules(some()...), Deny: rules(some()...), Process: rules(some()...),
			Default: r.IntN(2) == 0}
		if r.IntN(4) == 0 {
			im.Any = &profiles.Rule{File: "p.yaml", Line: 3, Column: 1}
		}
		if r.IntN(4) == 0 {
			im.Only = append([]string{}, some()...)
		}
		a := profiles.Agent{Python: &profiles.Python{Imports: im}}
		d := profiles.NewDecider(a, "", profiles.Environment{})
		p := pyproto.ProfileOf(pyproto.ProfileConfig{Agent: &a})
		for _, module := range words {
			want := d.Import(profiles.ExecutorPython, module)
			if got := program(p, module); got != (want.Verdict == profiles.Allow) {
				t.Fatalf("%s: the profile says %t, the decider %+v\n%+v", module, got, want, im)
			}
			nobody := slices.ContainsFunc(p.Nobody, func(n pyproto.Name) bool {
				return module == n.Name || strings.HasPrefix(module, n.Name+".")
			})
			library := d.ImportFor(profiles.ExecutorPython, module, profiles.OriginLibrary)
			if nobody != (library.Code == profiles.CodeImportDenied) {
				t.Fatalf("%s: nobody is %t, for a library %+v\n%+v", module, nobody, library, im)
			}
		}
	}
}

func TestProfileOf(t *testing.T) {
	a := profiles.Agent{
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist},
		Python: &profiles.Python{
			Imports: profiles.Imports{Allow: rules("pandas", "json"), Deny: rules("requests", "ctypes"),
				Process: rules("mmap"), Rule: profiles.Rule{File: "p.yaml", Line: 6, Column: 16}},
			DenyBuiltins: rules("eval"), EndOnDenied: true,
		}}
	p := pyproto.ProfileOf(pyproto.ProfileConfig{Agent: &a, Revision: "sha256:1", Read: []string{"/data"},
		Library: []string{"numpy"}})
	if err := (pyproto.Options{Profile: &p, ResultBytes: 1}).Check(); err != nil {
		t.Fatal(err)
	}
	if p.Revision != "sha256:1" || p.Network != profiles.NetworkOwn || !p.EndOnDenied || p.Default || p.Any ||
		p.Only != nil ||
		!slices.Equal(p.Library, []string{"numpy"}) || !slices.Equal(p.Read, []string{"/data"}) {
		t.Errorf("got %+v", p)
	}
	for list, want := range map[*[]pyproto.Name]pyproto.Name{
		&p.Allow:    {Name: "pandas", Rule: "p.yaml:7:3"},
		&p.Deny:     {Name: "ctypes", Rule: "p.yaml:8:3"},
		&p.Nobody:   {Name: "requests", Rule: "p.yaml:7:3"},
		&p.Builtins: {Name: "eval", Rule: "p.yaml:7:3"},
	} {
		if !slices.Contains(*list, want) {
			t.Errorf("%+v is not in %+v", want, *list)
		}
	}
	if i := slices.IndexFunc(p.Nobody, func(n pyproto.Name) bool { return n.Name == "mmap" }); i < 0 ||
		!strings.Contains(p.Nobody[i].Why, "libraries") {
		t.Errorf("what the whole process is denied: %+v", p.Nobody)
	}
	if i := slices.IndexFunc(p.Nobody, func(n pyproto.Name) bool { return n.Name == "_interpreters" }); i < 0 ||
		p.Nobody[i].Rule != "" {
		t.Errorf("what no policy can allow: %+v", p.Nobody)
	}
	if p.Rule != "p.yaml:6:16" {
		t.Errorf("rule %q", p.Rule)
	}
	if p.Advice != "allowed: json, pandas" {
		t.Errorf("advice %q", p.Advice)
	}
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(strings.ReplaceAll(string(text), `"only":null`, ""), "null") {
		t.Errorf("a list of the profile is null: %s %v", text, err)
	}
}

// TestProfileOfNothing: a profile of nobody allows nothing.
func TestProfileOfNothing(t *testing.T) {
	for _, a := range []*profiles.Agent{nil, {}} {
		p := pyproto.ProfileOf(pyproto.ProfileConfig{Agent: a})
		for _, module := range []string{"json", "os", "numpy", "ringd", "_interpreters"} {
			if program(p, module) {
				t.Errorf("%s is allowed by %+v", module, p)
			}
		}
		if p.Network != profiles.NetworkOff || p.Only == nil {
			t.Errorf("got %+v", p)
		}
	}
}

func TestAdvice(t *testing.T) {
	many := profiles.Imports{Default: false}
	for c := range 20 {
		many.Allow = append(many.Allow, profiles.ImportRule{Name: "m" + string(rune('a'+c))})
	}
	for want, im := range map[string]profiles.Imports{
		"no module is allowed": {},
		"allowed: the standard library, without what reaches outside of the process (subprocess, socket, ctypes and the like)": {Default: true},
		"allowed: ma, mb, mc, md, me, mf, mg, mh, mi, mj, mk, ml, 8 more":                                                      many,
		"everything is allowed that is installed and not denied":                                                               {Any: &profiles.Rule{}},
		"allowed: csv": {Default: true, Any: &profiles.Rule{}, Only: []string{"csv"}},
	} {
		p := pyproto.ProfileOf(pyproto.ProfileConfig{Agent: &profiles.Agent{Python: &profiles.Python{Imports: im}}})
		if p.Advice != want {
			t.Errorf("got %q, want %q", p.Advice, want)
		}
	}
}
