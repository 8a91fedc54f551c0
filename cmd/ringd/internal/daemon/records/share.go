package records

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// ErrShare: a run has reached its limit of records. An act that cannot be recorded does not happen.
var ErrShare = errors.New("the run has reached its limit of audit records")

// shares counts the bytes of records of live runs.
type shares struct {
	most int64
	over func(run string)

	mu   sync.Mutex
	used map[string]int64
}

// Bound sets the limit of the bytes of records of one run. It counts from the start or the resume of a run to
// its end or pause. over is called once with a run that passes the limit, before the record is written. It
// ends the run, and must not wait. An eighth above the limit, acts of the run are no longer recorded, and so
// do not happen. Bound is called before the first record. Without it there is no limit.
func (r *Recorder) Bound(most int64, over func(run string)) {
	r.shares.most, r.shares.over, r.shares.used = most, over, map[string]int64{}
}

// take counts a record of a run. After an error the record must not be written.
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

// count counts a record of a run, and reports whether it is the one that passes the limit.
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
	if isAct(rec) && after > s.most+s.most/8 {
		return false, fmt.Errorf("%w: %d bytes", ErrShare, s.most)
	}
	s.used[rec.Run] = after
	return before <= s.most && after > s.most, nil
}

// isAct reports whether a record is about an act of a guest that does not happen without it. Ends are always
// recorded. So is what a guest reports that it refused itself: a run has few of these.
func isAct(rec *audit.Record) bool {
	if rec.Claimed() {
		return false
	}
	switch rec.Kind {
	case audit.CallDecided,
		audit.CallQueued,
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

// lineOverhead is the approximate length of a line of the log without the texts of its record.
const lineOverhead = 400

// size returns the approximate length of a record in the log.
func size(rec *audit.Record) int64 {
	n := lineOverhead + len(
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
