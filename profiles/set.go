package profiles

import (
	"encoding/json"
	"time"
)

// Format is the version of the compiled set. Readers reject every other one.
const Format = "ringd.set/v1"

// Set holds all profiles of one revision. Revision is "sha256:" and the hex digest of the canonical JSON (RFC
// 8785) of the set with an empty Revision. So it is the same on every host for the same sources.
type Set struct {
	Format   string            `json:"format"`
	Revision string            `json:"revision"`
	Agents   map[string]Agent  `json:"agents"`            // by agent name; "default" in the compact form
	Modules  map[string]Module `json:"modules,omitempty"` // JavaScript modules of the policy, by specifier
}

// Module is a JavaScript module shipped with the policy, pinned by digest.
type Module struct {
	File   string `json:"file"`   // modules/lodash-lite.ts; empty for a module inside the policy
	Digest string `json:"digest"` // "sha256:" + hex of Source
	Source string `json:"source"`
	Rule   Rule   `json:"rule"`
}

// Agent is what one agent may do.
type Agent struct {
	Name    string            `json:"name"`
	Policy  string            `json:"policy"` // metadata.name of the agent's policy
	MinTier Tier              `json:"minTier"`
	JS      *JS               `json:"js,omitempty"`     // nil: the executor is not granted
	Python  *Python           `json:"python,omitempty"` // nil: not granted
	Shell   *Shell            `json:"shell,omitempty"`  // nil: not granted
	Bridges map[string]Bridge `json:"bridges"`
	Files   Files             `json:"files"`
	Egress  Egress            `json:"egress"`
	Limits  Limits            `json:"limits"` // for all executors
	Audit   string            `json:"audit"`  // "strict" syncs every record; "" is the default
	Rule    Rule              `json:"rule"`

	// Sessions lets a run leave the state of its program to later runs. nil: not granted.
	Sessions *Sessions `json:"sessions,omitempty"`
	// Deadline ends every run of the agent. nil: no deadline. Only Narrow sets it. The ring enforces it,
	// because package profiles has no clock.
	Deadline *time.Time `json:"deadline,omitempty"`

	// Layers are the documents from which the agent was merged. The outermost comes first, and the agent's
	// own document last. nil: the agent has no layers.
	Layers []Layer `json:"layers,omitempty"`
	// Mode is ModeAudit if denied actions are only recorded and still happen.
	Mode     string `json:"mode,omitempty"`
	ModeRule Rule   `json:"modeRule,omitzero"`
	Strict   *Agent `json:"strict,omitempty"` // in mode audit: the agent as in mode enforce
	// nil: sensitive data, untrusted input and external effects may be combined
	RuleOfTwo  *RuleOfTwo  `json:"ruleOfTwo,omitempty"`
	Inputs     Powers      `json:"inputs,omitzero"`     // powers of the inputs of a run
	InputsRule Rule        `json:"inputsRule,omitzero"` // rule of Inputs
	Exceptions []Exception `json:"exceptions,omitempty"`
	Guardrails []Guardrail `json:"guardrails,omitempty"`

	BridgesRule   Rule `json:"bridgesRule,omitzero"`   // rule of the bridges
	ExecutorsRule Rule `json:"executorsRule,omitzero"` // rule of the executors
	MinTierRule   Rule `json:"minTierRule,omitzero"`   // rule of minTier; zero: the default applies
}

// Modes of an agent.
const (
	ModeEnforce = ""
	ModeAudit   = "audit"
)

// Layer names one document from which an agent was merged.
type Layer struct {
	Kind     string `json:"kind"` // OrgPolicy, TeamPolicy, AgentPolicy
	Name     string `json:"name"`
	Revision int    `json:"revision"` // metadata.revision
	Owner    string `json:"owner"`
	File     string `json:"file"`
}

// RuleOfTwo selects what happens when a run would combine sensitive data, untrusted input and an external
// effect.
type RuleOfTwo struct {
	Mode    string `json:"mode"`    // enforce, report, dynamic
	OnThree string `json:"onThree"` // deny, require-approval
	Scope   string `json:"scope"`   // run, session
	Rule    Rule   `json:"rule,omitzero"`
}

// Guardrail is a rule in Rego that can deny.
type Guardrail struct {
	Name string `json:"name"`
	On   string `json:"on"` // policy, call
	Rego string `json:"rego"`
	Rule Rule   `json:"rule"`
}

// Tier is the strength of a guest's isolation. The zero Tier is unknown and never sufficient.
type Tier string

// The tiers, from weak to strong. minTier is the weakest tier that a run accepts.
const (
	TierProcess   Tier = "process"
	TierWasm      Tier = "wasm"
	TierOS        Tier = "os-sandbox"
	TierContainer Tier = "container"
	TierMicroVM   Tier = "microvm"
	TierRemote    Tier = "remote"
)

// Limits are the limits of a run. A nil field means the executor's default. The compiler fills in the
// defaults, so a compiled profile has no nil.
type Limits struct {
	CPUMillis    *int64 `json:"cpuMillis,omitempty"`   // processor time
	MemoryBytes  *int64 `json:"memoryBytes,omitempty"` // heap of the guest's language
	WallMillis   *int64 `json:"wallMillis,omitempty"`  // wall clock, including host waits
	OutputBytes  *int64 `json:"outputBytes,omitempty"` // console or stdout+stderr
	ResultBytes  *int64 `json:"resultBytes,omitempty"` // the result value of the program
	StackBytes   *int64 `json:"stackBytes,omitempty"`
	Processes    *int64 `json:"processes,omitempty"`
	Files        *int64 `json:"files,omitempty"`
	RefusedCalls *int64 `json:"refusedCalls,omitempty"` // denied bridge calls before the run ends
	PauseMillis  *int64 `json:"pauseMillis,omitempty"`  // how long a pause waits before the run ends
}

// Sessions limits the state that a run may leave to later runs.
type Sessions struct {
	AgeMillis int64 `json:"ageMillis"` // since the last run of the session
	Bytes     int64 `json:"bytes"`     // of the session's snapshot
	Rule      Rule  `json:"rule"`
}

// ImportRule is one entry of an import list. In Python, Name covers the module and its submodules. In
// JavaScript, Name is a bare specifier.
type ImportRule struct {
	Name string `json:"name"`
	Rule Rule   `json:"rule"`
	// Exception is the ID of the exception that grants the entry until Expires.
	Exception string     `json:"exception,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
}

// Imports is the import profile of an executor. If a module is both allowed and denied, it is denied.
type Imports struct {
	Allow []ImportRule `json:"allow,omitempty"`
	Deny  []ImportRule `json:"deny,omitempty"`
	// Default is true if the allow list was absent or empty. Then the executor's default set applies (Python:
	// safe standard library; JavaScript: nothing).
	Default bool `json:"default,omitempty"`
	Rule    Rule `json:"rule,omitzero"` // rule of the allow list
	// Absent lists allowed names that grant nothing, because the policy has no module with that name. A
	// denial of such a name says so.
	Absent []ImportRule `json:"absent,omitempty"`
	// Process lists modules that are denied to the whole guest, including libraries. Python only.
	Process []ImportRule `json:"process,omitempty"`
	// Any is the rule that allows the program every module that is not denied. nil: there is no such rule.
	// Python only.
	Any *Rule `json:"any,omitempty"`
	// Only restricts modules to the listed ones and their submodules. nil: no restriction. Only Narrow sets
	// it, for Python.
	Only []string `json:"only,omitzero"`
}

// JS is the profile of the JavaScript executor.
type JS struct {
	Imports     Imports      `json:"imports"`
	DenyGlobals []ImportRule `json:"denyGlobals,omitempty"`
	Limits      Limits       `json:"limits"`
	Rule        Rule         `json:"rule"`
}

// Python is the profile of the Python executor.
type Python struct {
	Imports      Imports      `json:"imports"`
	DenyBuiltins []ImportRule `json:"denyBuiltins,omitempty"`
	JIT          bool         `json:"jit,omitempty"` // memory may become executable
	Limits       Limits       `json:"limits"`
	Rule         Rule         `json:"rule"`
	// Environments are the folders of packages. If the list is empty, the packages of the interpreter are
	// used. A guest can read only the packages that the imports allow, and the dependencies that these
	// packages declare.
	Environments []PythonEnvironment `json:"environments,omitempty"`
	// EndOnDenied ends a session that has loaded a module that a later policy denies.
	EndOnDenied bool `json:"endOnDenied,omitempty"`
	// Engine runs the program: PythonNative or PythonWasm.
	Engine     string `json:"engine,omitempty"`
	EngineRule Rule   `json:"engineRule,omitzero"` // rule of Engine; zero: the default applies
}

// Engines of Python. ringd never falls back from one to the other.
const (
	PythonNative = ""     // the host's interpreter, in a guest of the kernel ring
	PythonWasm   = "wasm" // CPython in WebAssembly, with the standard library only
)

// PythonEnvironment is a folder of the host with packages: a virtual environment, a folder of packages, or a
// folder of wheels.
type PythonEnvironment struct {
	Path   string `json:"path"`             // absolute and clean
	Digest string `json:"digest,omitempty"` // required digest; empty: any content
	Rule   Rule   `json:"rule"`
}

// Binary is a program that scripts may start. A zero field adds no restriction. The rules apply in the order
// Deny, Allow, Ask.
type Binary struct {
	Path string `json:"path"` // absolute and clean
	Rule Rule   `json:"rule"`

	// Interpreted marks a shell: ringd interprets the script that it is given, and the program itself is
	// never started.
	Interpreted bool `json:"interpreted,omitempty"`
	// Allow lists the only sub-commands that are allowed. Each is the arguments after the program's global
	// options. nil allows all.
	Allow []Pattern `json:"allow,omitzero"`
	// Deny lists denied arguments: a sub-command with flags, or a single flag, which is denied at any
	// position.
	Deny []Pattern `json:"deny,omitempty"`
	// Ask lists sub-commands that need an approval.
	Ask []AskRule `json:"ask,omitempty"`
	// MaxArgs is the largest number of arguments. 0 means the limit of the system.
	MaxArgs int64 `json:"maxArgs,omitempty"`
	// SafeConfig denies every configuration key on the command line (git -c, git config, clone -c) unless it
	// is known not to start programs.
	SafeConfig bool `json:"safeConfig,omitempty"`
	// ForceArgs are inserted after the program's name, and ForceEnv (NAME=value) is added to its environment,
	// whatever the script contains.
	ForceArgs []string `json:"forceArgs,omitempty"`
	ForceEnv  []string `json:"forceEnv,omitempty"`
	// Helpers are programs, or folders of programs, that this program may start itself. A script cannot start
	// them.
	Helpers []PathRule `json:"helpers,omitempty"`
	// Exception is the ID of the exception that grants the program until Expires.
	Exception string     `json:"exception,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
}

// AskRule is a sub-command with the approval that it needs.
type AskRule struct {
	Pattern  Pattern  `json:"pattern"`
	Approval Approval `json:"approval"`
}

// Pattern is a denied command as a list of words: the base name of the command, then its arguments. In the
// rules of a Binary, the words are only the arguments, without the program's name.
type Pattern struct {
	Words []string `json:"words"`
	Text  string   `json:"text"` // as written
	// Reason is the author's text for the denial. Instead is the alternative that the author suggests.
	Reason  string   `json:"reason,omitempty"`
	Instead []string `json:"instead,omitempty"`
	Rule    Rule     `json:"rule"`
}

// Shell is the profile of the shell executor.
type Shell struct {
	Binaries       []Binary  `json:"binaries,omitempty"`
	DeniedPatterns []Pattern `json:"deniedPatterns,omitempty"`
	Pipes          bool      `json:"pipes,omitempty"`
	Redirects      bool      `json:"redirects,omitempty"`
	Substitution   bool      `json:"substitution,omitempty"`
	JIT            bool      `json:"jit,omitempty"` // memory may become executable
	Limits         Limits    `json:"limits"`
	Rule           Rule      `json:"rule"`
	// Env lists the variables (NAME=value) of every script, in addition to those that ringd sets.
	Env []string `json:"env,omitempty"`
	// Audit is "full" if records have the arguments of programs. If it is empty or "metadata", records have
	// the program and a digest of its arguments.
	Audit string `json:"audit,omitempty"`
}

// Powers are the effects of a bridge on the world. Its owner declares them.
type Powers struct {
	Sensitive bool `json:"sensitive"`
	Untrusted bool `json:"untrusted"`
	External  bool `json:"external"`
}

// Bridge is one grant: a named capability with limits.
type Bridge struct {
	Name      string   `json:"name"` // as the guest sees it: spawnSubagent, tools.search
	Powers    Powers   `json:"powers"`
	Executors []string `json:"executors,omitempty"` // empty: every granted executor
	// JSON Schema of the first argument, canonical JSON; nil: any
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"` // JSON Schema of the result; nil: any
	Limits    BridgeLimits    `json:"limits"`
	Audit     string          `json:"audit"` // "metadata" or "full"
	Rule      Rule            `json:"rule"`

	// Also lists further schemas. The argument must match Arguments and all of them. Only Narrow and the
	// layers of a policy set Also, sorted and in canonical form. AlsoResult lists such schemas for the
	// result.
	Also       []json.RawMessage `json:"also,omitempty"`
	AlsoResult []json.RawMessage `json:"alsoResult,omitempty"`
	// Approval is the approval that a call needs. nil: no approval.
	Approval *Approval `json:"approval,omitempty"`
}

// Approval says who approves a call, and which calls need that. With the zero Approval every call needs the
// approval of one approver of the host.
type Approval struct {
	// From lists the approvers: user:, group: and team: names. If it is empty, every approver of the host may
	// approve.
	From []string `json:"from,omitempty"`
	// Count is the number of different approvers that is required. Values below 1 mean 1.
	Count         int64 `json:"count"`
	ExpiresMillis int64 `json:"expiresMillis"`
	// HoldMillis limits how long a program waits of which no snapshot can be made, such as a running script.
	// 0 means DefaultHoldMillis. ExpiresMillis limits that wait as well.
	HoldMillis int64 `json:"holdMillis,omitempty"`
	// When is a condition on the call: see package compiler/condition. If When is empty, every call needs the
	// approval.
	When string `json:"when,omitempty"`
	Rule Rule   `json:"rule"`
}

// DefaultHoldMillis is the default of [Approval.HoldMillis].
const DefaultHoldMillis = 5 * 60 * 1000

// Call is the input of a condition. Args is what the provider gets: the argument if there is exactly one,
// otherwise the list of arguments.
type Call struct {
	Agent, Bridge string
	Args          json.RawMessage
	Executor      string // the calling executor; empty: unknown
	Powers        Powers // of the bridge, as the policy grants it
}

// BridgeLimits are the limits of one bridge. The compiler fills in every default.
type BridgeLimits struct {
	Concurrent    int64 `json:"concurrent"`
	Queue         int64 `json:"queue,omitempty"` // calls that may wait until fewer are open; if 0, they are refused
	CallsPerRun   int64 `json:"callsPerRun"`
	SpawnPerCall  int64 `json:"spawnPerCall"` // if this and the next two are zero, no subagents can be started
	Depth         int64 `json:"depth"`        // levels of the subagent tree below the first run
	TotalSpawn    int64 `json:"totalSpawn"`   // agents in the whole subagent tree
	ArgumentBytes int64 `json:"argumentBytes"`
	ResultBytes   int64 `json:"resultBytes"`
	TimeoutMillis int64 `json:"timeoutMillis"`
}

// Files is the file profile. If a path is both granted and denied, it is denied. Write does not imply read.
type Files struct {
	Read  []PathRule `json:"read,omitempty"`
	Write []PathRule `json:"write,omitempty"`
	Deny  []PathRule `json:"deny,omitempty"`
	Rule  Rule       `json:"rule,omitzero"` // rule of the lists
	// Powers are the powers of the files that are read.
	Powers Powers `json:"powers,omitzero"`
}

// Egress modes.
const (
	EgressOff         = "off"          // no network
	EgressGatewayOnly = "gateway-only" // only the virtual gateway host
	EgressAllowlist   = "allowlist"    // only the listed hosts
)

// Egress is the network profile. A zero Mode means off.
type Egress struct {
	Mode     string       `json:"mode"`
	Allow    []EgressRule `json:"allow,omitempty"`
	Deny     []EgressRule `json:"deny,omitempty"`
	Gateways []Gateway    `json:"gateways,omitempty"`
	Rule     Rule         `json:"rule,omitzero"` // rule of the mode
}

// EgressRule is one entry of a list of hosts. Methods and Paths are set only if requests can be read. On port
// 443 they never can be read, because it carries TLS.
type EgressRule struct {
	Host    string       `json:"host"`              // name, *.name, address or CIDR
	Ports   []int        `json:"ports,omitempty"`   // the compiler fills in the default, 443
	AnyPort bool         `json:"anyPort,omitempty"` // written as host:*; then Ports is empty
	Methods []string     `json:"methods,omitempty"`
	Paths   []string     `json:"paths,omitempty"` // each covers itself and everything below it
	ECH     bool         `json:"ech,omitempty"`   // an encrypted ClientHello is allowed
	Limits  EgressLimits `json:"limits,omitzero"`
	Expires *time.Time   `json:"expires,omitempty"` // the rule grants nothing from then on; nil: never
	Reason  string       `json:"reason,omitempty"`
	Rule    Rule         `json:"rule"`
	Powers  Powers       `json:"powers,omitzero"`
	// Exception is the ID of the exception that grants the entry until Expires.
	Exception string `json:"exception,omitempty"`
	// Of is the Host of the entry of which this entry is a part. All parts of an entry share its limits. Of
	// is empty for a whole entry. Only Narrow sets it.
	Of string `json:"of,omitempty"`
	// Under lists the entries of the layers above whose limits apply in addition, the outermost first.
	Under []Budget `json:"under,omitempty"`
}

// Budget is an entry of a layer above that has limits. The uses of all entries and gateways within that entry
// are added together, and the limits apply to the sum.
type Budget struct {
	Host    string       `json:"host"` // Host, Ports, AnyPort, Methods and Paths identify the entry
	Ports   []int        `json:"ports,omitempty"`
	AnyPort bool         `json:"anyPort,omitempty"`
	Methods []string     `json:"methods,omitempty"`
	Paths   []string     `json:"paths,omitempty"`
	Limits  EgressLimits `json:"limits,omitzero"`
	Rule    Rule         `json:"rule"` // in the layer
}

// EgressLimits are the limits of one rule for one run. 0 is no limit.
type EgressLimits struct {
	UpBytes     int64 `json:"upBytes,omitempty"`     // sent
	DownBytes   int64 `json:"downBytes,omitempty"`   // received
	Connections int64 `json:"connections,omitempty"` // open at once
	PerMinute   int64 `json:"perMinute,omitempty"`   // new connections, and requests where they are read
}

// Gateway is a virtual host inside a guest: <Name>.ringd.internal on port 80. It forwards requests to one
// upstream. The host adds the credential, which the guest never sees.
type Gateway struct {
	Name     string `json:"name"`               // one label: gateway
	Upstream string `json:"upstream,omitempty"` // https://host[:port][/prefix]; empty: from the host's configuration
	// Addresses lists addresses and ranges of the upstream that may be dialed in addition to public ones.
	Addresses  []string `json:"addresses,omitempty"`
	Credential string   `json:"credential,omitempty"` // a name in the host's configuration; empty: no credential
	Methods    []string `json:"methods,omitempty"`
	Paths      []string `json:"paths,omitempty"`
	// request headers that are forwarded in addition to those of egress.FieldPasses; lower case
	Headers []string     `json:"headers,omitempty"`
	Limits  EgressLimits `json:"limits,omitzero"`
	Expires *time.Time   `json:"expires,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Rule    Rule         `json:"rule"`
	Powers  Powers       `json:"powers,omitzero"`
	Under   []Budget     `json:"under,omitempty"` // as in EgressRule
}
