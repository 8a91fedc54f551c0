package fields

import (
	"slices"
	"strings"
)

// SetField is the row of one field of the compiled types in package profiles. The comparison of two sets
// reads it.
type SetField struct {
	Field string // Binary.MaxArgs

	// Order, Unit and Words are those of the policy field, unless the row sets others.
	Order Order
	Unit  Unit
	Words []string

	// Capability names the part; %s is the name of the entry. If it is empty, that of the parent applies.
	Capability string
	// Says is the sentence for a change. For a value, %s is the new value. For a grant, it says what is
	// allowed. For a restriction, it has one sentence for each direction, separated by |.
	Says string
	None string // text for an empty value; for a number, zero then means no limit
	// reason for the class of an unordered value; for words, the reasons if stricter and if looser, separated by |
	Why   string
	Cases []transition // for an unordered value, from one text to another
}

// transition is a change between two texts with a known effect. The text * matches every text.
type transition struct {
	Old, New string
	Narrows  bool // otherwise it widens
	Why      string
}

// Orders that only compiled fields have.
const (
	Place Order = "place" // a position in the source, without effect on decisions
	Coded Order = "coded" // compared by code of its own, or together with another field
)

// SetTable lists every field of a set once, in the order in which a comparison reports changes. A list or a number of
// the language that has no row here gets one, with the name of the field as its sentence.
func SetTable() []SetField {
	list := slices.Concat(ofSets(), ofAgents(), ofLimits(), ofExecutors(), ofPrograms(), ofBridges(), ofFiles(),
		ofNetworks(), ofGateways())
	language := map[string]Field{}
	for _, f := range slices.Backward(Table()) {
		language[f.Profile] = f
	}
	listed := map[string]bool{}
	for i := range list {
		c := &list[i]
		listed[c.Field] = true
		if c.Order == "" {
			f := language[c.Field]
			c.Order, c.Unit, c.Words = f.Order, f.Unit, f.Words
		}
	}
	return append(list, unlisted(Table(), listed)...)
}

// unlisted returns rows for the lists and numbers of the language that have none in this file.
func unlisted(language []Field, listed map[string]bool) (out []SetField) {
	for _, f := range language {
		switch f.Order {
		case Subset, Accumulates, AtMost, AtLeast:
			if _, name, _ := strings.Cut(f.Policy, "."); f.Profile != "" && !listed[f.Profile] {
				out = append(out, SetField{Field: f.Profile, Order: f.Order, Unit: f.Unit,
					Says: strings.ToLower(name[:1]) + name[1:] + " %s", None: "none"})
			}
		default: // its sentence needs words of its own
		}
	}
	return out
}

// of returns rows of one order that have no sentences.
func of(o Order, typ, names string) (out []SetField) {
	for name := range strings.FieldsSeq(names) {
		out = append(out, SetField{Field: typ + "." + name, Order: o})
	}
	return out
}

func ofSets() []SetField {
	return slices.Concat(
		of(Place, "Set", "Revision Agents"), of(Coded, "Set", "Modules"),
		of(Place, "Module", "Rule"), of(Coded, "Module", "File Digest Source"),
		[]SetField{{Field: "Set.Format", Order: Owner, Capability: "format", Says: "format %s",
			Why: "fields may mean something else"}})
}

func ofAgents() []SetField {
	const meet = "sensitive data, untrusted input and external effects may "
	return slices.Concat([]SetField{
		{Field: "Agent.Name", Order: Key},
		{Field: "Agent.Mode", Order: Owner, Capability: "mode", Says: "mode %s", None: "enforce",
			Why: "the mode is not known", Cases: []transition{{"*", "enforce", true, ""},
				{"*", "audit", false, "what the policy refuses is only recorded, and happens"}}},
		{Field: "Agent.Exceptions", Order: Coded, Capability: "exception:%s"},
		{Field: "Agent.RuleOfTwo", Order: Restrains, Capability: "ruleOfTwo",
			Says: "rule of two: " + meet + "no longer meet|rule of two: none, so " + meet + "meet"},
		{Field: "Agent.Guardrails", Order: Restrains, Capability: "guardrail:%s",
			Says: "guardrail %s is new|guardrail %s is gone"},
		{Field: "Agent.Layers", Order: Coded, Capability: "layer:%s"},
		{Field: "Agent.Inputs", Order: Coded, Capability: "inputs", Says: "inputs of a run"},
		{Field: "Agent.MinTier", Capability: "minTier", Says: "minimum isolation %s",
			Why: "a weaker guest is refused|a weaker guest is enough"},
		{Field: "Agent.JS", Order: Opens, Capability: "executor:js", Says: "run JavaScript"},
		{Field: "Agent.Python", Order: Opens, Capability: "executor:python", Says: "run Python"},
		{Field: "Agent.Shell", Order: Opens, Capability: "executor:shell", Says: "run shell scripts"},
		{Field: "Agent.Bridges", Order: Coded, Capability: "bridge:%s"},
		{Field: "Agent.Files", Order: Coded, Capability: "file"},
		{Field: "Agent.Egress", Order: Parts, Capability: "egress"},
		{Field: "Agent.Limits", Order: Coded, Capability: "limits", Says: "all executors together"},
		{Field: "Agent.Policy", Order: Coded, Capability: "policy", Says: "policy name %s",
			Why: "a name grants nothing"},
		{Field: "Agent.Audit", Order: Coded, Capability: "audit", Says: "records of the agent: %s"},
		{Field: "Agent.Sessions", Order: Opens, Capability: "session", Says: "leave the state of runs to later runs"},
		{Field: "Agent.Deadline", Order: Coded, Capability: "deadline", Says: "runs end %s"},
		{Field: "Agent.Strict", Order: Coded, Capability: "mode"},

		{Field: "RuleOfTwo.Mode", Says: "rule of two: mode %s", None: "default"},
		{Field: "RuleOfTwo.OnThree", Says: "rule of two: %s on three powers", None: "default"},
		{Field: "RuleOfTwo.Scope", Says: "rule of two: scope %s", None: "default"},
		{Field: "Guardrail.Name", Order: Key},
		{Field: "Sessions.AgeMillis", Says: "kept state: at most %s old"},
		{Field: "Sessions.Bytes", Says: "kept state: at most %s"},
	},
		of(Place, "Agent", "Rule ModeRule BridgesRule ExecutorsRule MinTierRule InputsRule"),
		of(Key, "Layer", "Kind Name"), of(Coded, "Layer", "Revision Owner"), of(Place, "Layer", "File"),
		of(Place, "RuleOfTwo", "Rule"), of(Coded, "Guardrail", "On Rego"), of(Place, "Guardrail", "Rule"),
		of(Place, "Sessions", "Rule"), of(Coded, "Powers", "Sensitive Untrusted External"),
		of(Key, "Exception", "ID"), of(Place, "Exception", "Rule"),
		of(Coded, "Exception", "Owner ApprovedBy Reason Ticket Expires Lifts Grants"),
		of(Coded, "Excepted", "Imports Egress Binaries"))
}

func ofLimits() []SetField {
	return []SetField{
		{Field: "Limits.CPUMillis", Capability: "limit:cpuMillis", Says: "processor time %s"},
		{Field: "Limits.MemoryBytes", Capability: "limit:memoryBytes", Says: "memory %s"},
		{Field: "Limits.WallMillis", Capability: "limit:wallMillis", Says: "wall time %s"},
		{Field: "Limits.OutputBytes", Capability: "limit:outputBytes", Says: "output %s"},
		{Field: "Limits.ResultBytes", Capability: "limit:resultBytes", Says: "result %s"},
		{Field: "Limits.StackBytes", Capability: "limit:stackBytes", Says: "stack %s"},
		{Field: "Limits.Processes", Capability: "limit:processes", Says: "%s process[es]"},
		{Field: "Limits.Files", Capability: "limit:files", Says: "%s open file[s]"},
		{Field: "Limits.RefusedCalls", Capability: "limit:refusedCalls", Says: "%s refused call[s]"},
		{Field: "Limits.PauseMillis", Capability: "limit:pauseMillis", Says: "a pause waits %s"},
	}
}

func ofExecutors() []SetField {
	return slices.Concat([]SetField{
		{Field: "JS.Imports", Order: Opens, Says: "JavaScript"},
		{Field: "JS.DenyGlobals", Order: Restrains, Capability: "global:%s",
			Says: "global %s is now denied|global %s is no longer denied"},
		{Field: "JS.Limits", Order: Parts, Capability: "limits", Says: "JavaScript"},
		{Field: "Python.Imports", Order: Opens, Says: "Python"},
		{Field: "Python.JIT", Order: Opens, Capability: "jit:python", Says: "use executable memory in Python"},
		{Field: "Python.Environments", Order: Opens, Capability: "environment:%s", Says: "use the packages in %s"},
		{Field: "Python.Engine", Capability: "engine:python", Says: "Python: engine %s", None: "native",
			Why: "one of the engines is not known", Cases: []transition{
				{"native", "wasm", true,
					"in WebAssembly there is only the standard library, and no program of the host"},
				{"wasm", "native", false, "the host's interpreter loads native packages and uses the host's kernel"}}},
		{Field: "Python.DenyBuiltins", Order: Restrains, Capability: "builtin:%s",
			Says: "builtin %s is now denied|builtin %s is no longer denied"},
		{Field: "Python.Limits", Order: Parts, Capability: "limits", Says: "Python"},
		{Field: "Python.EndOnDenied", Order: Restrains,
			Says: "Python: sessions end that have loaded what is now denied: %s"},
		{Field: "PythonEnvironment.Path", Order: Key, Says: "packages in %s"},
		{Field: "PythonEnvironment.Digest", Says: "digest %s", None: "whatever is there",
			Why:   "it is not known what the other packages do",
			Cases: []transition{{"whatever is there", "*", true, ""}, {"*", "whatever is there", false, ""}}},
	},
		of(Place, "JS", "Rule"), of(Place, "Python", "Rule EngineRule"), of(Place, "PythonEnvironment", "Rule"),
		of(Key, "ImportRule", "Name"), of(Coded, "ImportRule", "Exception Expires"), of(Place, "ImportRule", "Rule"),
		of(Coded, "Imports", "Allow Deny Default Absent Process Any Only"), of(Place, "Imports", "Rule"))
}

func ofPrograms() []SetField {
	const unknown = "ringd does not know what a program does with them"
	return slices.Concat([]SetField{
		{Field: "Shell.Binaries", Order: Opens, Capability: "exec:%s"},
		{Field: "Shell.Pipes", Capability: "shell:pipes", Says: "use pipes in scripts"},
		{Field: "Shell.Redirects", Capability: "shell:redirects", Says: "use redirects in scripts"},
		{Field: "Shell.Substitution", Capability: "shell:substitution", Says: "use substitution in scripts"},
		{Field: "Shell.JIT", Capability: "shell:jit", Says: "use executable memory in programs of scripts"},
		{Field: "Shell.DeniedPatterns", Order: Coded, Capability: "pattern:"},
		{Field: "Shell.Limits", Order: Parts, Capability: "limits", Says: "scripts"},
		{Field: "Shell.Audit", Order: Coded, Capability: "shell", Says: "records of programs of scripts: %s"},
		{Field: "Shell.Env", Capability: "shell", Says: "environment of scripts: %s", None: "none", Why: unknown},

		{Field: "Binary.Path", Order: Owner, Says: "path %s",
			Why: "whether they are the same program depends on the host"},
		{Field: "Binary.Interpreted", Order: Owner, Says: "read by ringd: %s",
			Why: "it is started in one of them, and read in the other"},
		{Field: "Binary.Allow", Order: Coded},
		{Field: "Binary.Deny", Order: Coded},
		{Field: "Binary.Ask", Order: Coded},
		{Field: "Binary.MaxArgs", Says: "argument limit %s", None: "none"},
		{Field: "Binary.SafeConfig", Order: Opens, Says: "configure %s on its command line"},
		{Field: "Binary.ForceArgs", Says: "forced arguments %s", None: "none", Why: unknown},
		{Field: "Binary.ForceEnv", Says: "forced environment %s", None: "none", Why: unknown},
		{Field: "Binary.Helpers", Order: Coded},
	},
		of(Place, "Shell", "Rule"), of(Place, "Binary", "Rule"), of(Coded, "Binary", "Exception Expires"),
		of(Coded, "AskRule", "Pattern Approval"), of(Place, "Pattern", "Rule"),
		of(Coded, "Pattern", "Words Text Reason Instead"))
}

func ofBridges() []SetField {
	return slices.Concat([]SetField{
		{Field: "Bridge.Powers", Order: Coded},
		{Field: "Bridge.Executors", Says: "callable from %s", None: "every executor"},
		{Field: "Bridge.Arguments", Order: Coded, Says: "arguments"},
		{Field: "Bridge.Also", Order: Coded, Says: "arguments"},
		{Field: "Bridge.Result", Order: Coded, Says: "results"},
		{Field: "Bridge.AlsoResult", Order: Coded, Says: "results"},
		{Field: "Bridge.Audit", Order: Coded, Says: "records: %s"},
		{Field: "Bridge.Approval", Order: Coded},
		{Field: "Bridge.Limits", Order: Parts},

		{Field: "Approval.From", Says: "approvals come from %s", None: "whoever the host lets approve"},
		{Field: "Approval.Count", Says: "%s approval[s] needed"},
		{Field: "Approval.ExpiresMillis", Says: "approvals now expire after %s"},
		{Field: "Approval.HoldMillis", Says: "a program is held for an approval for %s"},
		{Field: "Approval.When", Order: Coded},

		{Field: "BridgeLimits.Concurrent", Says: "%s call[s] at once"},
		{Field: "BridgeLimits.CallsPerRun", Says: "%s call[s] per run"},
		{Field: "BridgeLimits.SpawnPerCall", Says: "%s subagent[s] per call"},
		{Field: "BridgeLimits.Depth", Says: "subagents %s level[s] deep"},
		{Field: "BridgeLimits.TotalSpawn", Says: "%s subagent[s] in all"},
		{Field: "BridgeLimits.ArgumentBytes", Says: "arguments up to %s"},
		{Field: "BridgeLimits.ResultBytes", Says: "results up to %s"},
		{Field: "BridgeLimits.TimeoutMillis", Says: "a call may take %s"},
	},
		of(Key, "Bridge", "Name"), of(Place, "Bridge", "Rule"), of(Place, "Approval", "Rule"))
}

func ofFiles() []SetField {
	return slices.Concat([]SetField{
		{Field: "Files.Read", Order: Coded, Capability: "file.read:%s", Says: "read"},
		{Field: "Files.Write", Order: Coded, Capability: "file.write:%s", Says: "write"},
		{Field: "Files.Deny", Order: Coded, Capability: "file.deny:%s"},
		{Field: "Files.Powers", Order: Coded, Says: "files that are read"},
	},
		of(Place, "Files", "Rule"), of(Key, "PathRule", "Path"), of(Coded, "PathRule", "Within"),
		of(Place, "PathRule", "Rule"))
}

func ofNetworks() []SetField {
	return slices.Concat([]SetField{
		{Field: "Egress.Mode", Says: "network %s", None: "off"},
		{Field: "Egress.Allow", Order: Coded},
		{Field: "Egress.Deny", Order: Coded},
		{Field: "Egress.Gateways", Order: Opens, Capability: "gateway:%s", Says: "reach the gateway %s"},
	},
		of(Place, "Egress", "Rule"), of(Place, "EgressRule", "Rule"), of(Place, "Budget", "Rule"),
		of(Coded, "EgressRule", "Host Ports AnyPort Methods Paths ECH Limits Expires Reason Powers Exception Of Under"),
		of(Coded, "Budget", "Host Ports AnyPort Methods Paths Limits"))
}

func ofGateways() []SetField {
	return slices.Concat([]SetField{
		{Field: "Gateway.Name", Order: Key, Says: "gateway %s"},
		{Field: "Gateway.Upstream", Says: "upstream %s", None: "the host's",
			Why: "a different upstream can receive data"},
		{Field: "Gateway.Credential", Says: "credential %s", None: "none",
			Why:   "what the credential gives depends on the host",
			Cases: []transition{{"*", "none", true, "requests go out without a credential"}}},
		{Field: "Gateway.Addresses", Order: Opens, Says: "may be dialed at %s", None: "public ones"},
		{Field: "Gateway.Methods", Says: "methods %s", None: "every method"},
		{Field: "Gateway.Paths", Says: "paths %s", None: "every path"},
		{Field: "Gateway.Headers", Order: Opens, Says: "header fields that pass: %s", None: "the usual ones"},
		{Field: "Gateway.Limits", Order: Parts},
		{Field: "Gateway.Expires", Order: Coded, Says: "granted %s"},
		{Field: "Gateway.Reason", Says: "reason %s", Why: "a reason grants nothing"},
		{Field: "Gateway.Powers", Order: Coded},
		{Field: "Gateway.Under", Order: Coded},

		{Field: "EgressLimits.UpBytes", Says: "limit of data sent %s", None: "none"},
		{Field: "EgressLimits.DownBytes", Says: "limit of data received %s", None: "none"},
		{Field: "EgressLimits.Connections", Says: "connection limit %s", None: "none"},
		{Field: "EgressLimits.PerMinute", Says: "request limit per minute %s", None: "none"},
	},
		of(Place, "Gateway", "Rule"))
}
