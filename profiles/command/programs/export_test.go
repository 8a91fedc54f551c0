package programs

import (
	"errors"
	"maps"
	"path"

	"github.com/ringd/ringd/profiles/argv"
)

// Tables reports whether the embedded tables are malformed, or name code that is not there.
func Tables() error {
	_, keys := gitSections()
	_, patterns := inlinePatterns()
	return errors.Join(Malformed(programsText), keys, patterns)
}

// Malformed reports what is wrong with a table of programs.
func Malformed(text string) error {
	_, err := parseTable(text)
	return err
}

// Without returns Of as if some names had no row.
func Without(names []string) func(words []argv.Word) Result {
	t, err := embedded()
	if err != nil {
		return nil
	}
	smaller := &table{rows: maps.Clone(t.rows), versioned: t.versioned}
	for _, name := range names {
		delete(smaller.rows, name)
	}
	return func(words []argv.Word) Result {
		name := path.Base(words[0].Text)
		row, ok := smaller.rows[name]
		if !ok || !row.builtin {
			if row, ok = smaller.program(name); !ok {
				return Result{}
			}
		}
		return readCommandLine(smaller, argv.Command{Words: words}, name, row)
	}
}
