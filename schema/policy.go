// Package schema owns the policy language: its closed CUE definitions, the compact form, and the decoding of
// YAML, JSON and CUE text into Go values. Each value keeps its position in the author's text.
//
// It rejects unknown fields, duplicate keys, and values of the wrong type. It uses no file or network. The
// compiler and the compile child process call it. No other package evaluates CUE.
package schema

// Source is one file of a policy. Name is used in positions: it is relative to the folder.
type Source struct {
	Name string
	Data []byte
}

// Origin is the position of a value in the author's text. Path is the path that the author wrote. For a
// policy in the compact form, Path is the path of the compact field.
type Origin struct {
	Pos  Pos
	Path string
	// Layer is the ceiling from which the value comes, such as "OrgPolicy acme". It is empty for a value of
	// the agent's own document.
	Layer string
}

// Policy is one decoded document of the full language. A document in the compact form is converted to the
// full language, and keeps its origins in the compact text.
type Policy struct {
	File       string   // Source.Name
	Compact    bool     // written in the compact form
	APIVersion string   `cue:"apiVersion"`
	Kind       string   `cue:"kind"` // OrgPolicy, TeamPolicy, AgentPolicy
	Metadata   Metadata `cue:"metadata"`
	Spec       Spec     `cue:"spec"`

	// Layers are the documents from which an effective policy was merged, the outermost first. After
	// decoding, Layers is nil.
	Layers []Layer

	// Excepted maps the paths of items of an effective policy to the exception that each item needs. Appended
	// lists the items that are granted only by an exception.
	Excepted map[string]string
	Appended []string

	// Origins maps the path of every value in the full language, such as
	// "spec.executors.python.imports.deny[0]", to the position of the value. If the document was in the
	// compact form, several values may have the same position.
	Origins map[string]Origin
}

// Layer names one document of a merge.
type Layer struct {
	File     string
	Kind     string
	Metadata Metadata
}

// Metadata is the name of a policy and its owner.
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

// Spec is the body of a policy. A nil pointer or slice means that the author left the field out. An empty one
// means that the author wrote an empty field.
type Spec struct {
	Mode       string                  `cue:"mode"`
	Audit      string                  `cue:"audit"` // "strict" or empty
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

// AgentMatch names an agent of a policy.
type AgentMatch struct {
	Match      string   `cue:"match"`
	Identities []string `cue:"identities"`
}

// Data limits the class and place of data.
type Data struct {
	MaxClass  string   `cue:"maxClass"`
	Residency []string `cue:"residency"`
}

// RuleOfTwo selects what happens when three powers meet.
type RuleOfTwo struct {
	OnThree string `cue:"onThree"`
	Scope   string `cue:"scope"`
	Mode    string `cue:"mode"`
}

// Inputs declares the powers of a run's inputs.
type Inputs struct {
	Powers *Touches `cue:"powers"`
}

// Touches declares powers. A nil field is not declared.
type Touches struct {
	Sensitive *bool `cue:"sensitive"`
	Untrusted *bool `cue:"untrusted"`
	External  *bool `cue:"external"`
}

// Executors grants executors.
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

// JS configures the JavaScript executor.
type JS struct {
	Imports     *Imports `cue:"imports"`
	DenyGlobals []string `cue:"globals.deny"`
	Limits      *Limits  `cue:"limits"`
}

// Python configures the Python executor.
type Python struct {
	Imports      *PythonImports `cue:"imports"`
	DenyBuiltins []string       `cue:"builtins.deny"`
	Environment  *Environment   `cue:"environment"`
	Environments []Environment  `cue:"environments"`
	OnDenied     string         `cue:"onDenied"` // "report", "end" or empty
	Tier         string         `cue:"tier"`     // "wasm", "os-sandbox" or empty
	JIT          *bool          `cue:"jit"`
	Limits       *Limits        `cue:"limits"`
}

// PythonImports lists modules. "*" in Allow means every module that is not denied.
type PythonImports struct {
	Allow       []string `cue:"allow"`
	Deny        []string `cue:"deny"`
	DenyProcess []string `cue:"denyProcess"`

	// Within is the part of the default set that the layers above allow. If it is nil, they allow the whole
	// set. Beside is true if an exception was added to Allow, which was empty: then the default set is still
	// allowed in addition. Listed is true if Allow and Deny contain the default set.
	Within         []string
	Beside, Listed bool
}

// Environment is a folder with packages of Python.
type Environment struct {
	Path   string `cue:"path"`
	Digest string `cue:"digest"`
}

// Shell configures the shell executor.
type Shell struct {
	Binaries          []Binary          `cue:"binaries"`
	DenyPatterns      []DenyPattern     `cue:"denyPatterns"`
	Env               map[string]string `cue:"env"`
	AllowPipes        *bool             `cue:"allowPipes"`
	AllowRedirects    *bool             `cue:"allowRedirects"`
	AllowSubstitution *bool             `cue:"allowSubstitution"`
	JIT               *bool             `cue:"jit"`
	Audit             string            `cue:"audit"` // "metadata", "full" or empty
	Limits            *Limits           `cue:"limits"`
}

// Binary is a program that scripts may start.
type Binary struct {
	Path        string              `cue:"path"`
	Args        *Args               `cue:"args"`
	Env         map[string]string   `cue:"env"` // the program always gets these variables
	Helpers     []string            `cue:"helpers"`
	Match       []string            `cue:"match"`
	NotMatch    []string            `cue:"notMatch"`
	Acknowledge *bool               `cue:"acknowledge"`
	Network     *bool               `cue:"network"`
	Under       map[string][]string // paths of the layers above that cover the helpers
}

// Args restricts the arguments of a program.
type Args struct {
	Subcommands []string    `cue:"subcommands"`
	Deny        []DenyWords `cue:"deny"`
	DenyFlags   []string    `cue:"denyFlags"`
	Ask         []AskWords  `cue:"ask"`
	SafeConfig  *bool       `cue:"safeConfig"`
	MaxArgs     *int        `cue:"maxArgs"`
	Force       []string    `cue:"force"`
}

// DenyWords denies arguments of one program.
type DenyWords struct {
	Words   string `cue:"words"`
	Because string `cue:"because"`
	Instead string `cue:"instead"`
}

// AskWords requires an approval for commands of one program that have certain arguments.
type AskWords struct {
	Words    string         `cue:"words"`
	Because  string         `cue:"because"`
	Approval *WordsApproval `cue:"approval"`
}

// WordsApproval is the approval of a command. Empty and nil fields are absent.
type WordsApproval struct {
	From         []string `cue:"from"`
	Count        *int64   `cue:"count"`
	ExpiresAfter string   `cue:"expiresAfter"`
	Hold         string   `cue:"hold"`
}

// DenyPattern denies a command.
type DenyPattern struct {
	Pattern  string   `cue:"pattern"`
	Kind     string   `cue:"kind"`
	Reason   string   `cue:"reason"`
	Instead  string   `cue:"instead"`
	Match    []string `cue:"match"`
	NotMatch []string `cue:"notMatch"`
}

// ModuleSource is a JavaScript module of the policy: inline text or a file of the policy's modules/ folder,
// with an optional digest.
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
	Arguments []byte        `cue:"arguments"` // JSON Schema as JSON; nil: absent
	Result    []byte        `cue:"result"`
	Limits    *BridgeLimits `cue:"limits"`
	Approval  *Approval     `cue:"approval"`
	Audit     string        `cue:"audit"`

	// Also has the schemas of the layers above, as JSON. After decoding, Also is nil. AlsoResult has such
	// schemas for the result.
	Also, AlsoResult [][]byte
}

// Powers are the effects of a bridge.
type Powers struct {
	Sensitive bool `cue:"sensitive"`
	Untrusted bool `cue:"untrusted"`
	External  bool `cue:"external"`
}

// BridgeLimits are the limits of a bridge. A nil or empty field is absent.
type BridgeLimits struct {
	CallsPerRun   *int64 `cue:"callsPerRun"`
	Concurrent    *int64 `cue:"concurrent"`
	WhenFull      string `cue:"whenFull"`
	Queue         *int64 `cue:"queue"`
	SpawnPerCall  *int64 `cue:"spawnPerCall"`
	Depth         *int64 `cue:"depth"`
	TotalSpawn    *int64 `cue:"totalSpawn"`
	RequestBytes  string `cue:"requestBytes"`
	ResponseBytes string `cue:"responseBytes"`
	Timeout       string `cue:"timeout"`
}

// Approval is the approval of a call.
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

// Egress is one granted host. If Host contains a port or :*, Ports is empty.
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
	Under    []Entry       // entries of the layers above whose limits also apply; nil after decoding
}

// EgressLimits as written: sizes "64MiB", a rate "60/m". Empty and nil fields are absent.
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
	Under      []Entry       // as in Egress
}

// Limits as written: sizes "64MiB", durations "30s". Empty and nil fields are absent.
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

// Sessions lets a run leave its state to later runs. Empty fields are absent.
type Sessions struct {
	MaxAge  string `cue:"maxAge"`
	MaxSize string `cue:"maxSize"`
}

// Exception is a temporary grant of something that a ceiling does not allow.
type Exception struct {
	ID         string          `cue:"id"`
	Owner      string          `cue:"owner"`
	ApprovedBy []string        `cue:"approvedBy"`
	Expires    string          `cue:"expires"`
	Reason     string          `cue:"reason"`
	Ticket     string          `cue:"ticket"`
	Grants     ExceptionGrants `cue:"grants"`
	Lifts      []string        // the layers whose ceiling the exception exceeds; nil after decoding
}

// ExceptionGrants lists the grants of an exception.
type ExceptionGrants struct {
	Imports  []string `cue:"imports"`
	Egress   []Egress `cue:"egress"`
	Binaries []string `cue:"binaries"`
}

// Guardrail is a Rego rule over the effective policy.
type Guardrail struct {
	Name    string `cue:"name"`
	On      string `cue:"on"`   // "policy", "call" or empty
	Rego    string `cue:"rego"` // inline text, or empty if File is set
	File    string `cue:"file"` // such as guardrails/x.rego
	OnError string `cue:"onError"`
}
