package compiler

import "github.com/ringd/ringd/profiles"

// auditModeAgent turns an agent into mode audit: some actions that the policy denies are allowed and recorded.
// The enforced profile is in Strict of the result, so that each difference can be recorded.
//
// Only lists of names and words are opened: Python imports, the words of granted programs, and the constructs
// of scripts. Everything that a guest is not given stays denied, since allowing it would have no effect:
// files that are not mounted, programs that are not granted, hosts, bridges, limits. Approvals are still
// required.
func auditModeAgent(a profiles.Agent, mode profiles.Rule) profiles.Agent {
	out := a
	out.Mode, out.ModeRule = profiles.ModeAudit, mode
	strict := a
	out.Strict = &strict
	if a.Python != nil {
		py := *a.Python
		py.Imports.Any, py.Imports.Deny, py.Imports.Default = &mode, nil, false
		out.Python = &py
	}
	if a.Shell != nil {
		sh := *a.Shell
		sh.DeniedPatterns, sh.Pipes, sh.Redirects, sh.Substitution = nil, true, true, true
		sh.Binaries = make([]profiles.Binary, len(a.Shell.Binaries))
		for i, b := range a.Shell.Binaries {
			b.Allow, b.Deny, b.MaxArgs, b.SafeConfig = nil, nil, 0, false
			sh.Binaries[i] = b
		}
		out.Shell = &sh
	}
	return out
}
