package schema

import (
	"testing"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name string
		find func([]byte) int
		text string
		want int
	}{
		{"return", loneReturn, "a\r\nb\rc", 4}, {"return at the end", loneReturn, "a\r", 1}, {"line ends", loneReturn, "a\r\n", -1},
		{"direction", misleading, "ab\u202ec", 2}, {"escape", misleading, "\x1b[2J", 0}, {"next line", misleading, "a\u0085", 1},
		{"letters", misleading, "a\tü\n", -1}, {"tag", misleading, "a\U000e0041", 1},
		{"bytes", invalidAt, "ab\xff", 2}, {"half a letter", invalidAt, "\xc3", 0},
		{"no-break space", oddIndent, "a:\n \u00a0b: c", 4}, {"ideographic space", oddIndent, "\u3000a", 0},
		{"inside a line", oddIndent, "a\u00a0b\n", -1}, {"nothing", oddIndent, "", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.find([]byte(tt.text)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
