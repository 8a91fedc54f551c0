package compiler

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// fate says what becomes of a field of the language.
type fate uint8

const (
	compiled   fate = iota // a profile carries it
	annotation             // says something to people, changes nothing
	parts                  // its own fields are listed
	refused                // nothing compiles it yet: unsupported
)

// language is one field of the language: the name in schema's Go types, in the
// author's text, and what becomes of it.
type language struct {
	goName, name string
	fate         fate
	by           string // what compiles or will compile it
}

// fields lists the whole language. A field of schema's types that is not here
// is refused when it is set, and a test says so.
func fields() []language {
	return slices.Concat(policyFields(), executorFields(), grantFields())
}

func policyFields() []language {
	return []language{
		{"Policy.File", "", annotation, "positions"},
		{"Policy.Compact", "", compiled, "names: the agent default"},
		{"Policy.APIVersion", "apiVersion", annotation, "schema checks it"},
		{"Policy.Kind", "kind", compiled, "AgentPolicy; others are refused"},
		{"Policy.Metadata", "metadata", parts, ""},
		{"Policy.Spec", "spec", parts, ""},
		{"Policy.Origins", "", annotation, "positions"},

		{"Metadata.Name", "name", compiled, "Agent.Policy"},
		{"Metadata.Revision", "revision", annotation, "the author's count; the set has a digest"},
		{"Metadata.Owner", "owner", annotation, ""},
		{"Metadata.Description", "description", annotation, ""},
		{"Metadata.Labels", "labels", annotation, ""},
		{"Metadata.Compliance", "compliance", annotation, ""},
		{"Metadata.ReviewBy", "reviewBy", annotation, ""},
		{"Metadata.Parent", "parent", refused, "layers of policies"},

		{"Spec.Mode", "mode", compiled, "enforce; audit is refused"},
		{"Spec.Audit", "audit", compiled, "Agent.Audit"},
		{"Spec.Agents", "agents", parts, ""},
		{"Spec.Data", "data", refused, "classes and places of data"},
		{"Spec.RuleOfTwo", "ruleOfTwo", refused, "the rule of two"},
		{"Spec.Executors", "executors", parts, ""},
		{"Spec.Modules", "modules", parts, ""},
		{"Spec.Bridges", "bridges", parts, ""},
		{"Spec.Filesystem", "filesystem", parts, ""},
		{"Spec.Network", "network", parts, ""},
		{"Spec.Limits", "limits", parts, ""},
		{"Spec.Sessions", "sessions", parts, ""},
		{"Spec.Exceptions", "exceptions", refused, "layers of policies"},
		{"Spec.Guardrails", "guardrails", refused, "Rego over the effective policy"},

		{"AgentMatch.Match", "match", compiled, "Set.Agents"},
		{"AgentMatch.Identities", "identities", refused, "workload identities"},
	}
}

func executorFields() []language {
	return []language{
		{"Executors.Allowed", "allowed", compiled, "Agent.JS, Python, Shell"},
		{"Executors.MinTier", "minTier", compiled, "Agent.MinTier"},
		{"Executors.JS", "js", parts, ""},
		{"Executors.Python", "python", parts, ""},
		{"Executors.Shell", "shell", parts, ""},
		{"Imports.Allow", "allow", compiled, "Imports.Allow"},
		{"Imports.Deny", "deny", compiled, "Imports.Deny"},
		{"JS.Imports", "imports", parts, ""},
		{"JS.DenyGlobals", "globals.deny", compiled, "JS.DenyGlobals"},
		{"JS.Limits", "limits", parts, ""},
		{"Python.Imports", "imports", parts, ""},
		{"PythonImports.Allow", "allow", compiled, "Imports.Allow and Any"},
		{"PythonImports.Deny", "deny", compiled, "Imports.Deny"},
		{"PythonImports.DenyProcess", "denyProcess", compiled, "Imports.Process"},
		{"Python.Environment", "environment", parts, ""},
		{"Python.Environments", "environments", parts, ""},
		{"Environment.Path", "path", compiled, "Python.Environments"},
		{"Environment.Digest", "digest", compiled, "PythonEnvironment.Digest"},
		{"Python.OnDenied", "onDenied", compiled, "Python.EndOnDenied"},
		{"Python.Tier", "tier", compiled, "Python.Engine"},
		{"Python.DenyBuiltins", "builtins.deny", compiled, "Python.DenyBuiltins"},
		{"Python.JIT", "jit", compiled, "Python.JIT"},
		{"Python.Limits", "limits", parts, ""},

		{"Shell.Binaries", "binaries", parts, ""},
		{"Shell.DenyPatterns", "denyPatterns", parts, ""},
		{"Shell.Env", "env", compiled, "Shell.Env"},
		{"Shell.AllowPipes", "allowPipes", compiled, "Shell.Pipes"},
		{"Shell.AllowRedirects", "allowRedirects", compiled, "Shell.Redirects"},
		{"Shell.AllowSubstitution", "allowSubstitution", compiled, "Shell.Substitution"},
		{"Shell.JIT", "jit", compiled, "Shell.JIT"},
		{"Shell.Audit", "audit", compiled, "Shell.Audit"},
		{"Shell.Limits", "limits", parts, ""},
		{"Binary.Path", "path", compiled, "Binary.Path"},
		{"Binary.Args", "args", parts, ""},
		{"Binary.Env", "env", compiled, "Binary.ForceEnv"},
		{"Binary.Helpers", "helpers", compiled, "Binary.Helpers"},
		{"Binary.Match", "match", compiled, "decided while it compiles"},
		{"Binary.NotMatch", "notMatch", compiled, "decided while it compiles"},
		{"Binary.Acknowledge", "acknowledge", compiled, "findings about what a program can do"},
		{"Binary.Network", "network", refused, "the network of one program"},
		{"DenyPattern.Pattern", "pattern", compiled, "Shell.DeniedPatterns"},
		{"DenyPattern.Kind", "kind", compiled, "argv and literal; others are refused"},
		{"DenyPattern.Reason", "reason", compiled, "Pattern.Reason"},
		{"DenyPattern.Instead", "instead", compiled, "Pattern.Instead"},
		{"DenyPattern.Match", "match", compiled, "decided while it compiles"},
		{"DenyPattern.NotMatch", "notMatch", compiled, "decided while it compiles"},
		{"Args.Subcommands", "subcommands", compiled, "Binary.Allow"},
		{"Args.Deny", "deny", parts, ""},
		{"Args.DenyFlags", "denyFlags", compiled, "Binary.Deny"},
		{"Args.Ask", "ask", parts, ""},
		{"Args.SafeConfig", "safeConfig", compiled, "Binary.SafeConfig"},
		{"Args.MaxArgs", "maxArgs", compiled, "Binary.MaxArgs"},
		{"Args.Force", "force", compiled, "Binary.ForceArgs"},
		{"DenyWords.Words", "words", compiled, "Binary.Deny"},
		{"DenyWords.Because", "because", compiled, "Pattern.Reason"},
		{"DenyWords.Instead", "instead", compiled, "Pattern.Instead"},
		{"AskWords.Words", "words", compiled, "Binary.Ask"},
		{"AskWords.Because", "because", compiled, "Pattern.Reason"},
		{"AskWords.Approval", "approval", parts, ""},
		{"WordsApproval.From", "from", compiled, "Approval.From"},
		{"WordsApproval.Count", "count", compiled, "Approval.Count"},
		{"WordsApproval.ExpiresAfter", "expiresAfter", compiled, "Approval.ExpiresMillis"},
		{"WordsApproval.Hold", "hold", compiled, "Approval.HoldMillis"},

		{"ModuleSource.File", "file", compiled, "Set.Modules"},
		{"ModuleSource.Source", "source", compiled, "Set.Modules"},
		{"ModuleSource.Digest", "digest", compiled, "checked against the module"},
	}
}

func grantFields() []language {
	return []language{
		{"Bridge.Name", "name", compiled, "Agent.Bridges"},
		{"Bridge.Powers", "powers", parts, ""},
		{"Bridge.DataClass", "dataClass", refused, "classes of data"},
		{"Bridge.Executors", "executors", compiled, "Bridge.Executors"},
		{"Bridge.Arguments", "arguments", compiled, "Bridge.Arguments"},
		{"Bridge.Result", "result", compiled, "Bridge.Result"},
		{"Bridge.Limits", "limits", parts, ""},
		{"Bridge.Approval", "approval", parts, ""},
		{"Bridge.Audit", "audit", compiled, "Bridge.Audit"},
		{"Powers.Sensitive", "sensitive", compiled, "Bridge.Powers"},
		{"Powers.Untrusted", "untrusted", compiled, "Bridge.Powers"},
		{"Powers.External", "external", compiled, "Bridge.Powers"},
		{"BridgeLimits.CallsPerRun", "callsPerRun", compiled, "BridgeLimits"},
		{"BridgeLimits.Concurrent", "concurrent", compiled, "BridgeLimits"},
		{"BridgeLimits.SpawnPerCall", "spawnPerCall", compiled, "BridgeLimits"},
		{"BridgeLimits.Depth", "depth", compiled, "BridgeLimits"},
		{"BridgeLimits.TotalSpawn", "totalSpawn", compiled, "BridgeLimits"},
		{"BridgeLimits.RequestBytes", "requestBytes", compiled, "BridgeLimits"},
		{"BridgeLimits.ResponseBytes", "responseBytes", compiled, "BridgeLimits"},
		{"BridgeLimits.Timeout", "timeout", compiled, "BridgeLimits"},
		{"Approval.Required", "required", compiled, "Bridge.Approval"},
		{"Approval.From", "from", compiled, "Approval.From"},
		{"Approval.Count", "count", compiled, "Approval.Count"},
		{"Approval.ExpiresAfter", "expiresAfter", compiled, "Approval.ExpiresMillis"},
		{"Approval.Hold", "hold", compiled, "Approval.HoldMillis"},
		{"Approval.When", "when", compiled, "Approval.When"},

		{"Filesystem.Read", "read", compiled, "Files.Read"},
		{"Filesystem.Write", "write", compiled, "Files.Write"},
		{"Filesystem.Deny", "deny", compiled, "Files.Deny"},
		{"Network.Mode", "mode", compiled, "Egress.Mode"},
		{"Network.Egress", "egress", parts, ""},
		{"Network.Gateways", "gateways", parts, ""},
		{"Network.Deny", "deny", compiled, "Egress.Deny"},
		{"Egress.Host", "host", compiled, "Egress.Allow"},
		{"Egress.Ports", "ports", compiled, "EgressRule.Ports"},
		{"Egress.Methods", "methods", compiled, "EgressRule.Methods"},
		{"Egress.Paths", "paths", compiled, "EgressRule.Paths"},
		{"Egress.TLS", "tls", compiled, "passthrough; inspect is refused"},
		{"Egress.ECH", "ech", compiled, "EgressRule.ECH"},
		{"Egress.Limits", "limits", parts, ""},
		{"Egress.Expires", "expires", compiled, "EgressRule.Expires"},
		{"Egress.Binaries", "binaries", refused, "the network of one program"},
		{"Egress.Reason", "reason", compiled, "EgressRule.Reason"},
		{"EgressLimits.Up", "up", compiled, "EgressLimits"},
		{"EgressLimits.Down", "down", compiled, "EgressLimits"},
		{"EgressLimits.Connections", "connections", compiled, "EgressLimits"},
		{"EgressLimits.Rate", "rate", compiled, "EgressLimits"},
		{"Gateway.Name", "name", compiled, "Egress.Gateways"},
		{"Gateway.Upstream", "upstream", compiled, "Gateway.Upstream"},
		{"Gateway.Addresses", "addresses", compiled, "Gateway.Addresses"},
		{"Gateway.Credential", "credential", compiled, "Gateway.Credential"},
		{"Gateway.Methods", "methods", compiled, "Gateway.Methods"},
		{"Gateway.Paths", "paths", compiled, "Gateway.Paths"},
		{"Gateway.Limits", "limits", parts, ""},
		{"Gateway.Expires", "expires", compiled, "Gateway.Expires"},
		{"Gateway.Reason", "reason", compiled, "Gateway.Reason"},

		{"Limits.CPU", "cpu", compiled, "Limits"},
		{"Limits.Memory", "memory", compiled, "Limits"},
		{"Limits.Wall", "wall", compiled, "Limits"},
		{"Limits.Output", "output", compiled, "Limits"},
		{"Limits.Result", "result", compiled, "Limits"},
		{"Limits.Stack", "stack", compiled, "Limits"},
		{"Limits.Processes", "processes", compiled, "Limits"},
		{"Limits.Files", "files", compiled, "Limits"},
		{"Limits.RefusedCalls", "refusedCalls", compiled, "Limits"},
		{"Limits.Pause", "pause", compiled, "Limits"},
		{"Sessions.MaxAge", "maxAge", compiled, "Agent.Sessions"},
		{"Sessions.MaxSize", "maxSize", compiled, "Agent.Sessions"},
	}
}

// unsupported reports every set field that nothing compiles, and values of
// compiled fields that stand for something nothing enforces.
func (d *document) unsupported() {
	w := &walker{document: d, known: map[string]language{}}
	for _, f := range fields() {
		w.known[f.goName] = f
	}
	w.visit(reflect.ValueOf(*d.policy), "")
	if p := d.policy; !p.Compact && p.Kind != "AgentPolicy" {
		d.report("kind", CodeUnsupported, "write the grants into an AgentPolicy", "nothing compiles kind %s yet: layers of policies", clip(p.Kind))
	}
	if mode := d.policy.Spec.Mode; mode != "" && mode != "enforce" {
		d.report("spec.mode", CodeUnsupported, "leave it out: what is not granted is refused", "nothing runs in mode %s", clip(mode))
	}
}

// walker goes through the values of a policy.
type walker struct {
	*document
	known map[string]language
}

func (w *walker) visit(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.visit(v.Elem(), path)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				w.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(stringKeys(v))) {
			w.visit(v.MapIndex(reflect.ValueOf(key)), path+"."+key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.field(v.Type().Name()+"."+v.Type().Field(i).Name, v.Field(i), path)
		}
	}
}

func (w *walker) field(goName string, v reflect.Value, path string) {
	if v.IsZero() {
		return
	}
	f, listed := w.known[goName]
	if !listed {
		f = language{goName: goName, name: lowerFirst(goName[strings.IndexByte(goName, '.')+1:]), fate: refused, by: "this part of the language"}
	}
	at := f.name
	if path != "" {
		at = path + "." + f.name
	}
	switch f.fate {
	case refused:
		w.report(at, CodeUnsupported, "leave it out: this build does not enforce it", "nothing enforces this yet: %s", f.by)
	case parts:
		w.visit(v, at)
	case compiled, annotation:
	}
}

func stringKeys(v reflect.Value) map[string]bool {
	keys := make(map[string]bool, v.Len())
	if v.Type().Key().Kind() == reflect.String {
		for _, k := range v.MapKeys() {
			keys[k.String()] = true
		}
	}
	return keys
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
