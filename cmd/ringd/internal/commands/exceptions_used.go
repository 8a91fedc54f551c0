package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

// exceptionUses holds the uses in the log.
type exceptionUses struct {
	runs map[string]bool
	uses map[string]use // by the ID of the exception
}

// use counts the uses of an exception, and has the last one.
type use struct {
	times int
	last  time.Time
}

// countUses counts the uses of an agent's exceptions. A decision that names an exception is one use. A run that
// imported a Python module of an exception is one use. A decision without an action, as of ringd decide, is no
// use.
func countUses(ctx context.Context, dir string, a profiles.Agent, since time.Time) (*exceptionUses, error) {
	t := &exceptionUses{map[string]bool{}, map[string]use{}}
	kinds := []audit.Kind{
		audit.RunStarted,
		audit.RunEnded,
		audit.CallDecided,
		audit.ExecDecided,
		audit.FileDecided,
		audit.EgressDecided,
	}
	for e, err := range audit.Query(ctx, dir, audit.Filter{Agent: a.Name, Kinds: kinds, Since: since}) {
		if err != nil {
			return nil, err
		}
		t.take(a, e.Record)
	}
	return t, nil
}

func (t *exceptionUses) take(a profiles.Agent, r audit.Record) {
	if r.Run != "" {
		t.runs[r.Run] = true
	}
	if d := r.Decision; d != nil && d.Exception != "" && d.Verdict != profiles.Deny {
		t.add(d.Exception, r.Time)
	}
	imports := r.Detail["imports"]
	if r.Kind != audit.RunEnded || imports == "" || a.Python == nil {
		return
	}
	for i := range a.Exceptions {
		e := &a.Exceptions[i]
		for module := range strings.SplitSeq(imports, ",") {
			if e.Grants.Module(true, module) {
				t.add(e.ID, r.Time)
				break
			}
		}
	}
}

func (t *exceptionUses) add(id string, at time.Time) {
	u := t.uses[id]
	u.times++
	if at.After(u.last) {
		u.last = at
	}
	t.uses[id] = u
}

// usesAreLogged reports whether the log would show a use: it shows programs, hosts and Python modules. An allowed
// import of JavaScript leaves no record.
func usesAreLogged(a profiles.Agent, id string) bool {
	if a.JS == nil ||
		!slices.ContainsFunc(a.JS.Imports.Allow, func(r profiles.ImportRule) bool { return r.Exception == id }) {
		return true
	}
	return a.Python != nil &&
		slices.ContainsFunc(a.Python.Imports.Allow, func(r profiles.ImportRule) bool { return r.Exception == id }) ||
		a.Shell != nil &&
			slices.ContainsFunc(a.Shell.Binaries, func(b profiles.Binary) bool { return b.Exception == id }) ||
		slices.ContainsFunc(a.Egress.Allow, func(r profiles.EgressRule) bool { return r.Exception == id })
}
