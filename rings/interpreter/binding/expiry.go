package binding

import (
	"time"

	"github.com/ringd/ringd/rings/interpreter/pause"
)

// How long a run may wait whose policies do not say, and at most.
const (
	defaultPause = 7 * 24 * time.Hour
	longestPause = 365 * 24 * time.Hour
)

// Expiry is when a pause that begins now ends: by the shortest approval it waits
// for, the limit on pauses under all that binds the run and under g, which may be
// nil, or the deadline of the run's grants.
func (b *Binding) Expiry(p *pause.Record, now time.Time, g *Generation) (at time.Time, approval bool) {
	may := defaultPause
	if l := b.Limits(g).PauseMillis; l != nil {
		may = time.Duration(min(max(*l, 0), longestPause.Milliseconds())) * time.Millisecond
	}
	at = now.Add(may)
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
