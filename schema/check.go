package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
)

// place is the position of a check in the author's tree. The text of the position is only built for a finding.
type place struct {
	up   *place
	name string
	i    int // index of a list item if name is empty
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.name == "" {
		return p.up.String() + "[" + strconv.Itoa(p.i) + "]"
	}
	if !plainName(p.name) {
		return p.up.String() + "[" + strconv.Quote(clip(p.name)) + "]"
	}
	if p.up == nil {
		return p.name
	}
	return p.up.String() + "." + p.name
}

// checker compares one file's tree with a shape.
type checker struct {
	*findings
	domain string // domain of the policy's owner, for names without one
	mends  bool   // replace a rejected value by the value that the author probably meant
}

func (c *checker) report(at spot, code, hint string, p *place, format string, args ...any) *Diagnostic {
	msg := fmt.Sprintf(format, args...)
	path := ""
	if p != nil {
		path = p.String()
		msg = path + ": " + msg
	}
	c.paths = append(c.paths, path)
	return c.add(at, code, msg, hint)
}

// value reports every difference between n and s, one finding for each mistake.
func (c *checker) value(n *node, s *Shape, p *place) {
	if n.bad {
		return // the reader has reported it
	}
	if n.alias != "" {
		name := n.alias
		n.alias = ""
		c.repeated(n, s, p, name)
		return
	}
	if s.Any {
		c.free(n, p)
		return
	}
	if n.kind != s.Kind {
		c.mismatch(n, s, p)
		return
	}
	switch s.Kind {
	case Object:
		c.object(n, s, p)
	case List:
		c.items(n, s, p)
	case String:
		c.text(n, s, p)
	case Int:
		c.whole(n, s, p)
	case Bool, Null, Float, Bytes:
	}
}

// repeated checks a value that an alias repeats. Errors at the definition of the value have been reported
// there. If the value is wrong only at the alias, that is one finding at the alias.
func (c *checker) repeated(n *node, s *Shape, p *place, alias string) {
	before, paths := len(c.list), len(c.paths)
	c.value(n, s, p)
	var own *Diagnostic
	for _, d := range c.list[before:] {
		told := slices.ContainsFunc(c.list[:before], func(o Diagnostic) bool {
			return o.Pos == d.Pos &&
				o.Code == d.Code
		})
		if d.Severity == Error && !told && own == nil {
			own = &d
		}
	}
	if own == nil || before+1 > maxFindings {
		return
	}
	c.list, c.paths = c.list[:before], c.paths[:paths]
	if own.Pos != c.pos(n.at) {
		own.Related = []Pos{own.Pos}
	}
	own.Pos = c.pos(n.at)
	own.Hint = strings.TrimSuffix("write it out here: *"+alias+" repeats what is written for another field; "+own.Hint,
		"; ")
	c.list, c.paths, n.bad = append(c.list, *own), append(c.paths, p.String()), c.mends
}

func (c *checker) mismatch(n *node, s *Shape, p *place) {
	at := n.at
	if n.kind == Null {
		at = n.where()
	}
	c.report(at, CodeType, c.mismatchHint(n, s, p), p, "found %s, want %s", n.found(), wanted(s))
	switch {
	case !c.mends:
	// a single value in place of a list
	case s.Kind == List && s.Item.Kind == n.kind && !strings.HasPrefix(n.text, "-"):
		item := *n
		*n = node{kind: List, key: n.key, at: n.at, items: []*node{&item}}
		c.value(n, s, p)
	case s.Kind == Bool && (n.text == "true" || n.text == "false"):
		n.kind = Bool
	case s.Kind == String && len(s.Enum) == 0 && s.Matches(n.text) && n.kind != Null && n.kind != List &&
		n.kind != Object:
		n.kind = String
	default:
		n.bad = c.mends
	}
}

// mismatchHint says how to write a value of the field's kind instead of the author's value. It is empty if
// that is not known.
func (c *checker) mismatchHint(n *node, s *Shape, p *place) string {
	switch {
	case s.Kind == Bool && n.trap != "":
		return "write true or false"
	case len(s.Enum) > 0 && n.kind == Bool:
		if n.text == "false" && slices.Contains(s.Enum, "off") {
			return `did you mean "off"?`
		}
	case s.Kind == String && (n.kind == Int || n.kind == Float || n.kind == Bool):
		return c.unquotedHint(n.text, s)
	case s.Kind == List && n.plain && strings.HasPrefix(n.text, "-") && !strings.HasPrefix(n.text, "--") &&
		n.kind == String:
		return "put a space after the -"
	case s.Kind == List && s.Item.Kind == n.kind && n.kind == String:
		return fmt.Sprintf("a list of one is [%q]", clip(n.text))
	case s.Kind == List && s.Item.Kind == n.kind && n.kind == Int:
		return fmt.Sprintf("a list of one is [%s]", clip(n.text))
	case s.Kind == String && n.kind == Object && strings.HasPrefix(p.String(), "interpreter_ring."):
		return "the compact form lists only texts; anything more needs the full form, with apiVersion: ringd/v1"
	case s.Kind == Object && n.plain && fieldLike().MatchString(n.text):
		m := fieldLike().FindStringSubmatch(n.text)
		return fmt.Sprintf("write %s: %s, with a space after the colon", m[1], clip(m[2]))
	case s.Kind == List && n.kind == Object:
		return "put - in front of the first field: each item of a list begins with -"
	case s.Kind == Object && n.kind == String && onlyRequired(s) != "":
		return fmt.Sprintf("write {%s: %q}", onlyRequired(s), clip(n.text))
	case s.Name == "#Port" && n.kind == String && strings.ContainsAny(n.text, "-:*"):
		return "list each port: there are no ranges; HOST:* is every port"
	case (s.Kind == Int || s.Kind == Bool) && n.kind == String && !n.plain:
		return "leave the quotes out"
	}
	return ""
}

// unquotedHint says how to write a number or a truth value in a field of texts.
func (c *checker) unquotedHint(text string, s *Shape) string {
	if len(s.Enum) == 0 && s.Matches(text) {
		return fmt.Sprintf("put it in quotes: %q", text)
	}
	if fix, _ := c.remedy(text, s); fix != "" {
		return "write " + shown(fix)
	}
	if unit := map[string]string{"#Bytes": "MiB", "#Dur": "s"}[s.Name]; unit != "" {
		return fmt.Sprintf("write the unit: %s%s; it %s", text, unit, s.Says)
	}
	return s.Says
}

// fieldLike matches a field without a space after its colon, or with another sign in place of the colon.
func fieldLike() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)(?: ?= ?|:)([^\s/].*)$`)
}

// onlyRequired returns the name of the only required field of an object if it is a text, or "".
func onlyRequired(s *Shape) (name string) {
	for _, f := range s.Fields {
		switch {
		case f.Required && (name != "" || f.Shape.Kind != String):
			return ""
		case f.Required:
			name = f.Name
		}
	}
	return name
}

// found describes the author's value briefly.
func (n *node) found() string {
	switch n.kind {
	case String:
		return "the text " + strconv.Quote(clip(n.text))
	case Int, Float:
		return "the number " + clip(n.text)
	case Bool:
		return n.text
	case Null, List, Object, Bytes:
		return n.kind.String()
	default:
		return n.kind.String()
	}
}

func wanted(s *Shape) string {
	switch {
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, " or ")
	case s.Kind == Object && len(s.Fields) > 0:
		names := s.FieldNames()
		if len(names) > 6 {
			names = append(names[:6:6], "…")
		}
		return "fields (" + strings.Join(names, ", ") + ")"
	default:
		return s.Kind.String()
	}
}

// clip shortens a text for a finding and neutralizes control characters.
func clip(s string) string { return canonjson.Truncate(s, 40) }

func (c *checker) object(n *node, s *Shape, p *place) {
	if s.Open {
		c.free(n, p)
		return
	}
	excused, present := c.outdented(n, s, p), map[string]bool{}
	for _, name := range n.names {
		present[name] = true
	}
	for i, name := range n.names {
		child := n.items[i]
		at := &place{up: p, name: name}
		if excused[name] {
			continue
		}
		if s.Keys != nil {
			if !s.Keys.MatchString(name) {
				child.bad = c.mends
				c.report(child.where(), CodeSchema, "", p, "the name %q is not allowed: %s", clip(name), s.Says)
				continue
			}
			c.trappedName(child, name, at)
			c.value(child, s.Item, at)
			continue
		}
		f := s.Field(name)
		if f == nil {
			meant := c.unknown(child, s, present, p, name)
			child.bad = meant == "" && c.mends
			if excused[meant] = true; meant != "" && c.mends { // it is read as the field that was probably meant
				n.names[i], present[meant] = meant, true
				c.value(child, s.Field(meant).Shape, &place{up: p, name: meant})
			}
			continue
		}
		c.value(child, f.Shape, at)
	}
	for _, f := range s.Fields {
		if f.Required && !present[f.Name] && !excused[f.Name] {
			c.report(n.where(), CodeMissing, missingHint(f.Name), p, "missing required field %q", f.Name)
			c.paths[len(c.paths)-1] = (&place{up: p, name: f.Name}).String()
			n.bad = c.mends && p != nil && p.name == "" // a list item without its key cannot be identified
		}
	}
}

// outdented finds an empty field whose own fields are next to it, because their lines lost their indentation.
// It reports one of these fields and returns the names of all of them, so that they are not reported as
// unknown.
func (c *checker) outdented(n *node, s *Shape, p *place) map[string]bool {
	explained := map[string]bool{}
	defer func() {
		for i, name := range n.names {
			n.items[i].bad = n.items[i].bad || c.mends && explained[name]
		}
	}()
	for i, name := range n.names {
		f := s.Field(name)
		if f == nil || n.items[i].kind != Null || f.Shape.Kind != Object {
			continue
		}
		for j, inner := range n.names {
			if s.Field(inner) != nil || f.Shape.Field(inner) == nil || explained[inner] {
				continue
			}
			if !explained[name] {
				c.report(n.items[j].where(), CodeUnknownField, fmt.Sprintf("indent it further than %s", name),
					&place{up: p, name: inner},
					"%q is a field of %q, which is empty", inner, name)
			}
			explained[name], explained[inner] = true, true
		}
	}
	return explained
}

// unknown reports an unknown name. It returns the field that the author probably meant, or "", so that the
// checker does not also report that field as missing.
func (c *checker) unknown(child *node, s *Shape, present map[string]bool, p *place, name string) string {
	if c.count > maxFindings {
		c.count++
		return ""
	}
	var open []string
	for _, f := range s.Fields {
		if !present[f.Name] {
			open = append(open, f.Name)
		}
	}
	meant := nearest(name, open)
	hint := ""
	switch {
	case meant != "":
		hint = fmt.Sprintf("did you mean %q?", meant)
	case nearest(name, s.FieldNames()) != "":
		hint = fmt.Sprintf("%q is already set", nearest(name, s.FieldNames()))
	case fieldContaining(name, s) != "":
		hint = fmt.Sprintf("it is a field of %s: indent it further", fieldContaining(name, s))
	case len(s.Fields) > 0:
		hint = "known here: " + strings.Join(s.FieldNames(), ", ")
	}
	at := &place{up: p, name: name}
	c.report(child.where(), CodeUnknownField, hint, at, "unknown field %q", clip(name))
	return meant
}

// fieldContaining returns the field whose object has a field of this name, or "".
func fieldContaining(name string, s *Shape) string {
	for _, f := range s.Fields {
		if f.Shape.Kind == Object && f.Shape.Field(name) != nil {
			return f.Name
		}
	}
	return ""
}

// free checks the rules that apply even to values in a part of the policy that accepts every value.
func (c *checker) free(n *node, p *place) {
	c.trapped(n, p)
	for i, item := range n.items {
		at := &place{up: p, i: i}
		if n.kind == Object {
			at.name = n.names[i]
			c.trappedName(item, at.name, at)
		}
		c.free(item, at)
	}
	if n.kind == Bytes {
		c.report(n.at, CodeType, "", p, "found bytes, want a JSON value")
	}
}

func (c *checker) items(n *node, s *Shape, p *place) {
	if len(n.items) < s.Least {
		c.report(n.where(), CodeSchema, "", p, "must hold at least %d", s.Least)
	}
	seen := map[string]*node{}
	for i, item := range n.items {
		at := &place{up: p, i: i}
		c.value(item, s.Item, at)
		name, what := item, "value"
		if s.Unique != "" {
			name, what = item.get(s.Unique), s.Unique
		}
		if s.Repeat || name == nil || name.bad || name.kind != uniqueKind(s.Item, s.Unique) {
			continue
		}
		first, twice := seen[name.text]
		switch {
		case !twice:
			seen[name.text] = name
		case s.Unique != "":
			c.related(name.at, first.at, CodeDuplicateName, at, "%s %q is already used on line %d", what,
				clip(name.text), first.at.line)
			item.bad = c.mends
		default:
			c.warn(name.at, first.at, CodeRepeated, at, "%q is already in this list on line %d", clip(name.text),
				first.at.line)
		}
	}
}

// uniqueKind returns the kind of the key that identifies list items, or Null if there is none.
func uniqueKind(s *Shape, name string) ValueKind {
	if name != "" {
		if f := s.Field(name); f != nil {
			return f.Shape.Kind
		}
		return Null
	}
	if s.Kind == String || s.Kind == Int {
		return s.Kind
	}
	return Null
}

func (c *checker) text(n *node, s *Shape, p *place) {
	switch {
	case strings.ContainsRune(n.text, 0):
		c.report(n.at, CodeSchema, "", p, "must not hold a NUL character")
		n.bad = c.mends
	case len(s.Enum) > 0:
		c.choice(n, s, p)
	case s.Filled && n.text == "":
		c.report(n.at, CodeSchema, "", p, "%s", s.Says)
		n.bad = c.mends
	case !s.Matches(n.text) || s.Name != "" && unquoted(n.text) != n.text || s.Name == "#Host" &&
		strings.ContainsAny(n.text, `^$\\()|+`):
		fix, hint := c.remedy(n.text, s)
		if says := cmp.Or(s.Says, "must not be in curly quotes"); mayBeSecret(n.text, s) {
			c.report(n.at, CodeSchema, hint, p, "%s", says)
		} else {
			c.report(n.at, CodeSchema, hint, p, "%q %s", clip(n.text), says)
		}
		c.mend(n, fix)
	default:
		c.trapped(n, p)
	}
}

// mend replaces a rejected value by the value that the author probably meant, so that values that depend on it
// are checked as well. The file stays rejected.
func (c *checker) mend(n *node, fix string) {
	if n.bad = c.mends && fix == ""; c.mends && !n.bad {
		n.kind, n.text, n.trap = String, fix, ""
	}
}

func (c *checker) choice(n *node, s *Shape, p *place) {
	if slices.Contains(s.Enum, n.text) || slices.Contains(s.Also, n.text) {
		c.trapped(n, p)
		return
	}
	plain := unquoted(n.text)
	meant := nearest(plain, s.Enum)
	hint := fmt.Sprintf("did you mean %q?", meant)
	switch {
	case plain != n.text && meant != "":
		hint = "the quotes are curly: write \" instead"
	case meant == "":
		meant = synonym(cmp.Or(nearest(plain, s.Also), n.text), s)
		hint = choiceHint(s, meant)
	}
	if len(s.Enum) == 1 {
		c.report(n.at, CodeEnum, hint, p, "%q is not %q", clip(n.text), s.Enum[0])
	} else {
		c.report(n.at, CodeEnum, hint, p, "%q is not one of %s", clip(n.text), strings.Join(s.Enum, ", "))
	}
	c.mend(n, meant)
}

// trapped warns of text that other YAML readers read as another value.
func (c *checker) trapped(n *node, p *place) {
	if n.trap != "" && n.kind == String {
		d := c.report(n.at, CodeYAMLTrap, "write "+strconv.Quote(n.text), p, "%s is %s to YAML 1.1 readers",
			clip(n.text), n.trap)
		d.Severity = Warning
	}
}

func (c *checker) trappedName(n *node, name string, p *place) {
	if n.keyTrap != "" {
		d := c.report(n.key, CodeYAMLTrap, "write "+strconv.Quote(name), p, "the name %s is %s to YAML 1.1 readers",
			clip(name), n.keyTrap)
		d.Severity = Warning
	}
}

func (c *checker) whole(n *node, s *Shape, p *place) {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || s.Min != nil && v < *s.Min || s.Max != nil && v > *s.Max {
		c.report(n.at, CodeSchema, numberHint(s, v), p, "%s %s", clip(n.text), s.Says)
		n.bad = c.mends
	}
}

func numberHint(s *Shape, v int64) string {
	switch {
	case s.Name == "#Port":
		return "list each port, or write the host as HOST:* for every one"
	case s.Max != nil && v > *s.Max:
		return fmt.Sprintf("write at most %d", *s.Max)
	case s.Min != nil:
		return fmt.Sprintf("write at least %d", *s.Min)
	default:
		return ""
	}
}

func (c *checker) related(at, other spot, code string, p *place, format string, args ...any) {
	c.report(at, code, "", p, format, args...).Related = []Pos{c.pos(other)}
}

func (c *checker) warn(at, other spot, code string, p *place, format string, args ...any) {
	d := c.report(at, code, "", p, format, args...)
	d.Related, d.Severity = []Pos{c.pos(other)}, Warning
}
