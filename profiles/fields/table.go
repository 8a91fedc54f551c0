package fields

import "slices"

const excepts = "an exception stands in the document that needs it, and is approved by the owner of each layer " +
	"that it exceeds"

// Table lists every field of the language. The rows of one type are in the order in which layers merge them:
// the limits for all executors come before the executors, because they bound the executors' own limits.
func Table() []Field {
	return slices.Concat(documents(), settings(), code(), scripts(), words(), bridges(), reach(), gateways(), limits())
}

// documents lists the fields that identify and describe a policy.
func documents() []Field {
	return []Field{
		{Policy: "Policy.File", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Policy.Compact", Order: Own, By: "names: the agent default", Row: "layers",
			Says: "the compact form names no parent, and is refused beside an OrgPolicy"},
		{Policy: "Policy.APIVersion", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Policy.Kind", Order: Own, By: "AgentPolicy grants, the others are ceilings", Row: "layers",
			Says: "OrgPolicy and TeamPolicy bound, AgentPolicy is granted"},
		{Policy: "Policy.Metadata", Order: Parts},
		{Policy: "Policy.Spec", Order: Parts},
		{Policy: "Policy.Layers", Profile: "Agent.Layers", Order: Filled, Row: "layers"},
		{Policy: "Policy.Excepted", Profile: "Binary.Exception", Order: Filled, Row: "exceptions"},
		{Policy: "Policy.Appended", Profile: "Imports.Default", Order: Filled, Row: "layers"},
		{Policy: "Policy.Origins", Order: Annotation, Fate: Informs, Row: "documents and owners"},

		{Policy: "Metadata.Name", Profile: "Agent.Policy", Order: Key, Row: "layers",
			Says: "means one document; the agent's is under spec.agents where no agents are named"},
		{Policy: "Metadata.Revision", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.Owner", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.Description", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.Labels", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.Compliance", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.ReviewBy", Order: Annotation, Fate: Informs, Row: "documents and owners"},
		{Policy: "Metadata.Parent", Order: Own, By: "the layers above", Row: "layers",
			Says: "a policy of the same folder; beside an OrgPolicy everything is under it"},

		{Policy: "Spec.Mode", Profile: "Agent.Mode", Order: Stricter, Words: []string{"audit", "enforce"},
			Strictest: true, Row: "mode",
			Says: "a layer allows audit that says it, or leaves mode out below one that does, and an agent that " +
				"leaves it out enforces"},
		{Policy: "Spec.Audit", Profile: "Agent.Audit", Order: Stricter, Words: []string{"", "strict"}, Row: "audit"},
		{Policy: "Spec.Agents", Order: Parts},
		{Policy: "Spec.Data", Order: Parts},
		{Policy: "Spec.RuleOfTwo", Order: Parts, Strictest: true},
		{Policy: "Spec.Inputs", Order: Parts},
		{Policy: "Spec.Limits", Order: Parts},
		{Policy: "Spec.Executors", Order: Parts, Grant: true},
		{Policy: "Spec.Modules", Order: Parts},
		{Policy: "Spec.Bridges", Order: Parts, Grant: true},
		{Policy: "Spec.Filesystem", Order: Parts},
		{Policy: "Spec.Network", Order: Parts, Grant: true},
		{Policy: "Spec.Sessions", Order: Parts, Grant: true},
		{Policy: "Spec.Exceptions", Order: Parts},
		{Policy: "Spec.Guardrails", Order: Parts},
	}
}

// settings lists the fields that apply to a whole agent.
func settings() []Field {
	return []Field{
		{Policy: "AgentMatch.Match", Profile: "Set.Agents", Order: Key, Row: "agents.match",
			Says: "a list above holds the only agents there are"},
		{Policy: "AgentMatch.Identities", Order: Subset, Fate: Refused, By: "workload identities",
			Row: "agents.identities", Says: "absent: those above"},

		{Policy: "Data.MaxClass", Order: Stricter, Words: []string{"restricted", "confidential", "internal", "public"},
			By: "decided while it compiles", Row: "data classes"},
		{Policy: "Data.Residency", Order: Subset, Fate: Informs, Row: "data.residency",
			Says: "absent: those above; nothing enforces it, so it is an annotation that narrows"},

		{Policy: "RuleOfTwo.OnThree", Profile: "RuleOfTwo.OnThree", Order: Stricter,
			Words: []string{"require-approval", "deny"}, Strictest: true, Row: "rule of two"},
		{Policy: "RuleOfTwo.Scope", Profile: "RuleOfTwo.Scope", Order: Stricter, Words: []string{"run", "session"},
			Strictest: true, Row: "rule of two"},
		{Policy: "RuleOfTwo.Mode", Profile: "RuleOfTwo.Mode", Order: Stricter,
			Words: []string{"report", "dynamic", "enforce"}, Strictest: true, Row: "rule of two"},

		{Policy: "Inputs.Powers", Order: Parts},

		{Policy: "Touches.Sensitive", Profile: "Powers.Sensitive", Order: Owner, Row: "powers",
			Says: "as the first layer that states it"},
		{Policy: "Touches.Untrusted", Profile: "Powers.Untrusted", Order: Owner, Row: "powers",
			Says: "as the first layer that states it"},
		{Policy: "Touches.External", Profile: "Powers.External", Order: Owner, Row: "powers",
			Says: "as the first layer that states it"},

		{Policy: "Sessions.MaxAge", Profile: "Sessions.AgeMillis", Order: AtMost, Unit: Duration, Row: "sessions"},
		{Policy: "Sessions.MaxSize", Profile: "Sessions.Bytes", Order: AtMost, Unit: Size, Row: "sessions"},

		{Policy: "Exception.ID", Profile: "Exception.ID", Order: Own, Row: "exceptions", Says: excepts},
		{Policy: "Exception.Owner", Profile: "Exception.Owner", Order: Own, Row: "exceptions", Says: excepts},
		{Policy: "Exception.ApprovedBy", Profile: "Exception.ApprovedBy", Order: Own, Row: "exceptions", Says: excepts},
		{Policy: "Exception.Expires", Profile: "Exception.Expires", Order: Own, Unit: Date, Row: "exceptions",
			Says: excepts},
		{Policy: "Exception.Reason", Profile: "Exception.Reason", Order: Own, Row: "exceptions", Says: excepts},
		{Policy: "Exception.Ticket", Profile: "Exception.Ticket", Order: Own, Row: "exceptions", Says: excepts},
		{Policy: "Exception.Grants", Order: Parts},
		{Policy: "Exception.Lifts", Profile: "Exception.Lifts", Order: Filled, Row: "exceptions"},

		{Policy: "ExceptionGrants.Imports", Profile: "Imports.Allow", Order: Own, Row: "exceptions",
			Says: excepts},
		{Policy: "ExceptionGrants.Egress", Order: Parts},
		{Policy: "ExceptionGrants.Binaries", Profile: "Shell.Binaries", Order: Own, Row: "exceptions",
			Says: excepts},

		{Policy: "Guardrail.Name", Profile: "Guardrail.Name", Order: Accumulates, Row: "guardrails",
			Says: "a name means one guardrail"},
		{Policy: "Guardrail.On", Profile: "Guardrail.On", Order: Owner, Row: "guardrails",
			Says: "a guardrail above stays as it is"},
		{Policy: "Guardrail.Rego", Profile: "Guardrail.Rego", Order: Owner, Row: "guardrails",
			Says: "a guardrail above stays as it is"},
		{Policy: "Guardrail.File", Profile: "Guardrail.Rego", Order: Owner, Row: "guardrails",
			Says: "a guardrail above stays as it is"},
		{Policy: "Guardrail.OnError", Order: Annotation, Fate: Informs, Row: "documents and owners",
			Says: "a guardrail above stays as it is"},
	}
}

// code lists the fields of JavaScript and Python.
func code() []Field {
	return []Field{
		{Policy: "Executors.Allowed", Order: Subset, Grant: true, By: "Agent.JS, Python, Shell",
			Row: "executors.allowed"},
		{Policy: "Executors.MinTier", Profile: "Agent.MinTier", Order: Stricter,
			Words: []string{"process", "wasm", "os-sandbox", "container", "microvm", "remote"},
			Row:   "executors.minTier"},
		{Policy: "Executors.JS", Order: Parts, Grant: true},
		{Policy: "Executors.Python", Order: Parts, Grant: true},
		{Policy: "Executors.Shell", Order: Parts, Grant: true},

		{Policy: "Imports.Allow", Profile: "Imports.Allow", Order: Subset, Grant: true, Row: "js.imports",
			Says: "a specifier as it is listed"},
		{Policy: "Imports.Deny", Profile: "Imports.Deny", Order: Accumulates, Row: "js.imports"},

		{Policy: "JS.Imports", Order: Parts},
		{Policy: "JS.DenyGlobals", Profile: "JS.DenyGlobals", Order: Accumulates, Row: "js.globals.deny"},
		{Policy: "JS.Limits", Order: Parts},

		{Policy: "Python.Imports", Order: Parts},
		{Policy: "Python.DenyBuiltins", Profile: "Python.DenyBuiltins", Order: Accumulates,
			Row: "python.builtins.deny"},
		{Policy: "Python.Environment", Order: Parts},
		{Policy: "Python.Environments", Order: Parts},
		{Policy: "Python.OnDenied", Profile: "Python.EndOnDenied", Order: Stricter, Words: []string{"report", "end"},
			Row: "python.imports"},
		{Policy: "Python.Tier", Profile: "Python.Engine", Order: Owner, Row: "python.tier", Says: "absent: that above"},
		{Policy: "Python.JIT", Profile: "Python.JIT", Order: Opens, Grant: true, Row: "jit"},
		{Policy: "Python.Limits", Order: Parts},

		{Policy: "PythonImports.Allow", Profile: "Imports.Allow", Order: Subset, Grant: true, Row: "python.imports",
			Says: "a module and what is below it; * only below *; absent or empty: what of the default set is " +
				"above as well"},
		{Policy: "PythonImports.Deny", Profile: "Imports.Deny", Order: Accumulates, Row: "python.imports"},
		{Policy: "PythonImports.DenyProcess", Profile: "Imports.Process", Order: Accumulates, Row: "python.imports"},
		{Policy: "PythonImports.Within", Profile: "Imports.Only", Order: Filled, Row: "python.imports"},
		{Policy: "PythonImports.Beside", Profile: "Imports.Allow", Order: Filled, Row: "python.imports"},
		{Policy: "PythonImports.Listed", Profile: "Imports.Default", Order: Filled, Row: "python.imports"},

		{Policy: "Environment.Path", Profile: "PythonEnvironment.Path", Order: Subset, Row: "python.environments",
			Says: "absent: those above"},
		{Policy: "Environment.Digest", Profile: "PythonEnvironment.Digest", Order: Owner, Row: "python.environments",
			Says: "absent: that above"},

		{Policy: "ModuleSource.File", Profile: "Module.File", Order: Owner, Row: "modules",
			Says: "a module above is there for all documents below, which may not define it again"},
		{Policy: "ModuleSource.Source", Profile: "Module.Source", Order: Owner, Row: "modules",
			Says: "a module above is there for all documents below, which may not define it again"},
		{Policy: "ModuleSource.Digest", Profile: "Module.Digest", Order: Owner, Row: "modules",
			Says: "a module above is there for all documents below, which may not define it again"},
	}
}

// scripts lists the fields of the shell.
func scripts() []Field {
	return []Field{
		{Policy: "Shell.Binaries", Order: Parts, Grant: true},
		{Policy: "Shell.DenyPatterns", Order: Parts},
		{Policy: "Shell.Env", Profile: "Shell.Env", Order: Owner, Row: "shell.env",
			Says: "values above stay; a script's own variables may be added"},
		{Policy: "Shell.AllowPipes", Profile: "Shell.Pipes", Order: Opens, Grant: true, Row: "shell constructs"},
		{Policy: "Shell.AllowRedirects", Profile: "Shell.Redirects", Order: Opens, Grant: true,
			Row: "shell constructs"},
		{Policy: "Shell.AllowSubstitution", Profile: "Shell.Substitution", Order: Opens, Grant: true,
			Row: "shell constructs"},
		{Policy: "Shell.JIT", Profile: "Shell.JIT", Order: Opens, Grant: true, Row: "jit"},
		{Policy: "Shell.Audit", Profile: "Shell.Audit", Order: Stricter, Words: []string{"metadata", "full"},
			Row: "audit"},
		{Policy: "Shell.Limits", Order: Parts},

		{Policy: "Binary.Path", Profile: "Binary.Path", Order: Key, Row: "shell.binaries",
			Says: "a list above holds the only programs there are"},
		{Policy: "Binary.Args", Order: Parts},
		{Policy: "Binary.Env", Profile: "Binary.ForceEnv", Order: Owner, Row: "shell.binaries.args",
			Says: "values above stay; a script's own variables may be added"},
		{Policy: "Binary.Helpers", Profile: "Binary.Helpers", Order: Subset, None: true, Grant: true,
			Row:  "shell.binaries",
			Says: "a file, or what lies below a folder"},
		{Policy: "Binary.Match", Order: Own, By: "decided while it compiles", Row: "shell.binaries: examples",
			Says: "examples of one document"},
		{Policy: "Binary.NotMatch", Order: Own, By: "decided while it compiles", Row: "shell.binaries: examples",
			Says: "examples of one document"},
		{Policy: "Binary.Acknowledge", Order: Own, By: "findings about what a program can do",
			Row: "shell.binaries: examples", Says: "absent: that above; it silences findings, and grants nothing"},
		{Policy: "Binary.Network", Order: Opens, Grant: true, Fate: Refused, By: "the network of one program",
			Row: "shell.binaries.network"},
		{Policy: "Binary.Under", Profile: "PathRule.Within", Order: Filled, Row: "shell.binaries"},

		{Policy: "DenyPattern.Pattern", Profile: "Shell.DeniedPatterns", Order: Accumulates, Row: "shell.denyPatterns"},
		{Policy: "DenyPattern.Kind", Order: Accumulates, By: "argv and literal; others are refused",
			Row: "shell.denyPatterns", Says: "with its rule"},
		{Policy: "DenyPattern.Reason", Profile: "Pattern.Reason", Order: Annotation, Row: "shell.denyPatterns",
			Says: "with its rule"},
		{Policy: "DenyPattern.Instead", Profile: "Pattern.Instead", Order: Annotation, Row: "shell.denyPatterns",
			Says: "with its rule"},
		{Policy: "DenyPattern.Match", Order: Own, By: "decided while it compiles", Row: "shell.binaries: examples",
			Says: "examples of one document"},
		{Policy: "DenyPattern.NotMatch", Order: Own, By: "decided while it compiles", Row: "shell.binaries: examples",
			Says: "examples of one document"},
	}
}

// words lists the fields that restrict the arguments of a program.
func words() []Field {
	return []Field{
		{Policy: "Args.Subcommands", Profile: "Binary.Allow", Order: Subset, Row: "shell.binaries.args",
			Says: "words that begin with those above; absent: those above"},
		{Policy: "Args.Deny", Order: Parts},
		{Policy: "Args.DenyFlags", Profile: "Binary.Deny", Order: Accumulates, Row: "shell.binaries.args"},
		{Policy: "Args.Ask", Order: Parts},
		{Policy: "Args.SafeConfig", Profile: "Binary.SafeConfig", Order: Restrains, Row: "shell.binaries.args"},
		{Policy: "Args.MaxArgs", Profile: "Binary.MaxArgs", Order: AtMost, Unit: Count, Row: "shell.binaries.args"},
		{Policy: "Args.Force", Profile: "Binary.ForceArgs", Order: Owner, Row: "shell.binaries.args",
			Says: "they explain the decision"},

		{Policy: "DenyWords.Words", Profile: "Binary.Deny", Order: Accumulates, Row: "shell.binaries.args"},
		{Policy: "DenyWords.Because", Profile: "Pattern.Reason", Order: Annotation, Row: "shell.binaries.args",
			Says: "with its rule"},
		{Policy: "DenyWords.Instead", Profile: "Pattern.Instead", Order: Annotation, Row: "shell.binaries.args",
			Says: "with its rule"},

		{Policy: "AskWords.Words", Profile: "Binary.Ask", Order: Accumulates, Row: "shell.binaries.args.ask",
			Says: "a rule below comes before those above if it asks no less"},
		{Policy: "AskWords.Because", Profile: "Pattern.Reason", Order: Own, Row: "shell.binaries.args.ask",
			Says: "with its rule; what is asked above is asked with the words of who narrows it last"},
		{Policy: "AskWords.Approval", Order: Parts},

		{Policy: "WordsApproval.From", Profile: "Approval.From", Order: Subset, Row: "shell.binaries.args.ask",
			Says: "absent: those above"},
		{Policy: "WordsApproval.Count", Profile: "Approval.Count", Order: AtLeast, Unit: Count,
			Row: "shell.binaries.args.ask"},
		{Policy: "WordsApproval.ExpiresAfter", Profile: "Approval.ExpiresMillis", Order: AtMost, Unit: Duration,
			Row: "shell.binaries.args.ask"},
		{Policy: "WordsApproval.Hold", Profile: "Approval.HoldMillis", Order: AtMost, Unit: Duration,
			Row: "shell.binaries.args.ask"},
	}
}

// bridges lists the fields of bridges.
func bridges() []Field {
	return []Field{
		{Policy: "Bridge.Name", Profile: "Bridge.Name", Order: Key, Row: "bridges",
			Says: "a list above offers the only bridges there are"},
		{Policy: "Bridge.Powers", Order: Parts},
		{Policy: "Bridge.DataClass", Order: Stricter,
			Words: []string{"public", "internal", "confidential", "restricted"}, By: "decided while it compiles",
			Row: "data classes", Says: "a label cannot be taken off"},
		{Policy: "Bridge.Executors", Profile: "Bridge.Executors", Order: Subset, Row: "bridges",
			Says: "absent: those above"},
		{Policy: "Bridge.Arguments", Profile: "Bridge.Arguments", Order: Accumulates,
			Row: "bridges: arguments, result", Says: "an argument fits the schemas of all layers"},
		{Policy: "Bridge.Result", Profile: "Bridge.Result", Order: Accumulates, Row: "bridges: arguments, result",
			Says: "a result fits the schemas of all layers"},
		{Policy: "Bridge.Limits", Order: Parts},
		{Policy: "Bridge.Approval", Order: Parts},
		{Policy: "Bridge.Audit", Profile: "Bridge.Audit", Order: Stricter, Words: []string{"metadata", "full"},
			Row: "audit"},
		{Policy: "Bridge.Also", Profile: "Bridge.Also", Order: Filled, Row: "bridges: arguments, result"},
		{Policy: "Bridge.AlsoResult", Profile: "Bridge.AlsoResult", Order: Filled, Row: "bridges: arguments, result"},

		{Policy: "Powers.Sensitive", Profile: "Powers.Sensitive", Order: Owner, Row: "powers", Says: "power-mismatch"},
		{Policy: "Powers.Untrusted", Profile: "Powers.Untrusted", Order: Owner, Row: "powers", Says: "power-mismatch"},
		{Policy: "Powers.External", Profile: "Powers.External", Order: Owner, Row: "powers", Says: "power-mismatch"},

		{Policy: "BridgeLimits.CallsPerRun", Profile: "BridgeLimits.CallsPerRun", Order: AtMost, Unit: Count,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.Concurrent", Profile: "BridgeLimits.Concurrent", Order: AtMost, Unit: Count,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.SpawnPerCall", Profile: "BridgeLimits.SpawnPerCall", Order: AtMost, Unit: Count,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.Depth", Profile: "BridgeLimits.Depth", Order: AtMost, Unit: Count,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.TotalSpawn", Profile: "BridgeLimits.TotalSpawn", Order: AtMost, Unit: Count,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.RequestBytes", Profile: "BridgeLimits.ArgumentBytes", Order: AtMost, Unit: Size,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.ResponseBytes", Profile: "BridgeLimits.ResultBytes", Order: AtMost, Unit: Size,
			Row: "bridges.limits"},
		{Policy: "BridgeLimits.Timeout", Profile: "BridgeLimits.TimeoutMillis", Order: AtMost, Unit: Duration,
			Row: "bridges.limits"},

		{Policy: "Approval.Required", Profile: "Bridge.Approval", Order: Restrains, Row: "bridges.approval",
			Says: "an approval that is left out is the one above"},
		{Policy: "Approval.From", Profile: "Approval.From", Order: Subset, Row: "bridges.approval",
			Says: "absent: those above"},
		{Policy: "Approval.Count", Profile: "Approval.Count", Order: AtLeast, Unit: Count, Row: "bridges.approval"},
		{Policy: "Approval.ExpiresAfter", Profile: "Approval.ExpiresMillis", Order: AtMost, Unit: Duration,
			Row: "bridges.approval"},
		{Policy: "Approval.Hold", Profile: "Approval.HoldMillis", Order: AtMost, Unit: Duration,
			Row: "bridges.approval"},
		{Policy: "Approval.When", Profile: "Approval.When", Order: Owner, Row: "bridges.approval",
			Says: "may be left out, which asks always"},
	}
}

// reach lists the fields of files and of the network.
func reach() []Field {
	return []Field{
		{Policy: "Filesystem.Read", Profile: "Files.Read", Order: Subset, Grant: true, Row: "filesystem",
			Says: "a path and what is below it"},
		{Policy: "Filesystem.Write", Profile: "Files.Write", Order: Subset, Grant: true, Row: "filesystem",
			Says: "a path and what is below it"},
		{Policy: "Filesystem.Deny", Profile: "Files.Deny", Order: Accumulates, Row: "filesystem"},
		{Policy: "Filesystem.Powers", Order: Parts},
		{Policy: "Filesystem.Under", Profile: "PathRule.Within", Order: Filled, Row: "filesystem"},

		{Policy: "Network.Mode", Profile: "Egress.Mode", Order: Stricter, Grant: true,
			Words: []string{"allowlist", "gateway-only", "off"}, Row: "network: mode, hosts, ports"},
		{Policy: "Network.Egress", Order: Parts, Grant: true},
		{Policy: "Network.Gateways", Order: Parts, Grant: true},
		{Policy: "Network.Deny", Profile: "Egress.Deny", Order: Accumulates, Row: "network: mode, hosts, ports",
			Says: "of hosts and of the upstreams of gateways"},

		{Policy: "Egress.Host", Profile: "EgressRule.Host", Order: Key, Row: "network: mode, hosts, ports",
			Says: "lies within one entry above"},
		{Policy: "Egress.Ports", Profile: "EgressRule.Ports", Order: Subset, Row: "network: mode, hosts, ports"},
		{Policy: "Egress.Methods", Profile: "EgressRule.Methods", Order: Subset, Row: "network: methods, paths",
			Says: "absent: those above"},
		{Policy: "Egress.Paths", Profile: "EgressRule.Paths", Order: Subset, Row: "network: methods, paths",
			Says: "a path and what is below it; absent: those above"},
		{Policy: "Egress.TLS", Order: Owner, By: "passthrough; inspect is refused", Row: "network: tls",
			Says: "absent: that above"},
		{Policy: "Egress.ECH", Profile: "EgressRule.ECH", Order: Opens, Grant: true, None: true,
			Row: "network: mode, hosts, ports"},
		{Policy: "Egress.Limits", Order: Parts},
		{Policy: "Egress.Expires", Profile: "EgressRule.Expires", Order: AtMost, Unit: Date, Row: "network: expires"},
		{Policy: "Egress.Binaries", Order: Subset, Fate: Refused, By: "the network of one program",
			Row: "shell.binaries.network", Says: "absent: those above"},
		{Policy: "Egress.Powers", Order: Parts},
		{Policy: "Egress.Reason", Profile: "EgressRule.Reason", Order: Annotation, Row: "documents and owners"},
		{Policy: "Egress.Under", Profile: "EgressRule.Under", Order: Filled, Row: "network: limits"},

		{Policy: "EgressLimits.Up", Profile: "EgressLimits.UpBytes", Order: AtMost, Unit: Size, Row: "network: limits",
			Says: "of the entries that a decision would take, the least"},
		{Policy: "EgressLimits.Down", Profile: "EgressLimits.DownBytes", Order: AtMost, Unit: Size,
			Row: "network: limits", Says: "of the entries that a decision would take, the least"},
		{Policy: "EgressLimits.Connections", Profile: "EgressLimits.Connections", Order: AtMost, Unit: Count,
			Row: "network: limits", Says: "of the entries that a decision would take, the least"},
		{Policy: "EgressLimits.Rate", Profile: "EgressLimits.PerMinute", Order: AtMost, Unit: Rate,
			Row: "network: limits", Says: "of the entries that a decision would take, the least"},
	}
}

// gateways lists the fields of gateways.
func gateways() []Field {
	return []Field{
		{Policy: "Gateway.Name", Profile: "Gateway.Name", Order: Key, Row: "network.gateways",
			Says: "a list above offers the only gateways; without one, upstreams lie within its hosts"},
		{Policy: "Gateway.Upstream", Profile: "Gateway.Upstream", Order: Owner, Row: "network.gateways",
			Says: "absent: that above"},
		{Policy: "Gateway.Addresses", Profile: "Gateway.Addresses", Order: Subset, None: true, Row: "network.gateways",
			Says: "absent: those above"},
		{Policy: "Gateway.Credential", Profile: "Gateway.Credential", Order: Owner, Row: "network.gateways",
			Says: "absent: that above"},
		{Policy: "Gateway.Methods", Profile: "Gateway.Methods", Order: Subset, Row: "network.gateways",
			Says: "absent: those above"},
		{Policy: "Gateway.Paths", Profile: "Gateway.Paths", Order: Subset, Row: "network.gateways",
			Says: "a path and what is below it; absent: those above"},
		{Policy: "Gateway.Headers", Profile: "Gateway.Headers", Order: Subset, None: true, Row: "network.gateways",
			Says: "absent: those above"},
		{Policy: "Gateway.Limits", Order: Parts},
		{Policy: "Gateway.Expires", Profile: "Gateway.Expires", Order: AtMost, Unit: Date, Row: "network: expires"},
		{Policy: "Gateway.Powers", Order: Parts},
		{Policy: "Gateway.Reason", Profile: "Gateway.Reason", Order: Annotation, Row: "documents and owners"},
		{Policy: "Gateway.Under", Profile: "Gateway.Under", Order: Filled, Row: "network: limits"},
	}
}

// limits lists the limits of runs.
func limits() []Field {
	return []Field{
		{Policy: "Limits.CPU", Profile: "Limits.CPUMillis", Order: AtMost, Unit: Duration, Row: "limits of a program"},
		{Policy: "Limits.Memory", Profile: "Limits.MemoryBytes", Order: AtMost, Unit: Size, Row: "limits of a program"},
		{Policy: "Limits.Wall", Profile: "Limits.WallMillis", Order: AtMost, Unit: Duration,
			Row: "limits of a program"},
		{Policy: "Limits.Output", Profile: "Limits.OutputBytes", Order: AtMost, Unit: Size, Row: "limits of a program"},
		{Policy: "Limits.Result", Profile: "Limits.ResultBytes", Order: AtMost, Unit: Size,
			Row: "limits of a program: result"},
		{Policy: "Limits.Stack", Profile: "Limits.StackBytes", Order: AtMost, Unit: Size,
			Row: "limits of a program: stack"},
		{Policy: "Limits.Processes", Profile: "Limits.Processes", Order: AtMost, Unit: Count,
			Row: "limits of a program"},
		{Policy: "Limits.Files", Profile: "Limits.Files", Order: AtMost, Unit: Count, Row: "limits of a program"},
		{Policy: "Limits.RefusedCalls", Profile: "Limits.RefusedCalls", Order: AtMost, Unit: Count,
			Row: "limits of a run"},
		{Policy: "Limits.Pause", Profile: "Limits.PauseMillis", Order: AtMost, Unit: Duration, Row: "limits of a run"},
	}
}
