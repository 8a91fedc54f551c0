package commands

import (
	"context"
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// Codes of findings about a host. They are API.
const (
	codeImportBroken  = "import-broken"  // a listed package cannot be imported under the policy
	codeImportMissing = "import-missing" // it, or a dependency, is not on this host
	codeImportNeeds   = "import-needs"   // a declared dependency is denied
	codeNoDigest      = "environment-digest"
	codeHost          = "python-host" // Python cannot run on this host under the policy
)

// KeepsPackages returns why no Python program of an agent can start on this host, with a remedy. An empty
// reason means that they can.
func KeepsPackages(ctx context.Context, host *environment.Finder, a *profiles.Agent) (reason, fix string) {
	r, err := host.Look(ctx, a)
	var no *executors.Unavailable
	switch {
	case errors.As(err, &no):
		return no.Text, no.Fix
	case err != nil:
		return err.Error(), ""
	}
	for _, f := range r.Findings {
		if f.Refuse {
			return f.Text, environment.FewerMounts
		}
	}
	return "", ""
}

// LookAtPackages returns findings about the packages that an agent's policy lists and this host has or lacks.
func LookAtPackages(ctx context.Context, host *environment.Finder, probe PackagesProbe, a *profiles.Agent) (
	found schema.Diagnostics) {
	add := func(severity schema.Severity, rule *profiles.Rule, code, msg, hint string) {
		if rule == nil || rule.Line == 0 {
			rule = &a.Python.Rule
		}
		found = append(found, schema.Diagnostic{
			Pos: schema.Pos{File: rule.File, Line: rule.Line, Column: rule.Column}, Code: code, Msg: msg, Hint: hint,
			Severity: severity,
		})
	}
	r, err := host.Look(ctx, a)
	var no *executors.Unavailable
	switch {
	case errors.As(err, &no):
		add(schema.Warning, nil, codeHost, no.Text, no.Fix)
		return found
	case err != nil:
		add(schema.Warning, nil, codeHost, err.Error(), "")
		return found
	}
	for _, f := range r.Findings {
		code, severity := codeImportMissing, schema.Warning
		hint := ""
		switch {
		case f.Refuse:
			code, severity, hint = codeHost, schema.Error, environment.FewerMounts
		case f.Denied:
			code = codeImportNeeds
		}
		add(severity, &f.Rule, code, f.Text, hint)
	}
	for _, e := range a.Python.Environments {
		if d, err := environment.Digest(e.Path); err == nil && e.Digest == "" {
			add(schema.Warning, &e.Rule, codeNoDigest, e.Path+" has the digest "+d+
				", and the policy accepts any content", "write digest: "+d)
		}
	}
	broken, err := probe(ctx, a)
	// a RefusedError is among the findings
	if refused := (*environment.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
		add(schema.Warning, nil, codeHost, err.Error(), "")
	}
	for _, b := range broken {
		var rule *profiles.Rule
		severity, hint := schema.Warning,
			"check whether it can be imported without ringd: no rule of the policy causes this"
		if b.Denied != nil {
			severity, rule, hint = schema.Error, b.Denied.Rule,
				"allow the modules that it needs, or remove the package from the list"
		}
		add(severity, rule, codeImportBroken, b.String(), hint)
	}
	return found
}
