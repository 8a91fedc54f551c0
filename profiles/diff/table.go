package diff

import (
	"slices"
	"strings"
)

// order says which of two values of a field gives more.
type order string

// The orders. The zero order is that of a field that is compared by code of its own.
const (
	own       order = ""
	key       order = "key"       // tells entries of a list apart
	place     order = "place"     // says where something stands, and changes no answer
	parts     order = "parts"     // its own fields are compared
	atMost    order = "at most"   // a number: a higher one widens
	orNone    order = "bound"     // a number of which 0 is no limit
	opens     order = "opens"     // a switch, a list or a part that gives something
	restrains order = "restrains" // a switch, a list or a part that takes something away
	subset    order = "subset"    // a list of texts of which an empty one is everything
	ranked    order = "ranked"    // a word, from strict to loose
	free      order = "free"      // a text of which it is not known what gives more
	remark    order = "remark"    // says something to people
)

// row says how a field of a compiled set is compared and what sentences say of it.
type row struct {
	field string // Binary.MaxArgs
	order order
	unit  unit
	about string // its capability; %s: the name of the entry; "": that of what it is a part of
	// says is what sentences call it. Its alternatives are separated by |.
	says  string
	words string // of ranked, from strict to loose
}

// table lists the fields of package profiles in the order in which they are compared.
func table() []row {
	return slices.Concat(setRows(), agentRows(), executorRows(), programRows(), bridgeRows(), fileRows(), networkRows())
}

func setRows() []row {
	return append(rows(place, "Set.Revision", "Set.Agents", "Module.Rule"),
		row{field: "Set.Format", about: "format"}, row{field: "Set.Modules"},
		row{field: "Module.File"}, row{field: "Module.Digest"}, row{field: "Module.Source"})
}

func agentRows() []row {
	return slices.Concat([]row{
		{field: "Agent.Name", order: key},
		{field: "Agent.Mode", about: "mode"},
		{field: "Agent.Exceptions", about: "exception:%s"},
		{field: "Agent.RuleOfTwo", order: restrains, about: "ruleOfTwo", says: "sensitive data, untrusted input and external effects may no longer meet in a %[1]s|" +
			"sensitive data, untrusted input and external effects may meet: the rule of two is gone"},
		{field: "Agent.Guardrails", order: restrains, about: "guardrail:%s", says: "the guardrail %[2]s is new|the guardrail %[2]s is gone"},
		{field: "Agent.Layers", about: "layer:%s"},
		{field: "Agent.Inputs", about: "inputs", says: "the inputs of a run"},
		{field: "Agent.MinTier", about: "minTier", says: "the least isolation", words: "remote microvm container os-sandbox wasm process"},
		{field: "Agent.JS", order: opens, about: "executor:js", says: "may now run JavaScript|may no longer run JavaScript"},
		{field: "Agent.Python", order: opens, about: "executor:python", says: "may now run Python|may no longer run Python"},
		{field: "Agent.Shell", order: opens, about: "executor:shell", says: "may now run shell scripts|may no longer run shell scripts"},
		{field: "Agent.Bridges", about: "bridge:%s"},
		{field: "Agent.Files", order: parts, about: "file"},
		{field: "Agent.Egress", order: parts, about: "egress"},
		{field: "Agent.Limits", about: "limits", says: "all executors together"},
		{field: "Agent.Policy", about: "policy"},
		{field: "Agent.Audit", order: own, about: "audit", says: "the agent"},
		{field: "Agent.Sessions", order: opens, about: "session",
			says: "runs may now leave their state to later runs|runs may no longer leave their state to later runs"},
		{field: "Agent.Deadline", about: "deadline"},
		{field: "Agent.Strict", about: "mode"},
		{field: "Layer.Kind", order: key}, {field: "Layer.Name", order: key}, {field: "Layer.Revision"}, {field: "Layer.Owner"},
		{field: "RuleOfTwo.Mode", order: ranked, words: "enforce dynamic report", says: "the rule of two"},
		{field: "RuleOfTwo.OnThree", order: ranked, words: "deny require-approval", says: "what follows on three powers"},
		{field: "RuleOfTwo.Scope", order: ranked, words: "session run", says: "what the rule of two looks at"},
		{field: "Exception.ID", order: key}, {field: "Guardrail.Name", order: key}, {field: "Guardrail.On"}, {field: "Guardrail.Rego"},
		{field: "Sessions.AgeMillis", order: atMost, unit: millis, says: "age of kept state"},
		{field: "Sessions.Bytes", order: atMost, unit: octets, says: "size of kept state"},
		{field: "Powers.Sensitive"}, {field: "Powers.Untrusted"}, {field: "Powers.External"},
	},
		rows(own, "Exception.Owner", "Exception.ApprovedBy", "Exception.Reason", "Exception.Ticket", "Exception.Expires",
			"Exception.Lifts", "Exception.Grants", "Excepted.Imports", "Excepted.Egress", "Excepted.Binaries"),
		rows(place, "Agent.Rule", "Agent.ModeRule", "Agent.BridgesRule", "Agent.ExecutorsRule", "Agent.MinTierRule",
			"Agent.InputsRule", "Layer.File", "RuleOfTwo.Rule", "Exception.Rule", "Guardrail.Rule", "Sessions.Rule"))
}

func executorRows() []row {
	return slices.Concat([]row{
		{field: "JS.Imports", order: opens, says: "JavaScript"},
		{field: "JS.DenyGlobals", order: restrains, about: "global:%s", says: "the global %[2]s"},
		{field: "JS.Limits", order: parts, about: "limits", says: "JavaScript"},
		{field: "Python.Imports", order: opens, says: "Python"},
		{field: "Python.JIT", order: opens, about: "jit:python", says: "memory that becomes executable, in Python,"},
		{field: "Python.Environments", order: opens, about: "environment:%s",
			says: "may use the packages in %[2]s|may no longer use the packages in %[2]s"},
		{field: "Python.Engine", about: "engine:python"},
		{field: "Python.DenyBuiltins", order: restrains, about: "builtin:%s",
			says: "the builtin %[2]s"},
		{field: "Python.Limits", order: parts, about: "limits", says: "Python"},
		{field: "Python.EndOnDenied", order: restrains,
			says: "a session that has loaded what is denied now is ended|a session that has loaded what is denied now goes on"},
		{field: "Limits.CPUMillis", order: atMost, unit: millis, about: "limit:cpuMillis", says: "processor time of %s"},
		{field: "Limits.MemoryBytes", order: atMost, unit: octets, about: "limit:memoryBytes", says: "memory of %s"},
		{field: "Limits.WallMillis", order: atMost, unit: millis, about: "limit:wallMillis", says: "time on the clock of %s"},
		{field: "Limits.OutputBytes", order: atMost, unit: octets, about: "limit:outputBytes", says: "output of %s"},
		{field: "Limits.ResultBytes", order: atMost, unit: octets, about: "limit:resultBytes", says: "size of the result of %s"},
		{field: "Limits.StackBytes", order: atMost, unit: octets, about: "limit:stackBytes", says: "stack of %s"},
		{field: "Limits.Processes", order: atMost, about: "limit:processes", says: "number of processes of %s"},
		{field: "Limits.Files", order: atMost, about: "limit:files", says: "number of open files of %s"},
		{field: "Limits.RefusedCalls", order: atMost, about: "limit:refusedCalls", says: "number of refused calls of %s"},
		{field: "Limits.PauseMillis", order: atMost, unit: millis, about: "limit:pauseMillis", says: "time that a pause waits of %s"},
		{field: "ImportRule.Name", order: key}, {field: "PythonEnvironment.Path", order: key},
	},
		rows(own, "ImportRule.Exception", "ImportRule.Expires", "Imports.Allow", "Imports.Deny", "Imports.Default",
			"Imports.Absent", "Imports.Process", "Imports.Any", "Imports.Only", "PythonEnvironment.Digest"),
		rows(place, "JS.Rule", "Python.Rule", "Python.EngineRule", "ImportRule.Rule", "Imports.Rule", "PythonEnvironment.Rule"))
}

func programRows() []row {
	return slices.Concat([]row{
		{field: "Shell.Binaries", order: opens, about: "exec:%s"},
		{field: "Shell.Pipes", order: opens, about: "shell:pipes", says: "a pipe in scripts"},
		{field: "Shell.Redirects", order: opens, about: "shell:redirects", says: "a redirect in scripts"},
		{field: "Shell.Substitution", order: opens, about: "shell:substitution", says: "substitution in scripts"},
		{field: "Shell.JIT", order: opens, about: "shell:jit", says: "memory that becomes executable, in programs of scripts,"},
		{field: "Shell.DeniedPatterns", order: restrains, about: "pattern:"},
		{field: "Shell.Limits", order: parts, about: "limits", says: "scripts"},
		{field: "Shell.Audit", about: "shell", says: "programs of scripts"},
		{field: "Shell.Env", order: free, about: "shell", says: "the variables that scripts begin with"},
		{field: "Binary.Path"},
		{field: "Binary.Interpreted"},
		{field: "Binary.Allow"},
		{field: "Binary.Deny"},
		{field: "Binary.Ask"},
		{field: "Binary.MaxArgs", order: orNone, says: "number of words behind %s"},
		{field: "Binary.SafeConfig", says: "configuration of %s on its command line"},
		{field: "Binary.ForceArgs", order: free, says: "the words that %s always gets"},
		{field: "Binary.ForceEnv", order: free, says: "the variables that %s always gets"},
		{field: "Binary.Helpers"},
		{field: "Binary.Exception", order: key},
		{field: "Binary.Expires", says: "may start %s"},
	},
		rows(own, "AskRule.Pattern", "AskRule.Approval", "Pattern.Words", "Pattern.Text", "Pattern.Reason", "Pattern.Instead"),
		rows(place, "Shell.Rule", "Binary.Rule", "Pattern.Rule"))
}

func bridgeRows() []row {
	return slices.Concat([]row{
		{field: "Bridge.Name", order: key},
		{field: "Bridge.Powers", says: "the bridge %s"},
		{field: "Bridge.Executors", order: subset, says: "may call %s from|every executor"},
		{field: "Bridge.Arguments", says: "the arguments of %s"},
		{field: "Bridge.Also", says: "the arguments of %s"},
		{field: "Bridge.Result", says: "the result of %s"},
		{field: "Bridge.AlsoResult", says: "the result of %s"},
		{field: "Bridge.Audit", says: "calls of %s"},
		{field: "Bridge.Approval", says: "calls of %s"},
		{field: "Bridge.Limits", order: parts},
		{field: "Approval.From", order: subset, says: "the approval of %s may come from|whoever the host lets approve"},
		{field: "Approval.Count"},
		{field: "Approval.ExpiresMillis", order: atMost, unit: millis, says: "time that %s wait for an approval"},
		{field: "Approval.HoldMillis", unit: millis, says: "time that a program is held for %s"},
		{field: "Approval.When"},
		{field: "BridgeLimits.Concurrent", order: atMost, says: "number of calls at once of %s"},
		{field: "BridgeLimits.CallsPerRun", order: atMost, says: "number of calls in a run of %s"},
		{field: "BridgeLimits.SpawnPerCall", order: atMost, says: "number of subagents of a call of %s"},
		{field: "BridgeLimits.Depth", order: atMost, says: "depth of subagents of %s"},
		{field: "BridgeLimits.TotalSpawn", order: atMost, says: "number of subagents in all of %s"},
		{field: "BridgeLimits.ArgumentBytes", order: atMost, unit: octets, says: "size of arguments of %s"},
		{field: "BridgeLimits.ResultBytes", order: atMost, unit: octets, says: "size of results of %s"},
		{field: "BridgeLimits.TimeoutMillis", order: atMost, unit: millis, says: "time of a call of %s"},
	},
		rows(place, "Bridge.Rule", "Approval.Rule"))
}

func fileRows() []row {
	return slices.Concat([]row{
		{field: "Files.Read", order: opens, about: "file.read:%s", says: "read"},
		{field: "Files.Write", order: opens, about: "file.write:%s", says: "write"},
		{field: "Files.Deny", order: restrains, about: "file.deny:%s"},
		{field: "Files.Powers", says: "the files that are read"},
		{field: "PathRule.Path", order: key}, {field: "PathRule.Within"},
	},
		rows(place, "Files.Rule", "PathRule.Rule"))
}

func networkRows() []row {
	return slices.Concat([]row{
		{field: "Egress.Mode", order: ranked, says: "the network", words: "off gateway-only allowlist"},
		{field: "Egress.Allow"}, {field: "Egress.Deny"},
		{field: "Egress.Gateways", order: opens, about: "gateway:%s",
			says: "may now reach the gateway %[2]s (%[3]s)|may no longer reach the gateway %[2]s"},
		{field: "Gateway.Name", order: key},
		{field: "Gateway.Upstream"},
		{field: "Gateway.Credential"},
		{field: "Gateway.Addresses", order: opens, says: "the gateway %s may be dialed at %s|public addresses|public ones"},
		{field: "Gateway.Methods", order: subset, says: "the gateway %s takes|every method"},
		{field: "Gateway.Paths", order: subset, says: "the gateway %s takes|every path"},
		{field: "Gateway.Headers", order: opens, says: "the gateway %s passes the fields %s beside the usual ones|none|the usual ones"},
		{field: "Gateway.Limits", order: parts},
		{field: "Gateway.Expires", says: "may reach the gateway %s"},
		{field: "Gateway.Reason", order: remark, says: "the reason for the gateway %s is another one|a reason grants nothing"},
		{field: "Gateway.Powers", says: "the gateway %s"},
		{field: "Gateway.Under", says: "the gateway %s"},
		{field: "EgressLimits.UpBytes", order: orNone, unit: octets, says: "what is sent to %s"},
		{field: "EgressLimits.DownBytes", order: orNone, unit: octets, says: "what is received from %s"},
		{field: "EgressLimits.Connections", order: orNone, says: "number of connections to %s"},
		{field: "EgressLimits.PerMinute", order: orNone, says: "number of requests a minute to %s"},
	},
		rows(own, "EgressRule.Host", "EgressRule.Ports", "EgressRule.AnyPort", "EgressRule.Methods", "EgressRule.Paths", "EgressRule.ECH",
			"EgressRule.Limits", "EgressRule.Expires", "EgressRule.Reason", "EgressRule.Powers", "EgressRule.Exception", "EgressRule.Of",
			"EgressRule.Under", "Budget.Host", "Budget.Ports", "Budget.AnyPort", "Budget.Methods", "Budget.Paths", "Budget.Limits"),
		rows(place, "Egress.Rule", "EgressRule.Rule", "Gateway.Rule", "Budget.Rule"))
}

func rows(o order, fields ...string) []row {
	out := make([]row, len(fields))
	for i, f := range fields {
		out[i] = row{field: f, order: o}
	}
	return out
}

// byType groups rows by the type of their fields.
func byType(list []row) map[string][]row {
	out := map[string][]row{}
	for _, r := range list {
		of, _, _ := strings.Cut(r.field, ".")
		out[of] = append(out[of], r)
	}
	return out
}
