// Package typescript owns the TypeScript declarations that tell an agent which bridges
// it may call: one function for each grant, its types made from the grant's JSON
// Schemas. It is pure text from data. What a schema says that TypeScript cannot
// say stands in a comment or is left wider; the ring checks the schema itself.
//
// The API calls it for GET /v1/agents/{agent}/types.d.ts.
package typescript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
)

// Declare writes the declarations of an agent's bridges. The same grants give
// the same text. An error is a schema that is not JSON.
func Declare(agent, revision string, bridges map[string]profiles.Bridge) (string, error) {
	w := &writer{taken: map[string]bool{}}
	w.line(0, "// The bridges of agent %s. Generated from policy %s; do not edit.", oneLine(agent), oneLine(revision))
	w.line(0, "// Every call is decided and recorded by the host; a refused one throws CapabilityDenied.")
	w.line(0, "")
	w.line(0, "/** The inputs of the run, frozen. */")
	w.line(0, "declare const inputs: Readonly<Record<string, unknown>>;")
	if b, ok := bridges[fetchName]; ok { // first: its types keep their names
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
	taken map[string]bool // names of types
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
		input, err := w.named(base+"Input", b.Arguments)
		if err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		params = "input: " + input
	}
	result := "unknown"
	if len(b.Result) > 0 {
		var err error
		if result, err = w.named(base+"Result", b.Result); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	signature := fmt.Sprintf("(%s): Promise<%s>", params, result)
	w.function(parts, signature, note(b))
	return nil
}

// note says what a call takes.
func note(b profiles.Bridge) string {
	switch text := limits(b.Limits); {
	case b.Approval == nil:
		return text
	case b.Approval.When != "":
		return "May ask for an approval, as its arguments are: the program waits for it, or gets ApprovalDenied. " +
			text
	default:
		return "Asks for an approval: the program waits for it, or gets ApprovalDenied. " + text
	}
}

// named writes schema as a type of that name, and what it refers to.
func (w *writer) named(name string, schema []byte) (string, error) {
	root, err := parse(schema)
	if err != nil {
		return "", err
	}
	name = w.free(name)
	s := &scope{writer: w, root: root, name: name, refs: map[string]string{"#": name}}
	text := s.of(root, 0, 0)
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
		w.line(0, "type %s = %s;", next.name, s.of(next.node, 0, 0))
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

// free returns name, or name with a number when it is taken.
func (w *writer) free(name string) string {
	out := name
	for n := 2; w.taken[out]; n++ {
		out = fmt.Sprintf("%s%d", name, n)
	}
	w.taken[out] = true
	return out
}

func limits(l profiles.BridgeLimits) string {
	return fmt.Sprintf("At most %d calls in a run, %d at once.", l.CallsPerRun, l.Concurrent)
}

// pascal makes a type's name of a dotted one.
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

// identifier is true for names that need no quotes. Only ASCII: others get
// quotes, which is always right.
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
