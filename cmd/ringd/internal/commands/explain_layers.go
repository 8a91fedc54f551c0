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

// layers asks every layer of the agent what it says of an action; nil: the agent has
// none above it.
func (v *decideVerbs) layers(ctx context.Context, d *decider, t target, a profiles.Action, dec profiles.Decision) (
	[]layers.LayerAnswer, error) {
	q, ok := about(a, dec)
	if len(d.Profile().Layers) == 0 || !ok {
		return nil, nil
	}
	q.Workspace, q.Home = t.workspace, v.Env.Home
	all, err := v.Layers(ctx, d.files, d.Profile().Policy, q)
	if err != nil {
		return nil, err
	}
	// What decided may be a rule that no list has: a pattern, or an exception's grant.
	if r := dec.Rule; r != nil {
		for i := range all {
			switch {
			case !stands(r, all, i):
			case dec.Verdict == profiles.Deny && denial(dec.Code):
				all[i].Says, all[i].Rule = "denies", r
			case dec.Verdict != profiles.Deny && all[i].Says != "offers":
				all[i].Says, all[i].Rule = "offers", r
			}
		}
	}
	return all, nil
}

// about is what of an action the layers are asked: its language where the agent has
// not that, and of a script the program that was refused. False: nothing of it stands
// in a list.
func about(a profiles.Action, dec profiles.Decision) (layers.AskedAction, bool) {
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
		q.Host = host(a.Egress)
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

// host is what an action of the network reaches: its target is a URL, or a host with
// its port. Nil: it cannot be read.
func host(e *egress.Action) *layers.AskedHost {
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

// stands reports whether a rule stands in the layer at i; without a name of a layer in
// the agent's own document.
func stands(r *profiles.Rule, all []layers.LayerAnswer, i int) bool {
	if r.Layer == "" {
		return i == len(all)-1
	}
	return r.Layer == all[i].Layer
}

// denial reports whether a code is that of a rule that denies.
func denial(code profiles.Code) bool {
	_, kind, _ := strings.Cut(string(code), ".")
	return kind == "denied" || kind == "denied_pattern"
}

// decided is the layer that decided: whose denial it was, else the outermost that
// leaves the thing out, else the one whose rule grants it. "": none of them by what it
// lists.
func decided(all []layers.LayerAnswer, dec profiles.Decision) string {
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

// layered says in which document what would have to change for a denial to become
// another verdict; nil: no list of any stands in the way.
func layered(all []layers.LayerAnswer, q layers.AskedAction, d *decider) (out []string) {
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

// layers writes what each layer says, the outermost first.
func (p explainPage) layers(b *strings.Builder, e explained) {
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
		fmt.Fprintf(b, "layer   %s\n", strings.Join(cli.Folded(cli.Block(text), decideTextWidth), "\n        "))
	}
}
