package commands

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
)

// powersReport is the JSON result of explain --powers.
type powersReport struct {
	Agent     string              `json:"agent"`
	RuleOfTwo *profiles.RuleOfTwo `json:"rule_of_two"` // null if the policy has none
	Powers    []powers.Power      `json:"powers"`      // of the agent itself
	Starts    []string            `json:"starts,omitempty"`
	Together  []powers.Power      `json:"together"` // with the agents that it may start
	Sources   []powers.Source     `json:"sources"`
	Revision  string              `json:"revision"`
}

// powers prints which powers an agent has, and through which grants.
func (v *decideVerbs) powers(d *decider, agent string, asJSON bool) error {
	a, ok := d.set.Agent(agent)
	if !ok {
		return cli.NoAgent(d.set, agent)
	}
	all := powers.Of(d.set.Agents, agent)
	m := powersReport{Agent: agent, RuleOfTwo: a.RuleOfTwo, Starts: all.Starts, Together: powers.List(all.Powers),
		Sources: all.Sources, Revision: d.set.Revision,
		Powers: powers.List(powers.Of(map[string]profiles.Agent{agent: a}, agent).Powers)}
	if m.Sources == nil {
		m.Sources = []powers.Source{}
	}
	if asJSON {
		return cli.JSON(v.Out, m)
	}
	return explainPrinter{v.Page(v.Out)}.meeting(m, d)
}

// meeting prints the powers of an agent for people.
func (p explainPrinter) meeting(m powersReport, d *decider) error {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what,
			strings.Join(cli.Folded(cli.Block(fmt.Sprintf(format, args...)), explainWidth-3), "\n           "))
	}
	line("agent", "%s has %s", m.Agent, words(m.Powers))
	if len(m.Starts) > 0 {
		line("starts", "any of %s; together they have %s", strings.Join(m.Starts, ", "), words(m.Together))
	}
	if r := m.RuleOfTwo; r == nil {
		line("rule", "none: three powers are a warning")
	} else {
		line("rule", "onThree: %s, mode: %s, scope: %s (%s:%d)%s", r.OnThree, r.Mode, r.Scope,
			d.files.Shown(r.Rule.File), r.Rule.Line, layer(r.Rule))
	}
	for _, power := range powers.All() {
		for _, s := range m.Sources {
			if !powers.Has(s.Powers, power) {
				continue
			}
			text := s.What
			if s.Agent != m.Agent {
				text += " of agent " + s.Agent
			}
			if power == powers.External {
				text += map[bool]string{true: ", an approval is needed each time",
					false: ", no approval is needed"}[s.Asks]
			}
			line(string(power), "%s (%s:%d)%s", text, d.files.Shown(s.Rule.File), s.Rule.Line, layer(s.Rule))
		}
	}
	line("policy", "revision %s", cli.Short(m.Revision))
	if _, err := fmt.Fprint(p.W, b.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// layer names the layer of a rule.
func layer(r profiles.Rule) string {
	if r.Layer == "" {
		return ""
	}
	return ", of " + r.Layer
}

func words(list []powers.Power) string {
	if len(list) == 0 {
		return "none of the three powers"
	}
	var out []string
	for _, p := range list {
		out = append(out, p.Words())
	}
	return strings.Join(out, ", ")
}
