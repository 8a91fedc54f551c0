// Package lockdown owns the lockdown of a host. During a lockdown every decision is a denial, runs end and
// connections are cut. A person starts it, or a signed order.
//
// Starting a lockdown takes effect at once and waits for nothing. Only then it is written to disk, and its
// caller learns if that failed. Lifting is the other way round: if the lift cannot be recorded, the lockdown
// stays. The state is a separate file in the state folder, so it survives a restart, a crash and a damaged
// store. An unreadable file is a lockdown.
//
// The API and the syncer give the orders. The daemon registers with [Lock.Attach] what a lockdown stops.
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

// MaxReason limits the reason of an order, in bytes.
const MaxReason = 2000

// idleTimeout is how long an order waits for live runs to be gone. From the first moment of the lockdown they may
// do nothing, and their guests have been killed. The rest is the time in which the kernel frees their memory.
// The whole answer may take a second.
const idleTimeout = 700 * time.Millisecond

// States that a caller must tell apart.
var (
	// ErrNotLifted is wrapped if a lockdown stays, because its end could not be recorded or because it was
	// started again meanwhile.
	ErrNotLifted = errors.New("the lockdown is not lifted")
	// ErrReplayed: a signed order is older than the last one that was carried out.
	ErrReplayed = errors.New("the lockdown order is older than one that was carried out; sign one with a higher " +
		"sequence")
	// ErrEquivocated: another signed order has the same sequence.
	ErrEquivocated = errors.New("another lockdown order with this sequence was carried out")
	// ErrForgotten: it is unknown whether a signed order was carried out, because the file that recorded it
	// could not be read.
	ErrForgotten = errors.New("ringd no longer knows which lockdown orders were carried out")
	// ErrExpired: a signed order is not valid at this time.
	ErrExpired = errors.New("the lockdown order is not valid at this time")
)

// InvalidError is an order with a bad field.
type InvalidError struct{ Field, Text string }

// Error names the field and what is wrong with it.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }

// recorder writes to the audit log.
type recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// State describes a lockdown. It is immutable.
type State struct {
	By, Reason string
	Since      time.Time
	Unrecorded string // why the lockdown is not on disk; empty if it is
}

// Parts holds the callbacks of a lock. The zero value does nothing.
type Parts struct {
	// Close ends everything at once and does not wait for the disk. It may be called more than once.
	Close func()
	// Idle waits until no run is live, or ctx ends, and returns the number of live runs.
	Idle func(ctx context.Context) int
	// Open brings the policy back into force. It calls opened once everything is ready, and continues only if
	// that returns true.
	Open func(ctx context.Context, opened func() bool) error
}

// Config configures a lock. All fields but Metrics and Begun are required.
type Config struct {
	File     string // path in the state folder
	Recorder recorder
	Now      func() time.Time
	Metrics  *metrics.Metrics
	// Begun reports whether the last record of the log about lockdowns is a start. It is called if the file
	// is missing. If Begun is nil, a missing file means no lockdown.
	Begun func() (bool, error)
}

// Lock is the one lock of a host. A nil Lock is never closed. It is safe for concurrent use.
type Lock struct {
	cfg          Config
	parts        Parts
	unreadableAt time.Time             // when the file could not be read; zero if it always could
	state        atomic.Pointer[State] // nil if there is no lockdown

	last  atomic.Pointer[mark]       // the last signed order that was carried out
	shown atomic.Pointer[wire.Order] // result of the last signed order that was seen

	mu sync.Mutex // held while the file and the log are written
}

// Open reads the file. An unreadable file is a lockdown.
func Open(cfg Config) (*Lock, error) {
	if cfg.File == "" || cfg.Recorder == nil || cfg.Now == nil {
		return nil, errors.New("lockdown.Config: File, Recorder and Now are required")
	}
	k, err := readState(cfg.File)
	if err == nil {
		err = checkFileLost(cfg)
	}
	l := &Lock{cfg: cfg, unreadableAt: k.Forgot}
	switch {
	case err != nil:
		l.unreadableAt = cfg.Now().UTC()
		l.state.Store(&State{By: "ringd", Since: cfg.Now().UTC(),
			Reason: fmt.Sprintf(
				"the file %s cannot be read, so it is not known whether the lockdown was lifted: %v",
				cfg.File,
				withoutPath(err),
			)})
	case k.State == stateLocked:
		l.state.Store(&State{By: k.By, Reason: k.Reason, Since: k.Since})
	}
	if l.last.Store(&mark{k.Sequence, k.Order}); err == nil {
		// creates the file now, so that its space is reserved when the disk is full
		if _, no := os.Lstat(cfg.File); errors.Is(no, os.ErrNotExist) {
			err = writeState(cfg.File, k)
		}
		if err != nil {
			return nil, fmt.Errorf("keep the lockdown file: %w", err)
		}
	}
	cfg.Metrics.Locked(l.state.Load() != nil)
	return l, nil
}

// checkFileLost returns an error if the file is missing although the log has a lockdown, or cannot be read. A disk
// that loses the file must not lift a lockdown.
func checkFileLost(cfg Config) error {
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

// withoutPath returns the error of a path without the path.
func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Attach sets the callbacks of the lock, before anything runs.
func (l *Lock) Attach(p Parts) {
	if l != nil {
		l.parts = p
	}
}

// State returns the lockdown, or nil if there is none.
func (l *Lock) State() *State {
	if l == nil {
		return nil
	}
	return l.state.Load()
}

// Denied returns the denial of a capability during a lockdown, else nil.
func (l *Lock) Denied(capability, revision string) *profiles.Denial {
	s := l.State()
	if s == nil {
		return nil
	}
	return &profiles.Denial{Capability: capability, Decision: profiles.Decision{
		Code: profiles.CodeLockdown, Reason: s.String(), Revision: revision,
		Instead: []string{"ask an operator: ringd lockdown --lift --reason TEXT"}}}
}

// String returns who started the lockdown, when and why.
func (s *State) String() string {
	return fmt.Sprintf(
		"everything is closed by a lockdown of %s since %s: %s",
		s.By,
		s.Since.UTC().Format(time.RFC3339),
		s.Reason,
	)
}

// Show returns the state for the API. live is the number of live runs.
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

// Set carries out an order of an actor. A start always takes effect; if it could not be written to disk, the
// result says so. Errors: *InvalidError; ErrNotLifted, wrapped.
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
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
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

// Begin starts a lockdown and then writes it to disk. If one holds already, its actor and reason stay, and
// the close callback is called once more.
func (l *Lock) Begin(ctx context.Context, by, reason string) { l.begin(ctx, by, reason, nil) }

func (l *Lock) begin(ctx context.Context, by, reason string, o *mark) {
	next := &State{By: by, Reason: reason, Since: l.cfg.Now().UTC(), Unrecorded: "it is being written"}
	if old := l.state.Load(); old != nil {
		same := *old
		next = &same
	}
	l.state.Store(next) // a new pointer: a lift in progress compares it and then leaves the lockdown
	if l.parts.Close != nil {
		l.parts.Close()
	}
	l.cfg.Metrics.Locked(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setLast(o)
	l.keep(context.WithoutCancel(ctx), next.Unrecorded != "")
}

// Record writes a lockdown to disk that could not be written when it started. Otherwise it does nothing. The
// status shows if it still cannot be written.
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

// keep writes the lockdown to disk, and notes a failure. mu is held.
func (l *Lock) keep(ctx context.Context, tell bool) {
	s := l.state.Load()
	if s == nil {
		return
	}
	k := l.fileState(stateLocked)
	k.By, k.Reason, k.Since = s.By, s.Reason, s.Since
	errs := []error{withoutPath(writeState(l.cfg.File, k))}
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

// Lift ends a lockdown after the lift is recorded. Without a lockdown it does nothing. If its error wraps
// ErrNotLifted, the lockdown stays. The status shows what came back into force and what did not.
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
	l.setLast(o)
	if err := writeState(l.cfg.File, l.fileState(stateOpen)); err != nil {
		l.last.Store(before) // the order may be carried out later
		l.keep(ctx, true)
		return fmt.Errorf("%w: %s cannot be written: %w", ErrNotLifted, l.cfg.File, withoutPath(err))
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
