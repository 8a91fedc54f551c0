package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/schema"
)

// hostile texts fill a file with what a reader may do badly.
func hostile() map[string]schema.Source {
	const size = schema.MaxFileBytes / 4
	fill := func(head, part, tail string) []byte {
		return []byte(head + strings.Repeat(part, (size-len(head)-len(tail))/len(part)) + tail)
	}
	numbered := func(head, format string) []byte {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return []byte(b.String())
	}
	return map[string]schema.Source{
		"unknown names":       {Name: "p.yaml", Data: numbered(header, "  x%d: 1\n")},
		"unknown top names":   {Name: "p.yaml", Data: numbered("kind: x\n", "x%d: 1\n")},
		"names of no form":    {Name: "p.yaml", Data: numbered("", "zz%d: 1\n")},
		"one name":            {Name: "p.yaml", Data: fill(header, "  mode: enforce\n", "")},
		"one value":           {Name: "p.yaml", Data: fill("interpreter_ring:\n  denied_imports:\n", "    - a\n", "")},
		"wrong values":        {Name: "p.yaml", Data: fill("interpreter_ring:\n  allowed_binaries:\n", "    - a\n", "")},
		"traps":               {Name: "p.yaml", Data: fill("interpreter_ring:\n  denied_patterns:\n", "    - off\n", "")},
		"indentation at end":  {Name: "p.yaml", Data: fill("a:\n", "  - b\n", " c: d\n")},
		"open bracket":        {Name: "p.yaml", Data: fill("a: ", "[ ", "")},
		"open quote":          {Name: "p.yaml", Data: fill("a: \"", "b ", "")},
		"aliases":             {Name: "p.yaml", Data: fill("a: &a [1, 2, 3]\nb: [", "*a,", "]\n")},
		"anchors":             {Name: "p.yaml", Data: numbered("", "a%[1]d: &a%[1]d 1\n")},
		"long name":           {Name: "p.yaml", Data: fill(header+"  ", "a", ": 1\n")},
		"long value":          {Name: "p.yaml", Data: fill(header+"  mode: ", "a", "\n")},
		"long number":         {Name: "p.yaml", Data: fill(header+"  limits: {files: ", "9", "}\n")},
		"documents":           {Name: "p.yaml", Data: fill("", "---\n", "")},
		"letters of two":      {Name: "p.yaml", Data: fill(header+"  data: {residency: [", "é,", "]}\n")},
		"json names":          {Name: "p.json", Data: append(numbered(`{"kind": 1`, `,"x%d":1`), '}')},
		"json one name":       {Name: "p.json", Data: fill(`{"a":1`, `,"a":1`, `}`)},
		"json surrogates":     {Name: "p.json", Data: fill(`{"interpreter_ring": {"denied_imports": ["a"`, `,"\ud800"`, `]}}`)},
		"json lines":          {Name: "p.json", Data: fill(`{"interpreter_ring":`, "\n", `1}`)},
		"cue bracket":         {Name: "p.cue", Data: fill("a: ", "[", "")},
		"cue names":           {Name: "p.cue", Data: numbered("", "x%d: 1\n")[:64<<10]},
		"cue references":      {Name: "p.cue", Data: numbered("kind: 1\n", "x%[1]d: y%[1]d\n")[:64<<10]},
		"cue many conflicts":  {Name: "p.cue", Data: fill("kind: \"a\"\n", "kind: \"b\"\n", "")[:10<<10]},
		"cue dotted nesting":  {Name: "p.cue", Data: fill("", "a: ", "1")[:30<<10]},
		"cue open text":       {Name: "p.cue", Data: fill("a: \"", "b", "")},
		"cue invalid letters": {Name: "p.cue", Data: fill("a: ", "^ ", "\n")[:16<<10]},
	}
}

// Every hostile text is refused with few findings, by all readers, in time: a
// reader that is quadratic would not end here.
func TestHostileTextIsRefused(t *testing.T) {
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			policies, found := schema.Decode([]schema.Source{src})
			if len(policies) > 0 && name != "one value" && name != "traps" {
				t.Errorf("%d policies", len(policies))
			}
			if len(found) == 0 || len(found) > 1001 {
				t.Errorf("%d findings", len(found))
			}
			for _, d := range found {
				if len(d.Msg) > 600 || len(d.Hint) > 300 {
					t.Fatalf("a finding of %d and %d bytes: %.200s", len(d.Msg), len(d.Hint), d.Msg)
				}
			}
		})
	}
}
