package violations

import (
	"errors"
	"sync"
)

// ErrUnseen is wrapped if the audit log of the kernel is not available. The text says why and what would help.
var ErrUnseen = errors.New("refusals of Landlock are not recorded")

// Told has the callbacks of a Follower for one guest.
type Told struct {
	// Report is called with each violation, one at a time. A guest whose violation cannot be reported is ended.
	// Report must not close the Follower.
	Report func(Violation) error
	// End is called once, in a goroutine of its own, if a violation could not be reported or ends the guest.
	End func(Violation, error)
	// Sealed says that the guest needs nothing that Landlock decides: its first violation ends it.
	Sealed bool
}

// guests are the guests of a Follower, by the threads of which one made their Landlock domain.
type guests struct {
	mu   sync.Mutex
	told map[int]*followed // under mu
	// over are guests that have ended, oldest first. The log is behind, and its remaining records of them are
	// still theirs. Under mu.
	over []*followed
}

// maxOver is how many guests that have ended are kept.
const maxOver = 64

type followed struct {
	told    Told
	pid     int
	threads []int
	mu      sync.Mutex // one report at a time
	tally   tally      // under mu
	ended   bool       // under mu
}

func (g *guests) add(pid int, threads []int, t Told) (stop func()) {
	f := &followed{told: t, pid: pid, threads: threads}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told == nil {
		g.told = map[int]*followed{}
	}
	for _, id := range threads {
		g.told[id] = f
	}
	var once sync.Once
	return func() { once.Do(func() { g.end(f) }) }
}

// end adds f to the ended guests and removes the one that ended longest ago.
func (g *guests) end(f *followed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = append(g.over, f)
	if len(g.over) > maxOver {
		g.forgetLocked(g.over[0])
		g.over = g.over[1:]
	}
}

func (g *guests) forgetLocked(f *followed) {
	for _, id := range f.threads {
		if g.told[id] == f { // otherwise another thread has its number by now
			delete(g.told, id)
		}
	}
}

// gone removes the guest of a domain that no longer exists, if the guest has ended.
func (g *guests) gone(thread int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, f := range g.over {
		if g.told[thread] == f {
			g.forgetLocked(f)
			g.over = append(g.over[:i], g.over[i+1:]...)
			return
		}
	}
}

func (g *guests) of(thread int) *followed {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told[thread]
}

// tell reports one violation.
func (f *followed) tell(v Violation, goes func(func())) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	v.PID, v.End = f.pid, f.told.Sealed
	v, tell := f.tally.add(v)
	if !tell && !v.End {
		return
	}
	if err := f.told.Report(v); err != nil || v.End {
		f.ended = true
		goes(func() { f.told.End(v, err) })
	}
}
