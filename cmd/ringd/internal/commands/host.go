package commands

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/schema"
)

// examineFor limits the time of an examination of the host.
const examineFor = 30 * time.Second

// hostReport lists the layers that this host provides to an agent. It differs by host, so it is not in
// docs/ENFORCEMENT.md.
type hostReport struct {
	Enforceable bool           `json:"enforceable"` // each granted executor starts
	Missing     []missingLayer `json:"missing"`
	Layers      []cli.Layer    `json:"layers"` // as in ringd doctor
}

// missingLayer is a layer that an executor of an agent needs and this host does not have. No guest of that
// executor starts here.
type missingLayer struct {
	Executor string `json:"executor"`
	Layer    string `json:"layer"` // name in doctor; minTier if no layer would help
	Reason   string `json:"reason"`
	Fix      string `json:"fix"`
}

func (c PolicyConfig) examine(ctx context.Context) cli.Health {
	ctx, cancel := context.WithTimeout(ctx, examineFor)
	defer cancel()
	return c.Host(ctx, "")
}

// newHostReport compares the needs of an agent with a host.
func newHostReport(a profiles.Agent, h cli.Health) *hostReport {
	out := &hostReport{Missing: []missingLayer{}, Layers: h.Layers}
	for _, e := range grantedExecutors(a) {
		out.Missing = append(out.Missing, missingLayers(a, e, h)...)
	}
	out.Enforceable = len(out.Missing) == 0
	return out
}

// addUnmet looks for the paths of the policy on this host. It does so only if every layer is there.
func (c PolicyConfig) addUnmet(ctx context.Context, set *profiles.Set, out []enforced) error {
	if slices.ContainsFunc(out, func(a enforced) bool { return !a.Host.Enforceable }) {
		return nil
	}
	all, err := c.Unmet(ctx, set)
	if err != nil {
		return err
	}
	for i := range out {
		h := out[i].Host
		for _, u := range all {
			if u.Agent == out[i].Agent {
				layer := "filesystem"
				if u.Path == "" {
					layer = u.Executor
				}
				h.Missing = append(h.Missing, missingLayer{u.Executor, layer, u.text(), said(u.Fix, "run it on a host "+
					"that has it")})
			}
		}
		h.Enforceable = len(h.Missing) == 0
	}
	return nil
}

// text describes the path and the mistake, with the line of its rule.
func (u UnmetPath) text() string {
	text := strings.TrimSpace(u.Path + " " + u.Reason)
	if u.Path != "" && u.Rule.Line > 0 {
		text += fmt.Sprintf(" (%s:%d)", u.Rule.File, u.Rule.Line)
	}
	return text
}

// unmetFindings returns a warning for each path that this host lacks or that is not as the policy requires.
func unmetFindings(all []UnmetPath) (found schema.Diagnostics) {
	for _, u := range all {
		// Several executors have the rule. $WORKSPACE and packages have findings of other checks.
		if u.Path == "" || u.Rule.Line == 0 || strings.HasPrefix(u.Path, profiles.Workspace) {
			continue
		}
		d := schema.Diagnostic{
			Pos: schema.Pos{File: u.Rule.File, Line: u.Rule.Line, Column: u.Rule.Column}, Code: "path-host",
			Severity: schema.Warning,
			Msg:      fmt.Sprintf("agent %s: %s %s: this host refuses the whole policy", u.Agent, u.Path, u.Reason),
			Hint:     u.Fix,
		}
		if !slices.ContainsFunc(found, func(f schema.Diagnostic) bool { return f.Pos == d.Pos && f.Msg == d.Msg }) {
			found = append(found, d)
		}
	}
	return found
}

// missingLayers returns what keeps an executor of an agent from starting.
func missingLayers(a profiles.Agent, executor string, h cli.Health) []missingLayer {
	want, others := a.MinTier, []string{}
	wasm := executor == profiles.ExecutorPython && a.Python.Engine != ""
	if executor != profiles.ExecutorJS && !wasm && !executors.Satisfies(want, profiles.TierOS) {
		want = profiles.TierOS // a host program runs behind every layer, or not at all
	}
	switch {
	case executor == profiles.ExecutorJS:
		others = append(others, "engine")
	case wasm:
		others = append(others, "python_wasm")
	case executor == profiles.ExecutorPython:
		others = append(others, "python")
	}
	if a.Egress.Mode != profiles.EgressOff && len(a.Egress.Allow)+len(a.Egress.Gateways) > 0 {
		others = append(others, initproto.LayerEgress)
	}
	var out []missingLayer
	if !executors.Satisfies(profiles.Tier(h.Tier), want) {
		out = append(out, firstMissing(executor, want, h))
	}
	for _, name := range others {
		if l, ok := layerOf(h, name); !ok || l.State == cli.LayerUnavailable {
			out = append(out, missingLayer{executor, name, said(l.Reason, "this host does not have it"),
				said(l.Fix, "run it on a host that has it")})
		}
	}
	if r, ok := a.NeedsWorkspace(executor); ok {
		out = append(out, missingLayer{executor, "workspace", fmt.Sprintf(
			"%s is not set on this host (%s:%d)", profiles.Workspace, r.Rule.File, r.Rule.Line), workspaceRemedy})
	}
	return out
}

// withWorkspace wraps look with a value for $WORKSPACE. An empty dir means no value.
func (c PolicyConfig) withWorkspace(look LookFunc, dir string) LookFunc {
	return func(ctx context.Context, set *profiles.Set) (schema.Diagnostics, error) {
		set, err := placeSet(set, dir)
		if err != nil {
			return nil, err
		}
		all, err := c.Unmet(ctx, set)
		if err != nil {
			return nil, err
		}
		found, err := look(ctx, set)
		return slices.Concat(workspaceFindings(set), unmetFindings(all), found), err
	}
}

// placeSet returns the set with dir as the value of $WORKSPACE. An empty dir means no value.
func placeSet(set *profiles.Set, dir string) (*profiles.Set, error) {
	if dir == "" {
		return set, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil || abs == "/" {
		return nil, cli.Usage("--workspace %q: want a folder below /", dir)
	}
	return set.In(func(string) string { return abs }), nil
}

// workspaceRemedy is the remedy for a policy on a host without a workspace.
const workspaceRemedy = "set it with --workspace DIR (run, serve), or as workspace: in the daemon's configuration"

// workspaceFindings returns a warning for each agent that needs a workspace which this host does not name.
func workspaceFindings(set *profiles.Set) (found schema.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		for _, executor := range grantedExecutors(a) {
			if r, ok := a.NeedsWorkspace(executor); ok {
				found = append(found, schema.Diagnostic{
					Pos:  schema.Pos{File: r.Rule.File, Line: r.Rule.Line, Column: r.Rule.Column},
					Code: "workspace-unnamed", Severity: schema.Warning,
					Msg: fmt.Sprintf("agent %s: %s does not start without a folder for %s", name, executor,
						profiles.Workspace), Hint: workspaceRemedy,
				})
				break
			}
		}
	}
	return found
}

// grantedExecutors returns the executors of an agent.
func grantedExecutors(a profiles.Agent) (out []string) {
	for _, e := range []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell} {
		if _, ok := a.Kernel(e); ok {
			out = append(out, e)
		}
	}
	return out
}

// firstMissing returns the first layer that keeps a host from a tier.
func firstMissing(executor string, want profiles.Tier, h cli.Health) missingLayer {
	out := missingLayer{executor, "minTier", fmt.Sprintf("%s is required, and this host provides %s", want,
		said(h.Tier, "none")), "run it on a host that has it"}
	if !executors.Satisfies(profiles.TierOS, want) {
		out.Reason = fmt.Sprintf("%s is required, and this version of ringd provides at most %s", want, profiles.TierOS)
		out.Fix = "lower minTier to a tier that ringd provides"
		return out
	}
	strong := []string{initproto.LayerNamespaces, initproto.LayerMounts, initproto.LayerExec, initproto.LayerNetwork,
		initproto.LayerLandlock,
		initproto.LayerCapabilities, initproto.LayerMemory, initproto.LayerSeccomp, initproto.LayerSelfTest}
	for _, l := range h.Layers {
		needed := l.Required || executors.Satisfies(want, profiles.TierOS) && slices.Contains(strong, l.Name)
		if needed && l.State != cli.LayerEnforced {
			return missingLayer{executor, l.Name, said(l.Reason, out.Reason), said(l.Fix, out.Fix)}
		}
	}
	return out
}

func layerOf(h cli.Health, name string) (cli.Layer, bool) {
	i := slices.IndexFunc(h.Layers, func(l cli.Layer) bool { return l.Name == name })
	if i < 0 {
		return cli.Layer{}, false
	}
	return h.Layers[i], true
}

func said(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// printHost prints what keeps an agent from running on this host.
func (c PolicyConfig) printHost(h *hostReport) {
	fmt.Fprintf(c.Out, "  this host\n")
	if h.Enforceable {
		fmt.Fprintf(c.Out, "    every granted executor starts\n")
	}
	for _, m := range h.Missing {
		for i, line := range cli.Folded(cli.Visible(fmt.Sprintf("error: layer %s: %s", m.Layer, m.Reason)), 80-12) {
			fmt.Fprintf(c.Out, "    %-8s%s\n", map[bool]string{true: cli.Visible(m.Executor)}[i == 0], line)
		}
		for i, line := range cli.Folded(cli.Visible(m.Fix), 80-17) {
			fmt.Fprintf(c.Out, "    %-8s%-5s%s\n", "", map[bool]string{true: "fix:"}[i == 0], line)
		}
	}
}
