package executors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// moveTime limits a pause or a restore if Budget.Move is zero.
const moveTime = 10 * time.Second

// adopt continues the counts of the parts of the run before this one.
func (r *linkRun) adopt(from *Resume) error {
	k, err := checkResume(from)
	if err != nil {
		return err
	}
	r.used, r.asked, r.consumed, r.lines = from.Used, k.asked, k.consumed, k.lines
	r.restore, r.restoring = k.guest, true
	for _, n := range k.open {
		r.open[callID(n)] = openAsk{call: n}
	}
	for _, q := range from.Open {
		bytes := sizeOf(q)
		r.open[q.Call] = openAsk{call: r.open[q.Call].call, bytes: bytes}
		r.openBytes += bytes
	}
	return nil
}

// begin sends the program, or sends the snapshot and waits until it is restored.
func (r *linkRun) begin() error {
	s := r.l.s
	if r.work.Resume == nil {
		return s.Send(Start{Options: r.work.Options, Source: r.work.Source})
	}
	r.startSlow()
	err := s.Send(
		Restore{Options: r.work.Options, Source: r.work.Source, Asked: r.asked, Bytes: uint64(len(r.restore))},
	)
	for piece := range slices.Chunk(r.restore, PartBytes) {
		if err == nil {
			err = s.Send(Load{Bytes: piece})
		}
	}
	r.restore = nil
	if err != nil {
		return err
	}
	m, err := s.Read()
	if err != nil {
		return err
	}
	done, ok := m.(Restored)
	switch {
	case !ok:
		return fmt.Errorf("%w: %T before restored", ErrProtocol, m)
	case done.Failure != "":
		return fmt.Errorf("%w: %s", ErrSnapshot, done.Failure)
	}
	r.restoring = false
	used, err := processorTime(r)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopSlowLocked()
	r.cpu0 = used
	return nil
}

// unrestored is the error of a run whose guest did not report that it continues. No statement of the program
// has run.
func (r *linkRun) unrestored(c cause, err error) error {
	switch {
	case errors.Is(err, ErrSnapshot):
		return err
	case c == causeSlow:
		return fmt.Errorf("%w: it took longer than %v", ErrSlow, r.move())
	case r.goneBeforeBegin(err):
		return fmt.Errorf("%w: %w", ErrSnapshot, ErrGone)
	default:
		return fmt.Errorf("%w: %w: %w", ErrSnapshot, ErrGuest, err)
	}
}

// askAgain repeats the questions that were open when the program was stopped.
func (r *linkRun) askAgain(ctx context.Context) {
	if r.work.Resume == nil {
		return
	}
	var list []*question
	r.mu.Lock()
	for _, q := range r.work.Resume.Open {
		r.actingLocked(q, 1)
		list = append(list, &question{call: r.open[q.Call].call, Question: q})
	}
	r.mu.Unlock()
	for _, q := range list {
		r.asks.Add(1)
		r.l.cfg.Go(func() {
			defer r.asks.Done()
			r.answer(ctx, q)
		})
	}
}

// watchPause waits, in its own goroutine, for the request to pause.
func (r *linkRun) watchPause(ctx context.Context) {
	if r.work.Pause == nil {
		return
	}
	r.watch.Add(1)
	r.l.cfg.Go(func() {
		defer r.watch.Done()
		select {
		case <-r.work.Pause:
			r.mu.Lock()
			r.wanted = true
			r.mu.Unlock()
			r.tryPause()
		case <-ctx.Done():
		}
	})
}

// tryPause sends Pause if one was requested and the guest waits. The guest waits if it sent Idle and no answer
// has crossed that. Then it is reading, and from here on no answer is sent.
func (r *linkRun) tryPause() {
	may := func() bool {
		return r.wanted && !r.pausing && !r.keeping && r.wait.now && !r.over && r.cause == causeNone
	}
	r.mu.Lock()
	now := may()
	r.mu.Unlock()
	if !now {
		return
	}
	used, err := processorTime(r)
	r.mu.Lock()
	if !may() { // an answer or the end came meanwhile
		r.mu.Unlock()
		return
	}
	if err != nil {
		r.endLocked(causeHost, err)
		r.mu.Unlock()
		return
	}
	r.stopped, r.pausing = used, true
	m := Pause{Seen: r.answered, Asked: r.idleAsked}
	r.startSlowLocked()
	r.mu.Unlock()
	r.cancel(ErrPaused) // the reader may be inside a question, and has to read the next messages
	_ = r.l.s.Send(m)   // a failed write shows on the reader: the guest is gone
}

func (r *linkRun) isPausing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pausing
}

func (r *linkRun) isKeeping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keeping
}

// beginState marks the end of a session's program. From here on the guest sends its state. That is charged neither as
// processor time nor as wall time.
func (r *linkRun) beginState() error {
	if r.isKeeping() || r.isPausing() {
		return nil
	}
	used, err := processorTime(r)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeping || r.pausing {
		return nil
	}
	r.stopped, r.keeping = used, true
	r.startSlowLocked()
	return nil
}

// stopping reports whether the guest may send nothing but the rest of its snapshot.
func (r *linkRun) stopping() bool { return r.packed > 0 || r.isPausing() }

// part stores a piece of the snapshot.
func (r *linkRun) part(m Message) error {
	p, ok := m.(Part)
	switch {
	case !ok:
		return fmt.Errorf("%w: %T from a program that was stopped", ErrProtocol, m)
	case !r.isPausing() && !r.work.Session:
		return fmt.Errorf("%w: a snapshot that nobody asked for", ErrProtocol)
	case r.packed+int64(len(p.Bytes)) > MaxSnapshotBytes:
		return fmt.Errorf("%w: a snapshot over %d bytes", ErrProtocol, MaxSnapshotBytes)
	}
	r.parts = append(r.parts, p.Bytes)
	r.packed += int64(len(p.Bytes))
	return r.beginState()
}

// keeps reports whether a program that ended with s may keep its state: it is a session, ended cleanly, with no
// open call.
func (r *linkRun) keeps(s State) bool {
	return r.work.Session && !r.isPausing() && !r.isOpen() && (s == StateDone || s == StateFailed || s == StateDenied)
}

// snapshot returns the snapshot of the outcome, or nil if there is none.
func (r *linkRun) snapshot() []byte {
	if r.packed == 0 || r.said.State != StatePaused && r.said.Unkept != "" {
		return nil
	}
	k := runCounts{}
	if r.said.State == StatePaused {
		k = runCounts{asked: r.asked, consumed: r.consumed, lines: r.lines}
		for _, o := range r.open {
			k.open = append(k.open, o.call)
		}
		slices.Sort(k.open)
	}
	return k.encode(r.parts)
}

func (r *linkRun) move() time.Duration {
	if r.work.Move > 0 {
		return r.work.Move
	}
	return moveTime
}

func (r *linkRun) startSlow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startSlowLocked()
}

func (r *linkRun) startSlowLocked() {
	r.slow = time.AfterFunc(r.move(), func() { r.end(causeSlow, nil) })
}

func (r *linkRun) stopSlowLocked() {
	if r.slow != nil {
		r.slow.Stop()
		r.slow = nil
	}
}

// brokenError is the error of a run that the guest, or the host, cut short.
func (r *linkRun) brokenError(c cause) *ProgramError {
	switch {
	case c == causeSlow && r.isPausing():
		return &ProgramError{
			Name: "PauseFailed", Message: fmt.Sprintf("the program could not be stopped within %v", r.move()),
		}
	case c == causeSlow && r.isKeeping():
		return &ProgramError{
			Name:    "PauseFailed",
			Message: fmt.Sprintf("the state of the session could not be saved within %v", r.move()),
		}
	case c == causeBroken && r.isPausing():
		return &ProgramError{
			Name: "PauseFailed", Message: "the guest process ended while the program was being stopped",
		}
	default:
		return &ProgramError{Name: "GuestError", Message: "the guest process ended unexpectedly"}
	}
}
