// This file owns the table of the policy language: every field of schema's Go
// types, and what becomes of it. A field that is set and that nothing enforces is found
// by it, so that no part of a policy is ignored in silence.
//
// It is pure. The compiler calls it, and the tests that hold every field to a property.

package compiler

import "slices"

// fate says what becomes of a field of the language.
type fate uint8

// The fates.
const (
	Compiled   fate = iota // a profile carries it
	Annotation             // says something to people, changes nothing
	Parts                  // its own fields are listed
	Refused                // nothing compiles it yet: unsupported
)

// Field is one field of the language.
type Field struct {
	Go   string // its name in schema's Go types: Spec.Mode
	Name string // in the author's text
	Fate fate
	By   string // what compiles, or would compile, it
}

// Fields lists the whole language. A field of schema's types that is not here
// is refused when it is set, and a test says so.
func Fields() []Field {
	return slices.Concat(policyFields(), executorFields(), grantFields())
}

func policyFields() []Field {
	return []Field{
		{"Policy.File", "", Annotation, "positions"},
		{"Policy.Compact", "", Compiled, "names: the agent default"},
		{"Policy.APIVersion", "apiVersion", Annotation, "schema checks it"},
		{"Policy.Kind", "kind", Compiled, "AgentPolicy grants, the others are ceilings"},
		{"Policy.Metadata", "metadata", Parts, ""},
		{"Policy.Spec", "spec", Parts, ""},
		{"Policy.Layers", "", Compiled, "Agent.Layers"},
		{"Policy.Excepted", "", Compiled, "ImportRule, Binary and EgressRule.Exception"},
		{"Policy.Appended", "", Compiled, "Imports.Default"},
		{"Policy.Origins", "", Annotation, "positions"},

		{"Metadata.Name", "name", Compiled, "Agent.Policy"},
		{"Metadata.Revision", "revision", Annotation, "the author's count; the set has a digest"},
		{"Metadata.Owner", "owner", Annotation, ""},
		{"Metadata.Description", "description", Annotation, ""},
		{"Metadata.Labels", "labels", Annotation, ""},
		{"Metadata.Compliance", "compliance", Annotation, ""},
		{"Metadata.ReviewBy", "reviewBy", Annotation, ""},
		{"Metadata.Parent", "parent", Compiled, "the layers above"},

		{"Spec.Mode", "mode", Compiled, "Agent.Mode and Agent.Strict"},
		{"Spec.Audit", "audit", Compiled, "Agent.Audit"},
		{"Spec.Agents", "agents", Parts, ""},
		{"Spec.Data", "data", Parts, ""},
		{"Data.MaxClass", "maxClass", Compiled, "decided while it compiles"},
		{"Data.Residency", "residency", Annotation, ""},
		{"Spec.RuleOfTwo", "ruleOfTwo", Parts, ""},
		{"RuleOfTwo.OnThree", "onThree", Compiled, "Agent.RuleOfTwo"},
		{"RuleOfTwo.Scope", "scope", Compiled, "Agent.RuleOfTwo"},
		{"RuleOfTwo.Mode", "mode", Compiled, "Agent.RuleOfTwo"},
		{"Spec.Inputs", "inputs", Parts, ""},
		{"Inputs.Powers", "powers", Parts, ""},
		{"Touches.Sensitive", "sensitive", Compiled, "Powers of files, inputs, egress and gateways"},
		{"Touches.Untrusted", "untrusted", Compiled, "Powers of files, inputs, egress and gateways"},
		{"Touches.External", "external", Compiled, "Powers of files, inputs, egress and gateways"},
		{"Spec.Executors", "executors", Parts, ""},
		{"Spec.Modules", "modules", Parts, ""},
		{"Spec.Bridges", "bridges", Parts, ""},
		{"Spec.Filesystem", "filesystem", Parts, ""},
		{"Spec.Network", "network", Parts, ""},
		{"Spec.Limits", "limits", Parts, ""},
		{"Spec.Sessions", "sessions", Parts, ""},
		{"Spec.Exceptions", "exceptions", Parts, ""},
		{"Exception.ID", "id", Compiled, "Exception.ID"},
		{"Exception.Owner", "owner", Compiled, "Exception.Owner"},
		{"Exception.ApprovedBy", "approvedBy", Compiled, "Exception.ApprovedBy"},
		{"Exception.Expires", "expires", Compiled, "Exception.Expires"},
		{"Exception.Reason", "reason", Compiled, "Exception.Reason"},
		{"Exception.Ticket", "ticket", Compiled, "Exception.Ticket"},
		{"Exception.Grants", "grants", Parts, ""},
		{"Exception.Lifts", "", Compiled, "Exception.Lifts"},
		{"ExceptionGrants.Imports", "imports", Compiled, "Imports.Allow"},
		{"ExceptionGrants.Egress", "egress", Parts, ""},
		{"ExceptionGrants.Binaries", "binaries", Compiled, "Shell.Binaries"},
		{"Spec.Guardrails", "guardrails", Parts, ""},
		{"Guardrail.Name", "name", Compiled, "Guardrail.Name"},
		{"Guardrail.On", "on", Compiled, "Guardrail.On"},
		{"Guardrail.Rego", "rego", Compiled, "Guardrail.Rego"},
		{"Guardrail.File", "file", Compiled, "Guardrail.Rego"},
		{"Guardrail.OnError", "onError", Annotation, "deny, which is what happens anyway"},

		{"AgentMatch.Match", "match", Compiled, "Set.Agents"},
		{"AgentMatch.Identities", "identities", Refused, "workload identities"},
	}
}

func executorFields() []Field {
	return []Field{
		{"Executors.Allowed", "allowed", Compiled, "Agent.JS, Python, Shell"},
		{"Executors.MinTier", "minTier", Compiled, "Agent.MinTier"},
		{"Executors.JS", "js", Parts, ""},
		{"Executors.Python", "python", Parts, ""},
		{"Executors.Shell", "shell", Parts, ""},
		{"Imports.Allow", "allow", Compiled, "Imports.Allow"},
		{"Imports.Deny", "deny", Compiled, "Imports.Deny"},
		{"JS.Imports", "imports", Parts, ""},
		{"JS.DenyGlobals", "globals.deny", Compiled, "JS.DenyGlobals"},
		{"JS.Limits", "limits", Parts, ""},
		{"Python.Imports", "imports", Parts, ""},
		{"PythonImports.Allow", "allow", Compiled, "Imports.Allow and Any"},
		{"PythonImports.Deny", "deny", Compiled, "Imports.Deny"},
		{"PythonImports.DenyProcess", "denyProcess", Compiled, "Imports.Process"},
		{"PythonImports.Within", "", Compiled, "Imports.Only"},
		{"PythonImports.Beside", "", Compiled, "Imports.Allow"},
		{"PythonImports.Listed", "", Compiled, "Imports.Default"},
		{"Python.Environment", "environment", Parts, ""},
		{"Python.Environments", "environments", Parts, ""},
		{"Environment.Path", "path", Compiled, "Python.Environments"},
		{"Environment.Digest", "digest", Compiled, "PythonEnvironment.Digest"},
		{"Python.OnDenied", "onDenied", Compiled, "Python.EndOnDenied"},
		{"Python.Tier", "tier", Compiled, "Python.Engine"},
		{"Python.DenyBuiltins", "builtins.deny", Compiled, "Python.DenyBuiltins"},
		{"Python.JIT", "jit", Compiled, "Python.JIT"},
		{"Python.Limits", "limits", Parts, ""},

		{"Shell.Binaries", "binaries", Parts, ""},
		{"Shell.DenyPatterns", "denyPatterns", Parts, ""},
		{"Shell.Env", "env", Compiled, "Shell.Env"},
		{"Shell.AllowPipes", "allowPipes", Compiled, "Shell.Pipes"},
		{"Shell.AllowRedirects", "allowRedirects", Compiled, "Shell.Redirects"},
		{"Shell.AllowSubstitution", "allowSubstitution", Compiled, "Shell.Substitution"},
		{"Shell.JIT", "jit", Compiled, "Shell.JIT"},
		{"Shell.Audit", "audit", Compiled, "Shell.Audit"},
		{"Shell.Limits", "limits", Parts, ""},
		{"Binary.Path", "path", Compiled, "Binary.Path"},
		{"Binary.Args", "args", Parts, ""},
		{"Binary.Env", "env", Compiled, "Binary.ForceEnv"},
		{"Binary.Helpers", "helpers", Compiled, "Binary.Helpers"},
		{"Binary.Under", "", Compiled, "PathRule.Within"},
		{"Binary.Match", "match", Compiled, "decided while it compiles"},
		{"Binary.NotMatch", "notMatch", Compiled, "decided while it compiles"},
		{"Binary.Acknowledge", "acknowledge", Compiled, "findings about what a program can do"},
		{"Binary.Network", "network", Refused, "the network of one program"},
		{"DenyPattern.Pattern", "pattern", Compiled, "Shell.DeniedPatterns"},
		{"DenyPattern.Kind", "kind", Compiled, "argv and literal; others are refused"},
		{"DenyPattern.Reason", "reason", Compiled, "Pattern.Reason"},
		{"DenyPattern.Instead", "instead", Compiled, "Pattern.Instead"},
		{"DenyPattern.Match", "match", Compiled, "decided while it compiles"},
		{"DenyPattern.NotMatch", "notMatch", Compiled, "decided while it compiles"},
		{"Args.Subcommands", "subcommands", Compiled, "Binary.Allow"},
		{"Args.Deny", "deny", Parts, ""},
		{"Args.DenyFlags", "denyFlags", Compiled, "Binary.Deny"},
		{"Args.Ask", "ask", Parts, ""},
		{"Args.SafeConfig", "safeConfig", Compiled, "Binary.SafeConfig"},
		{"Args.MaxArgs", "maxArgs", Compiled, "Binary.MaxArgs"},
		{"Args.Force", "force", Compiled, "Binary.ForceArgs"},
		{"DenyWords.Words", "words", Compiled, "Binary.Deny"},
		{"DenyWords.Because", "because", Compiled, "Pattern.Reason"},
		{"DenyWords.Instead", "instead", Compiled, "Pattern.Instead"},
		{"AskWords.Words", "words", Compiled, "Binary.Ask"},
		{"AskWords.Because", "because", Compiled, "Pattern.Reason"},
		{"AskWords.Approval", "approval", Parts, ""},
		{"WordsApproval.From", "from", Compiled, "Approval.From"},
		{"WordsApproval.Count", "count", Compiled, "Approval.Count"},
		{"WordsApproval.ExpiresAfter", "expiresAfter", Compiled, "Approval.ExpiresMillis"},
		{"WordsApproval.Hold", "hold", Compiled, "Approval.HoldMillis"},

		{"ModuleSource.File", "file", Compiled, "Set.Modules"},
		{"ModuleSource.Source", "source", Compiled, "Set.Modules"},
		{"ModuleSource.Digest", "digest", Compiled, "checked against the module"},
	}
}

func grantFields() []Field {
	return []Field{
		{"Bridge.Name", "name", Compiled, "Agent.Bridges"},
		{"Bridge.Powers", "powers", Parts, ""},
		{"Bridge.DataClass", "dataClass", Compiled, "decided while it compiles"},
		{"Bridge.Executors", "executors", Compiled, "Bridge.Executors"},
		{"Bridge.Arguments", "arguments", Compiled, "Bridge.Arguments"},
		{"Bridge.Result", "result", Compiled, "Bridge.Result"},
		{"Bridge.Limits", "limits", Parts, ""},
		{"Bridge.Approval", "approval", Parts, ""},
		{"Bridge.Audit", "audit", Compiled, "Bridge.Audit"},
		{"Bridge.Also", "", Compiled, "Bridge.Also"},
		{"Bridge.AlsoResult", "", Compiled, "Bridge.AlsoResult"},
		{"Powers.Sensitive", "sensitive", Compiled, "Bridge.Powers"},
		{"Powers.Untrusted", "untrusted", Compiled, "Bridge.Powers"},
		{"Powers.External", "external", Compiled, "Bridge.Powers"},
		{"BridgeLimits.CallsPerRun", "callsPerRun", Compiled, "BridgeLimits"},
		{"BridgeLimits.Concurrent", "concurrent", Compiled, "BridgeLimits"},
		{"BridgeLimits.SpawnPerCall", "spawnPerCall", Compiled, "BridgeLimits"},
		{"BridgeLimits.Depth", "depth", Compiled, "BridgeLimits"},
		{"BridgeLimits.TotalSpawn", "totalSpawn", Compiled, "BridgeLimits"},
		{"BridgeLimits.RequestBytes", "requestBytes", Compiled, "BridgeLimits"},
		{"BridgeLimits.ResponseBytes", "responseBytes", Compiled, "BridgeLimits"},
		{"BridgeLimits.Timeout", "timeout", Compiled, "BridgeLimits"},
		{"Approval.Required", "required", Compiled, "Bridge.Approval"},
		{"Approval.From", "from", Compiled, "Approval.From"},
		{"Approval.Count", "count", Compiled, "Approval.Count"},
		{"Approval.ExpiresAfter", "expiresAfter", Compiled, "Approval.ExpiresMillis"},
		{"Approval.Hold", "hold", Compiled, "Approval.HoldMillis"},
		{"Approval.When", "when", Compiled, "Approval.When"},

		{"Filesystem.Read", "read", Compiled, "Files.Read"},
		{"Filesystem.Write", "write", Compiled, "Files.Write"},
		{"Filesystem.Deny", "deny", Compiled, "Files.Deny"},
		{"Filesystem.Powers", "powers", Parts, ""},
		{"Filesystem.Under", "", Compiled, "PathRule.Within"},
		{"Egress.Powers", "powers", Parts, ""},
		{"Egress.Under", "", Compiled, "EgressRule.Under"},
		{"Gateway.Under", "", Compiled, "Gateway.Under"},
		{"Gateway.Powers", "powers", Parts, ""},
		{"Network.Mode", "mode", Compiled, "Egress.Mode"},
		{"Network.Egress", "egress", Parts, ""},
		{"Network.Gateways", "gateways", Parts, ""},
		{"Network.Deny", "deny", Compiled, "Egress.Deny"},
		{"Egress.Host", "host", Compiled, "Egress.Allow"},
		{"Egress.Ports", "ports", Compiled, "EgressRule.Ports"},
		{"Egress.Methods", "methods", Compiled, "EgressRule.Methods"},
		{"Egress.Paths", "paths", Compiled, "EgressRule.Paths"},
		{"Egress.TLS", "tls", Compiled, "passthrough; inspect is refused"},
		{"Egress.ECH", "ech", Compiled, "EgressRule.ECH"},
		{"Egress.Limits", "limits", Parts, ""},
		{"Egress.Expires", "expires", Compiled, "EgressRule.Expires"},
		{"Egress.Binaries", "binaries", Refused, "the network of one program"},
		{"Egress.Reason", "reason", Compiled, "EgressRule.Reason"},
		{"EgressLimits.Up", "up", Compiled, "EgressLimits"},
		{"EgressLimits.Down", "down", Compiled, "EgressLimits"},
		{"EgressLimits.Connections", "connections", Compiled, "EgressLimits"},
		{"EgressLimits.Rate", "rate", Compiled, "EgressLimits"},
		{"Gateway.Name", "name", Compiled, "Egress.Gateways"},
		{"Gateway.Upstream", "upstream", Compiled, "Gateway.Upstream"},
		{"Gateway.Addresses", "addresses", Compiled, "Gateway.Addresses"},
		{"Gateway.Credential", "credential", Compiled, "Gateway.Credential"},
		{"Gateway.Methods", "methods", Compiled, "Gateway.Methods"},
		{"Gateway.Paths", "paths", Compiled, "Gateway.Paths"},
		{"Gateway.Headers", "headers", Compiled, "Gateway.Headers"},
		{"Gateway.Limits", "limits", Parts, ""},
		{"Gateway.Expires", "expires", Compiled, "Gateway.Expires"},
		{"Gateway.Reason", "reason", Compiled, "Gateway.Reason"},

		{"Limits.CPU", "cpu", Compiled, "Limits"},
		{"Limits.Memory", "memory", Compiled, "Limits"},
		{"Limits.Wall", "wall", Compiled, "Limits"},
		{"Limits.Output", "output", Compiled, "Limits"},
		{"Limits.Result", "result", Compiled, "Limits"},
		{"Limits.Stack", "stack", Compiled, "Limits"},
		{"Limits.Processes", "processes", Compiled, "Limits"},
		{"Limits.Files", "files", Compiled, "Limits"},
		{"Limits.RefusedCalls", "refusedCalls", Compiled, "Limits"},
		{"Limits.Pause", "pause", Compiled, "Limits"},
		{"Sessions.MaxAge", "maxAge", Compiled, "Agent.Sessions"},
		{"Sessions.MaxSize", "maxSize", Compiled, "Agent.Sessions"},
	}
}
