package programs

import (
	"regexp"
	"strings"
	"testing"
)

// It is internal, as what is left out must be what could not have matched.
func FuzzPossible(f *testing.F) {
	for _, text := range []string{"import os; os.system(1)", "`id`", "os['x']", "%x(id)", "s/a/b/ee", "$f(1)", "_G.x",
		"io [ 1 ]", "require;", "r = require", "&{x}", "DL", "vm"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, language := range []string{"python", "perl", "ruby", "node", "php", "lua"} {
			for _, p := range patterns(language) {
				if !possible(p, strings.ToLower(text)) && regexp.MustCompile(p).MatchString(text) {
					t.Errorf("%s: %q matches %q, and is left out", language, p, text)
				}
			}
		}
	})
}
