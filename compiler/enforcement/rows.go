package enforcement

import "github.com/ringd/ringd/profiles"

func bridged(is func(profiles.Bridge) bool) func(profiles.Agent) bool {
	return func(a profiles.Agent) bool {
		for _, b := range a.Bridges {
			if is(b) {
				return true
			}
		}
		return false
	}
}

func wholeRows() []Row {
	return []Row{
		{Name: "documents and owners", Cells: all(Annotation, "says something to people"),
			Fields: []string{"Policy.File", "Policy.APIVersion", "Policy.Origins", "Metadata.Revision", "Metadata.Owner", "Metadata.Description", "Metadata.Labels", "Metadata.Compliance", "Metadata.ReviewBy", "Guardrail.OnError", "Egress.Reason", "Gateway.Reason"}},
		{Name: "layers", Cells: all(Compile, "compiler: a layer that widens the one above", "compiler/layers TestEveryFieldNarrows"),
			Fields: []string{"Policy.Compact", "Policy.Kind", "Policy.Layers", "Policy.Appended", "Metadata.Name", "Metadata.Parent"},
			used:   func(a profiles.Agent) bool { return len(a.Layers) > 0 }},
		{Name: "agents.match", Cells: all(Enforced, "daemon: the name that a harness states", "cmd/ringd/internal/daemon TestStartRefuses"),
			Fields: []string{"AgentMatch.Match"}, used: always},
		{Name: "agents.identities", Cells: all(Unsupported, "nothing: a finding"), Fields: []string{"AgentMatch.Identities"}},
		{Name: "mode", Cells: all(Enforced, "daemon: audit lets pass, and records", "script mode_audit"),
			Fields: []string{"Spec.Mode"}, used: func(a profiles.Agent) bool { return a.Mode == profiles.ModeAudit }},
		{Name: "audit", Cells: all(Enforced, "daemon: no act without its record", "cmd/ringd/internal/daemon TestAuditFailureStopsEverything"),
			Fields: []string{"Spec.Audit", "Bridge.Audit", "Shell.Audit"}, used: always},
		{Name: "data classes", Cells: all(Compile, "compiler, by the labels that bridges' owners state", "compiler/layers TestEveryFieldNarrows"),
			Fields: []string{"Data.MaxClass", "Bridge.DataClass"}},
		{Name: "data.residency", Cells: all(Elsewhere, "the owner of a bridge or host: ringd does not know where data lies"), Fields: []string{"Data.Residency"}},
		{Name: "powers", Cells: all(Elsewhere, "the bridge's owner states them truly: ringd counts with them"),
			Fields: []string{"Powers.Sensitive", "Powers.Untrusted", "Powers.External", "Touches.Sensitive", "Touches.Untrusted", "Touches.External"},
			used:   func(a profiles.Agent) bool { return len(a.Bridges) > 0 || a.RuleOfTwo != nil }},
		{Name: "rule of two", Cells: all(Enforced, "compiler; interpreter ring where dynamic", "rings/interpreter TestTheThirdPowerAsks", "rings/interpreter TestTheThirdPowerIsDenied", "script rule_of_two"),
			Fields: []string{"RuleOfTwo.OnThree", "RuleOfTwo.Scope", "RuleOfTwo.Mode"}, used: func(a profiles.Agent) bool { return a.RuleOfTwo != nil }},
		{Name: "exceptions", Cells: all(Enforced, "compiler; daemon at their end", "cmd/ringd/internal/daemon TestExceptionEnds"),
			Fields: []string{"Policy.Excepted", "Exception.ID", "Exception.Owner", "Exception.ApprovedBy", "Exception.Expires", "Exception.Reason", "Exception.Ticket", "Exception.Lifts", "ExceptionGrants.Imports", "ExceptionGrants.Binaries"},
			used:   func(a profiles.Agent) bool { return len(a.Exceptions) > 0 }},
		{Name: "guardrails", Cells: all(Enforced, "compiler; interpreter ring at calls", "script guardrails", "rings/interpreter TestGuardrailsOnCalls"),
			Fields: []string{"Guardrail.Name", "Guardrail.On", "Guardrail.Rego", "Guardrail.File"}, used: func(a profiles.Agent) bool { return len(a.Guardrails) > 0 }},
		{Name: "executors.allowed", Cells: all(Enforced, "decider and interpreter ring", "profiles TestNotGrantedExecutors"), Fields: []string{"Executors.Allowed"}, used: always},
		{Name: "executors.minTier", Cells: all(Enforced, "interpreter ring: fewer layers start nothing", "rings/interpreter TestTierNamesWhatIsMissing"),
			Fields: []string{"Executors.MinTier"}, used: always},
		{Name: "sessions", Cells: []cell{python(Enforced, "python executor", "executors/python TestSessionAge", "executors/python TestSessionBounds"), js(Enforced, "daemon, and interpreter ring for the size", "cmd/ringd/internal/daemon TestSessions", "rings/interpreter TestSessions")},
			Fields: []string{"Sessions.MaxAge", "Sessions.MaxSize"}, used: func(a profiles.Agent) bool { return a.Sessions != nil }},
	}
}

func codeRows() []Row {
	return []Row{
		{Name: "js.imports", Cells: []cell{js(Enforced, "js executor: there is no other loader", "executors/js TestImportRefusals", "script run_import_denied")},
			Fields: []string{"Imports.Allow", "Imports.Deny"}, used: func(a profiles.Agent) bool { return a.JS != nil }},
		{Name: "js.globals.deny", Cells: []cell{js(firstRefusal, "js executor: takes the name away; what it could reach the guest has not")},
			Fields: []string{"JS.DenyGlobals"}, used: func(a profiles.Agent) bool { return a.JS != nil && len(a.JS.DenyGlobals) > 0 }},
		{Name: "modules", Cells: []cell{js(Enforced, "js executor: by digest", "executors/js TestModuleDigest")},
			Fields: []string{"ModuleSource.File", "ModuleSource.Source", "ModuleSource.Digest"}, used: func(a profiles.Agent) bool { return a.JS != nil }},
		{Name: "python.imports", Cells: []cell{python(Enforced, "guard in the guest, for code that uses the import system; the kernel ring bounds the rest", "executors/python/pyguest TestGuardRefuses", "executors/python TestDeniedToLibraries")},
			Fields: []string{"PythonImports.Allow", "PythonImports.Deny", "PythonImports.DenyProcess", "PythonImports.Within", "PythonImports.Beside", "PythonImports.Listed", "Python.OnDenied"}, used: func(a profiles.Agent) bool { return a.Python != nil }},
		{Name: "python.builtins.deny", Cells: []cell{python(firstRefusal, "guest: takes the name away; other ways lead to the same function")},
			Fields: []string{"Python.DenyBuiltins"}, used: func(a profiles.Agent) bool { return a.Python != nil && len(a.Python.DenyBuiltins) > 0 }},
		{Name: "python.environments", Cells: []cell{python(Enforced, "python executor, by digest; kernel ring mounts no other", "executors/python/environment TestDigest", "executors/python TestStandardLibraryOfAll")},
			Fields: []string{"Environment.Path", "Environment.Digest"}, used: func(a profiles.Agent) bool { return a.Python != nil && len(a.Python.Environments) > 0 }},
		{Name: "python.tier", Cells: []cell{python(Enforced, "python executor", "script run_python_wasm")},
			Fields: []string{"Python.Tier"}, used: func(a profiles.Agent) bool { return a.Python != nil && a.Python.Engine != "" }},
		{Name: "jit", Cells: []cell{python(Enforced, "kernel ring: memory stays not executable", "rings/kernel/seccomp TestAttacks"), shell(Enforced, "kernel ring: memory stays not executable", "rings/kernel/seccomp TestAttacks")},
			Fields: []string{"Python.JIT", "Shell.JIT"}, used: func(a profiles.Agent) bool { return a.Python != nil || a.Shell != nil }},
	}
}

func shellRows() []Row {
	scripted := func(a profiles.Agent) bool { return a.Shell != nil }
	programs := func(a profiles.Agent) bool { return a.Shell != nil && len(a.Shell.Binaries) > 0 }
	return []Row{
		{Name: "shell.binaries", Cells: []cell{shell(Enforced, "preflight and kernel ring: execve of no other file", "rings/kernel/violations TestTheKernelRefusesInTheEnd", "cmd/ringd TestCanary")},
			Fields: []string{"Binary.Path", "Binary.Helpers", "Binary.Under"}, used: scripted},
		{Name: "shell.binaries.args", Cells: []cell{shell(Enforced, "preflight and runner, of what a script starts; what a program does itself is the program's", "profiles TestExec", "executors/shell/dryrun TestCorpus")},
			Fields: []string{"Args.Subcommands", "Args.DenyFlags", "Args.SafeConfig", "Args.MaxArgs", "Args.Force", "DenyWords.Words", "DenyWords.Because", "DenyWords.Instead", "Binary.Env"}, used: programs},
		{Name: "shell.binaries.args.ask", Cells: []cell{shell(Enforced, "daemon: before the script goes on", "rings/interpreter TestActs", "rings/interpreter TestActHeld")},
			Fields: []string{"AskWords.Words", "AskWords.Because", "WordsApproval.From", "WordsApproval.Count", "WordsApproval.ExpiresAfter", "WordsApproval.Hold"}, used: programs},
		{Name: "shell.binaries: examples", Cells: []cell{shell(Compile, "compiler: each example is decided", "compiler TestGolden")},
			Fields: []string{"Binary.Match", "Binary.NotMatch", "Binary.Acknowledge", "DenyPattern.Match", "DenyPattern.NotMatch"}},
		{Name: "shell.binaries.network", Cells: []cell{shell(Unsupported, "nothing: a finding. The network is the agent's")}, Fields: []string{"Binary.Network", "Egress.Binaries"}},
		{Name: "shell.denyPatterns", Cells: []cell{shell(firstRefusal, "preflight and runner, of words of a script; binaries are the boundary")},
			Fields: []string{"DenyPattern.Pattern", "DenyPattern.Kind", "DenyPattern.Reason", "DenyPattern.Instead"}, used: func(a profiles.Agent) bool { return a.Shell != nil && len(a.Shell.DeniedPatterns) > 0 }},
		{Name: "shell constructs", Cells: []cell{shell(Enforced, "preflight: ringd is the shell", "executors/shell/dryrun TestCorpus")},
			Fields: []string{"Shell.AllowPipes", "Shell.AllowRedirects", "Shell.AllowSubstitution"}, used: scripted},
		{Name: "shell.env", Cells: []cell{shell(Enforced, "runner: no other variable is there", "executors/shell/runner TestVariablesBeforeAStart")},
			Fields: []string{"Shell.Env"}, used: scripted},
	}
}

func grantRows() []Row {
	some := bridged(func(profiles.Bridge) bool { return true })
	return []Row{
		{Name: "bridges", Cells: all(Enforced, "interpreter ring", "rings/interpreter TestRefusals", "executors/js TestBridgesOfOtherExecutors"),
			Fields: []string{"Bridge.Name", "Bridge.Executors"}, used: some},
		{Name: "bridges: arguments, result", Cells: all(Enforced, "interpreter ring: by JSON Schema, in the daemon", "rings/interpreter TestRefusals", "rings/interpreter/binding TestAlsoResult"),
			Fields: []string{"Bridge.Arguments", "Bridge.Result", "Bridge.Also", "Bridge.AlsoResult"}, used: bridged(func(b profiles.Bridge) bool { return len(b.Arguments)+len(b.Result) > 0 })},
		{Name: "bridges.limits", Cells: all(Enforced, "interpreter ring", "rings/interpreter TestTimeoutOfABridge", "rings/interpreter TestTreeLimits"),
			Fields: []string{"BridgeLimits.CallsPerRun", "BridgeLimits.Concurrent", "BridgeLimits.SpawnPerCall", "BridgeLimits.Depth", "BridgeLimits.TotalSpawn", "BridgeLimits.RequestBytes", "BridgeLimits.ResponseBytes", "BridgeLimits.Timeout"}, used: some},
		{Name: "bridges.approval", Cells: all(Enforced, "interpreter ring and daemon", "rings/interpreter TestApprovalExpires", "rings/interpreter TestConditions", "cmd/ringd/internal/daemon TestHeldForAPerson"),
			Fields: []string{"Approval.Required", "Approval.From", "Approval.Count", "Approval.ExpiresAfter", "Approval.Hold", "Approval.When"}, used: bridged(func(b profiles.Bridge) bool { return b.Approval != nil })},
		{Name: "filesystem", Cells: all(Enforced, "kernel ring: nothing else is mounted, Landlock; the bridges readFile and writeFile in the daemon", "rings/kernel TestLandlockRefusalsAreReported", "executors/shell TestFiles"),
			Fields: []string{"Filesystem.Read", "Filesystem.Write", "Filesystem.Deny", "Filesystem.Under"}, used: always},
	}
}

func networkRows() []Row {
	open := func(a profiles.Agent) bool { return len(a.Egress.Allow) > 0 }
	gated := func(a profiles.Agent) bool { return len(a.Egress.Gateways) > 0 }
	return []Row{
		{Name: "network: mode, hosts, ports", Cells: all(Enforced, "kernel ring: no other network; egress doors decide", "rings/kernel/proxy TestConnectRefused", "profiles TestEgressCorpus", "cmd/ringd TestCanary"),
			Fields: []string{"Network.Mode", "Network.Deny", "Egress.Host", "Egress.Ports", "Egress.ECH"}, used: always},
		{Name: "network: methods, paths", Cells: all(Enforced, "egress doors, of requests they can read; the compiler refuses them for TLS", "profiles TestEgressCorpus"),
			Fields: []string{"Egress.Methods", "Egress.Paths"}, used: open},
		{Name: "network: tls", Cells: all(Unsupported, "inspect is a finding; passthrough changes nothing"), Fields: []string{"Egress.TLS"}},
		{Name: "network: limits", Cells: all(Enforced, "egress doors", "rings/kernel/proxy TestLimitsOfTheRuleThatGrants", "rings/kernel/proxy TestPerMinute", "rings/kernel/proxy TestSharedLimits"),
			Fields: []string{"EgressLimits.Up", "EgressLimits.Down", "EgressLimits.Connections", "EgressLimits.Rate", "Egress.Under", "Gateway.Under"}, used: func(a profiles.Agent) bool { return open(a) || gated(a) }},
		{Name: "network: expires", Cells: all(Enforced, "egress doors: connections are cut", "cmd/ringd TestExpiryCuts"),
			Fields: []string{"Egress.Expires", "Gateway.Expires"}, used: func(a profiles.Agent) bool { return open(a) || gated(a) }},
		{Name: "network.gateways", Cells: all(Enforced, "egress doors: the credential stays in the daemon", "cmd/ringd TestGatewayKeepsItsCredential", "rings/kernel/proxy/httpproxy TestRequestStaysBelowItsPrefix"),
			Fields: []string{"Gateway.Name", "Gateway.Upstream", "Gateway.Addresses", "Gateway.Credential", "Gateway.Methods", "Gateway.Paths", "Gateway.Headers"}, used: gated},
	}
}

func limitRows() []Row {
	return []Row{
		{Name: "limits of a program", Fields: []string{"Limits.CPU", "Limits.Memory", "Limits.Wall", "Limits.Output", "Limits.Processes", "Limits.Files"}, used: always, Cells: []cell{
			js(Enforced, "engine, and kernel ring around it", "executors/js/engine TestFinalEnds", "executors/js TestConformance"),
			python(Enforced, "kernel ring, cgroup or rlimits; python executor", "executors/python TestMemory", "executors/python TestProcesses"),
			shell(Enforced, "kernel ring, cgroup or rlimits; shell executor", "executors/shell TestLimits", "executors/shell TestBomb")}},
		{Name: "limits of a program: result", Fields: []string{"Limits.Result"}, used: always, Cells: []cell{
			js(Enforced, "engine", "executors/js/engine TestValueBytesAfterARestore"), python(Enforced, "guest and python executor", "executors/python/pyguest TestEnds"),
			shell(Annotation, "a script has no result; its output has a limit")}},
		{Name: "limits of a program: stack", Fields: []string{"Limits.Stack"}, used: always, Cells: []cell{
			js(Enforced, "engine", "executors/js/engine TestDeepestStack"), python(Elsewhere, "CPython bounds its recursion; memory is the limit that holds"),
			shell(Elsewhere, "a program bounds its own; memory is the limit that holds")}},
		{Name: "limits of a run", Cells: all(Enforced, "interpreter ring and daemon", "rings/interpreter TestRefusedBudgetEndsTheRun"),
			Fields: []string{"Limits.RefusedCalls", "Limits.Pause"}, used: always},
	}
}
