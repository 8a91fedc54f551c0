// Package schema owns the policy language: its closed CUE definitions, the
// compact form, and the decoding of YAML, JSON and CUE text into Go values that
// keep the place of every value in the author's text.
//
// It refuses what it does not know: unknown fields, duplicate keys, values of
// the wrong shape. It is pure: bytes in, values or Diagnostics out. The compiler
// and the compile child call it; nothing else evaluates CUE.
package schema

// Source is one file of a policy. Name is what positions show; it is relative
// to the policy's folder, so that positions do not depend on the host.
type Source struct {
	Name string
	Data []byte
}

// Origin is where a value stands in the author's text. Path is as the author
// wrote it, so it names the compact field for a policy in the compact form.
type Origin struct {
	Pos  Pos
	Path string
}

// Policy is one decoded document of the full language. A document in the
// compact form is lowered to it, with the origins of the compact text.
type Policy struct {
	File       string // Source.Name
	Compact    bool   // written in the compact form
	APIVersion string
	Kind       string // OrgPolicy, TeamPolicy, AgentPolicy
	Metadata   Metadata
	Spec       Spec

	// Origins holds the place of every value by its path in the full language:
	// "spec.executors.python.imports.deny[0]". A lowered value may share its
	// origin with another.
	Origins map[string]Origin
}

// Metadata names a policy and its owner.
type Metadata struct {
	Name        string
	Revision    int
	Owner       string
	Description string
	Labels      map[string]string
	Compliance  []string
	ReviewBy    string
	Parent      string
}

// Spec is the body of a policy. A nil pointer or slice means the author left
// the field out, which is not the same as empty.
type Spec struct {
	Mode       string
	Audit      string // "strict" or ""
	Agents     []AgentMatch
	Data       *Data
	RuleOfTwo  *RuleOfTwo
	Executors  *Executors
	Modules    map[string]ModuleSource // JavaScript modules by specifier
	Bridges    []Bridge
	Filesystem *Filesystem
	Network    *Network
	Limits     *Limits
	Exceptions []Exception
	Guardrails []Guardrail
}

// AgentMatch names an agent that a policy is for.
type AgentMatch struct {
	Match      string
	Identities []string
}

// Data bounds the class and place of data.
type Data struct {
	MaxClass  string
	Residency []string
}

// RuleOfTwo says what happens when three powers meet.
type RuleOfTwo struct{ OnThree, Scope, Mode string }

// Executors grants languages.
type Executors struct {
	Allowed []string
	MinTier string
	JS      *JS
	Python  *Python
	Shell   *Shell
}

// Imports lists modules.
type Imports struct{ Allow, Deny []string }

// JS is the JavaScript executor's part.
type JS struct {
	Imports     *Imports
	DenyGlobals []string
	Limits      *Limits
}

// Python is the Python executor's part.
type Python struct {
	Imports      *Imports
	DenyBuiltins []string
	Limits       *Limits
}

// Shell is the shell executor's part.
type Shell struct {
	Binaries          []Binary
	DenyPatterns      []DenyPattern
	AllowPipes        *bool
	AllowRedirects    *bool
	AllowSubstitution *bool
	Limits            *Limits
}

// Binary is a program the shell may start.
type Binary struct {
	Path    string
	Args    *BinaryArgs
	Network *bool
}

// BinaryArgs narrows how a program may be called.
type BinaryArgs struct {
	Subcommands []string
	DenyFlags   []string
	MaxArgs     *int
}

// DenyPattern refuses a command.
type DenyPattern struct{ Pattern, Kind, Reason string }

// ModuleSource is a JavaScript module of the policy: inline source or a file
// of the policy's modules/ folder, with an optional pinned digest.
type ModuleSource struct{ File, Source, Digest string }

// Bridge is one granted capability.
type Bridge struct {
	Name      string
	Powers    Powers
	DataClass string
	Executors []string
	Arguments []byte // JSON Schema as JSON, nil when absent
	Result    []byte
	Limits    *BridgeLimits
	Approval  *Approval
	Audit     string
}

// Powers are what a bridge can do.
type Powers struct{ Sensitive, Untrusted, External bool }

// BridgeLimits bound a bridge; a nil or "" field is absent.
type BridgeLimits struct {
	CallsPerRun   *int64
	Concurrent    *int64
	SpawnPerCall  *int64
	Depth         *int64
	TotalSpawn    *int64
	RequestBytes  string
	ResponseBytes string
	Timeout       string
}

// Approval asks a person.
type Approval struct {
	Required     bool
	From         []string
	ExpiresAfter string
	When         string
}

// Filesystem grants paths.
type Filesystem struct{ Read, Write, Deny []string }

// Network grants hosts.
type Network struct {
	Mode   string
	Egress []Egress
	Deny   []string
}

// Egress is one granted host. Compact entries keep their text in Host and
// their port in Ports.
type Egress struct {
	Host     string
	Ports    []int
	Methods  []string
	Paths    []string
	TLS      string
	Binaries []string
	Reason   string
}

// Limits as written: sizes "64MiB", durations "30s"; "" and nil are absent.
type Limits struct {
	CPU, Memory, Wall, Output, Result, Stack string
	Processes, Files, RefusedCalls           *int64
}

// Exception lifts a ceiling for a while.
type Exception struct {
	ID, Owner  string
	ApprovedBy []string
	Expires    string
	Reason     string
	Ticket     string
	Grants     ExceptionGrants
}

// ExceptionGrants is what an exception grants.
type ExceptionGrants struct {
	Imports  []string
	Egress   []Egress
	Binaries []string
}

// Guardrail is a Rego rule over the effective policy.
type Guardrail struct{ Name, Rego, OnError string }
