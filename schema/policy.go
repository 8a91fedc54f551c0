// Package schema owns the policy language: its closed CUE definitions, the
// compact form, and the decoding of YAML, JSON and CUE text into Go values that
// keep the place of every value in the author's text.
//
// It refuses what it does not know: unknown fields, duplicate keys, values of
// the wrong shape. It is pure: bytes in, values or Diagnostics out. The compiler
// and the compile child call it; nothing else evaluates CUE.
package schema

// Source is one file of a policy. Name is what positions show: relative to its folder.
type Source struct {
	Name string
	Data []byte
}

// Origin is where a value stands in the author's text. Path is as the author
// wrote it, so it names the compact field for a policy in the compact form.
type Origin struct {
	Pos  Pos
	Path string
	// Layer is the ceiling that the value comes from, "OrgPolicy acme"; "": the
	// document of the agent itself.
	Layer string
}

// Policy is one decoded document of the full language. A document in the
// compact form is lowered to it, with the origins of the compact text.
type Policy struct {
	File       string   // Source.Name
	Compact    bool     // written in the compact form
	APIVersion string   `cue:"apiVersion"`
	Kind       string   `cue:"kind"` // OrgPolicy, TeamPolicy, AgentPolicy
	Metadata   Metadata `cue:"metadata"`
	Spec       Spec     `cue:"spec"`

	// Layers are the documents of an effective policy, the outermost first; nil as decoded.
	Layers []Layer

	// Excepted names the exception that an item of an effective policy stands by, by
	// the path of the item; Appended are those that only the exception lists.
	Excepted map[string]string
	Appended []string

	// Origins holds the place of every value by its path in the full language, such as
	// "spec.executors.python.imports.deny[0]". A lowered value may share that of another.
	Origins map[string]Origin
}

// Layer names one document of a merge.
type Layer struct {
	File     string
	Kind     string
	Metadata Metadata
}

// Metadata names a policy and its owner.
type Metadata struct {
	Name        string            `cue:"name"`
	Revision    int               `cue:"revision"`
	Owner       string            `cue:"owner"`
	Description string            `cue:"description"`
	Labels      map[string]string `cue:"labels"`
	Compliance  []string          `cue:"compliance"`
	ReviewBy    string            `cue:"reviewBy"`
	Parent      string            `cue:"parent"`
}

// Spec is the body of a policy. A nil pointer or slice means the author left
// the field out, which is not the same as empty.
type Spec struct {
	Mode       string                  `cue:"mode"`
	Audit      string                  `cue:"audit"` // "strict" or ""
	Agents     []AgentMatch            `cue:"agents"`
	Data       *Data                   `cue:"data"`
	RuleOfTwo  *RuleOfTwo              `cue:"ruleOfTwo"`
	Inputs     *Inputs                 `cue:"inputs"`
	Executors  *Executors              `cue:"executors"`
	Modules    map[string]ModuleSource `cue:"modules"` // JavaScript modules by specifier
	Bridges    []Bridge                `cue:"bridges"`
	Filesystem *Filesystem             `cue:"filesystem"`
	Network    *Network                `cue:"network"`
	Limits     *Limits                 `cue:"limits"`
	Sessions   *Sessions               `cue:"sessions"`
	Exceptions []Exception             `cue:"exceptions"`
	Guardrails []Guardrail             `cue:"guardrails"`
}

// AgentMatch names an agent that a policy is for.
type AgentMatch struct {
	Match      string   `cue:"match"`
	Identities []string `cue:"identities"`
}

// Data bounds the class and place of data.
type Data struct {
	MaxClass  string   `cue:"maxClass"`
	Residency []string `cue:"residency"`
}

// RuleOfTwo says what happens when three powers meet.
type RuleOfTwo struct {
	OnThree string `cue:"onThree"`
	Scope   string `cue:"scope"`
	Mode    string `cue:"mode"`
}

// Inputs says what the inputs of a run carry.
type Inputs struct {
	Powers *Touches `cue:"powers"`
}

// Touches is what touching something brings into a run; a nil field is not said.
type Touches struct {
	Sensitive *bool `cue:"sensitive"`
	Untrusted *bool `cue:"untrusted"`
	External  *bool `cue:"external"`
}

// Executors grants languages.
type Executors struct {
	Allowed []string `cue:"allowed"`
	MinTier string   `cue:"minTier"`
	JS      *JS      `cue:"js"`
	Python  *Python  `cue:"python"`
	Shell   *Shell   `cue:"shell"`
}

// Imports lists modules.
type Imports struct {
	Allow []string `cue:"allow"`
	Deny  []string `cue:"deny"`
}

// JS is the JavaScript executor's part.
type JS struct {
	Imports     *Imports `cue:"imports"`
	DenyGlobals []string `cue:"globals.deny"`
	Limits      *Limits  `cue:"limits"`
}

// Python is the Python executor's part.
type Python struct {
	Imports      *PythonImports `cue:"imports"`
	DenyBuiltins []string       `cue:"builtins.deny"`
	Environment  *Environment   `cue:"environment"`
	Environments []Environment  `cue:"environments"`
	OnDenied     string         `cue:"onDenied"` // "report", "end" or ""
	Tier         string         `cue:"tier"`     // "wasm", "os-sandbox" or ""
	JIT          *bool          `cue:"jit"`
	Limits       *Limits        `cue:"limits"`
}

// PythonImports lists modules. "*" in Allow is whatever nothing denies.
type PythonImports struct {
	Allow       []string `cue:"allow"`
	Deny        []string `cue:"deny"`
	DenyProcess []string `cue:"denyProcess"`

	// Within cuts the default set to what the layers above allow; nil cuts nothing. Beside: it
	// is allowed beside Allow, to which an exception was added. Listed: Allow and Deny hold it.
	Within         []string
	Beside, Listed bool
}

// Environment is a folder with packages of Python.
type Environment struct {
	Path   string `cue:"path"`
	Digest string `cue:"digest"`
}

// Shell is the shell executor's part.
type Shell struct {
	Binaries          []Binary          `cue:"binaries"`
	DenyPatterns      []DenyPattern     `cue:"denyPatterns"`
	Env               map[string]string `cue:"env"`
	AllowPipes        *bool             `cue:"allowPipes"`
	AllowRedirects    *bool             `cue:"allowRedirects"`
	AllowSubstitution *bool             `cue:"allowSubstitution"`
	JIT               *bool             `cue:"jit"`
	Audit             string            `cue:"audit"` // "metadata", "full" or ""
	Limits            *Limits           `cue:"limits"`
}

// Binary is a program the shell may start.
type Binary struct {
	Path        string              `cue:"path"`
	Args        *Args               `cue:"args"`
	Env         map[string]string   `cue:"env"` // forced
	Helpers     []string            `cue:"helpers"`
	Match       []string            `cue:"match"`
	NotMatch    []string            `cue:"notMatch"`
	Acknowledge *bool               `cue:"acknowledge"`
	Network     *bool               `cue:"network"`
	Under       map[string][]string // those of the layers above that helpers lie below
}

// Args narrows how a program may be called.
type Args struct {
	Subcommands []string    `cue:"subcommands"`
	Deny        []DenyWords `cue:"deny"`
	DenyFlags   []string    `cue:"denyFlags"`
	Ask         []AskWords  `cue:"ask"`
	SafeConfig  *bool       `cue:"safeConfig"`
	MaxArgs     *int        `cue:"maxArgs"`
	Force       []string    `cue:"force"`
}

// DenyWords refuses words of one program.
type DenyWords struct {
	Words   string `cue:"words"`
	Because string `cue:"because"`
	Instead string `cue:"instead"`
}

// AskWords asks people about words of one program.
type AskWords struct {
	Words    string         `cue:"words"`
	Because  string         `cue:"because"`
	Approval *WordsApproval `cue:"approval"`
}

// WordsApproval says who is asked about a command; "" and nil are absent.
type WordsApproval struct {
	From         []string `cue:"from"`
	Count        *int64   `cue:"count"`
	ExpiresAfter string   `cue:"expiresAfter"`
	Hold         string   `cue:"hold"`
}

// DenyPattern refuses a command.
type DenyPattern struct {
	Pattern  string   `cue:"pattern"`
	Kind     string   `cue:"kind"`
	Reason   string   `cue:"reason"`
	Instead  string   `cue:"instead"`
	Match    []string `cue:"match"`
	NotMatch []string `cue:"notMatch"`
}

// ModuleSource is a JavaScript module of the policy: inline source or a file
// of the policy's modules/ folder, with an optional pinned digest.
type ModuleSource struct {
	File   string `cue:"file"`
	Source string `cue:"source"`
	Digest string `cue:"digest"`
}

// Bridge is one granted capability.
type Bridge struct {
	Name      string        `cue:"name"`
	Powers    Powers        `cue:"powers"`
	DataClass string        `cue:"dataClass"`
	Executors []string      `cue:"executors"`
	Arguments []byte        `cue:"arguments"` // JSON Schema as JSON, nil when absent
	Result    []byte        `cue:"result"`
	Limits    *BridgeLimits `cue:"limits"`
	Approval  *Approval     `cue:"approval"`
	Audit     string        `cue:"audit"`

	// Also holds the schemas of the layers above, as JSON; nil as it was decoded.
	Also, AlsoResult [][]byte
}

// Powers are what a bridge can do.
type Powers struct {
	Sensitive bool `cue:"sensitive"`
	Untrusted bool `cue:"untrusted"`
	External  bool `cue:"external"`
}

// BridgeLimits bound a bridge; a nil or "" field is absent.
type BridgeLimits struct {
	CallsPerRun   *int64 `cue:"callsPerRun"`
	Concurrent    *int64 `cue:"concurrent"`
	SpawnPerCall  *int64 `cue:"spawnPerCall"`
	Depth         *int64 `cue:"depth"`
	TotalSpawn    *int64 `cue:"totalSpawn"`
	RequestBytes  string `cue:"requestBytes"`
	ResponseBytes string `cue:"responseBytes"`
	Timeout       string `cue:"timeout"`
}

// Approval asks a person.
type Approval struct {
	Required     bool     `cue:"required"`
	From         []string `cue:"from"`
	Count        *int64   `cue:"count"`
	ExpiresAfter string   `cue:"expiresAfter"`
	Hold         string   `cue:"hold"`
	When         string   `cue:"when"`
}

// Filesystem grants paths.
type Filesystem struct {
	Read   []string `cue:"read"`
	Write  []string `cue:"write"`
	Deny   []string `cue:"deny"`
	Powers *Touches `cue:"powers"`
	Under  Paths
}

// Network grants hosts.
type Network struct {
	Mode     string    `cue:"mode"`
	Egress   []Egress  `cue:"egress"`
	Gateways []Gateway `cue:"gateways"`
	Deny     []string  `cue:"deny"`
}

// Egress is one granted host. Host may hold a port or :*; then Ports is empty.
type Egress struct {
	Host     string        `cue:"host"`
	Ports    []int         `cue:"ports"`
	Methods  []string      `cue:"methods"`
	Paths    []string      `cue:"paths"`
	TLS      string        `cue:"tls"`
	ECH      *bool         `cue:"ech"`
	Limits   *EgressLimits `cue:"limits"`
	Expires  string        `cue:"expires"`
	Binaries []string      `cue:"binaries"`
	Powers   *Touches      `cue:"powers"`
	Reason   string        `cue:"reason"`
	Under    []Entry       // the entries of layers above that it shares limits with; nil as it was decoded
}

// EgressLimits as written: sizes "64MiB", a rate "60/m"; "" and nil are absent.
type EgressLimits struct {
	Up          string `cue:"up"`
	Down        string `cue:"down"`
	Connections *int64 `cue:"connections"`
	Rate        string `cue:"rate"`
}

// Gateway is a virtual host for one upstream.
type Gateway struct {
	Name       string        `cue:"name"`
	Upstream   string        `cue:"upstream"`
	Addresses  []string      `cue:"addresses"`
	Credential string        `cue:"credential"`
	Methods    []string      `cue:"methods"`
	Paths      []string      `cue:"paths"`
	Headers    []string      `cue:"headers"`
	Limits     *EgressLimits `cue:"limits"`
	Expires    string        `cue:"expires"`
	Powers     *Touches      `cue:"powers"`
	Reason     string        `cue:"reason"`
	Under      []Entry       // as of an Egress
}

// Limits as written: sizes "64MiB", durations "30s"; "" and nil are absent.
type Limits struct {
	CPU          string `cue:"cpu"`
	Memory       string `cue:"memory"`
	Wall         string `cue:"wall"`
	Output       string `cue:"output"`
	Result       string `cue:"result"`
	Stack        string `cue:"stack"`
	Processes    *int64 `cue:"processes"`
	Files        *int64 `cue:"files"`
	RefusedCalls *int64 `cue:"refusedCalls"`
	Pause        string `cue:"pause"`
}

// Sessions lets runs leave state to later ones; "" is absent.
type Sessions struct {
	MaxAge  string `cue:"maxAge"`
	MaxSize string `cue:"maxSize"`
}

// Exception lifts a ceiling for a while.
type Exception struct {
	ID         string          `cue:"id"`
	Owner      string          `cue:"owner"`
	ApprovedBy []string        `cue:"approvedBy"`
	Expires    string          `cue:"expires"`
	Reason     string          `cue:"reason"`
	Ticket     string          `cue:"ticket"`
	Grants     ExceptionGrants `cue:"grants"`
	Lifts      []string        // the layers that it exceeds; nil in a document as it was decoded
}

// ExceptionGrants is what an exception grants.
type ExceptionGrants struct {
	Imports  []string `cue:"imports"`
	Egress   []Egress `cue:"egress"`
	Binaries []string `cue:"binaries"`
}

// Guardrail is a Rego rule over the effective policy.
type Guardrail struct {
	Name    string `cue:"name"`
	On      string `cue:"on"`   // "policy", "call" or ""
	Rego    string `cue:"rego"` // its text, or "" where File names it
	File    string `cue:"file"` // guardrails/x.rego
	OnError string `cue:"onError"`
}
