package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Link is the host's half of the guest protocol over one guest. It runs one
// program at a time and trusts nothing that the guest says: it counts bytes,
// calls and time itself, and kills the guest over anything out of order.
type Link struct {
	cfg   LinkConfig
	guest Guest
	s     *Stream
	ready Ready
}

// LinkConfig is what a Link needs. All fields must be set.
type LinkConfig struct {
	Go  func(func())     // runs a question of the program; waited for by Run
	Now func() time.Time // wall clock, monotonic
}

// ErrGuest is wrapped by the errors of a guest that is gone or did not keep the
// protocol. The run it had is over; the host is unharmed.
var ErrGuest = errors.New("guest")

// ErrGone is an ErrGuest that was gone before it said anything of a run: no
// effect of that run can have happened, so another guest may take it.
var ErrGone = fmt.Errorf("%w: gone before the program began", ErrGuest)

// Dial greets a guest and waits until it is ready. On error the guest is
// killed. A guest that says it is unavailable is an *Unavailable error.
func Dial(ctx context.Context, cfg LinkConfig, g Guest, hello Hello) (*Link, error) {
	l := &Link{cfg: cfg, guest: g, s: NewStream(g.Conn(), HostSide)}
	stop := context.AfterFunc(ctx, l.kill)
	err := l.greet(hello)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.kill()
		return nil, err
	}
	return l, nil
}

// Unavailable is the error of a guest that cannot run programs.
type Unavailable struct {
	Text string // why
	Fix  string // what to do; "" where Text says it
	// Short says that the host could not look, because it was short of something: whether
	// programs can run here is not known.
	Short bool
}

// Error returns the text.
func (u *Unavailable) Error() string { return u.Text }

// Later reports whether another try may end in another way.
func (u *Unavailable) Later() bool { return u.Short }

// refused is the denial of a start, with why the executor is unavailable.
type refused struct {
	*profiles.Denial
	why *Unavailable
}

// Unwrap gives both.
func (r *refused) Unwrap() []error { return []error{r.Denial, r.why} }

// Refused is the error of a start of an executor's guest: where that is Unavailable, a
// *profiles.Denial that says what to do, and a denial of the launcher as it is.
func Refused(executor string, err error) error {
	var denial *profiles.Denial
	var u *Unavailable
	switch {
	case errors.As(err, &denial):
		return err
	case !errors.As(err, &u):
		return fmt.Errorf("start %s guest: %w", executor, err)
	}
	d := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeExecutorUnavailable, Reason: u.Text}
	if u.Fix != "" {
		d.Instead = []string{u.Fix}
	}
	return &refused{&profiles.Denial{Capability: "executor " + executor, Decision: d}, u}
}

func (l *Link) greet(hello Hello) error {
	if err := l.s.Send(hello); err != nil {
		return fmt.Errorf("%w: greet: %w", ErrGuest, err)
	}
	m, err := l.s.Read()
	if err != nil {
		return fmt.Errorf("%w: wait for ready: %w", ErrGuest, err)
	}
	r, ok := m.(Ready)
	switch {
	case !ok:
		return fmt.Errorf("%w: %w: %T before ready", ErrGuest, ErrProtocol, m)
	case r.Version != ProtocolVersion:
		return fmt.Errorf("%w: %w: version %d, want %d", ErrGuest, ErrProtocol, r.Version, ProtocolVersion)
	case r.Unavailable != "":
		return &Unavailable{Text: r.Unavailable}
	}
	l.ready = r
	return nil
}

// Ready is what the guest said when it was greeted.
func (l *Link) Ready() Ready { return l.ready }

// Pending tells whether the guest has sent what nobody has read: behind the end of a
// run, something of its own.
func (l *Link) Pending() bool { return l.s.Pending() }

// Guest is the process behind the link.
func (l *Link) Guest() Guest { return l.guest }

// Close kills the guest and waits for it.
func (l *Link) Close() error {
	err := l.guest.Kill()
	return errors.Join(err, l.guest.Conn().Close())
}

// kill is Close where nobody can be told: the end of the guest shows on the
// connection.
func (l *Link) kill() { _ = l.Close() }

// cause says which of the host's own limits ended a guest.
type cause uint8

const (
	causeNone   cause = iota
	causeCtx          // the context ended
	causeWall         // wall time
	causeCPU          // the processor time backstop
	causeHost         // Ask returned an error, or the guest did not say its processor time
	causeBroken       // the guest broke the protocol or a bound
	causeSlow         // a pause or a restore took too long
)

// Work is one run for a guest. Options is JSON of the executor; the other fields
// are those of a Run.
type Work struct {
	Budget
	Options []byte
	Source  []byte
	Pause   <-chan struct{}
	Resume  *Resume
	Session bool
	Acts    bool // the guest itself may ask for actions; else one that does is ended
	Holds   bool // the program cannot be written down: it is held while people are asked
	Prints  bool // the guest itself hands on what goes to standard streams; else one that does is ended
	Denials int  // most refusals of its own that the guest says as they happen; one that says more is ended
	// Updated is called, in order, for what the guest says of an Update while it runs;
	// nil: one that says it is ended. An error ends the run, closed.
	Updated func(Updated) error
}

// Budget is what the host itself holds a run to.
type Budget struct {
	CPU         time.Duration // backstop: the guest's own limit is tighter
	Wall        time.Duration
	OutputBytes int64
	ResultBytes int64
	Move        time.Duration // how long a pause or a restore may take; 0 is 10 s
}

// slack is what the guest is given over its limits to report them itself.
const slack = 100 * time.Millisecond

// Run starts a program, or goes on with one, and serves it to its end or to its
// pause. The outcome lacks Attestation, and its usage is of this part of the run
// alone. again is true when the guest may take another program of the same
// agent, actor and revision; otherwise it is gone when Run returns. An error
// says that the end is not known (wrapping ErrGuest), that the host failed (the
// error of Ask), or that the snapshot was not restored (wrapping ErrSnapshot or
// ErrSlow);
// the outcome then still holds usage and console.
//
// No call of h is under way when Run returns, so Ask has to return soon after
// its context ended.
func (l *Link) Run(ctx context.Context, w Work, h Host) (out Outcome, again bool, err error) {
	r := &linkRun{l: l, h: h, work: w, room: make(chan struct{}, 1), open: map[string]openAsk{}, calls: map[string]int64{}, began: l.cfg.Now()}
	if w.Resume != nil {
		if err := r.adopt(w.Resume); err != nil {
			return Outcome{Engine: l.ready.Digest}, true, err // the guest knows nothing of it
		}
	}
	askCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := false
	defer func() {
		if !whole { // h panicked: the run's owner recovers, and no guest is left
			l.kill()
		}
	}()
	r.cancel = cancel
	if r.cpu0, err = processorTime(r); err != nil {
		return Outcome{}, false, err
	}
	r.base = l.s.BytesRead()
	stopCtx := context.AfterFunc(ctx, func() { r.end(causeCtx, nil) })
	r.startWall(w.Wall - r.used.Wall + slack)
	r.watchPause(askCtx)

	if err = r.begin(); err == nil {
		r.setTimer(r.cpuLimit() / 2)
		r.askAgain(askCtx)
		err = r.serve(askCtx)
	}
	if err == nil && (!r.isOpen() || r.isPausing()) {
		// The last answers were read, but their senders may still be under way. A
		// guest that lets one wait in the connection meets its wall limit. Questions
		// that a pause has cut off must be seen to have had no answer.
		r.asks.Wait()
	}
	stopCtx()
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrViolation) {
		r.end(causeCtx, nil) // who ended the run may have taken its guest as well, which was seen first
	}
	r.stopWall()
	cause, hostErr, quiet := r.finish(err)
	cancel(nil) // after finish: what a cut-off question returns is no failure of the host
	// Behind its end a guest that decides by itself may say Updated: the caller, who
	// asked for that, reads it with Confirm and then looks at Pending.
	again = cause == causeNone && quiet && r.said.Again && (w.Updated != nil || !l.s.Pending())
	out = r.outcome(cause)
	if !again {
		l.kill() // before the wait: an answer may be stuck in the connection
	}
	r.asks.Wait()
	r.watch.Wait()
	whole = true
	return out, again, l.fallen(r.fault(cause, hostErr, err))
}

// fallen adds to the error of a guest that is gone what its process ended by.
func (l *Link) fallen(err error) error {
	f, ok := l.guest.(Fallen)
	var reason *Reason
	if !ok || !errors.Is(err, ErrGuest) || errors.Is(err, ErrProtocol) || errors.As(err, &reason) {
		return err
	}
	return Because(err, f.Fell())
}

// linkRun is the state of one run on a link.
type linkRun struct {
	l      *Link
	h      Host
	work   Work
	used   Usage                   // of the parts of the run before this one
	cancel context.CancelCauseFunc // of the questions of this run
	began  time.Time
	cpu0   time.Duration // of the guest, when the program began or went on
	base   int64
	asks   sync.WaitGroup
	watch  sync.WaitGroup

	// Only the reader touches these.
	asked     uint64
	next      *question // taken, not yet asked
	console   []ConsoleEntry
	lines     int64 // console entries, of all parts of the run
	consumed  int64 // console bytes, the same
	calls     map[string]int64
	said      Result
	parts     [][]byte
	packed    int64               // their bytes
	restore   []byte              // the guest's bytes of the snapshot to go on from
	restoring bool                // it has not said that it could
	denied    []profiles.Decision // said before the end
	begun     bool                // the program has: its guest has asked for an act of it

	mu        sync.Mutex
	over      bool  // no kill after this
	cause     cause // of the first kill
	hostErr   error
	timer     *time.Timer
	open      map[string]openAsk
	openBytes int64
	answered  uint64
	waiting   bool
	waitFrom  time.Time
	hostWait  time.Duration
	idleAsked uint64        // asked, when the guest began to wait
	wanted    bool          // a pause was asked for
	pausing   bool          // and the guest was told
	keeping   bool          // the program of a session has ended, and its state comes
	stopped   time.Duration // processor time of the guest at either
	slow      *time.Timer
	wall      *time.Timer
	wallLeft  time.Duration
	wallFrom  time.Time     // when the timer was started last
	acting    int           // acts without an answer: meanwhile it stands still
	untaken   int64         // bytes of questions that wait for their turn
	room      chan struct{} // has a value when they may have become fewer
}

// openAsk is a call without an answer.
type openAsk struct {
	call  uint64
	bytes int64 // of its arguments
}

// end kills the guest of a run that is still on, for the first cause.
func (r *linkRun) end(c cause, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked(c, err)
}

func (r *linkRun) endLocked(c cause, err error) {
	if r.over || r.cause != causeNone {
		return
	}
	r.cause, r.hostErr = c, err
	r.cancel(nil) // the reader may be inside a question
	r.l.kill()
}

// mostAsked is how often a guest is asked for its processor time that does not answer.
const mostAsked = 10

// processorTime asks the guest, and again where it does not answer: one that is busy is
// late. It gives up when the run is over. The error is one of the guest, never a limit.
// The caller does not hold mu.
func processorTime(r *linkRun) (used time.Duration, err error) {
	over := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.over || r.cause != causeNone
	}
	for range mostAsked {
		if used, err = r.l.guest.CPU(); err == nil || over() {
			break
		}
	}
	if err != nil {
		return 0, Because(fmt.Errorf("%w: read processor time: %w", ErrGuest, err),
			"its first process did not say how much processor time it had, and it was ended")
	}
	return used, nil
}

// setTimer looks at the processor time after d, and again until the run is over:
// each time halfway to the limit, since a guest may keep two processors busy.
func (r *linkRun) setTimer(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.pausing || r.keeping {
		return
	}
	r.timer = time.AfterFunc(d, func() {
		if r.isPausing() || r.isKeeping() {
			return // their time bounds that
		}
		used, err := processorTime(r)
		if err != nil {
			r.end(causeHost, err)
			return
		}
		used -= r.cpu0
		limit := r.cpuLimit()
		if used >= limit {
			r.end(causeCPU, nil)
			return
		}
		r.setTimer(max((limit-used)/2, slack/10))
	})
}

// cpuLimit is the processor time after which the host itself ends this part.
func (r *linkRun) cpuLimit() time.Duration {
	left := max(r.work.CPU-r.used.CPU, 0)
	return left + left/4 + slack
}

// finish closes the run against later kills and answers and returns what ended
// it; quiet is true when no call is open that the guest still knows of.
func (r *linkRun) finish(err error) (c cause, hostErr error, quiet bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.stopSlowLocked()
	if err != nil {
		r.endLocked(causeBroken, nil)
	}
	r.over = true
	r.stopWaitLocked()
	return r.cause, r.hostErr, len(r.open) == 0 || r.said.State == StatePaused
}

// serve reads the guest until its Result.
func (r *linkRun) serve(ctx context.Context) error {
	for {
		r.mayRead(ctx)
		m, err := r.l.s.Read()
		if err != nil {
			return err
		}
		if n := r.l.s.BytesRead() - r.base; n > MaxRunBytes+r.work.ResultBytes+r.packed {
			return fmt.Errorf("%w: %d bytes in one run", ErrProtocol, n)
		}
		if _, end := m.(Result); !end && r.stopping() {
			if err := r.part(m); err != nil {
				return err
			}
			continue
		}
		switch m := m.(type) {
		case Part:
			err = r.part(m)
		case Ask:
			r.askNext(ctx)
			err = r.take(r.ask(m))
		case Act:
			r.askNext(ctx)
			err = r.take(r.act(m))
		case Line:
			err = r.line(m)
		case Idle:
			err = r.idle(ctx, m)
		case Updated:
			err = r.updated(m)
		case Denied:
			err = r.deniedNow(m)
		case Result:
			r.askNext(ctx)
			return r.result(m)
		default:
			err = fmt.Errorf("%w: %T while a program runs", ErrProtocol, m)
		}
		if err != nil {
			return err
		}
		if !r.l.s.Pending() {
			r.askNext(ctx)
		}
	}
}

// question is a call on its way to the host.
type question struct {
	call uint64
	size int64 // of what the guest sent
	Question
}

// askNext asks what was taken last, beside the reader.
func (r *linkRun) askNext(ctx context.Context) {
	if q := r.next; q != nil {
		r.next = nil
		r.asks.Add(1)
		r.l.cfg.Go(func() {
			defer r.asks.Done()
			r.answer(ctx, q)
		})
	}
}

// take numbers a question and keeps it to be asked.
func (r *linkRun) take(q *question, err error) error {
	if err != nil {
		return err
	}
	r.asked++
	if q.call != r.asked {
		return fmt.Errorf("%w: call %d, want %d", ErrProtocol, q.call, r.asked)
	}
	q.Call = callID(q.call)
	r.mu.Lock()
	r.open[q.Call] = openAsk{call: q.call, bytes: q.size}
	r.openBytes += q.size
	r.untakenLocked(q)
	r.actingLocked(q.Question, 1)
	tooMany := len(r.open) > MaxOpenAsks || r.openBytes > MaxOpenBytes
	over := r.cause != causeNone
	r.mu.Unlock()
	if tooMany {
		return fmt.Errorf("%w: too many open calls", ErrProtocol)
	}
	if over {
		return fmt.Errorf("%w: killed", ErrGuest)
	}
	name := q.counted()
	if _, known := r.calls[name]; known || len(r.calls) < MaxOpenAsks {
		r.calls[name]++
	}
	r.next = q
	return nil
}

// answer asks the host and sends what it says.
func (r *linkRun) answer(ctx context.Context, q *question) {
	if r.work.Holds {
		q.Hold = r.holder()
	}
	if q.Taken != nil {
		defer q.Taken() // whatever the host left
	}
	a, err := r.h.Ask(ctx, q.Question)
	if q.Hold != nil {
		q.Hold(false) // whatever the host left
	}
	if err != nil && r.isPausing() {
		if !errors.Is(err, ErrPaused) && !errors.Is(err, context.Canceled) {
			r.end(causeHost, err)
		}
		return // it stays open
	}
	if err != nil && ctx.Err() != nil {
		r.end(causeCtx, nil)
		return
	}
	if err != nil {
		r.end(causeHost, err)
		return
	}
	a = q.decided(a)
	reply := Reply{Call: q.call, Value: a.Value}
	switch {
	case a.Error != nil:
		reply = Reply{Call: q.call, Name: a.Error.Name, Message: a.Error.Message}
		if reply.Name == "" || len(reply.Name) > maxNameBytes {
			reply.Name = profiles.ErrorBridge
		}
	case len(a.Value) > 0 && !json.Valid(a.Value):
		reply = Reply{Call: q.call, Name: profiles.ErrorBridge, Message: "the result of " + q.name() + " is not a value"}
	}
	if !r.settle(q.Question) {
		return
	}
	if err := r.l.s.Put(reply); err != nil {
		reply = Reply{Call: q.call, Name: profiles.ErrorResultTooLarge, Message: "the result of " + q.name() + " is too large"}
		if err := r.l.s.Put(reply); err != nil {
			r.end(causeHost, err)
			return
		}
	}
	// A failed write shows on the reader: the guest is gone. No lock is held, so
	// that a guest which does not read can be killed.
	_ = r.l.s.Flush()
}

// settle takes a call off the open ones; false: the run is over.
func (r *linkRun) settle(q Question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.cause != causeNone {
		return false
	}
	if r.pausing { // the snapshot is of a program that waits for this answer
		r.endLocked(causeHost, fmt.Errorf("pause: call %s was answered meanwhile", q.Call))
		return false
	}
	r.openBytes -= r.open[q.Call].bytes
	delete(r.open, q.Call)
	r.actingLocked(q, -1)
	r.answered++
	r.stopWaitLocked()
	return true
}

func (r *linkRun) isOpen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) > 0
}

func (r *linkRun) stopWaitLocked() {
	if r.waiting {
		r.waiting = false
		r.hostWait += r.l.cfg.Now().Sub(r.waitFrom)
	}
}

func (r *linkRun) line(m Line) error {
	switch m.Level {
	case "log", "info", "warn", "error", "debug":
	case LevelStdout, LevelStderr:
		if !r.work.Prints {
			return fmt.Errorf("%w: console level %q of a guest without streams", ErrProtocol, m.Level)
		}
	default:
		return fmt.Errorf("%w: console level %q", ErrProtocol, m.Level)
	}
	// An entry costs a byte beside its text, so that empty ones are bounded too.
	r.consumed += int64(len(m.Text)) + 1
	if r.consumed > r.work.OutputBytes {
		return fmt.Errorf("%w: console output over %d bytes", ErrProtocol, r.work.OutputBytes)
	}
	r.lines++
	e := ConsoleEntry{Seq: r.lines, Level: m.Level, Text: m.Text}
	r.console = append(r.console, e)
	r.h.Console(e)
	return nil
}

func (r *linkRun) idle(ctx context.Context, m Idle) error {
	r.mu.Lock()
	if m.Seen > r.answered || len(r.open) == 0 && m.Seen == r.answered {
		r.mu.Unlock()
		return fmt.Errorf("%w: idle with no open call", ErrProtocol)
	}
	if m.Seen < r.answered { // an answer has overtaken it
		r.mu.Unlock()
		return nil
	}
	r.waiting, r.waitFrom, r.idleAsked = true, r.l.cfg.Now(), r.asked
	stop := r.wanted
	open := make([]string, 0, len(r.open))
	for id := range r.open {
		open = append(open, id)
	}
	r.mu.Unlock()
	r.h.Idle(open)
	if q := r.next; q != nil && len(open) == 1 && !stop {
		// It is the one call that the program waits for, so the guest has nothing to
		// say before its answer: the reader can ask it itself, which saves two
		// changes of thread. A kill ends the question's context.
		r.next = nil
		r.answer(ctx, q)
		return nil
	}
	r.askNext(ctx) // before a pause: the host has to know every call that stays open
	r.tryPause()
	return nil
}
