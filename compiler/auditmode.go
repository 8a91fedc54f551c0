// This file makes the profile of an agent in mode audit: what a policy would refuse
// of the things that a guest could do is let through, and the profile as it would be
// enforced travels beside it, so that each difference can be recorded.
//
// Only lists of names and words open: imports of Python, the words of granted programs,
// and the constructs of scripts. What a guest is not given stays refused, since nothing
// could let it through: files that are not mounted, programs that are not granted, hosts,
// bridges, limits. Approvals are asked. The compiler calls it.

package compiler

import "github.com/ringd/ringd/profiles"

// auditedAgent is an agent in mode audit. The agent itself stands in Strict of what it returns.
func auditedAgent(a profiles.Agent, mode profiles.Rule) profiles.Agent {
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
