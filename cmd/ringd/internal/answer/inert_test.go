// The pages are not exported, and their texts come from policies and scripts.
package answer

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
)

func TestPagesAreInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		var b bytes.Buffer
		p := page{render.Page{W: &b, Terminal: true}}
		if err := p.explained(rendertest.Filled[explained](text)); err != nil {
			t.Fatal(err)
		}
		without := rendertest.Filled[explained](text)
		without.Decision.Text = ""
		if err := p.explained(without); err != nil {
			t.Fatal(err)
		}
		if err := p.meeting(rendertest.Filled[meeting](text), &decider{}); err != nil {
			t.Fatal(err)
		}
		rendertest.Check(t, "explain", text, b.String(), 0)
	}
}
