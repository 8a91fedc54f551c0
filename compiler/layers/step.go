package layers

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema"
)

// step puts one document under one ceiling. The child is changed in place: what it may
// have stays, what it leaves out is filled in, and what is refused is taken out or set
// to the ceiling's, so that nothing reports it again.
type step struct {
	up     *ceiling
	parent *schema.Policy // of up
	child  *schema.Policy
	grants bool // the child grants: what it leaves out is no capability
	found  schema.Diagnostics
}

// own is the place of a value of the child, over that of a value above.
func (s *step) own(path string) schema.Origin   { return schema.OriginOf(s.child, path) }
func (s *step) above(path string) schema.Origin { return schema.OriginOf(s.parent, path) }

// refuse reports a value of the child against one of the layers above.
func (s *step) refuse(code, path, up, hint, format string, args ...any) {
	o, other := s.own(path), s.above(up)
	if o.Layer != "" && s.grants { // it was filled in by a ceiling, and is no mistake of the agent
		o.Path = other.Path
	}
	s.found = append(s.found, schema.WithOrigin(o, schema.Diagnostic{Code: code, Hint: hint, Msg: fmt.Sprintf(format, args...), Related: []schema.Pos{other.Pos}}))
}

// owner is who to ask about a value above.
func (s *step) owner(up string) string {
	o := s.above(up)
	for _, l := range s.parent.Layers {
		if LayerName(l.Kind, l.Metadata.Name) == o.Layer && l.Metadata.Owner != "" {
			return l.Metadata.Owner
		}
	}
	return "the owner of the layer"
}

// notAllowed reports an item that a list above does not have.
func (s *step) notAllowed(path, up, item string, names []string) {
	s.refuse(CodeWidens, path, up, s.instead(up, item, names), "%s is not allowed by %s", clip(item), shown(s.above(up)))
}

// instead says what to do about an item that a list above does not have.
func (s *step) instead(up, item string, names []string) string {
	if meant := nearest(item, names); meant != "" && meant != item {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return "leave it out, or let " + s.owner(up) + " allow it there"
}

// denied reports an item that a layer above denies.
func (s *step) denied(path, up, item string) {
	s.refuse(CodeDeniedByParent, path, up, "leave it out: a denial of a layer above stands", "%s is denied by %s", clip(item), shown(s.above(up)))
}

// place gives a part of the child that it did not write the place of the one above.
func (s *step) place(path, up string) {
	if _, there := s.child.Origins[path]; there {
		return
	}
	if o, ok := s.parent.Origins[up]; ok {
		s.child.Origins[path] = o
	}
}

// word takes a word that orders from loose to strict. Absent, it is that of the layer
// above; a word that is not in order is left for others to refuse.
func (s *step) word(path, up string, own *string, above string, order ...string) {
	switch {
	case above == "":
	case *own == "":
		*own = inherit(s, path, up, above)
	default:
		mine, theirs := slices.Index(order, *own), slices.Index(order, above)
		if mine < 0 || theirs < 0 || mine >= theirs {
			return
		}
		s.refuse(CodeWidens, path, up, fmt.Sprintf("write %s, or leave it out", strings.Join(order[theirs:], " or ")),
			"%s is looser than %s at %s", clip(*own), above, shown(s.above(up)))
		*own = inherit(s, path, up, above)
	}
}

// equal takes a word that only the owner sets.
func (s *step) equal(path, up string, own *string, above string) {
	switch {
	case above == "" || *own == above:
	case *own == "":
		*own = inherit(s, path, up, above)
	default:
		s.refuse(CodeWidens, path, up, fmt.Sprintf("write %s, or leave it out", clip(above)), "%s is not %s, as %s has it", clip(*own), clip(above), shown(s.above(up)))
		*own = inherit(s, path, up, above)
	}
}

// may takes a switch that opens something. What an agent leaves out stays shut.
func (s *step) may(path, up string, own **bool, above *bool) {
	switch {
	case above == nil:
	case *own == nil:
		if !s.grants {
			*own = inherit(s, path, up, above)
		}
	case **own && !*above:
		s.refuse(CodeWidens, path, up, "write false, or leave it out", "is opened, and %s keeps it shut", shown(s.above(up)))
		*own = inherit(s, path, up, above)
	}
}

// must takes a switch that restrains something.
func (s *step) must(path, up string, own **bool, above *bool) {
	switch {
	case above == nil:
	case *own == nil:
		*own = inherit(s, path, up, above)
	case !**own && *above:
		s.refuse(CodeWidens, path, up, "write true, or leave it out", "is switched off, and %s has it on", shown(s.above(up)))
		*own = inherit(s, path, up, above)
	}
}

// subset takes the items that the list above has; nil above is no bound. What an agent
// leaves out grants nothing, unless filled says that it takes the whole list.
func (s *step) subset(path, up string, own, above []string, filled bool) []string {
	switch {
	case above == nil:
		return own
	case own == nil:
		if s.grants && !filled {
			return nil
		}
		return inherit(s, path, up, above)
	}
	refused := map[int]bool{}
	for i, item := range own {
		if !slices.Contains(above, item) {
			s.notAllowed(index(path, i), up, item, above)
			refused[i] = true
		}
	}
	if filled && len(own) > 0 && len(refused) == len(own) {
		schema.ForgetOrigins(s.child.Origins, path, own)
		return inherit(s, path, up, above)
	}
	return keep(s, path, own, refused)
}

func clip(s string) string { return canonjson.Truncate(s, 60) }

func effort() spelling.Effort { return spelling.Effort{Names: 1000, Letters: 100_000} }

func nearest(word string, names []string) string {
	at := spelling.Of(word, names, effort())
	if at < 0 {
		return ""
	}
	// Paths are much alike where their folder is: what they end in tells them apart.
	if strings.HasPrefix(word, "/") && path.Base(word) != path.Base(names[at]) && spelling.Of(path.Base(word), []string{path.Base(names[at])}, effort()) < 0 {
		return ""
	}
	return names[at]
}
