package watch

import (
	"errors"
	"sync"
)

// ErrUnseen is wrapped when the audit log of the kernel is not to be had; the
// text says why and what would help.
var ErrUnseen = errors.New("what Landlock refuses is not seen")

// Told is whom a Follower tells of one guest.
type Told struct {
	// Report is given each violation, one at a time. What cannot be reported ends
	// the guest. It must not close the Follower.
	Report func(Violation) error
	// End is called once, in a goroutine of its own, when a violation could not be
	// reported or ends the guest.
	End func(Violation, error)
	// Sealed says that the guest needs nothing of what Landlock decides: its first
	// violation ends it.
	Sealed bool
}

// guests are those that a Follower tells of, by the process that made their
// Landlock domain.
type guests struct {
	mu   sync.Mutex
	told map[int]*followed // under mu
}

type followed struct {
	told  Told
	mu    sync.Mutex // one report at a time
	tally tally      // under mu
	ended bool       // under mu
}

func (g *guests) add(pid int, t Told) (stop func()) {
	f := &followed{told: t}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told == nil {
		g.told = map[int]*followed{}
	}
	g.told[pid] = f
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.told[pid] == f {
			delete(g.told, pid)
		}
	}
}

func (g *guests) of(pid int) *followed {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told[pid]
}

// tell reports one violation.
func (f *followed) tell(v Violation, goes func(func())) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	v.End = f.told.Sealed
	v, tell := f.tally.add(v)
	if !tell && !v.End {
		return
	}
	if err := f.told.Report(v); err != nil || v.End {
		f.ended = true
		goes(func() { f.told.End(v, err) })
	}
}
