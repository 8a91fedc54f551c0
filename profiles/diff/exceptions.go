package diff

import (
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
)

func exceptions(c *comparer, s spot, a, b []profiles.Exception) {
	for id, p := range pairs(a, b, func(e *profiles.Exception) string { return e.ID }) {
		x, y, at, name := p.old, p.now, p.spot(s, id), "exception "+id
		var ch Change
		switch {
		case x == nil && c.ended(&y.Expires):
			ch = at.added(exception(y)).as(Neutral, name+" is granted "+expiry(&y.Expires), "it has expired")
		case x == nil:
			ch = at.added(exception(y)).as(Widens, name+" is granted "+expiry(&y.Expires), y.Reason)
		case y == nil && c.ended(&x.Expires):
			ch = at.removed(exception(x)).as(Neutral, name+" has expired",
				"its time passed at "+x.Expires.UTC().Format(time.RFC3339))
		case y == nil:
			ch = at.removed(exception(x)).as(Narrows, name+" is gone", "")
		default:
			ch = excepted(c, at.changed(exception(x), exception(y)), x, y)
		}
		if ch.Exception = id; ch.Says != "" {
			c.add(ch)
		}
	}
}

func exception(e *profiles.Exception) string {
	return listed(lifted(e), "nothing") + " " + expiry(&e.Expires) + ", approved by " + listed(e.ApprovedBy, "nobody")
}

// lifted lists the grants of an exception.
func lifted(e *profiles.Exception) []string {
	return slices.Concat(e.Grants.Imports, e.Grants.Egress, e.Grants.Binaries)
}

// excepted compares two versions of one exception. What the exception grants is in the lists of the
// agent as well.
func excepted(c *comparer, ch Change, x, y *profiles.Exception) Change {
	name := "exception " + x.ID
	more := len(missing(lifted(y), lifted(x)))+len(missing(y.Lifts, x.Lifts)) > 0
	fewer := len(missing(lifted(x), lifted(y)))+len(missing(x.Lifts, y.Lifts)) > 0
	owners := len(missing(x.ApprovedBy, y.ApprovedBy))+len(missing(y.ApprovedBy, x.ApprovedBy)) > 0
	lifts := name + ": lifts " + nowWas(listed(lifted(y), "nothing"), listed(lifted(x), "nothing"))
	lasts := name + ": granted " + nowWas(expiry(&y.Expires), expiry(&x.Expires))
	switch {
	case c.ended(&x.Expires) && c.ended(&y.Expires):
		return ch.as(Neutral, name+" is written differently", "it has expired, then and now")
	case y.Expires.After(x.Expires):
		return ch.as(Widens, lasts, "")
	case more:
		return ch.as(Widens, lifts, "of "+listed(y.Lifts, "no layer"))
	case x.Expires.After(y.Expires):
		return ch.as(Narrows, lasts, "")
	case fewer:
		return ch.as(Narrows, lifts, "")
	case owners || x.Owner != y.Owner || x.Reason != y.Reason || x.Ticket != y.Ticket:
		ch.Old += ", " + x.Owner + ", " + x.Reason + " " + x.Ticket
		ch.New += ", " + y.Owner + ", " + y.Reason + " " + y.Ticket
		return ch.as(Neutral, name+" is described differently", "its owner and its reason grant nothing")
	default:
		return Change{}
	}
}
