package command

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

//go:embed variables.txt
var variablesText string // go:embed needs a variable; it is never written

// embeddedVariables returns the table of variables.txt, which is parsed on the first call. The
// table is a fence: the kernel ring holds what else a program makes of its environment.
//
//nolint:gochecknoglobals // parsed once, never written
var embeddedVariables = sync.OnceValues(func() (*variables, error) { return parseVariables(variablesText) })

// variables lists the variables that a script may not set freely.
type variables struct {
	exact    map[string]*variable
	anyCase  map[string]*variable // by name in lower case
	patterns []*variable          // in the order in which they apply
}

// variable is a row of variables.txt. The fields are those of the table.
type variable struct {
	pattern string
	reason  string
	rank    int // order of a pattern
	anyCase bool
	except  []string
	harmless
}

// harmless describes the harmless values of a variable.
type harmless struct {
	values                           []string
	plain                            bool
	without                          []string
	words, letters, options, goFlags []string
}

// VariableRefused reports whether setting a variable to a value is denied, and the reason. If maybe is true,
// the value is not known well enough, and the final one decides. An invalid variable name is denied.
func VariableRefused(name string, value argv.Word) (reason string, refused, maybe bool) {
	all, err := embeddedVariables()
	if err != nil {
		return name + " cannot be looked up: the table of variables cannot be read", true, false
	}
	why, h := all.find(name)
	if name == "" || strings.ContainsAny(name, " \t\n=/$`") {
		why = "is not a valid name of a variable"
	}
	if why == "" {
		return "", false, false
	}
	reason = name + " " + why
	switch {
	case h == nil:
		return reason, true, false
	case value.Open:
		return reason, false, true
	case h.allows(value.Text):
		return "", false, false
	default:
		return reason, true, false
	}
}

// VariableInstead returns allowed assignments of a denied variable, or nil.
func VariableInstead(name string) []string {
	all, err := embeddedVariables()
	if err != nil {
		return nil
	}
	_, h := all.find(name)
	for _, v := range []string{"cat", ":", "/dev/null", "1"} {
		if h != nil && h.allows(v) {
			return []string{name + "=" + v}
		}
	}
	return nil
}

// find returns the reason why a variable may not be set, or "", and its harmless values. The first row with a
// reason applies, and the first with values.
func (t *variables) find(name string) (why string, h *harmless) {
	note := func(v *variable) {
		if why == "" {
			why = v.reason
		}
		if h == nil && v.allowsSome() {
			h = &v.harmless
		}
	}
	lower := strings.ToLower(name)
	if v := t.exact[name]; v != nil {
		note(v)
	}
	if v := t.anyCase[lower]; v != nil {
		note(v)
	}
	for _, v := range t.patterns {
		text, key := name, name
		if v.anyCase {
			text, key = lower, strings.ReplaceAll(lower, "-", "_")
		}
		excepted := slices.ContainsFunc(v.except, func(p string) bool { return tables.Match(p, key) })
		if !excepted && tables.Match(v.pattern, text) {
			note(v)
		}
	}
	return why, h
}

func (h *harmless) allowsSome() bool {
	return h.values != nil || h.plain || h.without != nil || h.splits()
}

// splits reports whether a value is checked word by word.
func (h *harmless) splits() bool {
	return h.words != nil || h.letters != nil || h.options != nil || h.goFlags != nil
}

// allows reports whether a value is harmless.
func (h *harmless) allows(value string) bool {
	switch {
	case slices.Contains(h.values, value), h.plain && isPlain(value):
		return true
	case h.without != nil:
		return !slices.ContainsFunc(h.without, func(part string) bool { return strings.Contains(value, part) })
	case !h.splits() || strings.ContainsAny(value, "`$;|&<>()'\"\\\n"):
		return false
	}
	for word := range strings.FieldsSeq(value) {
		if !h.allowsWord(word) {
			return false
		}
	}
	return true
}

// allowsWord reports whether a word of a value is harmless.
func (h *harmless) allowsWord(word string) bool {
	for _, p := range h.words { // the first match applies
		if refused, ok := strings.CutPrefix(p, "!"); ok {
			if tables.Match(refused, word) {
				return false
			}
		} else if tables.Match(p, word) {
			return true
		}
	}
	if len(h.letters) > 0 && strings.Trim(strings.TrimPrefix(word, "-"), h.letters[0]) == "" {
		return true
	}
	name, _, _ := strings.Cut(word, "=")
	if slices.Contains(h.options, strings.ReplaceAll(name, "_", "-")) {
		return true
	}
	flag := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	name, _, _ = strings.Cut(flag, "=")
	return slices.Contains(h.goFlags, name) || slices.Contains(h.goFlags, flag)
}

// isPlain reports whether v consists of letters, digits, - and _.
func isPlain(v string) bool {
	return !strings.ContainsFunc(v, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// parseVariables reads a table of variables.
func parseVariables(text string) (*variables, error) {
	rows, err := tables.Parse(text)
	if err != nil {
		return nil, err
	}
	t := &variables{exact: map[string]*variable{}, anyCase: map[string]*variable{}}
	for _, row := range rows {
		v := &variable{rank: 2}
		for _, f := range row.Fields {
			if err := v.take(f); err != nil {
				return nil, fmt.Errorf("%s: %w", row.Names[0], err)
			}
		}
		if v.reason == "" && !v.allowsSome() {
			return nil, fmt.Errorf("line %d: %s has no reason and no values", row.Line, row.Names[0])
		}
		for _, name := range row.Names {
			t.add(name, v)
		}
	}
	slices.SortStableFunc(t.patterns, func(a, b *variable) int { return a.rank - b.rank })
	return t, nil
}

// add adds a name of a row.
func (t *variables) add(name string, v *variable) {
	switch {
	case strings.Contains(name, "*"):
		own := *v
		own.pattern = name
		if strings.HasPrefix(name, "*") && own.rank > 0 {
			own.rank = 1
		}
		t.patterns = append(t.patterns, &own)
	case v.anyCase:
		t.anyCase[name] = v
	default:
		t.exact[name] = v
	}
}

// take reads a field.
func (v *variable) take(f tables.Field) error {
	words := f.Words()
	if len(words) == 0 {
		return f.Errorf("nothing follows")
	}
	switch f.Key {
	case "reason":
		v.reason = reasons(words[0])
		if v.reason == "" || len(words) > 1 {
			return f.Errorf("no such reason")
		}
	case "flags":
		for _, w := range words {
			switch w {
			case "first":
				v.rank = 0
			case "any-case":
				v.anyCase = true
			default:
				return f.Errorf("%s is no flag", w)
			}
		}
	case "except":
		v.except = words
	case "value":
		v.values = append(v.values, strings.TrimSuffix(f.Text(), `""`))
	case "kind":
		v.plain = f.Text() == "plain"
		if !v.plain {
			return f.Errorf("no such kind")
		}
	case "without":
		v.without = words
	case "words":
		v.words = words
	case "letters":
		v.letters = words
	case "options":
		v.options = words
	case "go-flags":
		v.goFlags = words
	default:
		return f.Errorf("no such field")
	}
	return nil
}

// reasons returns the reason for a word of the table.
func reasons(word string) string {
	switch word {
	case "runs":
		return "decides which program another one starts"
	case "loads":
		return "decides what code or configuration a program loads"
	case "finds":
		return "decides which programs and files are found"
	case "writes":
		return "decides where a program writes"
	case "trusts":
		return "decides what a program trusts, and whom it talks to"
	default:
		return ""
	}
}
