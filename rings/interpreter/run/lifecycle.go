package run

import (
	"context"
	"sync"

	"github.com/ringd/ringd/rings/interpreter/budget"
)

// phase says what happens to the guest of a run.
type phase uint8

const (
	phaseRunning phase = iota // the program runs, or waits in its guest
	phasePausing              // the executor was asked to stop the program; no call is settled
	phaseKeeping              // the program has stopped; the pause is being committed
	phaseHeld                 // there is no guest: the run is live for its subagents only
	phasePaused               // there is no guest, and the pause is kept
)

// lifecycle is the state machine of one life of a run, and has the lock of the run. A run
// moves from phaseRunning over phasePausing and phaseKeeping to phasePaused, or back to
// phaseRunning if its pause cannot be kept. A run without a guest is in phaseHeld and moves
// to phasePaused. It may end in each phase but phaseKeeping and phasePaused.
type lifecycle struct {
	done   chan struct{}           // closed once this life of the run is over
	asking chan struct{}           // one value asks the executor to stop the program
	stop   context.CancelCauseFunc // ends the context of the run; set before the run is live

	// mu guards what follows, and the callBook, the report and the reach of the Run. It is
	// never held while a record is written or an effect is performed.
	mu      sync.Mutex
	phase   phase
	changed chan struct{} // closed at the next change of phase; nil while no caller waits
	ended   bool          // no effect of the run may begin
	why     *ending       // why the ring ended it; nil if the program ended
	unknown bool          // the result of an act with external power is lost
	busy    int           // questions that are being answered
	idle    chan struct{} // closed once no question is being answered and none can begin
	quiet   bool          // idle is closed
	clock   *budget.Clock // of the wall clock limit
	err     error
}

// Done returns a channel that is closed once this life of the run is over: its outcome is
// final and its record is written, or it is paused and kept. No provider works for it any
// more. View says which.
func (l *lifecycle) Done() <-chan struct{} { return l.done }

// Err returns, once Done is closed, why a resumed run did not begin: the error of the
// executor, such as executors.ErrEngine or executors.ErrSnapshot, or that no guest could
// be started. No call was settled then, and the pause is still valid. Otherwise it is nil.
func (l *lifecycle) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Hold makes a restored run live without a guest.
func (l *lifecycle) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setPhaseLocked(phaseHeld)
}

// IsHeld reports whether the run is live without a guest.
func (l *lifecycle) IsHeld() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phaseHeld && !l.ended
}

// WaitWhileStopping waits until the run is not on its way to a pause: it runs, is paused
// or has ended. The error is that of ctx.
func (l *lifecycle) WaitWhileStopping(ctx context.Context) error {
	if err := l.lockNotStopping(ctx); err != nil {
		return err
	}
	l.mu.Unlock()
	return nil
}

// lockNotStopping locks the run at a moment when the run is not about to pause. If ctx ends first, it returns the
// error of ctx, and the lock is not held.
func (l *lifecycle) lockNotStopping(ctx context.Context) error {
	for {
		l.mu.Lock()
		wait := l.stoppingLocked()
		if wait == nil {
			return nil
		}
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stoppingLocked returns nil if the run is not on its way to a pause. Otherwise it returns
// a channel that is closed once it is known whether the run is paused.
func (l *lifecycle) stoppingLocked() <-chan struct{} {
	if !l.isStoppingLocked() {
		return nil
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// isStoppingLocked reports whether the run is on its way to a pause.
func (l *lifecycle) isStoppingLocked() bool {
	return l.phase == phasePausing || l.phase == phaseKeeping
}

// setPhaseLocked moves to a phase and wakes the callers that wait for a change.
func (l *lifecycle) setPhaseLocked(to phase) {
	l.phase = to
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// closeIdleLocked closes idle if no question is being answered and none can begin.
func (l *lifecycle) closeIdleLocked() {
	if l.busy == 0 && !l.quiet && (l.ended || l.phase == phaseKeeping) {
		l.quiet = true
		close(l.idle)
	}
}

// leaveQuestion decreases the number of questions that are being answered.
func (l *lifecycle) leaveQuestion() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	l.closeIdleLocked()
}

// markUnknown notes that the result of an act with external power is lost.
func (l *lifecycle) markUnknown() {
	l.mu.Lock()
	l.unknown = true
	l.mu.Unlock()
}
