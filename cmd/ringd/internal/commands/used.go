package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

// tally is what the log says of an agent.
type exceptionsTally struct {
	runs map[string]bool
	uses map[string]use // by the ID of the exception
}

// use is how often something stood by an exception, and when it last did.
type use struct {
	times int
	last  time.Time
}

// used counts what stood by the exceptions of an agent: decisions that name one, once
// each, and runs that imported a module of Python that one grants, once a run. What
// was only asked, as ringd decide does, is no use.
func used(ctx context.Context, dir string, a profiles.Agent, since time.Time) (*exceptionsTally, error) {
	t := &exceptionsTally{map[string]bool{}, map[string]use{}}
	kinds := []audit.Kind{audit.RunStarted, audit.RunEnded, audit.CallDecided, audit.ExecDecided, audit.FileDecided,
		audit.EgressDecided}
	for e, err := range audit.Query(ctx, dir, audit.Filter{Agent: a.Name, Kinds: kinds, Since: since}) {
		if err != nil {
			return nil, err
		}
		t.take(a, e.Record)
	}
	return t, nil
}

func (t *exceptionsTally) take(a profiles.Agent, r audit.Record) {
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

func (t *exceptionsTally) add(id string, at time.Time) {
	u := t.uses[id]
	u.times++
	if at.After(u.last) {
		u.last = at
	}
	t.uses[id] = u
}

// known reports whether the log would tell a use: it does of programs, hosts and
// modules of Python. An import of JavaScript that is allowed leaves no record.
func exceptionsKnown(a profiles.Agent, id string) bool {
	if a.JS == nil || !slices.ContainsFunc(a.JS.Imports.Allow,
		func(r profiles.ImportRule) bool { return r.Exception == id }) {
		return true
	}
	return a.Python != nil && slices.ContainsFunc(a.Python.Imports.Allow,
		func(r profiles.ImportRule) bool { return r.Exception == id }) ||
		a.Shell != nil && slices.ContainsFunc(a.Shell.Binaries,
			func(b profiles.Binary) bool { return b.Exception == id }) ||
		slices.ContainsFunc(a.Egress.Allow, func(r profiles.EgressRule) bool { return r.Exception == id })
}
