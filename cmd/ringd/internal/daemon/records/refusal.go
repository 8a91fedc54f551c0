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

// Refusal is something that a guest tried and the kernel refused. Call and Detail
// are bounded by who reports it; Detail is a path or a family of sockets, in the
// guest's words.
type Refusal struct {
	Run      string // "": the guest served none
	Agent    string // "": nobody's yet
	Executor string
	Layer    string // "seccomp"
	Call     string // "socket"
	Detail   string // "AF_NETLINK"
	PID      int    // as the host sees it; 0: not known
	Count    int    // how often it was seen so far
	Ends     bool   // the guest is ended for it
}

// Refusals puts on record what guests tried and were refused. The zero value
// refuses, until records are attached; it is safe for concurrent use.
type Refusals struct{ to atomic.Pointer[refusalsTo] }

type refusalsTo struct {
	recorder *Recorder
	tell     func(run string, d profiles.Decision)
}

// Attach says where refusals are recorded, and who is told of the one of a run
// once it is on record; tell may be nil.
func (r *Refusals) Attach(recorder *Recorder, tell func(run string, d profiles.Decision)) {
	r.to.Store(&refusalsTo{recorder, tell})
}

// Record returns nil once v is on record. An error means that the guest must be
// ended: what it does is not seen any more.
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
	if v.own() { // no program of an agent tried it, so it is no verdict on one
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
	if v.own() {
		return nil
	}
	to.recorder.metrics.Refused(v.Executor, v.Layer)
	if v.Run != "" && to.tell != nil {
		to.tell(v.Run, d)
	}
	return nil
}

// own reports whether the guest was ringd's own: it had no agent. One that is ended
// for what it tried is suspect whoever it served.
func (v Refusal) own() bool { return v.Agent == "" && !v.Ends }

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
