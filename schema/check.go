package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// place is where a check stands in the author's tree; its text is made only
// when a finding needs it.
type place struct {
	up   *place
	name string
	i    int // of a list item when name is ""
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.name == "" {
		return p.up.String() + "[" + strconv.Itoa(p.i) + "]"
	}
	if !printable(p.name) {
		return p.up.String() + "[" + strconv.Quote(clip(p.name)) + "]"
	}
	if p.up == nil {
		return p.name
	}
	return p.up.String() + "." + p.name
}

// printable reports whether a name can stand in a path as it is.
func printable(name string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f {
			return false
		}
	}
	return len(name) <= 64
}

// checker compares one file's tree with a shape.
type checker struct{ *findings }

func (c *checker) report(at spot, code, hint string, p *place, format string, args ...any) *Diagnostic {
	msg := fmt.Sprintf(format, args...)
	if p != nil {
		msg = p.String() + ": " + msg
	}
	return c.add(at, code, msg, hint)
}

// value reports every difference between n and s, one finding a mistake.
func (c *checker) value(n *node, s *shape, p *place) {
	if s.any {
		c.free(n, p)
		return
	}
	if n.kind != s.kind {
		c.mismatch(n, s, p)
		return
	}
	switch s.kind {
	case kindObject:
		c.object(n, s, p)
	case kindList:
		c.items(n, s, p)
	case kindString:
		c.text(n, s, p)
	case kindInt:
		c.whole(n, s, p)
	case kindBool, kindNull, kindFloat, kindBytes:
	}
}

func (c *checker) mismatch(n *node, s *shape, p *place) {
	hint := ""
	switch {
	case s.kind == kindBool && n.trap != "":
		hint = "write true or false"
	case len(s.enum) > 0 && n.kind == kindBool:
		if n.text == "false" && slices.Contains(s.enum, "off") {
			hint = `did you mean "off"?`
		}
	case s.kind == kindString && (n.kind == kindInt || n.kind == kindFloat || n.kind == kindBool):
		hint = fmt.Sprintf("put it in quotes: %q", n.text)
	case s.kind == kindList && s.item.kind == n.kind && n.kind == kindString:
		hint = fmt.Sprintf("a list of one is [%q]", clip(n.text))
	case (s.kind == kindInt || s.kind == kindBool) && n.kind == kindString && !n.plain:
		hint = "leave the quotes out"
	}
	at := n.at
	if n.kind == kindNull {
		at = n.where()
	}
	c.report(at, CodeType, hint, p, "found %s, want %s", n.found(), s.wanted())
}

// found says what the author wrote, shortly.
func (n *node) found() string {
	switch n.kind {
	case kindString:
		return "the text " + strconv.Quote(clip(n.text))
	case kindInt, kindFloat:
		return "the number " + clip(n.text)
	case kindBool:
		return n.text
	case kindNull, kindList, kindObject, kindBytes:
		return n.kind.String()
	default:
		return n.kind.String()
	}
}

func (s *shape) wanted() string {
	switch {
	case len(s.enum) > 0:
		return strings.Join(s.enum, " or ")
	case s.kind == kindObject && len(s.fields) > 0:
		names := s.fieldNames()
		if len(names) > 6 {
			names = append(names[:6:6], "…")
		}
		return "fields (" + strings.Join(names, ", ") + ")"
	default:
		return s.kind.String()
	}
}

// clip keeps a finding short and free of control characters' effect.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func (c *checker) object(n *node, s *shape, p *place) {
	if s.open {
		c.free(n, p)
		return
	}
	excused, present := map[string]bool{}, map[string]bool{}
	for _, name := range n.names {
		present[name] = true
	}
	for i, name := range n.names {
		child := n.items[i]
		at := &place{up: p, name: name}
		if s.keys != nil {
			if !s.keys.MatchString(name) {
				c.report(child.where(), CodeSchema, "", p, "the name %q is not allowed: %s", clip(name), s.says)
				continue
			}
			c.trappedName(child, name, at)
			c.value(child, s.item, at)
			continue
		}
		f := s.field(name)
		if f == nil {
			excused[c.unknown(child, s, present, p, name)] = true
			continue
		}
		c.value(child, f.shape, at)
	}
	for _, f := range s.fields {
		if f.required && !present[f.name] && !excused[f.name] {
			c.report(n.where(), CodeMissing, "", p, "missing required field %q", f.name)
		}
	}
}

// unknown reports a name the shape does not have and returns the field it
// stands for, so that one typo is not also a missing field.
func (c *checker) unknown(child *node, s *shape, present map[string]bool, p *place, name string) string {
	if c.count > maxFindings {
		c.count++
		return ""
	}
	var open []string
	for _, f := range s.fields {
		if !present[f.name] {
			open = append(open, f.name)
		}
	}
	meant := nearest(name, open)
	hint := ""
	switch {
	case meant != "":
		hint = fmt.Sprintf("did you mean %q?", meant)
	case nearest(name, s.fieldNames()) != "":
		hint = fmt.Sprintf("%q is already set", nearest(name, s.fieldNames()))
	case len(s.fields) > 0:
		hint = "known here: " + strings.Join(s.fieldNames(), ", ")
	}
	at := &place{up: p, name: name}
	c.report(child.where(), CodeUnknownField, hint, at, "unknown field %q", clip(name))
	return meant
}

// free checks what holds for every value of a part that is open.
func (c *checker) free(n *node, p *place) {
	c.trapped(n, p)
	for i, item := range n.items {
		at := &place{up: p, i: i}
		if n.kind == kindObject {
			at.name = n.names[i]
			c.trappedName(item, at.name, at)
		}
		c.free(item, at)
	}
	if n.kind == kindBytes {
		c.report(n.at, CodeType, "", p, "found bytes, want a JSON value")
	}
}

func (c *checker) items(n *node, s *shape, p *place) {
	if len(n.items) < s.least {
		c.report(n.where(), CodeSchema, "", p, "must hold at least %d", s.least)
	}
	seen := map[string]*node{}
	for i, item := range n.items {
		at := &place{up: p, i: i}
		c.value(item, s.item, at)
		name, what := item, "value"
		if s.unique != "" {
			name, what = item.get(s.unique), s.unique
		}
		if name == nil || name.kind != s.item.uniqueKind(s.unique) {
			continue
		}
		first, twice := seen[name.text]
		switch {
		case !twice:
			seen[name.text] = name
		case s.unique != "":
			c.related(name.at, first.at, CodeDuplicateName, at, "%s %q is already used on line %d", what, clip(name.text), first.at.line)
		default:
			c.warn(name.at, first.at, CodeRepeated, at, "%q is already in this list on line %d", clip(name.text), first.at.line)
		}
	}
}

// uniqueKind is the kind of what tells items of a list apart; kindNull, which
// no such value has, when nothing does.
func (s *shape) uniqueKind(name string) kind {
	if name != "" {
		if f := s.field(name); f != nil {
			return f.shape.kind
		}
		return kindNull
	}
	if s.kind == kindString || s.kind == kindInt {
		return s.kind
	}
	return kindNull
}

func (c *checker) text(n *node, s *shape, p *place) {
	switch {
	case strings.ContainsRune(n.text, 0):
		c.report(n.at, CodeSchema, "", p, "must not hold a NUL character")
	case len(s.enum) > 0:
		c.choice(n, s, p)
	case s.filled && n.text == "":
		c.report(n.at, CodeSchema, "", p, "%s", s.says)
	case !s.matches(n.text):
		c.report(n.at, CodeSchema, "", p, "%s", s.says)
	default:
		c.trapped(n, p)
	}
}

func (s *shape) matches(text string) bool {
	for _, m := range s.match {
		if m.re.MatchString(text) == m.not {
			return false
		}
	}
	return true
}

func (c *checker) choice(n *node, s *shape, p *place) {
	for _, word := range s.enum {
		if word == n.text {
			c.trapped(n, p)
			return
		}
	}
	hint := ""
	if meant := nearest(n.text, s.enum); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	if len(s.enum) == 1 {
		c.report(n.at, CodeEnum, hint, p, "%q is not %q", clip(n.text), s.enum[0])
		return
	}
	c.report(n.at, CodeEnum, hint, p, "%q is not one of %s", clip(n.text), strings.Join(s.enum, ", "))
}

// trapped warns of text that other YAML readers take for something else.
func (c *checker) trapped(n *node, p *place) {
	if n.trap != "" && n.kind == kindString {
		d := c.report(n.at, CodeYAMLTrap, "write "+strconv.Quote(n.text), p, "%s is %s to YAML 1.1 readers", clip(n.text), n.trap)
		d.Severity = Warning
	}
}

func (c *checker) trappedName(n *node, name string, p *place) {
	if n.keyTrap != "" {
		d := c.report(n.key, CodeYAMLTrap, "write "+strconv.Quote(name), p, "the name %s is %s to YAML 1.1 readers", clip(name), n.keyTrap)
		d.Severity = Warning
	}
}

func (c *checker) whole(n *node, s *shape, p *place) {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || s.min != nil && v < *s.min || s.max != nil && v > *s.max {
		c.report(n.at, CodeSchema, "", p, "%s", s.says)
	}
}

func (c *checker) related(at, other spot, code string, p *place, format string, args ...any) {
	c.report(at, code, "", p, format, args...).Related = []Pos{c.pos(other)}
}

func (c *checker) warn(at, other spot, code string, p *place, format string, args ...any) {
	d := c.report(at, code, "", p, format, args...)
	d.Related, d.Severity = []Pos{c.pos(other)}, Warning
}
