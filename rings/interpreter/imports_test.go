package interpreter_test

import (
	"context"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// An import that the policy refused is in the view and on record, like the refusal of a
// call.
func TestRefusedImport(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1"))
	no := profiles.Decision{Code: profiles.CodeImportDenied, Reason: "import of x is denied",
		Rule: &profiles.Rule{File: "p.yaml", Line: 3}}
	v := w.end(w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{State: executors.StateDenied, Denials: []profiles.Decision{no},
			Error: &executors.ProgramError{Name: "ImportDenied"}}, nil
	}))
	if v.State != executors.StateDenied || len(v.Denials) != 1 || v.Denials[0].Code != no.Code {
		t.Errorf("state %s denials %+v", v.State, v.Denials)
	}
	rec, ok := w.audit.find(contract.RunEnded)
	if !ok || rec.Decision == nil || rec.Decision.Code != no.Code {
		t.Errorf("record %+v", rec)
	}
}
