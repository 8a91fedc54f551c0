package store

import (
	"context"
	"time"
)

// Config is what a store needs; all fields but Head are required.
type Config struct {
	Dir string // made with mode 0700; a looser one is refused
	Now func() time.Time
	// Head, when set, gives the audit log's newest synced head. Every commit
	// keeps the highest one it has seen; AuditHead returns it at the next start.
	Head func() Head
}

// Store is the open database. It is safe for concurrent use; the caller of Open
// closes it.
type Store struct{ cfg Config }

// Open opens or makes the database in cfg.Dir. Errors: ErrInUse, ErrFormat,
// ErrCorrupt (both with a remedy in the text), faults.
func Open(ctx context.Context, cfg Config) (*Store, error) { return nil, ErrClosed }

// Close waits for the commit under way and closes. Twice is no error.
func (s *Store) Close() error { return nil }

// Err is nil while the store takes writes; else it wraps ErrClosed.
func (s *Store) Err() error { return ErrClosed }

// Start remembers a new run, Asked or Started (empty: Asked), in one commit.
// Created and Updated are set from the clock. ErrExists, ErrTooLarge, ErrClosed.
func (s *Store) Start(ctx context.Context, r Run) error { return ErrClosed }

// Advance moves a run along one legal arrow and returns it. A final state
// closes the run's open calls as not executed. ErrNotFound, ErrState,
// ErrTooLarge, ErrClosed.
func (s *Store) Advance(ctx context.Context, id string, to State, c Change) (Run, error) {
	return Run{}, ErrClosed
}

// OpenCall remembers a call before anyone is asked (State CallPending) or before the
// act (CallExecuting), makes the run CallOpen, and returns the call with N and
// Key. ErrNotFound (no such run), ErrExists, ErrState (the run is not live).
func (s *Store) OpenCall(ctx context.Context, c Call) (Call, error) { return Call{}, ErrClosed }

// Answer settles an open call. The first answer wins; later ones, also equal
// ones, are told whose it was. ErrNotFound; ErrState when the call was closed
// without an answer or its run is final.
func (s *Store) Answer(ctx context.Context, run, call string, r Reply) (Settled, error) {
	return Settled{}, ErrClosed
}

// Execute moves a call from CallPending to CallExecuting: once, before the act. The
// call returned carries the answer. ErrNotFound, ErrState.
func (s *Store) Execute(ctx context.Context, run, call string, audit Head) (Call, error) {
	return Call{}, ErrClosed
}

// CloseCall ends a call with its result (CallClosed) or as CallUnknown. It
// works after the run is final, too: a late result is kept. When no call is
// left the run is Started again. ErrNotFound, ErrState, ErrTooLarge.
func (s *Store) CloseCall(ctx context.Context, run, call string, to CallState, result []byte, audit Head) error {
	return ErrClosed
}

// Run returns one run. ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (Run, error) { return Run{}, ErrClosed }

// Runs returns runs, newest first.
func (s *Store) Runs(ctx context.Context, f Filter) ([]Run, error) { return nil, ErrClosed }

// Calls returns the calls of a run in order; none is not an error.
func (s *Store) Calls(ctx context.Context, run string) ([]Call, error) { return nil, ErrClosed }

// Waiting returns the open calls without an answer that who may answer, oldest
// first, at most limit (0: 100, at most 1000).
func (s *Store) Waiting(ctx context.Context, who Answerer, limit int) ([]Call, error) {
	return nil, ErrClosed
}

// Recover ends, in one commit, every run that was live when the process ended:
// Unknown when a call was executing without a result, else Failed with an
// outcome whose error is named Interrupted. Call it once, after Open and before
// anything starts; it returns what it did, for the audit log.
func (s *Store) Recover(ctx context.Context) ([]Recovered, error) { return nil, ErrClosed }

// Prune forgets at most limit final runs, with their calls, that were last
// updated before t, and returns how many.
func (s *Store) Prune(ctx context.Context, t time.Time, limit int) (int, error) { return 0, ErrClosed }

// PutGeneration remembers an activation. Its number must be above every earlier
// one (ErrState). The last 16 are kept.
func (s *Store) PutGeneration(ctx context.Context, g Generation) error { return ErrClosed }

// Freshen notes when the push of the generation was last seen to be good.
func (s *Store) Freshen(ctx context.Context, number int64, at time.Time) error { return ErrClosed }

// LastGeneration returns the newest generation. ErrNotFound before the first;
// ErrCorrupt when its set does not match its digest.
func (s *Store) LastGeneration(ctx context.Context) (Generation, error) {
	return Generation{}, ErrClosed
}

// AuditHead is the highest audit head any commit has seen: what to give
// audit.Config.Least. Zero in a new store.
func (s *Store) AuditHead(ctx context.Context) (Head, error) { return Head{}, ErrClosed }
