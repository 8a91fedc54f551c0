// The page is not exported, and its texts come from policies and their tests.
package testcmd

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
)

func TestReportIsInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		var b bytes.Buffer
		r := rendertest.Filled[report](text)
		r.policy = sources.Policy{Path: text}
		r.Files[0].Cases[0].Passed, r.Files[0].Cases[1].Passed, r.Files[0].Coverage.Met = false, true, false
		if err := (page{render.Page{W: &b, Terminal: true}}).report(&r, true); err != nil {
			t.Fatal(err)
		}
		rendertest.Check(t, "test", text, b.String(), 0)
	}
}
