package records

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

// Refusal is an act of a guest that the kernel refused. The reporter limits the length of Call and Detail.
// Detail is a path or a family of sockets, in the guest's words.
type Refusal struct {
	Run      string // empty if the guest served none
	Agent    string // empty if the guest had none yet
	Executor string
	Layer    string // "seccomp"
	Call     string // "socket"
	Detail   string // "AF_NETLINK"
	PID      int    // on the host; 0 if unknown
	Count    int    // number of times so far
	Ends     bool   // the guest is ended for it
}

// Refusals records acts of guests that the kernel refused. The zero value refuses to record before
// [Refusals.Attach]. It is safe for concurrent use.
type Refusals struct{ to atomic.Pointer[refusalsTo] }

type refusalsTo struct {
	recorder *Recorder
	tell     func(run string, d profiles.Decision)
}

// Attach sets the recorder, and a callback that gets the refusal of a run once it is recorded. tell may be
// nil.
func (r *Refusals) Attach(recorder *Recorder, tell func(run string, d profiles.Decision)) {
	r.to.Store(&refusalsTo{recorder, tell})
}

// Record returns nil once v is recorded. After an error the guest must be ended, because its acts are no
// longer recorded.
func (r *Refusals) Record(ctx context.Context, v Refusal) error {
	to := r.to.Load()
	if to == nil {
		return errors.New("record what a guest was refused: no records yet")
	}
	d := v.decision()
	rec := audit.Record{
		Kind: audit.GuestRefused, Agent: v.Agent, Run: v.Run, Decision: audit.Decided(d),
		Detail: map[string]string{
			"executor": v.Executor,
			"layer":    v.Layer,
			"call":     v.Call,
			"count":    strconv.Itoa(v.Count),
		},
	}
	if v.isOwn() { // no program of an agent tried it, so it is no verdict on one
		rec.Kind, rec.Decision = audit.ProbeRefused, nil
	}
	if v.Detail != "" {
		rec.Detail["detail"] = v.Detail
	}
	if v.PID != 0 {
		rec.Detail["pid"] = strconv.Itoa(v.PID)
	}
	durability := audit.Written
	if v.Ends {
		rec.Detail["guest"] = "ended"
		durability = audit.Synced
	}
	if _, err := to.recorder.Append(ctx, rec, durability); err != nil {
		return fmt.Errorf("record what a guest was refused: %w", err)
	}
	if v.isOwn() {
		return nil
	}
	to.recorder.metrics.Refused(v.Executor, v.Layer)
	if v.Run != "" && to.tell != nil {
		to.tell(v.Run, d)
	}
	return nil
}

// isOwn reports whether the guest was ringd's own, which has no agent. A guest that is ended for its act is
// suspect, whatever it served.
func (v Refusal) isOwn() bool { return v.Agent == "" && !v.Ends }

func (v Refusal) decision() profiles.Decision {
	what := v.Call
	if v.Detail != "" {
		what += " " + v.Detail
	}
	d := profiles.Decision{
		Verdict: profiles.Deny,
		Code:    profiles.CodeGuestRefused,
		Reason:  v.Layer + " refused " + what,
	}
	if v.Ends {
		d.Reason = "the guest tried " + what + " after it gave that up, and was ended"
	}
	return d
}
