// Package compiler owns the compilation of decoded policies to a set of profiles: it translates every grant
// and denial, fills in defaults, pins the modules, and gives each compiled rule its line in the author's
// text.
//
// It rejects every field of the language that nothing enforces: such a field is a finding, never ignored. It
// reads no file, clock or network. The compile child process and tests call it.
package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// defaultAgent is the agent name of a policy in the compact form.
const defaultAgent = "default"

// Config is the input of [Compile]. The zero Config has no policy, which is a finding.
type Config struct {
	// Policies are the decoded documents, in any order.
	Policies []schema.Policy
	// Files maps names such as modules/lodash-lite.js to the files of the policy's modules folder. Files that
	// no agent may import are left out of the set.
	Files map[string][]byte
	// Sources are the texts of Policies. With them, a finding inside of a value gets its position in the
	// file. If Sources is nil, the message has the position inside of the value.
	Sources []schema.Source
	// PythonWasm is true if the WebAssembly engine of Python is available. Otherwise a policy that requires
	// it is rejected, since no other engine runs its programs.
	PythonWasm bool
	// Now is the current time. An exception that has ended at Now is rejected. At the zero time every
	// exception is rejected. Nothing else in the set depends on Now.
	Now time.Time
	// Ended turns findings about ended exceptions into warnings. It is for a caller that removes the grants
	// of ended exceptions from the set: see package profiles.
	Ended bool
}

// Compile compiles policies to a sealed set, or reports everything that is wrong with them. If a finding is
// an error, the set is the zero Set, which denies everything. A valid set may come with warnings. The order
// of the policies does not matter.
func Compile(cfg Config) (profiles.Set, schema.Diagnostics) {
	c := &compilation{files: cfg.Files, sources: cfg.Sources, pythonWasm: cfg.PythonWasm,
		set:    profiles.Set{Agents: map[string]profiles.Agent{}},
		agents: map[string]schema.Origin{}, modules: map[string]moduleUse{}, schemas: map[string]checkedSchema{},
		conditions: map[string]error{}}
	policies := slices.Clone(cfg.Policies)
	slices.SortStableFunc(policies, func(a, b schema.Policy) int {
		pa, pb := schema.OriginOf(&a, "").Pos, schema.OriginOf(&b, "").Pos
		return cmp.Or(cmp.Compare(a.File, b.File), pa.Compare(pb),
			cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	if len(policies) == 0 {
		c.found = append(c.found, schema.Diagnostic{Code: CodeNoPolicy, Msg: "there is no policy to compile"})
	}
	merged := layers.Merge(layers.Config{Policies: policies, Now: cfg.Now})
	c.found = append(c.found, merged.Found...)
	for i := range c.found {
		if cfg.Ended && c.found[i].Code == layers.CodeExpired {
			c.found[i].Severity = schema.Warning
		}
	}
	for i := range merged.Effective {
		(&document{compilation: c, policy: &merged.Effective[i]}).compile()
	}
	for i := range merged.Alone {
		c.check(merged.Alone[i])
	}
	c.pinModules()
	c.found = append(c.found, checkPowers(c.set.Agents)...)
	if c.found = c.found.Sort(); c.found.Refused() {
		return profiles.Set{}, c.found
	}
	sealed, _, err := c.set.Seal()
	if err != nil {
		return profiles.Set{}, append(c.found, schema.Diagnostic{Code: codeSetTooLarge, Msg: err.Error()})
	}
	return sealed, c.found
}

// compilation is the state of one [Compile].
type compilation struct {
	files   map[string][]byte
	sources []schema.Source
	set     profiles.Set

	pythonWasm bool
	ceiling    bool // the policy is one of an organisation or a team

	found   schema.Diagnostics
	agents  map[string]schema.Origin
	modules map[string]moduleUse
	schemas map[string]checkedSchema // by text

	conditions map[string]error // by text; nil: valid
}

// document is one policy that is being compiled.
type document struct {
	*compilation
	policy *schema.Policy
	told   known.ProgramsConfig // parts of the shell policy that are in no profile
}

func (d *document) compile() {
	d.unsupported()
	d.secrets()
	p := d.policy
	d.found = append(d.found, layers.Classes(p)...)
	agent := profiles.Agent{
		Policy:  p.Metadata.Name,
		MinTier: profiles.TierProcess,
		Bridges: map[string]profiles.Bridge{},
		Audit:   p.Spec.Audit,
		Egress:  network{d}.egress(),
		Files:   d.filesystem(),
		Layers:  layersOf(p),
	}
	agent.Exceptions = d.exceptions()
	agent.Sessions = d.sessions()
	d.ruleOfTwo(&agent)
	if p.Spec.Bridges != nil {
		agent.BridgesRule = d.rule("spec.bridges")
	}
	code{d}.checkModules()
	d.executors(&agent)
	bridging{d}.bridges(&agent)
	scripts{d}.programs(agent)
	code{d}.pythonFindings(agent)
	var found schema.Diagnostics
	agent.Guardrails, found = guardrail.Of(p, guardrail.Source{Files: d.files, Sources: d.sources}, ruleAt)
	d.found = append(d.found, found...)
	for _, named := range d.names() {
		if d.claim(named) {
			agent.Name, agent.Rule = named.name, ruleAt(named.origin)
			d.set.Agents[named.name] = d.inMode(agent)
		}
	}
}

// inMode returns the agent in the form that its mode enforces.
func (d *document) inMode(agent profiles.Agent) profiles.Agent {
	if d.policy.Spec.Mode != profiles.ModeAudit {
		return agent
	}
	d.warn("spec.mode", codeModeAudit, "remove it before the agent does real work",
		"imports, command words and script constructs are recorded instead of refused; the kernel ring still refuses "+
			"everything that is not granted")
	return auditModeAgent(agent, d.rule("spec.mode"))
}

type namedAgent struct {
	name   string
	origin schema.Origin
}

// names lists the agents of the policy.
func (d *document) names() []namedAgent {
	p := d.policy
	switch {
	case p.Compact:
		return []namedAgent{{defaultAgent, d.origin("spec.executors")}}
	case p.Spec.Agents == nil:
		return []namedAgent{{p.Metadata.Name, d.origin("metadata.name")}}
	}
	if len(p.Spec.Agents) == 0 {
		d.report("spec.agents", codeNoAgent, "leave the field out to name the agent after the policy",
			"names no agent, so the policy applies to none")
	}
	var out []namedAgent
	for i, a := range p.Spec.Agents {
		path := fmt.Sprintf("spec.agents[%d].match", i)
		if a.Match == "" {
			d.report(path, codeNoAgent, "", "the name of the agent is empty")
			continue
		}
		out = append(out, namedAgent{a.Match, d.origin(path)})
	}
	return out
}

// claim assigns an agent to the policy. If another policy has it, that is a finding: grants of two policies
// are never merged.
func (d *document) claim(a namedAgent) bool {
	first, taken := d.agents[a.name]
	if !taken {
		d.agents[a.name] = a.origin
		return true
	}
	d.add(a.origin, schema.Diagnostic{Code: codeDuplicateAgent, Related: []schema.Pos{first.Pos},
		Msg:  fmt.Sprintf("agent %q already has a policy at %s", a.name, first.Pos),
		Hint: "an agent has one policy; put the grants into one file"})
	return false
}

// origin returns the position of a value, or of the nearest value around it.
func (d *document) origin(path string) schema.Origin { return schema.OriginOf(d.policy, path) }

func (d *document) rule(path string) profiles.Rule { return ruleAt(d.origin(path)) }

// ruleOr returns the rule of the value at path. If the author did not write that value, it returns other.
func (d *document) ruleOr(path string, other profiles.Rule) profiles.Rule {
	if o, ok := d.policy.Origins[path]; ok {
		return ruleAt(o)
	}
	return other
}

func ruleAt(o schema.Origin) profiles.Rule {
	return profiles.Rule{File: o.Pos.File, Line: o.Pos.Line, Column: o.Pos.Column, Path: o.Path, Layer: o.Layer}
}

// report adds an error about the value at path.
func (d *document) report(path, code, hint, format string, args ...any) {
	d.add(d.origin(path), schema.Diagnostic{Code: code, Hint: hint, Msg: fmt.Sprintf(format, args...)})
}

// warn adds a warning about the value at path.
func (d *document) warn(path, code, hint, format string, args ...any) {
	d.add(d.origin(path), schema.Diagnostic{Code: code, Hint: hint, Msg: fmt.Sprintf(format, args...),
		Severity: schema.Warning})
}

// add adds a finding at a position. The message of the finding begins with the author's path of the value.
func (c *compilation) add(o schema.Origin, f schema.Diagnostic) {
	if o.Layer != "" && f.Severity == schema.Warning {
		return // warnings of a ceiling are not warnings of the agent
	}
	f.Pos = o.Pos
	if o.Path != "" {
		f.Msg = o.Path + ": " + f.Msg
	}
	c.found = append(c.found, f)
}

// unsupported reports every set field that nothing compiles, and values of compiled fields that nothing
// enforces.
func (d *document) unsupported() {
	unsupportedFields(*d.policy, func(path, by string) {
		d.report(path, CodeUnsupported, "leave it out: this build does not enforce it", "nothing enforces this yet: %s",
			by)
	})
	if p := d.policy; !p.Compact && p.Kind != layers.KindAgent {
		d.report("kind", CodeUnsupported, "write the grants into an AgentPolicy", "there is no policy kind %s",
			clip(p.Kind))
	}
}
