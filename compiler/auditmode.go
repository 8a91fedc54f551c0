package compiler

import "github.com/ringd/ringd/profiles"

// auditModeAgent turns an agent into mode audit: some actions that the policy denies are allowed and recorded.
// The profile that mode enforce would use is in Strict of the result, so that each difference can be recorded.
//
// Only lists of names and texts are opened: Python imports, the arguments of granted programs, and the
// constructs of scripts. Files that are not mounted, programs that are not granted, hosts, bridges and limits
// stay as they are: the guest does not have them, so allowing them would have no effect. Approvals are still
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
