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

// Link is the host's half of the guest protocol over one guest. It runs one program at a time and trusts
// nothing that the guest says: it counts bytes, calls and time itself, and kills the guest on any violation of
// the protocol.
type Link struct {
	cfg   LinkConfig
	guest Guest
	s     *Stream
	ready Ready
}

// LinkConfig is what a Link needs. All fields must be set.
type LinkConfig struct {
	Go  func(func())     // runs a question of the program in its own goroutine; Run waits for it
	Now func() time.Time // wall clock, monotonic
}

// ErrGuest is wrapped by the errors of a guest that is gone or did not keep the protocol. Its run is over. The
// host is unharmed.
var ErrGuest = errors.New("guest")

// ErrGone is an ErrGuest of a guest that was gone before it said anything about the run. No effect of that run
// can have happened, so the caller may retry with another guest.
var ErrGone = fmt.Errorf("%w: gone before the program began", ErrGuest)

// Dial greets a guest and waits until it is ready. On error the guest is killed. A guest that reports itself as
// unavailable is an *Unavailable error.
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
	Text string // the reason
	Fix  string // what to do; empty if Text says it
	// Short says that the host was short of a resource and could not check. It is not known whether programs
	// can run here.
	Short bool
}

// Error returns Text.
func (u *Unavailable) Error() string { return u.Text }

// Later reports whether a retry may succeed.
func (u *Unavailable) Later() bool { return u.Short }

// refused is the denial of a start together with the reason why the executor is unavailable.
type refused struct {
	*profiles.Denial
	why *Unavailable
}

// Unwrap returns both.
func (r *refused) Unwrap() []error { return []error{r.Denial, r.why} }

// Refused returns the error of a failed start of an executor's guest. An Unavailable becomes a *profiles.Denial
// that says what to do. A denial of the launcher stays as it is.
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

// Ready returns the message with which the guest answered the greeting.
func (l *Link) Ready() Ready { return l.ready }

// Pending reports whether the guest has sent bytes that were not read yet. After the end of a run these are not
// part of it.
func (l *Link) Pending() bool { return l.s.Pending() }

// Guest returns the process behind the link.
func (l *Link) Guest() Guest { return l.guest }

// Close kills the guest and waits for it.
func (l *Link) Close() error {
	err := l.guest.Kill()
	return errors.Join(err, l.guest.Conn().Close())
}

// kill is Close without its error: the end of the guest shows on the connection.
func (l *Link) kill() { _ = l.Close() }

// cause says which of the host's own limits ended a guest.
type cause uint8

const (
	causeNone   cause = iota
	causeCtx          // the context ended
	causeWall         // wall time
	causeCPU          // the backstop of the processor time
	causeHost         // Ask returned an error, or the guest did not report its processor time
	causeBroken       // the guest violated the protocol or one of its limits
	causeSlow         // a pause or a restore took too long
)

// Work is one run for a guest. Options is JSON in a format of the executor. The other fields are those of a
// Run.
type Work struct {
	Budget
	Options []byte
	Source  []byte
	Pause   <-chan struct{}
	Resume  *Resume
	Session bool
	Acts    bool // the guest itself may ask for actions; otherwise a guest that does so is ended
	Holds   bool // no snapshot of the program can be taken: it is held while people are asked
	Prints  bool // the guest itself forwards standard output; otherwise a guest that does so is ended
	// max. number of its own denials that the guest may report as they happen; a guest that reports more is
	// ended
	Denials int
	// Updated is called, in order, for each Updated that the guest sends while it runs. If it is nil, a guest
	// that sends one is ended. An error ends the run, fail closed.
	Updated func(Updated) error
}

// Budget holds the limits that the host itself enforces on a run.
type Budget struct {
	CPU         time.Duration // backstop: the guest's own limit is tighter
	Wall        time.Duration
	OutputBytes int64
	ResultBytes int64
	Move        time.Duration // max. time of a pause or a restore; if 0, 10 s
}

// slack is added to the limits of a guest, so that it can report them itself.
const slack = 100 * time.Millisecond

// Run starts a program, or continues one, and serves it to its end or to its pause. The outcome lacks
// Attestation, and its usage covers only this part of the run.
//
// If again is true, the guest may take another program of the same agent, actor and revision. Otherwise the
// guest is gone when Run returns.
//
// An error says that the end is not known (wrapping ErrGuest), that the host failed (the error of Ask), or that
// the snapshot was not restored (wrapping ErrSnapshot or ErrSlow). The outcome then still holds usage and
// console.
//
// No call of h is under way when Run returns, so Ask has to return soon after its context ends.
func (l *Link) Run(ctx context.Context, w Work, h Host) (out Outcome, again bool, err error) {
	r := &linkRun{
		l: l, h: h, work: w, room: make(chan struct{}, 1), open: map[string]openAsk{}, calls: map[string]int64{},
		began: l.cfg.Now(),
	}
	if w.Resume != nil {
		if err := r.adopt(w.Resume); err != nil {
			return Outcome{Engine: l.ready.Digest}, true, err // the guest was not told about it
		}
	}
	askCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := false
	defer func() {
		if !whole { // h panicked: the owner of the run recovers, and no guest is left
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
		// The last answers were read, but the goroutines that sent them may still be running. A guest that
		// leaves one waiting in the connection hits its wall limit. For questions that a pause has cut off, it
		// must be certain that they got no answer.
		r.asks.Wait()
	}
	stopCtx()
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrViolation) {
		r.end(causeCtx, nil) // the end of ctx may have ended the guest too, which was seen first
	}
	r.stopWall()
	cause, hostErr, quiet := r.finish(err)
	cancel(nil) // after finish: the result of a cut-off question is no failure of the host
	// A guest that decides by itself may send Updated after its end. The caller, who asked for that, reads it
	// with Confirm and then checks Pending.
	again = cause == causeNone && quiet && r.said.Again && (w.Updated != nil || !l.s.Pending())
	out = r.outcome(cause)
	if !again {
		l.kill() // before the wait: an answer may be stuck in the connection
	}
	r.asks.Wait()
	r.watch.Wait()
	whole = true
	return out, again, l.withProcessEnd(r.fault(cause, hostErr, err))
}

// withProcessEnd adds to the error of a guest that is gone the reason why its process ended.
func (l *Link) withProcessEnd(err error) error {
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
	cancel context.CancelCauseFunc // cancels the questions of this run
	began  time.Time
	cpu0   time.Duration // processor time of the guest when the program began or continued
	base   int64
	asks   sync.WaitGroup
	watch  sync.WaitGroup

	// The reader alone uses these.
	asked     uint64
	next      *question // taken, not yet asked
	turn      *Turn     // of the question that was taken last
	console   []ConsoleEntry
	lines     int64 // console entries of all parts of the run
	consumed  int64 // console bytes of all parts of the run
	calls     map[string]int64
	said      Result
	parts     [][]byte
	packed    int64               // bytes of the pieces of the snapshot
	restore   []byte              // the guest's bytes of the snapshot to continue from
	restoring bool                // Restore was sent, Restored has not arrived
	denied    []profiles.Decision // reported before the end
	begun     bool                // the program has begun: its guest has asked for an act of it

	mu        sync.Mutex
	over      bool  // no kill after this
	cause     cause // of the first kill
	hostErr   error
	timer     *time.Timer
	open      map[string]openAsk
	openBytes int64
	answered  uint64
	wait      hostWait
	idleAsked uint64        // value of asked when the guest began to wait
	wanted    bool          // a pause was requested
	pausing   bool          // the pause was sent to the guest
	keeping   bool          // the program of a session has ended, and its state is being read
	stopped   time.Duration // processor time of the guest at the pause or at the end
	slow      *time.Timer
	wall      *time.Timer
	wallLeft  time.Duration
	wallFrom  time.Time     // when the timer was last started
	acting    int           // acts without an answer: while there is one, the timer is stopped
	untaken   int64         // bytes of questions that wait for their turn
	room      chan struct{} // has a value if untaken may have become smaller
}

// hostWait is how long a guest has waited for the host.
type hostWait struct {
	now   bool // it waits
	from  time.Time
	total time.Duration // without the present wait
}

// openAsk is a call without an answer.
type openAsk struct {
	call  uint64
	bytes int64 // bytes of its arguments
}

// end kills the guest of a run that is not over. The first cause is kept.
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

// mostAsked is how often a guest that does not answer is asked for its processor time.
const mostAsked = 10

// processorTime asks the guest for its processor time, and retries if there is no answer: a busy guest is late.
// It gives up when the run is over. An error is a fault of the guest, never a limit. The caller must not hold
// mu.
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

// setTimer reads the processor time after d, and then again until the run is over. Each wait is half the way to
// the limit, since a guest may keep two processors busy.
func (r *linkRun) setTimer(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.pausing || r.keeping {
		return
	}
	r.timer = time.AfterFunc(d, func() {
		if r.isPausing() || r.isKeeping() {
			return // their own time limit applies
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

// cpuLimit is the processor time after which the host itself ends this part of the run.
func (r *linkRun) cpuLimit() time.Duration {
	left := max(r.work.CPU-r.used.CPU, 0)
	return left + left/4 + slack
}

// finish marks the run as over: later kills and answers have no effect. It returns the cause that ended it.
// quiet is true if the guest knows of no open call.
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

// serve reads from the guest until its Result.
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
	size int64 // bytes that the guest sent for it
	Question
}

// askNext asks the question that was received last, in a new goroutine.
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
	r.turn = r.turn.After()
	q.Turn = r.turn
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

// answer asks the host and sends the answer to the guest.
func (r *linkRun) answer(ctx context.Context, q *question) {
	if r.work.Holds {
		q.Hold = r.holder()
	}
	if q.Taken != nil {
		defer q.Taken() // if the host did not call it
	}
	defer q.Turn.End() // if the host did not
	a, err := r.h.Ask(ctx, q.Question)
	if q.Hold != nil {
		q.Hold(false) // if the host did not call it
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
		reply = Reply{
			Call: q.call, Name: profiles.ErrorBridge, Message: "the result of " + q.name() + " is not a value",
		}
	}
	if !r.settle(q.Question) {
		return
	}
	if err := r.l.s.Put(reply); err != nil {
		reply = Reply{
			Call: q.call, Name: profiles.ErrorResultTooLarge, Message: "the result of " + q.name() + " is too large",
		}
		if err := r.l.s.Put(reply); err != nil {
			r.end(causeHost, err)
			return
		}
	}
	// A failed write shows on the reader: the guest is gone. No lock is held, so that a guest which does not
	// read can be killed.
	_ = r.l.s.Flush()
}

// settle removes a call from the open ones. It returns false if the run is over.
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
	if r.wait.now {
		r.wait.now = false
		r.wait.total += r.l.cfg.Now().Sub(r.wait.from)
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
	// An entry costs one byte in addition to its text, so that the number of empty ones is limited too.
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
	if m.Seen < r.answered { // an answer was sent after the guest sent this Idle
		r.mu.Unlock()
		return nil
	}
	r.wait.now, r.wait.from, r.idleAsked = true, r.l.cfg.Now(), r.asked
	stop := r.wanted
	open := make([]string, 0, len(r.open))
	for id := range r.open {
		open = append(open, id)
	}
	r.mu.Unlock()
	r.h.Idle(open)
	if q := r.next; q != nil && len(open) == 1 && !stop {
		// It is the only call that the program waits for, so the guest sends nothing before its answer. The
		// reader can ask it itself, which saves two thread switches. A kill ends the question's context.
		r.next = nil
		r.answer(ctx, q)
		return nil
	}
	r.askNext(ctx) // before a pause: the host has to know every call that stays open
	r.tryPause()
	return nil
}
