package diff

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// asking is a list of words that need an approval: of several that a command meets the
// first counts, and so does the first of two with the same words.
type asking struct {
	words []string
	at    map[string]*profiles.AskRule
}

func askingOf(list []profiles.AskRule) asking {
	out := asking{at: map[string]*profiles.AskRule{}}
	for i := range list {
		key := strings.Join(list[i].Pattern.Words, " ")
		if out.at[key] == nil {
			out.at[key] = &list[i]
			out.words = append(out.words, key)
		}
	}
	return out
}

// before lists the words that are looked at before others.
func (a asking) before(words string) []string { return a.words[:max(0, slices.Index(a.words, words))] }

// asks compares words that need an approval.
func (c *comparer) asks(field, capability, program string, a, b []profiles.AskRule) {
	old, now := askingOf(a), askingOf(b)
	for _, words := range both(old.at, now.at) {
		x, y := old.at[words], now.at[words]
		of := program + " " + words
		switch {
		case x == nil:
			ch := Change{Kind: Added, Class: Narrows, Capability: capability + " " + words, Field: field, New: approval(&y.Approval), NewRule: orRule(&y.Pattern.Rule, &y.Approval.Rule), Says: of + " now needs an approval"}
			if other := c.eased(old, now, words); other != "" {
				ch.Class, ch.Why = Widens, "it is looked at before "+other+", which asks for more"
			}
			c.add(ch)
		case y == nil:
			c.add(Change{Kind: Removed, Capability: capability + " " + words, Field: field, Old: approval(&x.Approval), OldRule: orRule(&x.Pattern.Rule, &x.Approval.Rule), Says: of + " no longer needs an approval"})
		default:
			if other := c.eased(old, now, words); other != "" {
				c.add(Change{Kind: Changed, Capability: capability + " " + words, Field: field, Old: "behind " + other, New: "before " + other, OldRule: &x.Pattern.Rule, NewRule: &y.Pattern.Rule,
					Says: of + " is looked at before " + other + " now", Why: "the first that a command meets counts, and this one asks for less"})
			}
			c.worded(field, capability+" "+words, &x.Pattern, &y.Pattern)
			c.approval(field, capability+" "+words, of, &x.Approval, &y.Approval, &x.Pattern.Rule, &y.Pattern.Rule)
			c.residue(field, capability, x, y)
		}
	}
}

// eased gives words that were looked at before these, or instead of them, and are now
// looked at behind them, although they asked for more; "": there are none. Words that
// begin with different sub-commands may still meet in one command, as operands do.
func (c *comparer) eased(old, now asking, words string) string {
	earlier := old.before(words)
	if old.at[words] == nil {
		earlier = old.words
	}
	for _, other := range earlier {
		if now.at[other] == nil || slices.Contains(now.before(words), other) {
			continue
		}
		in := &comparer{now: c.now}
		in.approval("", "", "", &old.at[other].Approval, &now.at[words].Approval, &profiles.Rule{}, &profiles.Rule{})
		if ClassOf(in.out) == Widens {
			return other
		}
	}
	return ""
}
