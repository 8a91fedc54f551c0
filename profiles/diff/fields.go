package diff

import (
	"reflect"
	"slices"
	"strings"
)

// known lists the fields of a type of package profiles that a comparison looks at,
// and then those that only say where something stands: neither an action nor a person
// is answered differently for them. A field that is in no list widens when it changes.
func known(of string) (compared, places string) {
	switch of {
	case "Set":
		return "Format Revision Agents Modules", ""
	case "Module":
		return "File Digest Source", "Rule"
	case "Agent":
		return "Name Policy MinTier JS Python Shell Bridges Files Egress Limits Audit Sessions Deadline Layers Mode Strict RuleOfTwo Inputs Exceptions Guardrails",
			"Rule ModeRule BridgesRule ExecutorsRule MinTierRule InputsRule"
	case "Layer":
		return "Kind Name Revision Owner", "File"
	case "RuleOfTwo":
		return "Mode OnThree Scope", "Rule"
	case "Excepted":
		return "Imports Egress Binaries", ""
	case "Exception":
		return "ID Owner ApprovedBy Reason Ticket Expires Lifts Grants", "Rule"
	case "Guardrail":
		return "Name On Rego", "Rule"
	case "Limits":
		return "CPUMillis MemoryBytes WallMillis OutputBytes ResultBytes StackBytes Processes Files RefusedCalls PauseMillis", ""
	case "Sessions":
		return "AgeMillis Bytes", "Rule"
	case "ImportRule":
		return "Name Exception Expires", "Rule"
	case "Imports":
		return "Allow Deny Default Absent Process Any Only", "Rule"
	case "JS":
		return "Imports DenyGlobals Limits", "Rule"
	case "Python":
		return "Imports DenyBuiltins JIT Limits Environments EndOnDenied Engine", "Rule EngineRule"
	case "PythonEnvironment":
		return "Path Digest", "Rule"
	case "Shell":
		return "Binaries DeniedPatterns Pipes Redirects Substitution JIT Limits Env Audit", "Rule"
	case "Binary":
		return "Path Interpreted Allow Deny Ask MaxArgs SafeConfig ForceArgs ForceEnv Helpers Exception Expires", "Rule"
	case "AskRule":
		return "Pattern Approval", ""
	case "Pattern":
		return "Words Text Reason Instead", "Rule"
	case "Powers":
		return "Sensitive Untrusted External", ""
	case "Bridge":
		return "Name Powers Executors Arguments Result Limits Audit Also AlsoResult Approval", "Rule"
	case "Approval":
		return "From Count ExpiresMillis HoldMillis When", "Rule"
	case "BridgeLimits":
		return "Concurrent CallsPerRun SpawnPerCall Depth TotalSpawn ArgumentBytes ResultBytes TimeoutMillis", ""
	case "PathRule":
		return "Path Within", "Rule"
	case "Files":
		return "Read Write Deny Powers", "Rule"
	case "Egress":
		return "Mode Allow Deny Gateways", "Rule"
	case "EgressRule":
		return "Host Ports AnyPort Methods Paths ECH Limits Expires Reason Powers Exception Of Under", "Rule"
	case "EgressLimits":
		return "UpBytes DownBytes Connections PerMinute", ""
	case "Gateway":
		return "Name Upstream Addresses Credential Methods Paths Headers Limits Expires Reason Powers Under", "Rule"
	case "Budget":
		return "Host Ports AnyPort Methods Paths Limits", "Rule"
	default:
		return "", ""
	}
}

// residue compares the fields of two structs of one type that nothing here knows, and
// has each that differs widen. Both are pointers to structs.
func (c *comparer) residue(field, capability string, old, now any) {
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(now).Elem()
	for _, name := range unknownFields(a.Type()) {
		if reflect.DeepEqual(a.FieldByName(name).Interface(), b.FieldByName(name).Interface()) {
			continue
		}
		at := strings.TrimPrefix(field+"."+name, ".")
		c.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: at, Says: at + " changed",
			Why: "this ringd has no rule for the field, so it counts as widening"})
	}
}

// unknownFields lists the fields of a type that known does not have.
func unknownFields(t reflect.Type) (out []string) {
	compared, places := known(t.Name())
	all := strings.Fields(compared + " " + places)
	for i := range t.NumField() {
		if name := t.Field(i).Name; !slices.Contains(all, name) {
			out = append(out, name)
		}
	}
	return out
}
