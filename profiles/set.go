package profiles

import (
	"encoding/json"
	"time"
)

// Format is the version of the compiled set. A reader refuses any other.
const Format = "ringd.set/v1"

// Set is every profile of one revision. Revision is "sha256:" and the hex
// digest of the canonical JSON (RFC 8785) of the set with Revision empty, so it
// is the same on every host for the same sources.
type Set struct {
	Format   string            `json:"format"`
	Revision string            `json:"revision"`
	Agents   map[string]Agent  `json:"agents"`            // by agent name; compact form: "default"
	Modules  map[string]Module `json:"modules,omitempty"` // JavaScript modules of the policy, by specifier
}

// Module is a JavaScript module shipped with the policy, pinned by digest.
type Module struct {
	File   string `json:"file"`   // modules/lodash-lite.ts; "" for a module written in the policy
	Digest string `json:"digest"` // "sha256:" + hex of Source
	Source string `json:"source"`
	Rule   Rule   `json:"rule"`
}

// Agent is what one agent may do.
type Agent struct {
	Name    string            `json:"name"`
	Policy  string            `json:"policy"` // metadata.name of the policy it comes from
	MinTier Tier              `json:"minTier"`
	JS      *JS               `json:"js,omitempty"`     // nil: the executor is not granted
	Python  *Python           `json:"python,omitempty"` // nil: not granted
	Shell   *Shell            `json:"shell,omitempty"`  // nil: not granted
	Bridges map[string]Bridge `json:"bridges"`
	Files   Files             `json:"files"`
	Egress  Egress            `json:"egress"`
	Limits  Limits            `json:"limits"` // over all executors
	Audit   string            `json:"audit"`  // "strict" syncs every record, "" the default
	Rule    Rule              `json:"rule"`

	// Sessions lets runs leave their program's state to later runs; nil: not
	// granted.
	Sessions *Sessions `json:"sessions,omitempty"`
	// Deadline ends every run of the agent; nil: none. Only Narrow sets it, and
	// the ring, which has a clock, holds it.
	Deadline *time.Time `json:"deadline,omitempty"`

	// Layers are the documents that the agent was merged from, the outermost first and
	// its own last; nil: it stands alone.
	Layers []Layer `json:"layers,omitempty"`
	// Mode is ModeAudit where what would be refused is recorded and happens.
	Mode     string `json:"mode,omitempty"`
	ModeRule Rule   `json:"modeRule,omitzero"`
	Strict   *Agent `json:"strict,omitempty"` // mode audit: the agent as it would be enforced
	// nil: sensitive data, untrusted input and external effects may meet
	RuleOfTwo  *RuleOfTwo  `json:"ruleOfTwo,omitempty"`
	Inputs     Powers      `json:"inputs,omitzero"`     // what the inputs of a run carry
	InputsRule Rule        `json:"inputsRule,omitzero"` // where that stands
	Exceptions []Exception `json:"exceptions,omitempty"`
	Guardrails []Guardrail `json:"guardrails,omitempty"`

	BridgesRule   Rule `json:"bridgesRule,omitzero"`   // where the bridges stand
	ExecutorsRule Rule `json:"executorsRule,omitzero"` // where the executors are granted
	MinTierRule   Rule `json:"minTierRule,omitzero"`   // where minTier stands; zero: the default
}

// Modes of an agent.
const (
	ModeEnforce = ""
	ModeAudit   = "audit"
)

// Layer names one document that an agent was merged from.
type Layer struct {
	Kind     string `json:"kind"` // OrgPolicy, TeamPolicy, AgentPolicy
	Name     string `json:"name"`
	Revision int    `json:"revision"` // metadata.revision
	Owner    string `json:"owner"`
	File     string `json:"file"`
}

// RuleOfTwo says what happens when a run would have sensitive data, untrusted input
// and an external effect.
type RuleOfTwo struct {
	Mode    string `json:"mode"`    // enforce, report, dynamic
	OnThree string `json:"onThree"` // deny, require-approval
	Scope   string `json:"scope"`   // run, session
	Rule    Rule   `json:"rule,omitzero"`
}

// Guardrail is a rule in Rego that refuses.
type Guardrail struct {
	Name string `json:"name"`
	On   string `json:"on"` // policy, call
	Rego string `json:"rego"`
	Rule Rule   `json:"rule"`
}

// Tier orders isolation from weak to strong. The zero Tier is unknown and is
// never satisfied.
type Tier string

// The tiers, weak to strong. minTier names the least that a run accepts.
const (
	TierProcess   Tier = "process"
	TierWasm      Tier = "wasm"
	TierOS        Tier = "os-sandbox"
	TierContainer Tier = "container"
	TierMicroVM   Tier = "microvm"
	TierRemote    Tier = "remote"
)

// Limits bound a run. A nil field takes the executor's default; the compiler
// fills the defaults in, so a compiled profile has no nil.
type Limits struct {
	CPUMillis    *int64 `json:"cpuMillis,omitempty"`   // processor time
	MemoryBytes  *int64 `json:"memoryBytes,omitempty"` // heap of the guest's language
	WallMillis   *int64 `json:"wallMillis,omitempty"`  // wall clock, host waits included
	OutputBytes  *int64 `json:"outputBytes,omitempty"` // console or stdout+stderr
	ResultBytes  *int64 `json:"resultBytes,omitempty"` // the program's value
	StackBytes   *int64 `json:"stackBytes,omitempty"`
	Processes    *int64 `json:"processes,omitempty"`
	Files        *int64 `json:"files,omitempty"`
	RefusedCalls *int64 `json:"refusedCalls,omitempty"` // refused bridge calls before the run ends
	PauseMillis  *int64 `json:"pauseMillis,omitempty"`  // how long a pause waits before the run ends
}

// Sessions bound the state that runs leave to later ones.
type Sessions struct {
	AgeMillis int64 `json:"ageMillis"` // since the last run in it
	Bytes     int64 `json:"bytes"`     // of its snapshot
	Rule      Rule  `json:"rule"`
}

// ImportRule is one entry of an import list. Name covers itself and, after a
// dot, its submodules (Python) or is a bare specifier (JavaScript).
type ImportRule struct {
	Name string `json:"name"`
	Rule Rule   `json:"rule"`
	// Exception is the ID of the exception that grants it until Expires.
	Exception string     `json:"exception,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
}

// Imports is an import profile. Deny wins over allow.
type Imports struct {
	Allow []ImportRule `json:"allow,omitempty"`
	Deny  []ImportRule `json:"deny,omitempty"`
	// Default is true when the allow list was absent or empty and the
	// executor's default set applies (Python: safe standard library;
	// JavaScript: nothing).
	Default bool `json:"default,omitempty"`
	Rule    Rule `json:"rule,omitzero"` // where the allow list stands
	// Absent holds allowed names that grant nothing, because the policy ships no
	// module of that name; a refusal says so.
	Absent []ImportRule `json:"absent,omitempty"`
	// Process is denied to everybody in the guest, libraries too. Python only.
	Process []ImportRule `json:"process,omitempty"`
	// Any allows the program whatever nothing denies, and says where that stands;
	// nil: it does not. Python only.
	Any *Rule `json:"any,omitempty"`
	// Only takes away every module that is neither listed nor a submodule of one
	// that is; nil takes nothing away. Only Narrow sets it, for Python.
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
	// Environments hold the packages; none: those of the interpreter itself. A guest
	// reads of them what the imports allow, and what that declares to need.
	Environments []PythonEnvironment `json:"environments,omitempty"`
	// EndOnDenied ends a session that has loaded what a later policy denies.
	EndOnDenied bool `json:"endOnDenied,omitempty"`
	// Engine is what runs the program: PythonNative or PythonWasm.
	Engine     string `json:"engine,omitempty"`
	EngineRule Rule   `json:"engineRule,omitzero"` // where it stands; zero: the default
}

// Engines of Python. There is no fallback from one to the other.
const (
	PythonNative = ""     // the host's interpreter, in a guest of the kernel ring
	PythonWasm   = "wasm" // CPython in WebAssembly, with the standard library alone
)

// PythonEnvironment is a folder of the host with packages: a virtual environment, a
// folder of packages, or one of wheels.
type PythonEnvironment struct {
	Path   string `json:"path"`             // absolute and clean
	Digest string `json:"digest,omitempty"` // what it has to be; "": whatever is there when it is read
	Rule   Rule   `json:"rule"`
}

// Binary is a program the shell and exec decisions may start. A zero field
// restricts nothing more. The order of its rules: Deny, then Allow, then Ask.
type Binary struct {
	Path string `json:"path"` // absolute and clean
	Rule Rule   `json:"rule"`

	// Interpreted says that the program is a shell: ringd reads and interprets what
	// is given to it, and the program itself is never started.
	Interpreted bool `json:"interpreted,omitempty"`
	// Allow lists the only sub-commands, each as the words behind the program's
	// global options; nil allows all.
	Allow []Pattern `json:"allow,omitzero"`
	// Deny lists words behind the program's name that are refused: a sub-command
	// with flags, or a flag alone, which is refused wherever it stands.
	Deny []Pattern `json:"deny,omitempty"`
	// Ask lists sub-commands that people have to approve.
	Ask []AskRule `json:"ask,omitempty"`
	// MaxArgs bounds the words behind the program's name; 0: only what a system takes.
	MaxArgs int64 `json:"maxArgs,omitempty"`
	// SafeConfig refuses every configuration key on the command line (git -c, git
	// config, clone -c) that is not known to start nothing.
	SafeConfig bool `json:"safeConfig,omitempty"`
	// ForceArgs are put behind the program's name, ForceEnv (NAME=value) into its
	// environment, whatever the script says.
	ForceArgs []string `json:"forceArgs,omitempty"`
	ForceEnv  []string `json:"forceEnv,omitempty"`
	// Helpers are programs, or folders of them, that the program may start itself.
	// A script cannot.
	Helpers []PathRule `json:"helpers,omitempty"`
	// Exception is the ID of the exception that grants the program until Expires.
	Exception string     `json:"exception,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
}

// AskRule is a sub-command with the approval it needs.
type AskRule struct {
	Pattern  Pattern  `json:"pattern"`
	Approval Approval `json:"approval"`
}

// Pattern is a denied command: words, the first one the command's basename. In
// the rules of a Binary the words are those behind the program's name.
type Pattern struct {
	Words []string `json:"words"`
	Text  string   `json:"text"` // as written
	// Reason is the author's, shown with the refusal, and Instead what to do.
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
	// Env lists the variables (NAME=value) that every script begins with, beside what
	// ringd gives it.
	Env []string `json:"env,omitempty"`
	// Audit is "full" when records hold the words of programs, and "" or "metadata"
	// when they hold the program and a digest of its words.
	Audit string `json:"audit,omitempty"`
}

// Powers are what a bridge can do to the world; its owner states them.
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
	// JSON Schema of the argument list's first element, canonical JSON; nil: any
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"` // JSON Schema of the result; nil: any
	Limits    BridgeLimits    `json:"limits"`
	Audit     string          `json:"audit"` // "metadata" or "full"
	Rule      Rule            `json:"rule"`

	// Also holds further schemas that the argument must fit, all of them. Only
	// Narrow and the layers of a policy put them here, sorted and in canonical form.
	// AlsoResult holds those of the result.
	Also       []json.RawMessage `json:"also,omitempty"`
	AlsoResult []json.RawMessage `json:"alsoResult,omitempty"`
	// Approval asks people before a call happens; nil: nobody is asked.
	Approval *Approval `json:"approval,omitempty"`
}

// Approval says who is asked before a call, and when. The zero Approval asks
// always, and one approver of the host is enough.
type Approval struct {
	// From lists who may approve: user:, group: and team: names. Empty: whoever
	// the host lets approve.
	From []string `json:"from,omitempty"`
	// Count is how many different people have to approve; below 1 counts as 1.
	Count         int64 `json:"count"`
	ExpiresMillis int64 `json:"expiresMillis"`
	// HoldMillis bounds the wait of a program that cannot be written down while it
	// waits, as a script half way cannot; 0: DefaultHoldMillis. It never outlasts
	// ExpiresMillis.
	HoldMillis int64 `json:"holdMillis,omitempty"`
	// When is a condition over the call, see package compiler/condition; "" asks
	// always.
	When string `json:"when,omitempty"`
	Rule Rule   `json:"rule"`
}

// DefaultHoldMillis is how long a program is held for an approval.
const DefaultHoldMillis = 5 * 60 * 1000

// Call is what a condition is asked about. Args is what the provider gets: the
// argument, or the list of them when there is not exactly one.
type Call struct {
	Agent, Bridge string
	Args          json.RawMessage
	Executor      string // that calls; "": not said
	Powers        Powers // of the bridge, as its grant has them
}

// BridgeLimits bound one bridge; the compiler fills in every default.
type BridgeLimits struct {
	Concurrent    int64 `json:"concurrent"`
	CallsPerRun   int64 `json:"callsPerRun"`
	SpawnPerCall  int64 `json:"spawnPerCall"` // this and the next two zero: starts no subagents
	Depth         int64 `json:"depth"`        // subagent tree: levels below the first run
	TotalSpawn    int64 `json:"totalSpawn"`   // subagent tree: agents in all
	ArgumentBytes int64 `json:"argumentBytes"`
	ResultBytes   int64 `json:"resultBytes"`
	TimeoutMillis int64 `json:"timeoutMillis"`
}

// Files is the file profile. Deny wins; write does not imply read.
type Files struct {
	Read  []PathRule `json:"read,omitempty"`
	Write []PathRule `json:"write,omitempty"`
	Deny  []PathRule `json:"deny,omitempty"`
	Rule  Rule       `json:"rule,omitzero"` // where the lists stand
	// Powers are what the files that are read carry.
	Powers Powers `json:"powers,omitzero"`
}

// Egress modes.
const (
	EgressOff         = "off"          // no door at all
	EgressGatewayOnly = "gateway-only" // only the virtual gateway host
	EgressAllowlist   = "allowlist"    // only the listed hosts
)

// Egress is the network profile. The zero Mode is treated as off.
type Egress struct {
	Mode     string       `json:"mode"`
	Allow    []EgressRule `json:"allow,omitempty"`
	Deny     []EgressRule `json:"deny,omitempty"`
	Gateways []Gateway    `json:"gateways,omitempty"`
	Rule     Rule         `json:"rule,omitzero"` // where the mode stands
}

// EgressRule is one entry of an egress list. Methods and Paths stand only where
// requests can be read: never on port 443, which carries TLS.
type EgressRule struct {
	Host    string       `json:"host"`              // name, *.name, address or CIDR
	Ports   []int        `json:"ports,omitempty"`   // the compiler writes the default, 443, out
	AnyPort bool         `json:"anyPort,omitempty"` // written as host:*; Ports is empty
	Methods []string     `json:"methods,omitempty"`
	Paths   []string     `json:"paths,omitempty"` // each covers itself and what is below it
	ECH     bool         `json:"ech,omitempty"`   // an encrypted ClientHello passes
	Limits  EgressLimits `json:"limits,omitzero"`
	Expires *time.Time   `json:"expires,omitempty"` // from then on the rule grants nothing; nil: never
	Reason  string       `json:"reason,omitempty"`
	Rule    Rule         `json:"rule"`
	Powers  Powers       `json:"powers,omitzero"`
	// Exception is the ID of the exception that grants the entry until Expires.
	Exception string `json:"exception,omitempty"`
	// Of is the Host of the entry that this one is a part of, with which it shares
	// its limits; "": none. Only Narrow sets it.
	Of string `json:"of,omitempty"`
	// Under are the entries of the layers above that the limits are shared by, the
	// outermost first.
	Under []Budget `json:"under,omitempty"`
}

// Budget is an entry of a layer above with limits. What one run does by all entries
// and gateways that lie within it counts against them together.
type Budget struct {
	Host    string       `json:"host"` // with Ports to Paths, what it is known by
	Ports   []int        `json:"ports,omitempty"`
	AnyPort bool         `json:"anyPort,omitempty"`
	Methods []string     `json:"methods,omitempty"`
	Paths   []string     `json:"paths,omitempty"`
	Limits  EgressLimits `json:"limits,omitzero"`
	Rule    Rule         `json:"rule"` // of the layer
}

// EgressLimits bound what one run does by one rule; 0 is no limit.
type EgressLimits struct {
	UpBytes     int64 `json:"upBytes,omitempty"`     // sent
	DownBytes   int64 `json:"downBytes,omitempty"`   // received
	Connections int64 `json:"connections,omitempty"` // open at once
	PerMinute   int64 `json:"perMinute,omitempty"`   // connections, and requests where they are read
}

// Gateway is a virtual host inside of a guest, <Name>.ringd.internal on port 80,
// which stands for one upstream. The host adds the credential; the guest never
// has it.
type Gateway struct {
	Name     string `json:"name"`               // one label: gateway
	Upstream string `json:"upstream,omitempty"` // https://host[:port][/prefix]; "": the host's configuration says it
	// Addresses lists what of the upstream's answers may be dialed beside public
	// addresses: addresses and ranges.
	Addresses  []string     `json:"addresses,omitempty"`
	Credential string       `json:"credential,omitempty"` // a name of the host's configuration; "": none is added
	Methods    []string     `json:"methods,omitempty"`
	Paths      []string     `json:"paths,omitempty"`
	Headers    []string     `json:"headers,omitempty"` // that pass beside those of egress.FieldPasses; lower case
	Limits     EgressLimits `json:"limits,omitzero"`
	Expires    *time.Time   `json:"expires,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Rule       Rule         `json:"rule"`
	Powers     Powers       `json:"powers,omitzero"`
	Under      []Budget     `json:"under,omitempty"` // as of an EgressRule
}
