// Package lockdown owns whether everything on this host is closed, by a person's
// or a signed word.
//
// Closing comes first and waits for nothing: from the moment Begin is called every
// decision is a denial, runs end and connections are cut; only then it is written
// down, and whoever asked is told when it could not be. Lifting is the other way
// round: what cannot be recorded is not lifted. The state is a file of its own in the state
// folder, so that it survives a restart, a crash and a damaged store; a file that
// cannot be read is a lockdown.
//
// The daemon closes and opens what the lock stands before; the API and the syncer
// give its orders.
package lockdown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// MaxReason bounds the text of an order, in bytes.
const MaxReason = 2000

// within is how long an order waits for runs to be gone: they may do nothing any
// more from its first moment, and their guests have been killed. What takes longer is
// the kernel, which gives back their memory. The answer has a second in all.
const within = 700 * time.Millisecond

// States that a caller must tell apart.
var (
	// ErrNotLifted is wrapped when a lockdown stays because its end could not be
	// written down, or because it was begun again meanwhile.
	ErrNotLifted = errors.New("the lockdown is not lifted")
	// ErrReplayed: a signed order is older than the last one that was obeyed.
	ErrReplayed = errors.New("the lockdown order is older than one that was carried out; sign one with a higher " +
		"sequence")
	// ErrEquivocated: another signed order has the same sequence.
	ErrEquivocated = errors.New("another lockdown order with this sequence was carried out")
	// ErrForgotten: nobody knows whether a signed order was obeyed, since the file that
	// said so could not be read.
	ErrForgotten = errors.New("ringd no longer knows which lockdown orders were carried out")
	// ErrExpired: a signed order is not valid at this time.
	ErrExpired = errors.New("the lockdown order is not valid at this time")
)

// InvalidError is an order that cannot be understood.
type InvalidError struct{ Field, Text string }

// Error names the field and what is wrong with it.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }

// recorder writes to the audit log.
type recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// State is a lockdown. It is immutable.
type State struct {
	By, Reason string
	Since      time.Time
	Unrecorded string // why it is not on disk; "": it is
}

// Parts is what a lock closes and opens. The zero value is nothing.
type Parts struct {
	// Close ends everything at once and does not wait for the disk. It may be
	// called again.
	Close func()
	// Idle waits until no run lives, or ctx ends, and returns how many do.
	Idle func(ctx context.Context) int
	// Open brings what is in force back. It calls opened when all is ready for it,
	// and goes on only when that is true.
	Open func(ctx context.Context, opened func() bool) error
}

// Config is what a lock needs; all but Metrics and Begun is required.
type Config struct {
	File     string // in the state folder
	Recorder recorder
	Now      func() time.Time
	Metrics  *metrics.Metrics
	// Begun says whether the log's last word on lockdowns is that one was begun. It is
	// asked where the file is not there; nil: then there is no lockdown.
	Begun func() (bool, error)
}

// Lock is the one lock of a host. A nil Lock is never closed. It is safe for
// concurrent use.
type Lock struct {
	cfg    Config
	parts  Parts
	forgot time.Time             // when the file could not be read; zero: it always could
	state  atomic.Pointer[State] // nil: open

	last  atomic.Pointer[mark]       // the last signed order
	shown atomic.Pointer[wire.Order] // what became of the one seen last

	mu sync.Mutex // held over the file and the log
}

// Open reads the file. One that cannot be read is a lockdown.
func Open(cfg Config) (*Lock, error) {
	if cfg.File == "" || cfg.Recorder == nil || cfg.Now == nil {
		return nil, errors.New("lockdown.Config: File, Recorder and Now are required")
	}
	k, err := read(cfg.File)
	if err == nil {
		err = lost(cfg)
	}
	l := &Lock{cfg: cfg, forgot: k.Forgot}
	switch {
	case err != nil:
		l.forgot = cfg.Now().UTC()
		l.state.Store(&State{By: "ringd", Since: cfg.Now().UTC(),
			Reason: fmt.Sprintf(
				"the file %s cannot be read, so it is not known whether the lockdown was lifted: %v",
				cfg.File,
				bare(err),
			)})
	case k.State == stateLocked:
		l.state.Store(&State{By: k.By, Reason: k.Reason, Since: k.Since})
	}
	if l.last.Store(&mark{k.Sequence, k.Order}); err == nil {
		if _, no := os.Lstat(cfg.File); errors.Is(no, os.ErrNotExist) { // its room is there when the disk is full
			err = write(cfg.File, k)
		}
		if err != nil {
			return nil, fmt.Errorf("keep the lockdown file: %w", err)
		}
	}
	cfg.Metrics.Locked(l.state.Load() != nil)
	return l, nil
}

// lost is an error when the file is not there though the log knows of a lockdown, or
// cannot tell: a disk that loses the file opens nothing.
func lost(cfg Config) error {
	if _, err := os.Lstat(cfg.File); !errors.Is(err, os.ErrNotExist) || cfg.Begun == nil {
		return nil
	}
	begun, err := cfg.Begun()
	switch {
	case err != nil:
		return fmt.Errorf("it does not exist, and the audit log has no answer: %w", err)
	case begun:
		return errors.New("it does not exist, and according to the audit log a lockdown was begun and not lifted")
	}
	return nil
}

// bare is the fault of a path without the path.
func bare(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Attach says what the lock closes, before anything runs.
func (l *Lock) Attach(p Parts) {
	if l != nil {
		l.parts = p
	}
}

// State is the lockdown; nil: there is none.
func (l *Lock) State() *State {
	if l == nil {
		return nil
	}
	return l.state.Load()
}

// Denied is the refusal of a capability while the lockdown holds; nil: it does not.
func (l *Lock) Denied(capability, revision string) *profiles.Denial {
	s := l.State()
	if s == nil {
		return nil
	}
	return &profiles.Denial{Capability: capability, Decision: profiles.Decision{
		Code: profiles.CodeLockdown, Reason: s.String(), Revision: revision,
		Instead: []string{"ask an operator: ringd lockdown --lift --reason TEXT"}}}
}

// String says who, when and why.
func (s *State) String() string {
	return fmt.Sprintf(
		"everything is closed by a lockdown of %s since %s: %s",
		s.By,
		s.Since.UTC().Format(time.RFC3339),
		s.Reason,
	)
}

// Show tells how it stands; live counts the runs that have not ended.
func (l *Lock) Show(live int) wire.Lockdown {
	s := l.State()
	if s == nil {
		return wire.Lockdown{State: wire.LockdownOpen, Live: live}
	}
	since := s.Since.UTC()
	return wire.Lockdown{
		State:      wire.LockdownLocked,
		By:         s.By,
		Reason:     s.Reason,
		Since:      &since,
		Live:       live,
		Unrecorded: s.Unrecorded,
	}
}

// Set obeys an order of an actor. Begin closes whatever happens; when it could not be
// written down, the answer says so. Errors: *InvalidError; ErrNotLifted, wrapped.
func (l *Lock) Set(ctx context.Context, by string, o wire.LockdownOrder) (wire.Lockdown, error) {
	if err := check(by, o.Reason); err != nil {
		return wire.Lockdown{}, err
	}
	switch o.State {
	case wire.LockdownBegin:
		l.Begin(ctx, by, o.Reason)
	case wire.LockdownLift:
		if err := l.Lift(ctx, by, o.Reason); err != nil {
			return wire.Lockdown{}, err
		}
	default:
		return wire.Lockdown{}, &InvalidError{"state", "want begin or lift"}
	}
	return l.Show(l.idle(ctx)), nil
}

func (l *Lock) idle(ctx context.Context) int {
	if l.parts.Idle == nil {
		return 0
	}
	if l.State() == nil {
		over, cancel := context.WithCancel(ctx)
		cancel()
		return l.parts.Idle(over)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return l.parts.Idle(ctx)
}

func check(by, reason string) error {
	switch {
	case by == "":
		return &InvalidError{"actor", "the request has no actor"}
	case strings.TrimSpace(reason) == "":
		return &InvalidError{"reason", "is missing: refused callers read why"}
	case len(reason) > MaxReason:
		return &InvalidError{"reason", fmt.Sprintf("is longer than %d bytes", MaxReason)}
	}
	return nil
}

// Begin closes everything, and then writes it down. A lockdown that holds stays as
// it is: who began it is told, and closing is done once more.
func (l *Lock) Begin(ctx context.Context, by, reason string) { l.begin(ctx, by, reason, nil) }

func (l *Lock) begin(ctx context.Context, by, reason string, o *mark) {
	next := &State{By: by, Reason: reason, Since: l.cfg.Now().UTC(), Unrecorded: "it is being written"}
	if old := l.state.Load(); old != nil {
		same := *old
		next = &same
	}
	l.state.Store(next) // another one than a lift under way has seen, which then leaves it
	if l.parts.Close != nil {
		l.parts.Close()
	}
	l.cfg.Metrics.Locked(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.obeyed(o)
	l.keep(context.WithoutCancel(ctx), next.Unrecorded != "")
}

// Record writes a lockdown down that could not be when it began; one that is, or none,
// it leaves. Status says when it still cannot be.
func (l *Lock) Record(ctx context.Context) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.state.Load(); s != nil && s.Unrecorded != "" {
		l.keep(context.WithoutCancel(ctx), true)
	}
}

// keep writes the lockdown down, and notes when it cannot be. mu is held.
func (l *Lock) keep(ctx context.Context, tell bool) {
	s := l.state.Load()
	if s == nil {
		return
	}
	k := l.kept(stateLocked)
	k.By, k.Reason, k.Since = s.By, s.Reason, s.Since
	errs := []error{bare(write(l.cfg.File, k))}
	if tell {
		rec := audit.Record{Kind: audit.LockdownBegun, Actor: s.By, Detail: map[string]string{"reason": s.Reason}}
		_, err := l.cfg.Recorder.Append(ctx, rec, audit.Synced)
		errs = append(errs, err)
	}
	next := *s
	next.Unrecorded = ""
	if err := errors.Join(errs...); err != nil {
		next.Unrecorded = err.Error()
	}
	l.state.CompareAndSwap(s, &next)
}

// Lift opens what a lockdown closed, once it is written down that it is lifted. Lifting what
// is open does nothing. The error wraps ErrNotLifted: everything stays closed.
// What comes back into force after that, and what does not, is told by status.
func (l *Lock) Lift(ctx context.Context, by, reason string) error {
	return l.lift(ctx, by, reason, nil)
}

func (l *Lock) lift(ctx context.Context, by, reason string, o *mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.state.Load()
	if old == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	rec := audit.Record{
		Kind:   audit.LockdownLifted,
		Actor:  by,
		Detail: map[string]string{"reason": reason, "begun_by": old.By},
	}
	if _, err := l.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return fmt.Errorf("%w: that cannot be recorded: %w", ErrNotLifted, err)
	}
	before := l.last.Load()
	l.obeyed(o)
	if err := write(l.cfg.File, l.kept(stateOpen)); err != nil {
		l.last.Store(before) // the order may be obeyed later
		l.keep(ctx, true)
		return fmt.Errorf("%w: %s cannot be written: %w", ErrNotLifted, l.cfg.File, bare(err))
	}
	swapped := false
	opened := func() bool {
		swapped = l.state.CompareAndSwap(old, nil)
		return swapped
	}
	var err error
	if l.parts.Open == nil {
		opened()
	} else {
		err = l.parts.Open(ctx, opened)
	}
	if !swapped {
		l.keep(ctx, true)
		return errors.Join(
			fmt.Errorf("%w: it was begun again, or the policy in force could not be restored", ErrNotLifted),
			err,
		)
	}
	l.cfg.Metrics.Locked(l.state.Load() != nil)
	return nil
}
