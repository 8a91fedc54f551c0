// Package typescript owns the TypeScript declarations that list the bridges of an agent: one function for
// each grant, with types made from the grant's JSON Schemas. A part of a schema that TypeScript cannot
// express is in a comment or is left wider, and the ring checks the schema itself. The API calls it for GET
// /v1/agents/{agent}/types.d.ts.
package typescript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
)

// Declare returns the declarations of an agent's bridges. Equal grants have equal text. An error means that a
// schema is not JSON.
func Declare(agent, revision string, bridges map[string]profiles.Bridge) (string, error) {
	w := &writer{taken: map[string]bool{}}
	w.line(0, "// The bridges of agent %s. Generated from policy %s; do not edit.", oneLine(agent), oneLine(revision))
	w.line(0, "// Every call is decided and recorded by the host; a refused one throws CapabilityDenied.")
	w.line(0, "")
	w.line(0, "/** The inputs of the run, frozen. */")
	w.line(0, "declare const inputs: Readonly<Record<string, unknown>>;")
	if b, ok := bridges[fetchName]; ok { // first, so that its types keep their names
		w.line(0, "")
		w.fetch(note(b))
	}
	for _, name := range slices.Sorted(maps.Keys(bridges)) {
		if name == fetchName {
			continue
		}
		if b := bridges[name]; name == shellName && len(b.Arguments) == 0 && len(b.Result) == 0 {
			w.shell(note(b))
			continue
		}
		if err := w.bridge(name, bridges[name]); err != nil {
			return "", fmt.Errorf("bridge %s: %w", name, err)
		}
	}
	return w.text.String(), nil
}

type writer struct {
	text  strings.Builder
	taken map[string]bool // used names of types
}

func (w *writer) line(indent int, format string, args ...any) {
	w.text.WriteString(strings.Repeat("  ", indent))
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

// bridge writes the types and the function of one grant.
func (w *writer) bridge(name string, b profiles.Bridge) error {
	parts := strings.Split(name, ".")
	for _, p := range parts {
		if !identifier(p) {
			return fmt.Errorf("%q cannot be called by that name", name)
		}
	}
	w.line(0, "")
	base := pascal(name)
	params := "...args: unknown[]"
	if len(b.Arguments) > 0 {
		input, err := w.writeType(base+"Input", b.Arguments)
		if err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		params = "input: " + input
	}
	result := "unknown"
	if len(b.Result) > 0 {
		var err error
		if result, err = w.writeType(base+"Result", b.Result); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	signature := fmt.Sprintf("(%s): Promise<%s>", params, result)
	w.function(parts, signature, note(b))
	return nil
}

// note returns a comment on what a call needs.
func note(b profiles.Bridge) string {
	switch text := limits(b.Limits); {
	case b.Approval == nil:
		return text
	case b.Approval.When != "":
		return "May need an approval, depending on the arguments: the call waits for it, or throws ApprovalDenied. " +
			text
	default:
		return "Needs an approval: the call waits for it, or throws ApprovalDenied. " + text
	}
}

// writeType writes schema as a type with that name, and the types that it refers to.
func (w *writer) writeType(name string, schema []byte) (string, error) {
	root, err := parse(schema)
	if err != nil {
		return "", err
	}
	name = w.freeName(name)
	s := &converter{writer: w, root: root, name: name, refs: map[string]string{"#": name}}
	text := s.typeOf(root, 0, 0)
	for _, line := range comment(root) {
		w.line(0, "%s", line)
	}
	w.line(0, "type %s = %s;", name, text)
	for len(s.wanted) > 0 {
		next := s.wanted[0]
		s.wanted = s.wanted[1:]
		for _, line := range comment(next.node) {
			w.line(0, "%s", line)
		}
		w.line(0, "type %s = %s;", next.name, s.typeOf(next.node, 0, 0))
	}
	return name, nil
}

func (w *writer) function(parts []string, signature, note string) {
	last := parts[len(parts)-1]
	if len(parts) == 1 {
		w.line(0, "/** %s */", note)
		if reserved(last) {
			w.line(0, "// globalThis[%s]%s", quoted(last), signature)
			return
		}
		w.line(0, "declare function %s%s;", last, signature)
		return
	}
	w.line(0, "declare namespace %s {", strings.Join(parts[:len(parts)-1], "."))
	w.line(1, "/** %s */", note)
	if reserved(last) {
		w.line(1, "function %s_%s;", last, signature)
		w.line(1, "export { %s_ as %s };", last, last)
	} else {
		w.line(1, "function %s%s;", last, signature)
	}
	w.line(0, "}")
}

// freeName returns name, or name with a number if it is used.
func (w *writer) freeName(name string) string {
	out := name
	for n := 2; w.taken[out]; n++ {
		out = fmt.Sprintf("%s%d", name, n)
	}
	w.taken[out] = true
	return out
}

func limits(l profiles.BridgeLimits) string {
	further := "further ones are refused"
	if l.Queue > 0 {
		further = "further ones wait"
	}
	return fmt.Sprintf("At most %d calls in a run, %d at once: %s.", l.CallsPerRun, l.Concurrent, further)
}

// pascal converts a dotted name to the name of a type.
func pascal(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = true
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			b.WriteRune(r)
		}
	}
	if out := b.String(); out != "" && !unicode.IsDigit(rune(out[0])) {
		return out
	}
	return "T" + b.String()
}

// identifier reports whether a name needs no quotes. Only ASCII names do: quotes are always valid.
func identifier(s string) bool {
	for i, r := range s {
		switch {
		case r == '_' || r == '$' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z'):
		case i > 0 && r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return s != ""
}

func reserved(s string) bool {
	return slices.Contains(strings.Fields(`break case catch class const continue debugger default delete do else
		enum export extends false finally for function if import in instanceof new null return super switch this
		throw true try typeof var void while with yield let static implements interface package private protected
		public await`), s)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
