package layers // whose approval stands first is how layers work, not what they offer

import (
	"testing"

	"github.com/ringd/ringd/schema"
)

// TestAsksNoLess: an approval of a lower layer stands before one above it only where it
// asks as many, of the same people, and lets nobody wait longer.
func TestAsksNoLess(t *testing.T) {
	two := int64(2)
	above := &schema.WordsApproval{From: []string{"user:a", "user:b"}, ExpiresAfter: "1h", Hold: "5s"}
	for name, tc := range map[string]struct {
		own, above *schema.WordsApproval
		want       bool
	}{
		"the same":              {above, above, true},
		"fewer people":          {&schema.WordsApproval{From: []string{"user:a"}, ExpiresAfter: "1h", Hold: "5s"}, above, true},
		"more of them":          {&schema.WordsApproval{From: []string{"user:a", "user:b"}, Count: &two, ExpiresAfter: "30m", Hold: "1s"}, above, true},
		"others":                {&schema.WordsApproval{From: []string{"user:c"}, ExpiresAfter: "1h", Hold: "5s"}, above, false},
		"anybody":               {&schema.WordsApproval{ExpiresAfter: "1h", Hold: "5s"}, above, false},
		"a question for longer": {&schema.WordsApproval{From: []string{"user:a"}, ExpiresAfter: "2h", Hold: "5s"}, above, false},
		"held for longer":       {&schema.WordsApproval{From: []string{"user:a"}, ExpiresAfter: "1h", Hold: "1m"}, above, false},
		"times left out":        {&schema.WordsApproval{From: []string{"user:a"}}, above, false},
		"nothing said":          {nil, nil, true},
		"no number of times":    {&schema.WordsApproval{ExpiresAfter: "soon"}, nil, false},
	} {
		if got := asksNoLess(tc.own, tc.above); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
