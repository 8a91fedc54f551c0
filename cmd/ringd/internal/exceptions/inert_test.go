// The page is not exported, and its texts come from policies.
package exceptions

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
)

func TestListIsInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		var b bytes.Buffer
		l := rendertest.Filled[listed](text)
		for i := range l.Exceptions {
			l.Exceptions[i].Flags = []string{FlagEnded} // words of ours
		}
		if err := (page{render.Page{W: &b, Terminal: true}}).list(l, sources.Policy{Path: text}); err != nil {
			t.Fatal(err)
		}
		rendertest.Check(t, "exceptions", text, b.String(), 0)
	}
}
