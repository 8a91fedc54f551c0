// Package tables owns the notation of the tables that are embedded as text: programs, their
// options, variables, git configuration keys. The head of each table explains it.
//
// It rejects a table with a malformed line, field or option, with a row that is out of
// alphabetical order, and with a name that has two rows.
//
// Packages argv, command and programs call it, once for each table.
package tables

import (
	"fmt"
	"strings"
)

// Row holds the facts of a table about some names.
type Row struct {
	Names  []string
	Fields []Field
	Line   int // the line on which it begins
}

// Errorf returns an error that names the row's line.
func (r Row) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", r.Line, r.Names[0], fmt.Sprintf(format, args...))
}

// Field is a fact of a row.
type Field struct {
	Key   string
	Lines []string // the first may be empty
	Line  int
}

// Text returns the lines of a field joined with blanks.
func (f Field) Text() string { return strings.TrimSpace(strings.Join(f.Lines, " ")) }

// Words returns the words of a field.
func (f Field) Words() []string { return strings.Fields(f.Text()) }

// Errorf returns an error that names the field's line.
func (f Field) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", f.Line, f.Key, fmt.Sprintf(format, args...))
}

// Parse parses a table. No name may have two rows.
func Parse(text string) ([]Row, error) {
	rows, err := Rows(text)
	if err != nil {
		return nil, err
	}
	return rows, check(rows)
}

// Rows parses a table whose rows are in an order of their own, with further words after the first name.
func Rows(text string) ([]Row, error) {
	var rows []Row
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		content := strings.TrimLeft(line, "\t")
		depth := len(line) - len(content)
		switch {
		case line == "" || depth == 0 && content[0] == '#':
			continue
		case content == "" || content != strings.TrimSpace(content) || strings.Contains(content, "  "):
			return nil, fmt.Errorf("line %d: a blank too many, or nothing", number)
		case depth == 0:
			rows = append(rows, Row{Names: strings.Fields(content), Line: number})
		case len(rows) == 0 || depth > 2:
			return nil, fmt.Errorf("line %d: it belongs to no row", number)
		default:
			if !rows[len(rows)-1].add(content, depth, number) {
				return nil, fmt.Errorf("line %d: it goes on with no field", number)
			}
		}
	}
	return rows, nil
}

// check assigns further names to their rows, and rejects rows out of order and repeated names.
func check(rows []Row) error {
	seen := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		if i > 0 && rows[i-1].Names[0] >= row.Names[0] {
			return fmt.Errorf("line %d: %s is not in its place in the alphabet", row.Line, row.Names[0])
		}
		for len(row.Fields) > 0 && row.Fields[0].Key == "also" {
			row.Names = append(row.Names, row.Fields[0].Words()...)
			row.Fields = row.Fields[1:]
		}
		for _, name := range row.Names {
			if seen[name] {
				return fmt.Errorf("line %d: %s has another row", row.Line, name)
			}
			seen[name] = true
		}
	}
	return nil
}

// add adds a line to a row: a field, or a continuation of the last one.
func (r *Row) add(content string, depth, number int) bool {
	if depth == 1 {
		key, value, _ := strings.Cut(content, " ")
		r.Fields = append(r.Fields, Field{Key: key, Lines: []string{value}, Line: number})
		return true
	}
	if len(r.Fields) == 0 {
		return false
	}
	last := &r.Fields[len(r.Fields)-1]
	last.Lines = append(last.Lines, content)
	return true
}
