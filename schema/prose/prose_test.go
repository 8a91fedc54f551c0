package prose_test

import (
	"testing"

	"github.com/ringd/ringd/schema/prose"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name string
		find func([]byte) int
		text string
		want int
	}{
		{"return", prose.LoneReturn, "a\r\nb\rc", 4}, {"return at the end", prose.LoneReturn, "a\r", 1}, {"line ends", prose.LoneReturn, "a\r\n", -1},
		{"direction", prose.Misleading, "ab\u202ec", 2}, {"escape", prose.Misleading, "\x1b[2J", 0}, {"next line", prose.Misleading, "a\u0085", 1},
		{"letters", prose.Misleading, "a\tü\n", -1}, {"tag", prose.Misleading, "a\U000e0041", 1},
		{"bytes", prose.Invalid, "ab\xff", 2}, {"half a letter", prose.Invalid, "\xc3", 0},
		{"no-break space", prose.OddIndent, "a:\n \u00a0b: c", 4}, {"ideographic space", prose.OddIndent, "\u3000a", 0},
		{"inside a line", prose.OddIndent, "a\u00a0b\n", -1}, {"nothing", prose.OddIndent, "", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.find([]byte(tt.text)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
