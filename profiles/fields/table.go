package fields

import (
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

//go:embed language.txt
var languageText string // go:embed needs a variable; never written

// language returns the rows of language.txt, which is parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var language = sync.OnceValues(func() ([]Field, error) { return parse(languageText, parseField) })

// Table lists every field of the policy language, in the order of language.txt. If language.txt is malformed,
// no field has a row, and a policy that sets a field is rejected.
func Table() []Field {
	rows, err := language()
	if err != nil {
		return nil
	}
	return slices.Clone(rows)
}

// parse reads a table by its rows.
func parse[F any](text string, one func(tables.Row) (F, error)) ([]F, error) {
	rows, err := tables.Rows(text)
	out := make([]F, len(rows))
	for i, r := range rows {
		var bad error
		out[i], bad = one(r)
		err = errors.Join(err, bad)
	}
	return out, err
}

func parseField(r tables.Row) (f Field, err error) {
	f.Policy = r.Names[0]
	for _, mark := range r.Names[1:] {
		if !f.mark(mark) {
			err = errors.Join(err, r.Errorf("%q is no mark", mark))
		}
	}
	for _, t := range r.Fields {
		switch t.Key {
		case "profile":
			f.Profile = t.Text()
		case "by":
			f.By = t.Text()
		case "words":
			f.Words = strings.Split(t.Text(), ",")
		case "row":
			f.Row = t.Text()
		case "says":
			f.Says = t.Text()
		case "proof":
			err = errors.Join(err, f.prove(t))
		default:
			err = errors.Join(err, t.Errorf("is no text of a field"))
		}
	}
	return f, err
}

// prove adds a proof.
func (f *Field) prove(t tables.Field) error {
	words, executor := t.Words(), ""
	if len(words) == 4 {
		executor, words = words[0], words[1:]
	}
	if len(words) != 3 {
		return t.Errorf("is no test with its word")
	}
	f.Proofs = append(f.Proofs, proof{Executor: executor, Test: words[0] + " " + words[1], Word: words[2]})
	return nil
}

// mark sets the property that a word of the row names. It returns false if the word is unknown.
func (f *Field) mark(word string) bool {
	switch word {
	case "informs":
		f.Fate = Informs
	case "refused":
		f.Fate = Refused
	case "strictest":
		f.Strictest = true
	case "grant":
		f.Grant = true
	case "none":
		f.None = true
	case "paths":
		f.Items = Paths
	case "modules":
		f.Items = Modules
	case "phrases":
		f.Items = Phrases
	case "addresses":
		f.Items = Addresses
	case "hosts":
		f.Items = Hosts
	case string(Count), string(Size), string(Duration), string(Rate), string(Date):
		f.Unit = Unit(word)
	default:
		f.Order = Order(strings.ReplaceAll(word, "-", " "))
		return f.Order.known()
	}
	return true
}
