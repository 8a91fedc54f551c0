package enforcement

import "strings"

// Shown is the test that proves the enforcement of a field: a folder and the name of a test in it, or
// "script" and the name of a script, and the word for the field in the test.
type Shown struct {
	Field string `json:"field"`
	Test  string `json:"test"`
	Word  string `json:"word"`
}

// shown returns the fields of a row that an executor enforces, each with its test. A field without a test
// fails a test.
func shown(fields []string, executor string) []Shown {
	proofs := map[string]string{}
	for _, group := range []map[string]string{wholeProofs(), codeProofs(), wordProofs(), grantProofs(), networkProofs(),
		limitProofs()} {
		for field, proof := range group {
			proofs[field] = proof
		}
	}
	var out []Shown
	for _, f := range fields {
		proof, ok := proofs[f+" "+executor]
		if !ok {
			proof = proofs[f]
		}
		test, word := proof, ""
		if i := strings.LastIndex(proof, " "); i >= 0 {
			test, word = proof[:i], proof[i+1:]
		}
		out = append(out, Shown{f, test, word})
	}
	return out
}

func wholeProofs() map[string]string {
	return map[string]string{
		"AgentMatch.Match":         "cmd/ringd/internal/daemon TestStartRefuses CodeUnknownAgent",
		"Spec.Mode":                "script mode_audit mode:",
		"Spec.Audit":               "rings/interpreter TestStrictAuditSyncsEverything strict",
		"Bridge.Audit":             "rings/interpreter TestAllowedCall Full",
		"Shell.Audit":              "rings/interpreter TestActsInFull Full",
		"RuleOfTwo.OnThree":        "script rule_of_two onThree",
		"RuleOfTwo.Scope":          "rings/interpreter TestOverASession Scope",
		"RuleOfTwo.Mode":           "script rule_of_two mode:",
		"Policy.Excepted":          "script exceptions exceptions:",
		"Exception.ID":             "script fields_words EXC-7",
		"Exception.Owner":          "script exceptions owner",
		"Exception.ApprovedBy":     "script exceptions approvedBy",
		"Exception.Expires":        "script test_now expires",
		"Exception.Reason":         "script exceptions reason",
		"Exception.Ticket":         "script test_now ticket",
		"Exception.Lifts":          "script exceptions approvedBy",
		"ExceptionGrants.Imports":  "script test_now imports",
		"ExceptionGrants.Binaries": "script fields_words binaries:",
		"Guardrail.Name":           "script guardrails name",
		"Guardrail.On":             "script guardrails on:",
		"Guardrail.Rego":           "script guardrails rego",
		"Guardrail.File":           "script guardrails file",
		"Executors.Allowed":        "profiles TestNotGrantedExecutors CodeExecutorNotGranted",
		"Executors.MinTier":        "rings/interpreter TestTierNamesWhatIsMissing MinTier",
		"Sessions.MaxAge python":   "executors/python TestSessionAge AgeMillis",
		"Sessions.MaxSize python":  "script python_session maxSize:",
		"Sessions.MaxAge js":       "cmd/ringd/internal/daemon TestSessions AgeMillis",
		"Sessions.MaxSize js":      "rings/interpreter TestSessions Bytes:",
	}
}

func codeProofs() map[string]string {
	return map[string]string{
		"Imports.Allow":             "executors/js TestImportRefusals Allow",
		"Imports.Deny":              "executors/js TestImportRefusals Deny",
		"ModuleSource.File":         "script fields_words file:",
		"ModuleSource.Source":       "executors/js TestModuleDigest Source",
		"ModuleSource.Digest":       "executors/js TestModuleDigest digest",
		"PythonImports.Allow":       "script decide_import allow:",
		"PythonImports.Deny":        "executors/python/pyguest TestGuardRefuses Deny",
		"PythonImports.DenyProcess": "script decide_import denyProcess",
		"PythonImports.Within":      "profiles/modules TestIndexDefaults Only",
		"PythonImports.Beside":      "compiler TestExceptionEnds pandas",
		"PythonImports.Listed":      "compiler TestExceptionEnds xml.dom",
		"Python.OnDenied":           "executors/python TestReloadEnds EndOnDenied",
		"Environment.Path":          "executors/python/environment TestRefused Path",
		"Environment.Digest":        "executors/python/environment TestDigest Digest",
		"Python.Tier":               "script run_python_wasm tier:",
		"Python.JIT":                "rings/kernel/seccomp TestForeignCodeIsKilled JIT",
		"Shell.JIT":                 "rings/kernel/seccomp TestForeignCodeIsKilled JIT",
	}
}

func wordProofs() map[string]string {
	return map[string]string{
		"Binary.Path":                "rings/kernel/violations TestTheKernelRefusesInTheEnd exec",
		"Binary.Helpers":             "rings/kernel TestProgramsOfAShell Helpers",
		"Args.Subcommands":           "script fields_words subcommands:",
		"Args.DenyFlags":             "script fields_words denyFlags:",
		"Args.SafeConfig":            "script fields_words safeConfig:",
		"Args.MaxArgs":               "script fields_words maxArgs:",
		"Args.Force":                 "script fields_words force:",
		"DenyWords.Words":            "script fields_words deny:",
		"DenyWords.Because":          "script fields_words because:",
		"DenyWords.Instead":          "script fields_words instead:",
		"Binary.Env":                 "script fields_words env:",
		"AskWords.Words":             "script fields_words ask:",
		"AskWords.Because":           "script fields_words because:",
		"WordsApproval.From":         "rings/interpreter/binding TestTerms From",
		"WordsApproval.Count":        "rings/interpreter TestActAskedAhead Count",
		"WordsApproval.ExpiresAfter": "rings/interpreter TestActGenerations ExpiresMillis",
		"WordsApproval.Hold":         "rings/interpreter TestActHeld HoldMillis",
		"Shell.AllowPipes":           "script fields_words allowPipes:",
		"Shell.AllowRedirects":       "script fields_words allowRedirects:",
		"Shell.AllowSubstitution":    "script fields_words allowSubstitution:",
		"Shell.Env":                  "executors/shell/runner TestVariablesBeforeAStart Env",
	}
}

func grantProofs() map[string]string {
	return map[string]string{
		"Bridge.Name":                "rings/interpreter TestRefusals CodeBridgeNotGranted",
		"Bridge.Executors":           "rings/interpreter TestRefusals Executors",
		"Bridge.Arguments":           "rings/interpreter TestRefusals CodeBridgeArguments",
		"Bridge.Result":              "rings/interpreter TestHostileResults Result",
		"Bridge.Also":                "profiles TestNarrowNeverWidens Also",
		"Bridge.AlsoResult":          "rings/interpreter/binding TestAlsoResult AlsoResult",
		"BridgeLimits.CallsPerRun":   "rings/interpreter TestRefusals CallsPerRun",
		"BridgeLimits.Concurrent":    "rings/interpreter TestRefusals Concurrent",
		"BridgeLimits.SpawnPerCall":  "rings/interpreter TestTreeLimits SpawnPerCall",
		"BridgeLimits.Depth":         "rings/interpreter TestTreeLimits Depth",
		"BridgeLimits.TotalSpawn":    "rings/interpreter TestTreeLimits TotalSpawn",
		"BridgeLimits.RequestBytes":  "rings/interpreter TestRefusals ArgumentBytes",
		"BridgeLimits.ResponseBytes": "rings/interpreter TestRefusals ResultBytes",
		"BridgeLimits.Timeout":       "rings/interpreter TestTimeoutOfABridge TimeoutMillis",
		"Approval.Required":          "rings/interpreter TestApprovedWhileLive Approval",
		"Approval.From":              "rings/interpreter/binding TestTerms From",
		"Approval.Count":             "rings/interpreter/binding TestTerms Count",
		"Approval.ExpiresAfter":      "rings/interpreter TestApprovalExpires ExpiresMillis",
		"Approval.Hold":              "rings/interpreter TestCallHeld HoldMillis",
		"Approval.When":              "rings/interpreter TestConditions When",
		"Filesystem.Read":            "executors/shell TestFiles Read",
		"Filesystem.Write":           "executors/shell TestFiles Write",
		"Filesystem.Deny":            "script fields_run deny:",
	}
}

func networkProofs() map[string]string {
	return map[string]string{
		"Network.Mode":             "script decide_egress mode:",
		"Network.Deny":             "rings/kernel/proxy TestConnectRefused Deny",
		"Egress.Host":              "rings/kernel/proxy TestConnectRefused Host",
		"Egress.Ports":             "rings/kernel/proxy TestConnectRefused Ports",
		"Egress.ECH":               "profiles/egress TestHello ECH",
		"Egress.Methods":           "profiles/egress TestRequest Methods",
		"Egress.Paths":             "profiles/egress TestRequest Paths",
		"EgressLimits.Up":          "rings/kernel/proxy TestBytes UpBytes",
		"EgressLimits.Down":        "rings/kernel/proxy TestBytes DownBytes",
		"EgressLimits.Connections": "rings/kernel/proxy TestConnectionsOfRule Connections",
		"EgressLimits.Rate":        "rings/kernel/proxy TestPerMinute PerMinute",
		"Egress.Expires":           "rings/kernel/proxy TestExpiry Expires",
		"Binary.Under":             "rings/kernel/rootfs TestHelpersWithinLayers Within",
		"Filesystem.Under":         "rings/kernel/rootfs TestWithinLayers Within",
		"Egress.Under":             "rings/kernel/proxy TestSharedLimits Under",
		"Gateway.Under":            "rings/kernel/proxy TestSharedLimits Under",
		"Gateway.Expires":          "cmd/ringd TestExpiryCuts expires",
		"Gateway.Name":             "rings/kernel/proxy TestGateway Name",
		"Gateway.Upstream":         "rings/kernel/proxy TestGateway Upstream",
		"Gateway.Addresses":        "rings/kernel/proxy TestGatewayGuard Addresses",
		"Gateway.Credential":       "rings/kernel/proxy TestGateway Credential",
		"Gateway.Methods":          "rings/kernel/proxy TestGateway Methods",
		"Gateway.Paths":            "rings/kernel/proxy TestGateway Paths",
		"Gateway.Headers":          "rings/kernel/proxy TestGatewayFields Headers",
	}
}

func limitProofs() map[string]string {
	return map[string]string{
		"Limits.CPU js":           "executors/js/engine TestFinalEnds CPU",
		"Limits.Memory js":        "executors/js/engine TestFinalEnds MemoryBytes",
		"Limits.Wall js":          "executors/js/engine TestFinalEnds ErrWall",
		"Limits.Output js":        "executors/js TestCountsOverAPause OutputBytes",
		"Limits.Result js":        "executors/js/engine TestValueBytesAfterARestore ValueBytes",
		"Limits.Stack js":         "executors/js/engine TestDeepestStack StackBytes",
		"Limits.Processes js":     "rings/kernel/seccomp TestSeal clone",
		"Limits.Files js":         "executors/js TestSealed files",
		"Limits.CPU python":       "executors/python TestEnds CPUMillis",
		"Limits.Memory python":    "executors/python TestMemory MemoryBytes",
		"Limits.Wall python":      "executors/python TestEnds WallMillis",
		"Limits.Output python":    "executors/python TestEnds OutputBytes",
		"Limits.Result python":    "executors/python/pyguest TestEnds ResultBytes",
		"Limits.Processes python": "executors/python TestProcesses Processes",
		"Limits.Files python":     "script fields_run files:",
		"Limits.CPU shell":        "executors/shell TestLimits CPUMillis",
		"Limits.Memory shell":     "script fields_run memory:",
		"Limits.Wall shell":       "executors/shell TestLimits WallMillis",
		"Limits.Output shell":     "executors/shell TestLimits OutputBytes",
		"Limits.Processes shell":  "executors/shell TestLimits Processes",
		"Limits.Files shell":      "script fields_run files:",
		"Limits.RefusedCalls":     "rings/interpreter TestRefusedBudgetEndsTheRun RefusedCalls",
		"Limits.Pause":            "rings/interpreter TestExpiry PauseMillis",
	}
}
