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
		{Name: "documents and owners", Cells: all(Annotation, "a note for people")},
		{Name: "layers", Cells: all(Compile, "compiler: a layer that allows more than the layer above is a finding",
			"compiler/layers TestEveryFieldNarrows"),
			used: func(a profiles.Agent) bool { return len(a.Layers) > 0 }},
		{Name: "agents.match", Cells: all(Enforced, "daemon: the name that a harness states",
			"cmd/ringd/internal/daemon TestStartRefuses"),
			used: always},
		{Name: "agents.identities", Cells: all(Unsupported, "nothing: a finding")},
		{Name: "mode", Cells: all(Enforced, "daemon: in mode audit denied actions are recorded and allowed",
			"script mode_audit"),
			used: func(a profiles.Agent) bool { return a.Mode == profiles.ModeAudit }},
		{Name: "audit", Cells: all(Enforced, "daemon: nothing happens without its record",
			"cmd/ringd/internal/daemon TestAuditFailureStopsEverything"),
			used: always},
		{Name: "data classes", Cells: all(Compile, "compiler, by the classes that the owners of bridges declare",
			"compiler/layers TestEveryFieldNarrows")},
		{Name: "data.residency", Cells: all(Elsewhere,
			"the owner of a bridge or host: ringd does not know where data lies")},
		{Name: "powers", Cells: all(Elsewhere, "the bridge's owner: ringd relies on what the policy states"),
			used: func(a profiles.Agent) bool { return len(a.Bridges) > 0 || a.RuleOfTwo != nil }},
		{Name: "rule of two", Cells: all(Enforced, "compiler; interpreter ring, while a run goes on",
			"rings/interpreter TestTheThirdPowerAsks", "rings/interpreter TestTheThirdPowerIsDenied",
			"script rule_of_two"),
			used: func(a profiles.Agent) bool { return a.RuleOfTwo != nil }},
		{Name: "exceptions", Cells: all(Enforced, "compiler; daemon, when they end",
			"cmd/ringd/internal/daemon TestExceptionEnds"),
			used: func(a profiles.Agent) bool { return len(a.Exceptions) > 0 }},
		{Name: "guardrails", Cells: all(Enforced, "compiler; interpreter ring, for guardrails on calls",
			"script guardrails", "rings/interpreter TestGuardrailsOnCalls"),
			used: func(a profiles.Agent) bool { return len(a.Guardrails) > 0 }},
		{Name: "executors.allowed", Cells: all(Enforced, "decider and interpreter ring",
			"profiles TestNotGrantedExecutors"), used: always},
		{Name: "executors.minTier", Cells: all(Enforced, "interpreter ring: with fewer layers nothing starts",
			"rings/interpreter TestTierNamesWhatIsMissing"),
			used: always},
		{Name: "sessions", Cells: []cell{python(Enforced, "python executor", "executors/python TestSessionAge",
			"executors/python TestSessionBounds"), js(Enforced, "daemon, and interpreter ring for the size",
			"cmd/ringd/internal/daemon TestSessions", "rings/interpreter TestSessions")},
			used: func(a profiles.Agent) bool { return a.Sessions != nil }},
	}
}

func codeRows() []Row {
	return []Row{
		{Name: "js.imports", Cells: []cell{js(Enforced, "js executor: there is no other loader",
			"executors/js TestImportRefusals", "script run_import_denied")},
			used: func(a profiles.Agent) bool { return a.JS != nil }},
		{Name: "js.globals.deny", Cells: []cell{js(firstRefusal,
			"js executor: removes the name; with the name a guest could reach nothing either")},
			used: func(a profiles.Agent) bool { return a.JS != nil && len(a.JS.DenyGlobals) > 0 }},
		{Name: "modules", Cells: []cell{js(Enforced, "js executor: by digest", "executors/js TestModuleDigest")},
			used: func(a profiles.Agent) bool { return a.JS != nil }},
		{Name: "python.imports", Cells: []cell{python(Enforced,
			"guard in the guest, for code that uses the import system; the kernel ring bounds the rest",
			"executors/python/pyguest TestGuardRefuses", "executors/python TestDeniedToLibraries")},
			used: func(a profiles.Agent) bool { return a.Python != nil }},
		{Name: "python.builtins.deny", Cells: []cell{python(firstRefusal,
			"guest: removes the name; other ways lead to the same function")},
			used: func(a profiles.Agent) bool { return a.Python != nil && len(a.Python.DenyBuiltins) > 0 }},
		{Name: "python.environments", Cells: []cell{python(Enforced,
			"python executor, by digest; the kernel ring mounts no other packages",
			"executors/python/environment TestDigest", "executors/python TestStandardLibraryOfAll")},
			used: func(a profiles.Agent) bool { return a.Python != nil && len(a.Python.Environments) > 0 }},
		{Name: "python.tier", Cells: []cell{python(Enforced, "python executor", "script run_python_wasm")},
			used: func(a profiles.Agent) bool { return a.Python != nil && a.Python.Engine != "" }},
		{Name: "jit", Cells: []cell{python(Enforced, "kernel ring: memory cannot become executable",
			"rings/kernel/seccomp TestAttacks"), shell(Enforced, "kernel ring: memory cannot become executable",
			"rings/kernel/seccomp TestAttacks")},
			used: func(a profiles.Agent) bool { return a.Python != nil || a.Shell != nil }},
	}
}

func shellRows() []Row {
	scripted := func(a profiles.Agent) bool { return a.Shell != nil }
	programs := func(a profiles.Agent) bool { return a.Shell != nil && len(a.Shell.Binaries) > 0 }
	return []Row{
		{Name: "shell.binaries", Cells: []cell{shell(Enforced,
			"preflight and kernel ring: no other file can be executed",
			"rings/kernel/violations TestTheKernelRefusesInTheEnd", "cmd/ringd TestCanary")},
			used: scripted},
		{Name: "shell.binaries.args", Cells: []cell{shell(Enforced,
			"preflight and runner, for the commands of a script, and not for programs that a program starts itself",
			"profiles TestExec", "executors/shell/dryrun TestCorpus")},
			used: programs},
		{Name: "shell.binaries.args.ask",
			Cells: []cell{shell(Enforced, "daemon: before the script goes on", "rings/interpreter TestActs",
				"rings/interpreter TestActHeld")},
			used: programs},
		{Name: "shell.binaries: examples",
			Cells: []cell{shell(Compile, "compiler: each example is decided", "compiler TestGolden")}},
		{Name: "shell.binaries.network", Cells: []cell{shell(Unsupported,
			"nothing: a finding, because all programs of an agent share its network")}},
		{Name: "shell.denyPatterns", Cells: []cell{shell(firstRefusal,
			"preflight and runner, for the words of a script; the list of programs is the boundary")},
			used: func(a profiles.Agent) bool { return a.Shell != nil && len(a.Shell.DeniedPatterns) > 0 }},
		{Name: "shell constructs", Cells: []cell{shell(Enforced, "preflight: ringd itself runs the script",
			"executors/shell/dryrun TestCorpus")},
			used: scripted},
		{Name: "shell.env", Cells: []cell{shell(Enforced, "runner: no other variable is set",
			"executors/shell/runner TestVariablesBeforeAStart")},
			used: scripted},
	}
}

func grantRows() []Row {
	some := bridged(func(profiles.Bridge) bool { return true })
	return []Row{
		{Name: "bridges", Cells: all(Enforced, "interpreter ring", "rings/interpreter TestRefusals",
			"executors/js TestBridgesOfOtherExecutors"),
			used: some},
		{Name: "bridges: arguments, result", Cells: all(Enforced, "interpreter ring: by JSON Schema, in the daemon",
			"rings/interpreter TestRefusals", "rings/interpreter/binding TestAlsoResult"),
			used: bridged(func(b profiles.Bridge) bool { return len(b.Arguments)+len(b.Result) > 0 })},
		{Name: "bridges.limits", Cells: all(Enforced, "interpreter ring", "rings/interpreter TestTimeoutOfABridge",
			"rings/interpreter TestTreeLimits"),
			used: some},
		{Name: "bridges.approval", Cells: all(Enforced, "interpreter ring and daemon",
			"rings/interpreter TestApprovalExpires", "rings/interpreter TestConditions",
			"cmd/ringd/internal/daemon TestHeldForAPerson"),
			used: bridged(func(b profiles.Bridge) bool { return b.Approval != nil })},
		{Name: "filesystem", Cells: all(Enforced,
			"kernel ring: nothing else is mounted, and Landlock; daemon, for the bridges readFile and writeFile",
			"rings/kernel TestLandlockRefusalsAreReported", "executors/shell TestFiles"),
			used: always},
	}
}

func networkRows() []Row {
	open := func(a profiles.Agent) bool { return len(a.Egress.Allow) > 0 }
	gated := func(a profiles.Agent) bool { return len(a.Egress.Gateways) > 0 }
	return []Row{
		{Name: "network: mode, hosts, ports", Cells: all(Enforced,
			"kernel ring: no other network; egress listeners decide",
			"rings/kernel/proxy TestConnectRefused", "profiles TestEgressCorpus", "cmd/ringd TestCanary"),
			used: always},
		{Name: "network: methods, paths", Cells: all(Enforced,
			"egress listeners, for requests that they can read; for TLS the compiler rejects the field",
			"profiles TestEgressCorpus"),
			used: open},
		{Name: "network: tls", Cells: all(Unsupported, "inspect is a finding; passthrough changes nothing")},
		{Name: "network: limits", Cells: all(Enforced, "egress listeners",
			"rings/kernel/proxy TestLimitsOfTheRuleThatGrants", "rings/kernel/proxy TestPerMinute",
			"rings/kernel/proxy TestSharedLimits"),
			used: func(a profiles.Agent) bool { return open(a) || gated(a) }},
		{Name: "network: expires", Cells: all(Enforced, "egress listeners: connections are cut",
			"cmd/ringd TestExpiryCuts"),
			used: func(a profiles.Agent) bool { return open(a) || gated(a) }},
		{Name: "network.gateways", Cells: all(Enforced, "egress listeners: the credential stays in the daemon",
			"cmd/ringd TestGatewayKeepsItsCredential", "rings/kernel/proxy/httpproxy TestRequestStaysBelowItsPrefix"),
			used: gated},
	}
}

func limitRows() []Row {
	return []Row{
		{Name: "limits of a program", used: always, Cells: []cell{
			js(Enforced, "engine, and kernel ring around it", "executors/js/engine TestFinalEnds",
				"executors/js TestConformance"),
			python(Enforced, "kernel ring, cgroup or rlimits; python executor", "executors/python TestMemory",
				"executors/python TestProcesses"),
			shell(Enforced, "kernel ring, cgroup or rlimits; shell executor", "executors/shell TestLimits",
				"executors/shell TestBomb")}},
		{Name: "limits of a program: result", used: always, Cells: []cell{
			js(Enforced, "engine", "executors/js/engine TestValueBytesAfterARestore"),
			python(Enforced, "guest and python executor", "executors/python/pyguest TestEnds"),
			shell(Annotation, "a script has no result; its output has a limit")}},
		{Name: "limits of a program: stack", used: always, Cells: []cell{
			js(Enforced, "engine", "executors/js/engine TestDeepestStack"),
			python(Elsewhere, "CPython limits its recursion; ringd limits the memory"),
			shell(Elsewhere, "each program limits its own stack; ringd limits the memory")}},
		{Name: "limits of a run", Cells: all(Enforced, "interpreter ring and daemon",
			"rings/interpreter TestRefusedBudgetEndsTheRun"),
			used: always},
	}
}
