package binding

import (
	"time"

	"github.com/ringd/ringd/rings/interpreter/pause"
)

// The default of the time that a run may wait, and its maximum.
const (
	defaultPause = 7 * 24 * time.Hour
	longestPause = 365 * 24 * time.Hour
)

// Expiry returns the end of a pause that begins now: the end of the shortest approval that
// it waits for, the limit on pauses of all that binds the run and of g, which may be nil, or
// the deadline of the grants of the run. approval says that it is an approval that ends
// first.
func (b *Binding) Expiry(p *pause.Record, now time.Time, g *Generation) (at time.Time, approval bool) {
	limit := defaultPause
	if l := b.Limits(g).PauseMillis; l != nil {
		limit = time.Duration(min(max(*l, 0), longestPause.Milliseconds())) * time.Millisecond
	}
	at = now.Add(limit)
	if d := b.Deadline(); d != nil && d.Before(at) {
		at = *d
	}
	for _, c := range p.Calls {
		if c.For == pause.ForApprover && c.Terms.Expires.Before(at) {
			at, approval = c.Terms.Expires, true
		}
	}
	return at, approval
}
