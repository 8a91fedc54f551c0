package layers

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema"
)

// step merges one document with one ceiling. It modifies the child: allowed values stay, and absent
// values are filled in. A rejected value is removed or set to the ceiling's value, so that no later
// check reports it again.
type step struct {
	up     *ceiling
	parent *schema.Policy // the policy of up
	child  *schema.Policy
	grants bool // the child is an agent, which gets grants: an absent field grants nothing
	rules  *rules
	found  schema.Diagnostics
}

// site is the path of a child's value, and the path of the value in the layer above that bounds it.
type site struct{ own, above string }

func (w site) field(name string) site { return site{w.own + "." + name, w.above + "." + name} }
func (w site) item(i, j int) site     { return site{index(w.own, i), index(w.above, j)} }

func (s *step) childOrigin(path string) schema.Origin  { return schema.OriginOf(s.child, path) }
func (s *step) parentOrigin(path string) schema.Origin { return schema.OriginOf(s.parent, path) }

// shown returns the position of a value of the layer above, and the name of that layer.
func (s *step) shown(above string) string { return shown(s.parentOrigin(above)) }

// refuse reports a value of the child that conflicts with a layer above.
func (s *step) refuse(code string, w site, hint, format string, args ...any) {
	o, other := s.childOrigin(w.own), s.parentOrigin(w.above)
	if o.Layer != "" && s.grants { // a ceiling filled it in, so it is not the agent's mistake
		o.Path = other.Path
	}
	s.found = append(s.found, schema.WithOrigin(o, schema.Diagnostic{Code: code, Hint: hint,
		Msg: fmt.Sprintf(format, args...), Related: []schema.Pos{other.Pos}}))
}

// owner returns the owner of a value of the layer above, for hints.
func (s *step) owner(above string) string {
	o := s.parentOrigin(above)
	for _, l := range s.parent.Layers {
		if LayerName(l.Kind, l.Metadata.Name) == o.Layer && l.Metadata.Owner != "" {
			return l.Metadata.Owner
		}
	}
	return "the owner of the layer"
}

// notAllowed reports an item that a list of the layer above does not contain.
func (s *step) notAllowed(w site, item string, names []string) {
	s.refuse(CodeWidens, w, s.instead(w.above, item, names), "%s is not allowed by %s", clip(item), s.shown(w.above))
}

// instead returns the hint for an item that a list of the layer above does not contain.
func (s *step) instead(above, item string, names []string) string {
	if meant := nearest(item, names); meant != "" && meant != item {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return "leave it out, or let " + s.owner(above) + " allow it there"
}

// denied reports an item that a layer above denies.
func (s *step) denied(w site, item string) {
	s.refuse(CodeDeniedByParent, w, "leave it out: a denial in a layer above stays in force", "%s is denied by %s",
		clip(item),
		s.shown(w.above))
}

// tooMuch reports a number above the limit of a layer.
func (s *step) tooMuch(w site, own, above string) {
	s.refuse(CodeWidens, w, "write at most "+above+", or leave it out", "%s is above the ceiling of %s at %s",
		clip(own),
		above, s.shown(w.above))
}

// inheritOrigin gives a part that the child did not write the position of that part in the layer above.
func (s *step) inheritOrigin(w site) {
	if _, there := s.child.Origins[w.own]; there {
		return
	}
	if o, ok := s.parent.Origins[w.above]; ok {
		s.child.Origins[w.own] = o
	}
}

// inherit returns a value of the layer above, and gives the child its positions.
func inherit[T any](s *step, w site, v T) T {
	schema.MoveOrigins(s.child.Origins, w.own, s.parent.Origins, w.above, v)
	return v
}

func clip(s string) string { return canonjson.Truncate(s, 60) }

func effort() spelling.Effort { return spelling.Effort{Names: 1000, Letters: 100_000} }

func nearest(word string, names []string) string {
	at := spelling.Of(word, names, effort())
	if at < 0 {
		return ""
	}
	// Paths often share their folder, so compare their last parts.
	base := path.Base(word)
	if strings.HasPrefix(word, "/") && base != path.Base(names[at]) &&
		spelling.Of(base, []string{path.Base(names[at])}, effort()) < 0 {
		return ""
	}
	return names[at]
}
