package egress

import (
	"strings"
	"testing"
)

// The table of letters is indexed by bytes: it says of each what the comment
// above it does.
func TestLetters(t *testing.T) {
	if len(letters) != 256 {
		t.Fatalf("%d letters", len(letters))
	}
	for i := range 256 {
		want := byte(' ')
		switch c := byte(i); {
		case c >= 0x80:
			want = 'h'
		case c == '.':
			want = '.'
		case c == '-' || c == '_':
			want = 'p'
		case strings.IndexByte("0123456789", c) >= 0:
			want = 'd'
		case strings.IndexByte("abcdefghijklmnopqrstuvwxyz", c) >= 0:
			want = 'l'
		case strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ", c) >= 0:
			want = 'u'
		}
		if letters[i] != want {
			t.Errorf("%q is %q, want %q", byte(i), letters[i], want)
		}
	}
}
