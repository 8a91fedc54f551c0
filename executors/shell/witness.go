package shell

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// witness sits between a guest and the host that decides its acts. The first denial ends a script: a guest that
// continues after it, or reports success, is not believed.
type witness struct {
	executors.Host

	mu     sync.Mutex
	answer executors.Answer
	no     *profiles.Decision // the first denial, or nil
}

// Ask implements executors.Host.
func (w *witness) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if q.Action == nil {
		return w.Host.Ask(ctx, q)
	}
	if a, no := w.refused(); no != nil && !q.Ahead { // a question ahead starts nothing
		return a, nil
	}
	a, err := w.Host.Ask(ctx, q)
	if err != nil || a.Error != nil {
		return a, err
	}
	var d profiles.Decision
	if json.Unmarshal(a.Value, &d) != nil || d.Verdict != profiles.Deny || d.Code == "" {
		return a, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.no == nil {
		w.answer, w.no = a, &d
	}
	return a, nil
}

func (w *witness) refused() (executors.Answer, *profiles.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answer, w.no
}

// correct builds the outcome from the report of a guest and from the decisions that it got. said receives the
// text for the script's standard error.
func (w *witness) correct(o executors.Outcome, r executors.Run, said func([]byte)) executors.Outcome {
	for i := range o.Denials {
		o.Denials[i].Revision = r.Revision // the guest does not know the revision
	}
	_, no := w.refused()
	if no == nil || o.State != executors.StateDone && o.State != executors.StateFailed {
		return o
	}
	o.State, o.ExitCode, o.Value, o.Snapshot = executors.StateDenied, profiles.ExitRefused, nil, nil
	o.Error = &executors.ProgramError{Name: profiles.ErrorCapabilityDenied, Message: string(no.Code) + ": " + no.Reason}
	o.Unkept = "the script was refused something"
	said(
		[]byte(
			shellproto.RefusalText(
				*no, shellproto.RefusalPlace{Script: r.Program.Source, Begun: true, More: int(o.Usage.Calls["exec"])},
			) + "\n",
		),
	)
	return o
}
