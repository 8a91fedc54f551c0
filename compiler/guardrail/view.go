package guardrail

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Input is the input of a guardrail on the policy. Every field is always present: lists may be empty, and
// absent values are null. So a wrong path is found at compile time. docs/LAYERS.md shows it, and `ringd
// schema --guardrail` prints its JSON Schema.
type Input struct {
	Effective Effective  `json:"effective" doc:"what the agent may do"`
	Previous  *Effective `json:"previous" doc:"the same before this change; null: there was nothing, or nobody knows"`
	Layers    []Layer    `json:"layers" doc:"the documents that it was merged from, the outermost first; empty: the agent's stands alone"`
	Now       *string    `json:"now" doc:"the time, RFC 3339 in UTC; null: nobody says"`
	Target    string     `json:"target" enum:"sources,host" doc:"sources: a policy is checked; host: a daemon is about to bring it in force"`
}

// The targets of an Input.
const (
	TargetSources = "sources"
	TargetHost    = "host"
)

// Layer is one document of a merge.
type Layer struct {
	Kind     string `json:"kind" enum:"OrgPolicy,TeamPolicy,AgentPolicy"`
	Name     string `json:"name"`
	Revision int    `json:"revision"`
	Owner    string `json:"owner"`
	File     string `json:"file"`
}

// Effective is what one agent may do, in the terms of the policy language, with all defaults filled in.
type Effective struct {
	Agent      string      `json:"agent"`
	Policy     string      `json:"policy" doc:"metadata.name of the policy it comes from"`
	Mode       string      `json:"mode" enum:"enforce,audit"`
	Audit      string      `json:"audit" enum:"strict," doc:"strict: every record is on disk before the act"`
	Executors  Executors   `json:"executors"`
	Bridges    []Bridge    `json:"bridges"`
	Filesystem filesystem  `json:"filesystem"`
	Network    Network     `json:"network"`
	Inputs     inputs      `json:"inputs"`
	Limits     Limits      `json:"limits"`
	Sessions   *Sessions   `json:"sessions" doc:"null: runs leave nothing to later ones"`
	RuleOfTwo  *ruleOfTwo  `json:"ruleOfTwo" doc:"null: it does not bind the agent"`
	Exceptions []exception `json:"exceptions"`
	Guardrails []Named     `json:"guardrails"`
}

// Executors are the granted executors.
type Executors struct {
	Allowed []string `json:"allowed"`
	MinTier string   `json:"minTier" enum:"process,wasm,os-sandbox,container,microvm,remote"`
	JS      *JS      `json:"js" doc:"null: not granted"`
	Python  *Python  `json:"python" doc:"null: not granted"`
	Shell   *shell   `json:"shell" doc:"null: not granted"`
}

// Imports holds module lists. Deny wins.
type Imports struct {
	Allow       []string `json:"allow"`
	Deny        []string `json:"deny"`
	DenyProcess []string `json:"denyProcess"`
	Default     bool     `json:"default" doc:"no list was written, and the executor's default set is granted"`
	Any         bool     `json:"any" doc:"whatever nothing denies is granted"`
}

// Denied is a list of denied names.
type Denied struct {
	Deny []string `json:"deny"`
}

// JS is the JavaScript executor.
type JS struct {
	Imports Imports `json:"imports"`
	Globals Denied  `json:"globals"`
	Limits  Limits  `json:"limits"`
}

// Python is the Python executor.
type Python struct {
	Imports      Imports       `json:"imports"`
	Builtins     Denied        `json:"builtins"`
	Environments []Environment `json:"environments"`
	JIT          bool          `json:"jit"`
	Tier         string        `json:"tier" enum:"os-sandbox,wasm"`
	OnDenied     string        `json:"onDenied" enum:"report,end"`
	Limits       Limits        `json:"limits"`
}

// Environment is a folder with packages of Python.
type Environment struct {
	Path   string `json:"path"`
	Digest string `json:"digest" doc:"empty: whatever is there"`
}

// shell is the shell executor.
type shell struct {
	Binaries          []binary `json:"binaries"`
	DenyPatterns      []string `json:"denyPatterns"`
	AllowPipes        bool     `json:"allowPipes"`
	AllowRedirects    bool     `json:"allowRedirects"`
	AllowSubstitution bool     `json:"allowSubstitution"`
	JIT               bool     `json:"jit"`
	Limits            Limits   `json:"limits"`
}

// binary is a granted program.
type binary struct {
	Path        string    `json:"path"`
	Interpreted bool      `json:"interpreted" doc:"a shell, which ringd itself reads"`
	Subcommands *[]string `json:"subcommands" doc:"null: all of them"`
	Deny        []string  `json:"deny"`
	Ask         []string  `json:"ask"`
	Helpers     []string  `json:"helpers"`
	MaxArgs     int64     `json:"maxArgs" doc:"0: what the system takes"`
	SafeConfig  bool      `json:"safeConfig"`
	Exception   string    `json:"exception" doc:"the id of the exception that grants it; empty: none"`
	Expires     *string   `json:"expires"`
}

// Powers are the powers of a grant.
type Powers struct {
	Sensitive bool `json:"sensitive"`
	Untrusted bool `json:"untrusted"`
	External  bool `json:"external"`
}

// Bridge is one granted capability.
type Bridge struct {
	Name      string       `json:"name"`
	Powers    Powers       `json:"powers"`
	Executors []string     `json:"executors" doc:"that may call it"`
	Limits    bridgeLimits `json:"limits"`
	Approval  *approval    `json:"approval" doc:"null: nobody is asked"`
	Audit     string       `json:"audit" enum:"metadata,full"`
	Checked   bool         `json:"checked" doc:"its argument has a JSON Schema"`
}

// bridgeLimits are the limits of a bridge.
type bridgeLimits struct {
	CallsPerRun   int64 `json:"callsPerRun"`
	Concurrent    int64 `json:"concurrent"`
	SpawnPerCall  int64 `json:"spawnPerCall"`
	Depth         int64 `json:"depth"`
	TotalSpawn    int64 `json:"totalSpawn"`
	RequestBytes  int64 `json:"requestBytes"`
	ResponseBytes int64 `json:"responseBytes"`
	TimeoutMillis int64 `json:"timeoutMillis"`
}

// approval is the approval of a call.
type approval struct {
	From          []string `json:"from" doc:"empty: whoever the host lets approve"`
	Count         int64    `json:"count"`
	ExpiresMillis int64    `json:"expiresMillis"`
	When          string   `json:"when" doc:"the condition; empty: always"`
}

// filesystem holds the granted files.
type filesystem struct {
	Read   []string `json:"read"`
	Write  []string `json:"write"`
	Deny   []string `json:"deny"`
	Powers Powers   `json:"powers"`
}

// Network holds the granted hosts.
type Network struct {
	Mode     string    `json:"mode" enum:"off,gateway-only,allowlist"`
	Egress   []Egress  `json:"egress"`
	Gateways []gateway `json:"gateways"`
	Deny     []string  `json:"deny" doc:"host, or host:port where one port alone is denied"`
}

// Egress is one granted host.
type Egress struct {
	Host      string   `json:"host"`
	Ports     []int    `json:"ports"`
	AnyPort   bool     `json:"anyPort"`
	Methods   []string `json:"methods" doc:"empty: all, or not readable"`
	Paths     []string `json:"paths"`
	Powers    Powers   `json:"powers"`
	Reason    string   `json:"reason"`
	Exception string   `json:"exception"`
	Expires   *string  `json:"expires"`
}

// gateway is a virtual host for one upstream.
type gateway struct {
	Name       string   `json:"name"`
	Upstream   string   `json:"upstream"`
	Credential string   `json:"credential"`
	Methods    []string `json:"methods"`
	Paths      []string `json:"paths"`
	Headers    []string `json:"headers"`
	Powers     Powers   `json:"powers"`
	Reason     string   `json:"reason"`
	Expires    *string  `json:"expires"`
}

// inputs holds the powers of a run's inputs.
type inputs struct {
	Powers Powers `json:"powers"`
}

// Limits are in bytes and milliseconds.
type Limits struct {
	CPUMillis    int64 `json:"cpuMillis"`
	MemoryBytes  int64 `json:"memoryBytes"`
	WallMillis   int64 `json:"wallMillis"`
	OutputBytes  int64 `json:"outputBytes"`
	ResultBytes  int64 `json:"resultBytes"`
	StackBytes   int64 `json:"stackBytes"`
	Processes    int64 `json:"processes"`
	Files        int64 `json:"files"`
	RefusedCalls int64 `json:"refusedCalls"`
	PauseMillis  int64 `json:"pauseMillis"`
}

// Sessions limits the state that runs leave to later ones.
type Sessions struct {
	MaxAgeMillis int64 `json:"maxAgeMillis"`
	MaxSizeBytes int64 `json:"maxSizeBytes"`
}

// ruleOfTwo is the rule of two.
type ruleOfTwo struct {
	Mode    string `json:"mode" enum:"enforce,report,dynamic"`
	OnThree string `json:"onThree" enum:"deny,require-approval"`
	Scope   string `json:"scope" enum:"run,session"`
}

// exception is a temporary grant above a ceiling.
type exception struct {
	ID         string   `json:"id"`
	Owner      string   `json:"owner"`
	ApprovedBy []string `json:"approvedBy"`
	Reason     string   `json:"reason"`
	Ticket     string   `json:"ticket"`
	Expires    string   `json:"expires"`
}

// Named is a guardrail.
type Named struct {
	Name string `json:"name"`
	On   string `json:"on" enum:"policy,call"`
}

// View returns what one agent may do, for guardrails.
func View(a profiles.Agent) Effective {
	e := Effective{
		Agent: a.Name, Policy: a.Policy, Mode: cmp.Or(a.Mode, "enforce"), Audit: a.Audit,
		Executors: executorsOf(a),
		Bridges:   bridgesOf(a),
		Filesystem: filesystem{Read: paths(a.Files.Read), Write: paths(a.Files.Write), Deny: paths(a.Files.Deny),
			Powers: Powers(a.Files.Powers)},
		Network: networkOf(a.Egress),
		Inputs:  inputs{Powers(a.Inputs)}, Limits: limitsOf(a.Limits),
		Exceptions: []exception{}, Guardrails: []Named{},
	}
	if s := a.Sessions; s != nil {
		e.Sessions = &Sessions{s.AgeMillis, s.Bytes}
	}
	if r := a.RuleOfTwo; r != nil {
		e.RuleOfTwo = &ruleOfTwo{r.Mode, r.OnThree, r.Scope}
	}
	for _, x := range a.Exceptions {
		e.Exceptions = append(e.Exceptions, exception{x.ID, x.Owner, list(x.ApprovedBy), x.Reason, x.Ticket,
			stamp(x.Expires)})
	}
	for _, g := range a.Guardrails {
		e.Guardrails = append(e.Guardrails, Named{g.Name, g.On})
	}
	return e
}

// layersOf returns the documents from which an agent was merged.
func layersOf(a profiles.Agent) []Layer {
	out := make([]Layer, len(a.Layers))
	for i, l := range a.Layers {
		out[i] = Layer(l)
	}
	return out
}

func executorsOf(a profiles.Agent) Executors {
	out := Executors{Allowed: []string{}, MinTier: string(a.MinTier)}
	if js := a.JS; js != nil {
		out.Allowed = append(out.Allowed, profiles.ExecutorJS)
		out.JS = &JS{importsOf(js.Imports), Denied{modules(js.DenyGlobals)}, limitsOf(js.Limits)}
	}
	if p := a.Python; p != nil {
		out.Allowed = append(out.Allowed, profiles.ExecutorPython)
		out.Python = &Python{Imports: importsOf(p.Imports), Builtins: Denied{modules(p.DenyBuiltins)}, JIT: p.JIT,
			Environments: []Environment{}, Tier: cmp.Or(p.Engine, "os-sandbox"), OnDenied: "report",
			Limits: limitsOf(p.Limits)}
		if p.EndOnDenied {
			out.Python.OnDenied = "end"
		}
		for _, e := range p.Environments {
			out.Python.Environments = append(out.Python.Environments, Environment{e.Path, e.Digest})
		}
	}
	if s := a.Shell; s != nil {
		out.Allowed = append(out.Allowed, profiles.ExecutorShell)
		out.Shell = &shell{Binaries: []binary{}, DenyPatterns: texts(s.DeniedPatterns), AllowPipes: s.Pipes,
			AllowRedirects:    s.Redirects,
			AllowSubstitution: s.Substitution, JIT: s.JIT, Limits: limitsOf(s.Limits)}
		for _, b := range s.Binaries {
			out.Shell.Binaries = append(out.Shell.Binaries, binaryOf(b))
		}
	}
	return out
}

func binaryOf(b profiles.Binary) binary {
	out := binary{Path: b.Path, Interpreted: b.Interpreted, Deny: texts(b.Deny), Ask: []string{},
		Helpers: paths(b.Helpers),
		MaxArgs: b.MaxArgs, SafeConfig: b.SafeConfig, Exception: b.Exception, Expires: stamped(b.Expires)}
	if b.Allow != nil {
		allow := texts(b.Allow)
		out.Subcommands = &allow
	}
	for _, a := range b.Ask {
		out.Ask = append(out.Ask, a.Pattern.Text)
	}
	return out
}

func importsOf(i profiles.Imports) Imports {
	return Imports{Allow: modules(i.Allow), Deny: modules(i.Deny), DenyProcess: modules(i.Process), Default: i.Default,
		Any: i.Any != nil}
}

func bridgesOf(a profiles.Agent) []Bridge {
	out := []Bridge{}
	for _, name := range slices.Sorted(maps.Keys(a.Bridges)) {
		b := a.Bridges[name]
		one := Bridge{Name: name, Powers: Powers(b.Powers), Executors: list(b.Executors),
			Audit:   cmp.Or(b.Audit, "metadata"),
			Checked: b.Arguments != nil || len(b.Also) > 0,
			Limits: bridgeLimits{b.Limits.CallsPerRun, b.Limits.Concurrent, b.Limits.SpawnPerCall, b.Limits.Depth,
				b.Limits.TotalSpawn,
				b.Limits.ArgumentBytes, b.Limits.ResultBytes, b.Limits.TimeoutMillis}}
		if len(b.Executors) == 0 {
			one.Executors = executorsOf(a).Allowed
		}
		if p := b.Approval; p != nil {
			one.Approval = &approval{list(p.From), max(p.Count, 1), p.ExpiresMillis, p.When}
		}
		out = append(out, one)
	}
	return out
}

func networkOf(e profiles.Egress) Network {
	out := Network{Mode: cmp.Or(e.Mode, profiles.EgressOff), Egress: []Egress{}, Gateways: []gateway{},
		Deny: []string{}}
	for _, r := range e.Allow {
		ports := append([]int{}, r.Ports...)
		out.Egress = append(out.Egress, Egress{r.Host, ports, r.AnyPort, list(r.Methods), list(r.Paths),
			Powers(r.Powers), r.Reason, r.Exception, stamped(r.Expires)})
	}
	for _, g := range e.Gateways {
		out.Gateways = append(out.Gateways, gateway{g.Name, g.Upstream, g.Credential, list(g.Methods), list(g.Paths),
			list(g.Headers), Powers(g.Powers), g.Reason, stamped(g.Expires)})
	}
	for _, r := range e.Deny {
		out.Deny = append(out.Deny, denied(r)...)
	}
	return out
}

// denied returns a denied host in the form of policies. A denial without a port is for every port, so one for
// a single port must show the port.
func denied(r profiles.EgressRule) (out []string) {
	if r.AnyPort || len(r.Ports) == 0 {
		return []string{r.Host}
	}
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	for _, port := range r.Ports {
		out = append(out, host+":"+strconv.Itoa(port))
	}
	return out
}

func limitsOf(l profiles.Limits) Limits {
	n := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return Limits{n(l.CPUMillis), n(l.MemoryBytes), n(l.WallMillis), n(l.OutputBytes), n(l.ResultBytes),
		n(l.StackBytes),
		n(l.Processes), n(l.Files), n(l.RefusedCalls), n(l.PauseMillis)}
}

func paths(rules []profiles.PathRule) []string {
	return each(rules, func(r profiles.PathRule) string { return r.Path })
}

func modules(rules []profiles.ImportRule) []string {
	return each(rules, func(r profiles.ImportRule) string { return r.Name })
}

func texts(patterns []profiles.Pattern) []string {
	return each(patterns, func(p profiles.Pattern) string { return p.Text })
}

func each[T any](values []T, name func(T) string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = name(v)
	}
	return out
}

// list returns a list that is never nil, since null is not a list.
func list(values []string) []string { return append([]string{}, values...) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stamped(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := stamp(*t)
	return &text
}
