package diff

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// asking is a list of rules for commands that need an approval. The first rule that matches a command
// applies. If two rules have the same words, the first one applies.
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

// before returns the words of the rules that are checked before the rule for words.
func (a asking) before(words string) []string { return a.words[:max(0, slices.Index(a.words, words))] }

// asks compares the rules for commands that need an approval.
func asks(c *comparer, s spot, a, b []profiles.AskRule) {
	old, now := askingOf(a), askingOf(b)
	for _, words := range both(old.at, now.at) {
		x, y := old.at[words], now.at[words]
		at := s
		at.subject, at.capability = s.subject+" "+words, s.capability+" "+words
		switch other := eased(c, old, now, words); {
		case x == nil:
			at.now = orRule(&y.Pattern.Rule, &y.Approval.Rule)
			ch := at.added(approvalText(&y.Approval)).as(Narrows, at.subject+": now needs an approval", "")
			if other != "" {
				ch.Class, ch.Why = Widens, "it is checked before "+other+", which asks for more"
			}
			c.add(ch)
		case y == nil:
			at.old = orRule(&x.Pattern.Rule, &x.Approval.Rule)
			c.add(at.removed(approvalText(&x.Approval)).as(Widens, at.subject+": no longer needs an approval", ""))
		default:
			at.old, at.now = &x.Pattern.Rule, &y.Pattern.Rule
			if other != "" {
				says := at.subject + ": looked at before " + other + " (was behind it)"
				c.add(at.changed("behind "+other, "before "+other).as(Widens, says,
					"the first entry that matches a command decides, and this one asks for less"))
			}
			worded(c, at, &x.Pattern, &y.Pattern)
			approval(c, at, &x.Approval, &y.Approval)
			c.residue(s, reflect.ValueOf(*x), reflect.ValueOf(*y))
		}
	}
}

// eased returns the words of another rule that required more, and was checked before the rule for words or
// in its place. Now that other rule is checked after it. eased returns "" if there is no such rule. Rules
// for different sub-commands may still match one command, because a word may be an operand.
func eased(c *comparer, old, now asking, words string) string {
	if now.at[words] == nil {
		return ""
	}
	earlier := old.before(words)
	if old.at[words] == nil {
		earlier = old.words
	}
	for _, other := range earlier {
		if now.at[other] == nil || slices.Contains(now.before(words), other) {
			continue
		}
		in := c.within(c.old, c.new)
		approval(in, spot{}, &old.at[other].Approval, &now.at[words].Approval)
		if ClassOf(in.out) == Widens {
			return other
		}
	}
	return ""
}
