// The page is not exported, and its texts come from policies and logs.
package diff

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/diff/page"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
)

func TestTextIsInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		var b bytes.Buffer
		if err := (textPage(&b)).document(rendertest.Filled[page.Document](text)); err != nil {
			t.Fatal(err)
		}
		rendertest.Check(t, "diff", text, b.String(), 0)
	}
}

func textPage(b *bytes.Buffer) text { return text{render.Page{W: b, Terminal: true}} }
