package records

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// ErrShare: a run has put on record as much as one run may; what cannot be recorded
// does not happen.
var ErrShare = errors.New("the run has reached its limit of audit records")

// shares counts what live runs put on record, in bytes.
type shares struct {
	most int64
	over func(run string)

	mu   sync.Mutex
	used map[string]int64
}

// Bound sets how many bytes of records one run may cause, from its start or from when
// it goes on to its end or its pause. over gets the run that passes the bound, once,
// before the record is written: it ends the run, and must not wait. An eighth above the
// bound nothing that the run does is recorded any more, and so does not happen. Bound is
// called before anything is recorded; without it there is no bound.
func (r *Recorder) Bound(most int64, over func(run string)) {
	r.shares.most, r.shares.over, r.shares.used = most, over, map[string]int64{}
}

// take counts a record of a run. The error is that of one that must not be written.
func (s *shares) take(rec *audit.Record) error {
	if s.most <= 0 || rec.Run == "" {
		return nil
	}
	over, err := s.count(rec)
	if over {
		s.over(rec.Run)
	}
	return err
}

// count takes a record from the share of its run, and says whether it is the one that
// passes it.
func (s *shares) count(rec *audit.Record) (over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch rec.Kind {
	case audit.RunStarted, audit.RunResumed:
		s.used[rec.Run] = 0
	case audit.RunEnded, audit.RunPaused:
		delete(s.used, rec.Run)
	}
	before, live := s.used[rec.Run]
	if !live {
		return false, nil
	}
	after := before + size(rec)
	if act(rec) && after > s.most+s.most/8 {
		return false, fmt.Errorf("%w: %d bytes", ErrShare, s.most)
	}
	s.used[rec.Run] = after
	return before <= s.most && after > s.most, nil
}

// act reports whether a record stands for something that a guest does, and that does
// not happen without it. Ends are on record whatever came before, and so is what a guest
// says that it refused itself: there are few of these in a run.
func act(rec *audit.Record) bool {
	if rec.Claimed() {
		return false
	}
	switch rec.Kind {
	case audit.CallDecided,
		audit.CallOpened,
		audit.GuestRefused,
		audit.ExecDecided,
		audit.FileDecided,
		audit.VariableDecided,
		audit.EgressDecided,
		audit.AuditDecided:
		return true
	default:
		return false
	}
}

// frame is about what a line of the log has beside the texts of its record.
const frame = 400

// size is about how many bytes of the log a record takes.
func size(rec *audit.Record) int64 {
	n := frame + len(
		rec.Run,
	) + len(
		rec.Agent,
	) + len(
		rec.Actor,
	) + len(
		rec.Call,
	) + len(
		rec.Capability,
	) + len(
		rec.Digest,
	) + len(
		rec.Full,
	)
	if rec.Decision != nil {
		n += len(rec.Decision.Reason)
	}
	if rec.Fault != nil {
		n += len(rec.Fault.Text)
	}
	for k, v := range rec.Detail {
		n += len(k) + len(v) + 6
	}
	return int64(n)
}
