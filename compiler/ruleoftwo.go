package compiler

import (
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// ruleOfTwo compiles the rule of two, and the powers of inputs and files.
func (d *document) ruleOfTwo(agent *profiles.Agent) {
	p := d.policy
	agent.RuleOfTwo = ruleOfTwo(p.Spec.RuleOfTwo, len(p.Layers) > 1, d.rule("spec.ruleOfTwo"))
	if in := p.Spec.Inputs; in != nil && in.Powers != nil {
		const at = "spec.inputs.powers"
		agent.Inputs, agent.InputsRule = touchedPowers(in.Powers), d.rule(at)
		if agent.Inputs.External {
			d.report(at+".external", codeNeverMatches, "leave it out", "inputs of a run send nothing out")
		}
	}
	const files = "spec.filesystem.powers"
	switch f := agent.Files; {
	case (f.Powers.Sensitive || f.Powers.Untrusted) && len(f.Read)+len(f.Write) == 0:
		d.warn(files, codeNeverMatches, "", "describes the files that are read, but none is granted")
	case f.Powers.External && len(f.Write) == 0:
		d.warn(files+".external", codeNeverMatches, "", "describes the files that are written, but none is granted")
	}
}

// outward rejects a declaration that nothing is sent out if something can be sent.
func (d *document) outward(at string, t *schema.Touches, has profiles.Powers) {
	if powersDeny(t) && has.External {
		d.report(at+".external", codePowerMismatch,
			"name methods that send nothing (GET, HEAD), where requests can be read, or leave it out",
			"requests can send data there, so others see it")
	}
}
