package known_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
)

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		name string
		im   profiles.Imports
		used string
		want known.ImportSuggestion
	}{
		{"entries that nothing used are named", profiles.Imports{Allow: rules("pandas", "numpy", "json", "xml")}, "json pandas.io.json xml.etree.ElementTree",
			known.ImportSuggestion{Allow: []string{"json", "pandas", "xml"}, Unused: rules("pandas", "numpy")[1:2]}},
		{"the default set becomes a list", profiles.Imports{Default: true}, "json os.path csv __main__ ringd __future__",
			known.ImportSuggestion{Allow: []string{"csv", "json", "os"}}},
		{"and does not open what it left out", profiles.Imports{Default: true}, "concurrent.futures urllib.parse",
			known.ImportSuggestion{Allow: []string{"concurrent", "urllib"},
				Deny: []string{"concurrent.futures.process", "urllib.request", "urllib.robotparser"}}},
		{"a star becomes what was used", profiles.Imports{Any: &profiles.Rule{}, Deny: rules("requests")}, "numpy.linalg json subprocess requests.api",
			known.ImportSuggestion{Allow: []string{"json", "numpy", "subprocess"}, Refused: []string{"requests.api"}}},
		{"what is no name is left out", profiles.Imports{Default: true}, "json ../x a;b jso\u0144",
			known.ImportSuggestion{Allow: []string{"json"}}},
		{"nothing used, nothing allowed", profiles.Imports{Allow: rules("json")}, "", known.ImportSuggestion{Allow: []string{}, Unused: rules("json")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := known.SuggestImports(profiles.Agent{Python: &profiles.Python{Imports: tt.im}},
				strings.Fields(tt.used))
			if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
				t.Errorf("%t (-want +got)\n%s", ok, diff)
			}
		})
	}
	if _, ok := known.SuggestImports(profiles.Agent{}, []string{"json"}); ok {
		t.Error("an agent without Python has a suggestion")
	}
}

// TestSuggestNeverWidens: no suggestion allows what the agent may not import, and
// each lets it import what it used.
func TestSuggestNeverWidens(t *testing.T) {
	words := strings.Fields(`json os sys _io socket ctypes numpy numpy.linalg pandas pandas.io requests urllib urllib.parse urllib.request http http.client
		xml xml.etree importlib importlib._bootstrap concurrent concurrent.futures concurrent.futures.process asyncio asyncio.subprocess dbm dbm.gnu ringd`)
	r := rand.New(rand.NewPCG(3, 4))
	some := func() (out []string) {
		for range r.IntN(6) {
			out = append(out, words[r.IntN(len(words))])
		}
		return out
	}
	for range 3000 {
		im := profiles.Imports{Allow: rules(some()...), Deny: rules(some()...), Process: rules(some()...)}
		im.Default = len(im.Allow) == 0
		if r.IntN(4) == 0 {
			im.Any = &profiles.Rule{Line: 1}
		}
		a, used := profiles.Agent{Python: &profiles.Python{Imports: im}}, some()
		s, _ := known.SuggestImports(a, used)
		narrow := profiles.Imports{Allow: rules(s.Allow...), Deny: append(rules(s.Deny...), im.Deny...),
			Process: im.Process}
		before, after := profiles.NewDecider(a, "", profiles.Environment{}),
			profiles.NewDecider(profiles.Agent{Python: &profiles.Python{Imports: narrow}}, "", profiles.Environment{})
		for _, module := range words {
			if was, is := before.Import("python", module), after.Import("python", module); is.Verdict > was.Verdict {
				t.Fatalf("%s: was %+v and is %+v\n%+v\n%+v", module, was, is, im, s)
			}
		}
		for _, module := range used {
			if before.Import("python", module).Verdict == profiles.Allow &&
				after.Import("python", module).Verdict != profiles.Allow {
				t.Fatalf("%s was used, and %+v does not allow it", module, s)
			}
		}
	}
}
