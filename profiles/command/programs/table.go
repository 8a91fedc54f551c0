package programs

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

//go:embed programs.txt
var programsText string // go:embed needs a variable; it is never written

// embedded returns the table of programs.txt, which is parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var embedded = sync.OnceValues(func() (*table, error) { return parseTable(programsText) })

// table is programs.txt.
type table struct {
	rows      map[string]*row
	prefixes  []string          // names of rows that end in "*", without it
	versioned map[string]string // names that may be followed by a version
}

// row describes how a program's words are read. The fields are those of programs.txt.
type row struct {
	builtin  bool // a builtin of the shell: no program has this row
	reader   func(*reader)
	modes    []string // of the reader
	refused  string   // if set, the reason why none of its commands may start
	operands operandKind
	skip     int // operands before the command
	flags    flags
	options  []tables.Option
	reason   string // the reason for its refused options
	language string // of texts in its options, and of its standard input
	rules    []rule
	lists    map[string][]string
}

// operandKind is the kind of a program's operands.
type operandKind uint8

const (
	plainOperands   operandKind = iota // they start nothing
	commandOperands                    // a command from the first one on; options end there
	shellOperands                      // joined by blanks they are shell text; options end there
	textOperands                       // each is shell text
	fileOperands                       // each is a program file
	programOperands                    // each is program text, appended to the previous ones
)

// flags describe how a program reads its words.
type flags uint8

const (
	runsFiles       flags = 1 << iota // it runs programs from files
	bareShell                         // without a command it starts a shell
	longOptions                       // its options have one dash or two and many letters
	noAbbreviations                   // long options must be whole
	inputIsOperands                   // see the head of programs.txt
	readsInput                        // without a text or a file it reads a program from its input
	permutes                          // it takes options from among the words of its command
)

// rule refuses words, or allows them in spite of later rules.
type rule struct {
	allow    bool
	when     string // position of the word
	patterns []string
	reason   string
}

// program finds the row of a program. Builtins of the shell and parts of programs have rows of their own,
// which are not programs.
func (t *table) program(name string) (*row, bool) {
	if r, ok := t.rows[name]; ok && !r.builtin && !strings.Contains(name, ":") {
		return r, true
	}
	for _, prefix := range t.prefixes {
		if strings.HasPrefix(name, prefix) {
			return t.rows[prefix+"*"], true
		}
	}
	// An interpreter may have its version in its name: python3.12, perl5.36, php8, gawk-5.1.
	if base, ok := t.versioned[strings.TrimRight(name, "0123456789.-")]; ok && base != name {
		return t.program(base)
	}
	return nil, false
}

// part finds the row of a part of a program, such as git clone.
func (t *table) part(program, name string) (*row, bool) {
	r, ok := t.rows[program+":"+name]
	return r, ok
}

// list returns a list of a row.
func (r *row) list(key string) []string { return r.lists[key] }

// has reports whether a list of a row has a word.
func (r *row) has(key, word string) bool { return slices.Contains(r.lists[key], word) }

// parseTable reads a table of programs.
func parseTable(text string) (*table, error) {
	parsed, err := tables.Parse(text)
	if err != nil {
		return nil, err
	}
	t, code := &table{rows: make(map[string]*row, 2*len(parsed)), versioned: map[string]string{}}, readers()
	for _, p := range parsed {
		r := &row{}
		for _, f := range p.Fields {
			if err := r.take(f, code); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Names[0], err)
			}
		}
		if slices.ContainsFunc(r.rules, func(x rule) bool { return !x.allow && x.reason == "" }) {
			return nil, fmt.Errorf("line %d: %s: words are refused without a reason", p.Line, p.Names[0])
		}
		for _, name := range p.Names {
			t.rows[name] = r
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				t.prefixes = append(t.prefixes, prefix)
			}
		}
		for _, name := range r.lists["versioned"] {
			t.versioned[name] = name
		}
	}
	return t, nil
}

// take reads a field. code has the readers by name.
func (r *row) take(f tables.Field, code map[string]func(*reader)) (err error) {
	words := f.Words()
	if len(words) == 0 && f.Key != "builtin" {
		return f.Errorf("nothing follows")
	}
	switch f.Key {
	case "builtin":
		r.builtin = true
	case "reader":
		if r.reader, r.modes = code[words[0]], words[1:]; r.reader == nil {
			return fmt.Errorf("no code reads it: %s", words[0])
		}
	case "refused":
		r.refused = f.Text()
	case "reason":
		r.reason = f.Text()
	case "language":
		r.language = words[0]
	case "operands":
		return r.takeOperands(f, words)
	case "flags":
		return r.takeFlags(f, words)
	case "options":
		r.options, err = f.Options()
		for _, o := range r.options {
			if o.Value == tables.Until || o.Means != nil {
				return f.Errorf("a value or a meaning that this table does not have")
			}
		}
		return err
	case "refuse", "allow":
		rl := rule{allow: f.Key == "allow", patterns: words}
		if when, ok := strings.CutPrefix(words[0], "@"); ok {
			rl.when, rl.patterns = when, words[1:]
		}
		r.rules = append(r.rules, rl)
	case "because":
		for i := range r.rules {
			if r.rules[i].reason == "" {
				r.rules[i].reason = f.Text()
			}
		}
	case "alone", "unless", "unsure", "versioned", "known", "external", "addresses", "valued", "harmless", "input",
		"keys", "runs":
		r.addToList(f.Key, words...)
	case "text": // a list of texts, one in each field
		r.addToList(f.Key, f.Text())
	default:
		return f.Errorf("no such field")
	}
	return nil
}

func (r *row) addToList(key string, words ...string) {
	if r.lists == nil {
		r.lists = map[string][]string{}
	}
	r.lists[key] = append(r.lists[key], words...)
}

func (r *row) takeOperands(f tables.Field, words []string) error {
	kinds := []string{"plain", "command", "shell", "texts", "files", "programs"}
	at := slices.Index(kinds, words[0])
	if at < 0 || len(words) > 2 {
		return f.Errorf("no such operands")
	}
	r.operands = operandKind(at)
	if len(words) == 2 {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 {
			return f.Errorf("%s is no number of operands", words[1])
		}
		r.skip = n
	}
	return nil
}

func (r *row) takeFlags(f tables.Field, words []string) error {
	all := []string{
		"runs-files", "shell-without-command", "long-options", "no-abbreviations", "input-is-operands", "reads-input",
		"permutes",
	}
	for _, w := range words {
		at := slices.Index(all, w)
		if at < 0 {
			return f.Errorf("%s is no flag", w)
		}
		r.flags |= 1 << at
	}
	return nil
}
