package commands

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
)

// limit is a limit of one run on the use of an allowed host or gateway.
type limit struct {
	// layer whose entry sets it; absent if the agent's own entry sets it
	Layer string `json:"layer,omitempty"`
	// the host of the layer's entry; all hosts within it share the limit
	Shared string                `json:"shared,omitempty"`
	Limits profiles.EgressLimits `json:"limits"`
	Rule   profiles.Rule         `json:"rule"`
}

// limits returns the limits of an allowed target: first the limits of the layers, the outermost first, and then
// the limits of the entry itself. It may return nil.
func (d *decider) limits(dec profiles.Decision) (out []limit) {
	if dec.Verdict != profiles.Allow || dec.Rule == nil {
		return nil
	}
	add := func(under []profiles.Budget, own profiles.EgressLimits, r profiles.Rule) {
		for _, b := range under {
			l := limit{Layer: b.Rule.Layer, Shared: b.Host, Limits: b.Limits, Rule: b.Rule}
			l.Rule.File = d.files.Shown(l.Rule.File)
			out = append(out, l)
		}
		if own != (profiles.EgressLimits{}) {
			r.File = d.files.Shown(r.File)
			out = append(out, limit{Limits: own, Rule: r})
		}
	}
	e := d.Profile().Egress
	for _, r := range e.Allow {
		if r.Rule == *dec.Rule {
			add(r.Under, r.Limits, r.Rule)
			return out
		}
	}
	for _, g := range e.Gateways {
		if g.Rule == *dec.Rule {
			add(g.Under, g.Limits, g.Rule)
			return out
		}
	}
	return nil
}

// limits prints the limits of a target.
func (p explainPrinter) limits(b *strings.Builder, list []limit) {
	for _, l := range list {
		text := "of the entry itself: " + amounts(l.Limits)
		if l.Shared != "" {
			text = fmt.Sprintf("%s: %s, shared by everything within %s", l.Layer, amounts(l.Limits), l.Shared)
		}
		text += fmt.Sprintf(", %s:%d", l.Rule.File, l.Rule.Line)
		fmt.Fprintf(b, "limits  %s\n", strings.Join(cli.Folded(cli.Block(text), explainWidth), "\n        "))
	}
}

func amounts(l profiles.EgressLimits) string {
	var out []string
	for _, one := range []struct {
		n    int64
		what string
	}{{l.UpBytes, "%d bytes sent"}, {l.DownBytes, "%d bytes received"}, {l.Connections, "%d open at once"},
		{l.PerMinute, "%d a minute"}} {
		if one.n > 0 {
			out = append(out, fmt.Sprintf(one.what, one.n))
		}
	}
	return strings.Join(out, ", ")
}
