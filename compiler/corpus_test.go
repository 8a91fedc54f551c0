package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/schema"
)

// TestCorpusOfMistakes: each file of the corpus has one mistake, which is one finding, on
// its line, with a word of what to do in the finding or its hint.
func TestCorpusOfMistakes(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/corpus/authors.txtar")
	if err != nil || len(ar.Files) < 100 {
		t.Fatalf("%d mistakes; %v", len(ar.Files), err)
	}
	for _, f := range ar.Files {
		words := strings.SplitN(f.Name, " ", 4)
		if len(words) != 4 {
			t.Fatalf("%q: want a name, a line, a code and a word", f.Name)
		}
		t.Run(words[0], func(t *testing.T) {
			found := every(schema.Source{Name: words[0], Data: f.Data})
			if len(found) != 1 {
				t.Fatalf("%d findings, want one:\n%v", len(found), found)
			}
			d := found[0]
			if at := fmt.Sprint(d.Pos.Line); at != words[1] || d.Code != words[2] {
				t.Errorf("want %s on line %s:\n%v", words[2], words[1], d)
			}
			if !strings.Contains(d.Hint, words[3]) && !strings.Contains(d.Msg, words[3]) {
				t.Errorf("no word of %q:\n%v", words[3], d)
			}
		})
	}
}
