package commands

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// askLayers asks every layer of the agent about an action. It returns nil if there is no layer above the agent.
func (v *decideVerbs) askLayers(ctx context.Context, d *decider, t target, a profiles.Action, dec profiles.Decision) (
	[]layers.LayerAnswer, error) {
	q, ok := layerQuestion(a, dec)
	if len(d.Profile().Layers) == 0 || !ok {
		return nil, nil
	}
	q.Workspace, q.Home = t.workspace, v.Env.Home
	all, err := v.Layers(ctx, d.files, d.Profile().Policy, q)
	if err != nil {
		return nil, err
	}
	// The rule that decided may be in no list: a pattern, or a grant of an exception.
	if r := dec.Rule; r != nil {
		for i := range all {
			switch {
			case !isInLayer(r, all, i):
			case dec.Verdict == profiles.Deny && isDenial(dec.Code):
				all[i].Says, all[i].Rule = "denies", r
			case dec.Verdict != profiles.Deny && all[i].Says != "offers":
				all[i].Says, all[i].Rule = "offers", r
			}
		}
	}
	return all, nil
}

// layerQuestion returns the question to the layers: the language if the agent lacks it, and for a script the program
// that was refused. It returns false if no list can hold any of it.
func layerQuestion(a profiles.Action, dec profiles.Decision) (layers.AskedAction, bool) {
	var q layers.AskedAction
	switch {
	case a.Import != nil && dec.Code == profiles.CodeExecutorNotGranted:
		q.Executor = a.Import.Executor
	case a.Import != nil:
		q.Import = a.Import
	case a.Shell != nil && dec.Evidence != nil && len(dec.Evidence.Argv) > 0:
		q.Program = dec.Evidence.Argv[0]
	case a.Shell != nil, a.Exec != nil && dec.Code == profiles.CodeExecutorNotGranted:
		q.Executor = profiles.ExecutorShell
	case a.Exec != nil && len(a.Exec.Argv) > 0:
		q.Program = a.Exec.Argv[0]
	case a.Egress != nil:
		q.Host = askedHost(a.Egress)
		return q, q.Host != nil
	case a.Bridge != nil:
		q.Bridge = a.Bridge.Name
	case a.File != nil:
		q.File = a.File
	default:
		return q, false
	}
	return q, true
}

// askedHost returns the host of a network action, whose target is a URL or a host with its port. It returns nil if
// the target cannot be parsed.
func askedHost(e *egress.Action) *layers.AskedHost {
	text := e.Target
	if !strings.Contains(text, "://") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	h := &layers.AskedHost{Name: u.Hostname(), Method: e.Method, Path: cmp.Or(e.Path, u.Path)}
	if u.Scheme == "http" {
		h.Port = 80
	}
	if u.Port() != "" {
		if h.Port, err = strconv.Atoi(u.Port()); err != nil {
			return nil
		}
	}
	return h
}

// isInLayer reports whether a rule is in the layer at index i. A rule without a layer is in the agent's own
// document.
func isInLayer(r *profiles.Rule, all []layers.LayerAnswer, i int) bool {
	if r.Layer == "" {
		return i == len(all)-1
	}
	return r.Layer == all[i].Layer
}

// isDenial reports whether a code is that of a denying rule.
func isDenial(code profiles.Code) bool {
	_, kind, _ := strings.Cut(string(code), ".")
	return kind == "denied" || kind == "denied_pattern"
}

// decidingLayer returns the layer that decided. If a layer denies, it is that layer. If not, it is the outermost
// layer that does not list the item. If all list it, it is the layer whose rule grants it. It returns "" if no
// list decided.
func decidingLayer(all []layers.LayerAnswer, dec profiles.Decision) string {
	if len(all) == 0 {
		return ""
	}
	own := all[len(all)-1].Layer
	for _, word := range []string{"denies", "leaves out"} {
		i := slices.IndexFunc(all, func(l layers.LayerAnswer) bool { return l.Says == word })
		switch {
		case dec.Verdict != profiles.Deny:
		case i >= 0:
			return all[i].Layer
		case word != "denies" && all[len(all)-1].Says == "silent":
			return own
		}
	}
	if r := dec.Rule; r != nil && r.Layer != "" {
		return r.Layer
	}
	return own
}

// layerChanges returns the changes in each document that would turn a denial into another verdict. It returns nil
// if no list stands in the way.
func layerChanges(all []layers.LayerAnswer, q layers.AskedAction, d *decider) (out []string) {
	at := func(l layers.LayerAnswer) string {
		if l.Rule == nil {
			return l.Layer
		}
		return fmt.Sprintf("%s (%s:%d)", l.Layer, d.files.Shown(l.Rule.File), l.Rule.Line)
	}
	for i, l := range all {
		last := i == len(all)-1
		switch {
		case l.Says == "denies":
			return []string{fmt.Sprintf("a denial of %s wins over every grant and every exception; only its owner, "+
				"%s, can narrow or remove it", at(l), l.Owner)}
		case l.Says == "leaves out" && !last:
			text := fmt.Sprintf("the ceiling of %s has to be raised, by %s", at(l), l.Owner)
			if q.Import != nil || q.Program != "" || q.Host != nil {
				text += fmt.Sprintf("; or an exception of %s, approved by %s, would do", all[len(all)-1].Layer, l.Owner)
			}
			out = append(out, text)
		case last && (l.Says == "leaves out" || l.Says == "silent"):
			if len(out) == 0 {
				out = append(out, fmt.Sprintf("add it to %s; no layer above forbids it", at(l)))
			} else {
				out = append(out, fmt.Sprintf("and it has to be added to %s", at(l)))
			}
		}
	}
	return out
}

// layers prints the answer of each layer, the outermost first.
func (p explainPrinter) layers(b *strings.Builder, e explanation) {
	words := map[string]string{"offers": "offers it", "leaves out": "does not offer it", "denies": "denies it",
		"silent": "says nothing"}
	if len(e.Layers) > 0 {
		b.WriteString("\n")
	}
	for _, l := range e.Layers {
		text := fmt.Sprintf("%s %s", l.Layer, words[l.Says])
		if l.Rule != nil {
			text += fmt.Sprintf(", %s:%d", l.Rule.File, l.Rule.Line)
		}
		text += ", owner " + l.Owner
		if l.Layer == e.Decided {
			text += "; it decided"
		}
		fmt.Fprintf(b, "layer   %s\n", strings.Join(cli.Folded(cli.Block(text), explainWidth), "\n        "))
	}
}
