package argv

import (
	"testing"

	"github.com/ringd/ringd/profiles/tables"
)

// Lists gives the lists of options to the tests, by whose options they are.
func Lists(t *testing.T) map[string][]tables.Option {
	t.Helper()
	all, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]tables.Option{}
	for name, row := range all {
		out[name], out[name+" behind"] = row.global, row.behind
	}
	return out
}

// Find finds an option in a list.
func Find(list []tables.Option, name string) *tables.Option { return options(list).find(name) }

// Parse reads a table.
func Parse(text string) error {
	_, err := parseOptions(text)
	return err
}
