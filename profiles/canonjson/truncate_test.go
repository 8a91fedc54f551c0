package canonjson_test

import (
	"testing"

	"github.com/ringd/ringd/profiles/canonjson"
)

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aé", 2, "a…"}, {"aé", 3, "aé"}, {"é", 0, "…"}, {"a", -1, "…"},
		{"\xff\xfe\xfd", 2, "\xff\xfe…"}, {"\x80\x80\x80", 2, "…"},
	} {
		if got := canonjson.Truncate(c.text, c.n); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
