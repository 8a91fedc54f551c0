package compiler

import (
	"slices"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// layersOf names the documents from which a policy was merged.
func layersOf(p *schema.Policy) (out []profiles.Layer) {
	for _, l := range p.Layers {
		out = append(out, profiles.Layer{Kind: l.Kind, Name: l.Metadata.Name, Revision: l.Metadata.Revision,
			Owner: l.Metadata.Owner, File: l.File})
	}
	return out
}

// check reports the errors in a document that defines no agent by itself: a ceiling, or an agent whose layers
// are incomplete. It compiles the document as if it granted everything it names, and keeps only findings that
// do not depend on the layers above or below.
func (c *compilation) check(p schema.Policy) {
	alone := &compilation{files: c.files, sources: c.sources, pythonWasm: c.pythonWasm,
		set:    profiles.Set{Agents: map[string]profiles.Agent{}},
		agents: map[string]schema.Origin{}, modules: map[string]moduleUse{}, schemas: c.schemas,
		conditions: c.conditions}
	if p.Kind != layers.KindAgent && !p.Compact {
		alone.ceiling = true
		p.Kind = layers.KindAgent
		if e := p.Spec.Executors; e != nil && e.Allowed == nil {
			all := *e
			all.Allowed = []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell}
			p.Spec.Executors = &all
		}
	}
	(&document{compilation: alone, policy: &p}).compile()
	for _, f := range alone.found {
		if f.Code == codeSecret || f.Code == codeEgressBroad || f.Severity == schema.Error &&
			!slices.Contains(agentCodes(), f.Code) {
			c.found = append(c.found, f)
		}
	}
}

// agentCodes lists the codes of findings about a whole agent.
func agentCodes() []string {
	return []string{codeNoAgent, codeDuplicateAgent, codeNotAllowed, codeModuleUnknown, codeNeverMatches, codeApproval,
		layers.CodeClassAboveMax, codeEgressOpaque}
}
