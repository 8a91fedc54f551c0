// This file owns the table of what becomes of each field of the language when a lower
// document states it. It is pure, and the documentation of package layers in a form that
// tests hold it to.

package layers

import "slices"

// FieldRule says what becomes of one field of the language when a lower document states it.
type FieldRule struct {
	Go   string // its name in schema's Go types: Spec.Mode
	Kind FieldKind
	Says string // more than the kind does, or ""
}

// FieldKind is how a field is merged.
type FieldKind string

// The kinds.
const (
	Parts       FieldKind = "parts"       // its own fields are listed
	Annotation  FieldKind = "annotation"  // says something to people; each document its own
	Key         FieldKind = "key"         // tells items of a list apart: one that is not above is refused
	Subset      FieldKind = "subset"      // nothing that is not above
	Accumulates FieldKind = "accumulates" // what is above stays, and comes first
	Stricter    FieldKind = "stricter"    // a word, no looser than above
	AtMost      FieldKind = "at most"     // a number, no higher than above
	AtLeast     FieldKind = "at least"    // a number, no lower than above
	Opens       FieldKind = "opens"       // true only where above is true, or says nothing
	Restrains   FieldKind = "restrains"   // false only where above is false, or says nothing
	Owner       FieldKind = "owner"       // as the outermost layer has it
	Own         FieldKind = "own"         // each document its own, and checked with it
	Filled      FieldKind = "merged"      // written by the merge, not by authors
)

// FieldRules lists every field of the language. A field that has no rule fails a test, and so
// does one whose rule nothing proves.
func FieldRules() []FieldRule {
	return slices.Concat(documentRules(), executorRules(), programRules(), bridgeRules(), reachRules(), limitRules())
}

func each(kind FieldKind, says string, names ...string) (out []FieldRule) {
	for _, name := range names {
		out = append(out, FieldRule{name, kind, says})
	}
	return out
}

func documentRules() []FieldRule {
	return slices.Concat(
		each(Annotation, "", "Policy.File", "Policy.APIVersion", "Policy.Origins", "Metadata.Revision", "Metadata.Owner", "Metadata.Description",
			"Metadata.Labels", "Metadata.Compliance", "Metadata.ReviewBy"),
		each(Parts, "", "Policy.Metadata", "Policy.Spec", "Spec.Agents", "Spec.Data", "Spec.RuleOfTwo", "Spec.Inputs", "Spec.Executors", "Spec.Modules",
			"Spec.Bridges", "Spec.Filesystem", "Spec.Network", "Spec.Limits", "Spec.Sessions", "Spec.Exceptions", "Spec.Guardrails", "Inputs.Powers"),
		each(Filled, "", "Policy.Layers", "Policy.Excepted", "Policy.Appended", "Exception.Lifts"),
		each(Parts, "", "Exception.Grants", "ExceptionGrants.Egress"),
		each(Own, "an exception stands in the document that needs it, and is approved by the owner of each layer that it exceeds", "Exception.ID", "Exception.Owner",
			"Exception.ApprovedBy", "Exception.Expires", "Exception.Reason", "Exception.Ticket", "ExceptionGrants.Imports", "ExceptionGrants.Binaries"),
		[]FieldRule{
			{"Policy.Compact", Own, "the compact form names no parent, and is refused beside an OrgPolicy"},
			{"Policy.Kind", Own, "OrgPolicy and TeamPolicy bound, AgentPolicy is granted"},
			{"Metadata.Name", Key, "means one document; the agent's is under spec.agents where no agents are named"},
			{"Metadata.Parent", Own, "a policy of the same folder; beside an OrgPolicy everything is under it"},
			{"Spec.Mode", Stricter, "enforce is stricter than audit; a layer allows audit that says it, or leaves mode out below one that does, and an agent that leaves it out enforces"},
			{"Spec.Audit", Stricter, "strict is stricter than none"},
			{"AgentMatch.Match", Key, "a list above holds the only agents there are"},
			{"AgentMatch.Identities", Subset, "absent: those above"},
			{"Data.MaxClass", Stricter, "public, internal, confidential, restricted, the strictest first"},
			{"Data.Residency", Subset, "absent: those above; nothing enforces it, so it is an annotation that narrows"},
			{"RuleOfTwo.OnThree", Stricter, "deny is stricter than require-approval; what a layer leaves out is deny"},
			{"RuleOfTwo.Scope", Stricter, "session is stricter than run; what a layer leaves out is session"},
			{"RuleOfTwo.Mode", Stricter, "enforce, dynamic, report, the strictest first; what a layer leaves out is enforce"},
			{"Guardrail.Name", Accumulates, "a name means one guardrail"},
		},
		each(Owner, "as the first layer that states it", "Touches.Sensitive", "Touches.Untrusted", "Touches.External"),
		each(Owner, "a guardrail above stands as it is", "Guardrail.On", "Guardrail.Rego", "Guardrail.File", "Guardrail.OnError"),
		each(Owner, "a module above is there for all, and is not written anew", "ModuleSource.File", "ModuleSource.Source", "ModuleSource.Digest"))
}

func executorRules() []FieldRule {
	return slices.Concat(
		each(Parts, "", "Executors.JS", "Executors.Python", "Executors.Shell", "JS.Imports", "JS.Limits", "Python.Imports", "Python.Environment",
			"Python.Environments", "Python.Limits", "Shell.Binaries", "Shell.DenyPatterns", "Shell.Limits"),
		each(Filled, "", "PythonImports.Within", "PythonImports.Beside", "PythonImports.Listed"),
		[]FieldRule{
			{"Executors.Allowed", Subset, ""},
			{"Executors.MinTier", Stricter, "process, wasm, os-sandbox, container, microvm, remote, the strictest last"},
			{"Imports.Allow", Subset, "a specifier as it is listed"},
			{"Imports.Deny", Accumulates, ""},
			{"JS.DenyGlobals", Accumulates, ""},
			{"PythonImports.Allow", Subset, "a module and what is below it; * only below *; absent or empty: what of the default set is above as well"},
			{"PythonImports.Deny", Accumulates, ""},
			{"PythonImports.DenyProcess", Accumulates, ""},
			{"Environment.Path", Subset, "absent: those above"},
			{"Environment.Digest", Owner, "absent: that above"},
			{"Python.OnDenied", Stricter, "end is stricter than report"},
			{"Python.Tier", Owner, "absent: that above"},
			{"Python.DenyBuiltins", Accumulates, ""},
			{"Python.JIT", Opens, ""},
		})
}

func programRules() []FieldRule {
	return slices.Concat(
		each(Parts, "", "Binary.Args", "Args.Deny", "Args.Ask", "AskWords.Approval"),
		[]FieldRule{
			{"Shell.Env", Owner, "what is above stands; a script's own variables may be added"},
			{"Shell.AllowPipes", Opens, ""},
			{"Shell.AllowRedirects", Opens, ""},
			{"Shell.AllowSubstitution", Opens, ""},
			{"Shell.JIT", Opens, ""},
			{"Shell.Audit", Stricter, "full is stricter than metadata"},
			{"Binary.Path", Key, "a list above holds the only programs there are"},
			{"Binary.Env", Owner, "what is above stands; a script's own variables may be added"},
			{"Binary.Helpers", Subset, "a file, or what lies below a folder; none above allows none"},
			{"Binary.Match", Own, "examples of one document"},
			{"Binary.NotMatch", Own, "examples of one document"},
			{"Binary.Acknowledge", Own, "absent: that above; it silences findings, and grants nothing"},
			{"Binary.Network", Opens, ""},
			{"DenyPattern.Pattern", Accumulates, ""},
			{"DenyPattern.Match", Own, "examples of one document"},
			{"DenyPattern.NotMatch", Own, "examples of one document"},
			{"Args.Subcommands", Subset, "words that begin with those above; absent: those above"},
			{"Args.DenyFlags", Accumulates, ""},
			{"Args.SafeConfig", Restrains, ""},
			{"Args.MaxArgs", AtMost, ""},
			{"Args.Force", Owner, "they stand behind the decision"},
			{"DenyWords.Words", Accumulates, ""},
			{"AskWords.Words", Accumulates, "a rule below stands before those above where it asks no less"},
			{"WordsApproval.From", Subset, "absent: those above"},
			{"WordsApproval.Count", AtLeast, ""},
			{"WordsApproval.ExpiresAfter", AtMost, ""},
			{"WordsApproval.Hold", AtMost, ""},
		},
		each(Accumulates, "with its rule", "DenyPattern.Kind", "DenyPattern.Reason", "DenyPattern.Instead", "DenyWords.Because", "DenyWords.Instead"),
		each(Own, "with its rule; what is asked above is asked with the words of who narrows it last", "AskWords.Because"))
}

func bridgeRules() []FieldRule {
	return slices.Concat(
		each(Parts, "", "Bridge.Powers", "Bridge.Limits", "Bridge.Approval"),
		each(Filled, "", "Bridge.Also", "Bridge.AlsoResult", "Filesystem.Under", "Binary.Under", "Egress.Under", "Gateway.Under"),
		each(Owner, "power-mismatch", "Powers.Sensitive", "Powers.Untrusted", "Powers.External"),
		each(AtMost, "", "BridgeLimits.CallsPerRun", "BridgeLimits.Concurrent", "BridgeLimits.SpawnPerCall", "BridgeLimits.Depth", "BridgeLimits.TotalSpawn",
			"BridgeLimits.RequestBytes", "BridgeLimits.ResponseBytes", "BridgeLimits.Timeout"),
		[]FieldRule{
			{"Bridge.Name", Key, "a list above offers the only bridges there are"},
			{"Bridge.DataClass", Stricter, "a class no lower than above: a label cannot be taken off"},
			{"Bridge.Executors", Subset, "absent: those above"},
			{"Bridge.Arguments", Accumulates, "an argument fits the schemas of all layers"},
			{"Bridge.Result", Accumulates, "a result fits the schemas of all layers"},
			{"Bridge.Audit", Stricter, "full is stricter than metadata"},
			{"Approval.Required", Restrains, "an approval that is left out is the one above"},
			{"Approval.From", Subset, "absent: those above"},
			{"Approval.Count", AtLeast, ""},
			{"Approval.ExpiresAfter", AtMost, ""},
			{"Approval.Hold", AtMost, ""},
			{"Approval.When", Owner, "may be left out, which asks always"},
		})
}

func reachRules() []FieldRule {
	return slices.Concat(
		each(Parts, "", "Filesystem.Powers", "Network.Egress", "Network.Gateways", "Egress.Limits", "Egress.Powers", "Gateway.Limits", "Gateway.Powers"),
		each(Annotation, "", "Egress.Reason", "Gateway.Reason"),
		each(AtMost, "of the entries that a decision would take, the least", "EgressLimits.Up", "EgressLimits.Down", "EgressLimits.Connections", "EgressLimits.Rate"),
		[]FieldRule{
			{"Filesystem.Read", Subset, "a path and what is below it"},
			{"Filesystem.Write", Subset, "a path and what is below it"},
			{"Filesystem.Deny", Accumulates, ""},
			{"Network.Mode", Stricter, "off, gateway-only, allowlist, the strictest first"},
			{"Network.Deny", Accumulates, "of hosts and of the upstreams of gateways"},
			{"Egress.Host", Key, "lies within one entry above"},
			{"Egress.Ports", Subset, ""},
			{"Egress.Methods", Subset, "absent: those above"},
			{"Egress.Paths", Subset, "a path and what is below it; absent: those above"},
			{"Egress.TLS", Owner, "absent: that above"},
			{"Egress.ECH", Opens, "none above does not allow it"},
			{"Egress.Expires", AtMost, "no later than above"},
			{"Egress.Binaries", Subset, "absent: those above"},
			{"Gateway.Name", Key, "a list above offers the only gateways; without one, upstreams lie within its hosts"},
			{"Gateway.Upstream", Owner, "absent: that above"},
			{"Gateway.Addresses", Subset, "absent: those above"},
			{"Gateway.Credential", Owner, "absent: that above"},
			{"Gateway.Methods", Subset, "absent: those above"},
			{"Gateway.Paths", Subset, "a path and what is below it; absent: those above"},
			{"Gateway.Headers", Subset, "absent: those above; none above allows none"},
			{"Gateway.Expires", AtMost, "no later than above"},
		})
}

func limitRules() []FieldRule {
	return each(AtMost, "", "Limits.CPU", "Limits.Memory", "Limits.Wall", "Limits.Output", "Limits.Result", "Limits.Stack", "Limits.Processes",
		"Limits.Files", "Limits.RefusedCalls", "Limits.Pause", "Sessions.MaxAge", "Sessions.MaxSize")
}
