package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

// Notice is the effect of a new policy on a live guest.
type Notice struct {
	Agent, Actor string
	Run          string // empty if the guest waits for the next run of its session
	Executor     string
	Revision     string   // in force now
	Loaded       []string // loaded modules that are denied now, as the guest reports them
	Ended        string   // why the guest was ended; empty if it continues
	Restart      bool     // it continues without packages that the policy grants now
}

// maxLoaded limits the records of one notice.
const maxLoaded = 64

// Notice records n. Each loaded module that is denied now is an import_decided with the state "loaded", and the
// run gets that denial too. A guest that lacks some new grants is a restart_needed. The end of a waiting
// session is a session_dropped.
func (r *Refusals) Notice(ctx context.Context, n Notice) error {
	to := r.to.Load()
	if to == nil {
		return errors.New("record what a policy meant to a guest: no records yet")
	}
	rec := audit.Record{
		Agent:    n.Agent,
		Actor:    n.Actor,
		Run:      n.Run,
		Revision: n.Revision,
		Detail:   map[string]string{"executor": n.Executor},
	}
	for _, module := range n.Loaded[:min(len(n.Loaded), maxLoaded)] {
		d := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeImportDenied, Revision: n.Revision,
			Reason:   fmt.Sprintf("import of %q is denied now, and it was loaded before", module),
			Evidence: &profiles.Evidence{Argv: []string{module}}}
		one := rec
		one.Kind, one.State, one.Capability, one.Decision = audit.ImportDecided, "loaded", "import:"+module,
			audit.Decided(
				d,
			)
		if _, err := to.recorder.Append(ctx, one, audit.Written); err != nil {
			return fmt.Errorf("record what a guest has loaded: %w", err)
		}
		if n.Run != "" && to.tell != nil {
			to.tell(n.Run, d)
		}
	}
	if n.Restart {
		one := rec
		one.Kind, one.State, one.Capability = audit.RestartNeeded, string(audit.RestartNeeded), "executor:"+n.Executor
		one.Detail = map[string]string{"reason": "it continues without packages that the policy grants now"}
		if _, err := to.recorder.Append(ctx, one, audit.Written); err != nil {
			return fmt.Errorf("record that a guest needs a restart: %w", err)
		}
	}
	if n.Ended == "" || n.Run != "" { // the end of a run has its own record
		return nil
	}
	rec.Kind = audit.SessionDropped
	rec.Detail["of"], rec.Detail["reason"] = n.Actor, n.Ended
	if _, err := to.recorder.Append(ctx, rec, audit.Written); err != nil {
		return fmt.Errorf("record the end of a session: %w", err)
	}
	return nil
}
