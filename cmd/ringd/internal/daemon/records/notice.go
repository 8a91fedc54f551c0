package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

// Notice is what a policy that came into force meant to a guest that lived already.
type Notice struct {
	Agent, Actor string
	Run          string // "": the guest waits for the next run of its session
	Executor     string
	Revision     string   // in force now
	Loaded       []string // modules that are denied now and that it has loaded, as it says
	Ended        string   // why it was ended; "": it goes on
	Restart      bool     // it continues without packages that the policy grants now
}

// maxLoaded bounds the records of one notice.
const maxLoaded = 64

// Notice puts n on record: each module that is denied now and loaded, as an
// import_decided of state loaded, which the run is told of too; a guest that lacks some of
// what is granted now, as a restart_needed; and the end of a session that waited, as a
// session_dropped.
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
	if n.Ended == "" || n.Run != "" { // the end of a run has a record of its own
		return nil
	}
	rec.Kind = audit.SessionDropped
	rec.Detail["of"], rec.Detail["reason"] = n.Actor, n.Ended
	if _, err := to.recorder.Append(ctx, rec, audit.Written); err != nil {
		return fmt.Errorf("record the end of a session: %w", err)
	}
	return nil
}
