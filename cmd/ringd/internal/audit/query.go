package audit

import (
	"context"
	"iter"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Filter chooses records. A zero field chooses all; set fields must all match.
type Filter struct {
	Run, Agent, Actor, Call, Capability string
	Kinds                               []Kind
	Verdict                             *profiles.Verdict // only records with this decision
	Since, Until                        time.Time         // Since <= Time < Until
	After                               int64             // only sequences above it
}

// Query yields the records of the log in dir that f chooses, oldest first. It
// takes no lock, checks no chain (Verify does) and ends at the last whole line.
// It yields at most one error, last.
func Query(ctx context.Context, dir string, f Filter) iter.Seq2[Entry, error] { return nil }

// Tail is Query that goes on: at every wake it looks for more. It ends when ctx
// does or wake is closed, without an error.
func Tail(ctx context.Context, dir string, f Filter, wake <-chan time.Time) iter.Seq2[Entry, error] {
	return nil
}
