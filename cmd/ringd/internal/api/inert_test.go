package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/schema/wire"
)

// TestAnswersAreInert: an answer that repeats what a caller said sends a terminal nothing
// that it obeys, and is the same value to a client.
func TestAnswersAreInert(t *testing.T) {
	f := serve(t, options{roles: mine("harness")})
	for _, text := range []string{"\u009b31m", "\u202egnp.exe", "a\u200bb\ufeffc", "\x7f", "\U000e0041", "\u2028x",
		"東京"} {
		got := f.ask("GET", "/"+url.PathEscape(text), "")
		clitest.Check(t, "the API", text, string(got.body), 1)
		var body wire.ErrorBody
		if err := json.Unmarshal(got.body, &body); err != nil || !strings.Contains(body.Error.Message, text) {
			t.Errorf("%q: %q, %v", text, got.body, err)
		}
	}
}
