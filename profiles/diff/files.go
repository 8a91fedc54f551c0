// This file owns lists of file rules, as package diff compares them. It is pure.

package diff

import (
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// rulesByPath are rules by their path; the first of one counts.
func rulesByPath(rules []profiles.PathRule) map[string]*profiles.PathRule {
	out := make(map[string]*profiles.PathRule, len(rules))
	for i := range rules {
		if out[rules[i].Path] == nil {
			out[rules[i].Path] = &rules[i]
		}
	}
	return out
}

// pathsInside lists what is granted of a path that is not.
func pathsInside(p string, list []profiles.PathRule, deny paths.Set) (out []string) {
	for _, r := range list {
		if paths.Of(p).Cover(r.Path) && !deny.Cover(r.Path) {
			out = append(out, r.Path)
		}
	}
	return out
}

// elsewhere says that what the path of two rules leads to is held to other folders of the
// layers above, and why that widens; "" narrows, and both are "" where it does not differ.
func elsewhere(x, y *profiles.PathRule) (says, why string) {
	if slices.Equal(x.Within, y.Within) {
		return "", ""
	}
	if slices.ContainsFunc(x.Within, func(w string) bool { return !slices.Contains(y.Within, w) }) {
		why = "a link could not lead out of a folder that is left out now"
	}
	return "what " + x.Path + " leads to has to lie in other folders of the layers above", why
}
