package guardrail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema"
)

// Folder is the folder of guardrail files, next to the policy.
const Folder = "guardrails/"

// maxAll is the largest number of guardrails of one agent.
const maxAll = 100

// Source holds the guardrail files in Folder, and the text of the policies, for positions inside of a value.
type Source struct {
	Files   map[string][]byte
	Sources []schema.Source
}

// Of compiles the guardrails of a policy, which may be the result of a merge. An error in a guardrail is a
// finding at the position of the error in the policy's text or in the guardrail's file.
func Of(p *schema.Policy, from Source, rule func(schema.Origin) profiles.Rule) ([]profiles.Guardrail,
	schema.Diagnostics) {
	var out []profiles.Guardrail
	var found schema.Diagnostics
	if n := len(p.Spec.Guardrails); n > maxAll {
		at := schema.OriginOf(p, "spec.guardrails")
		return nil, schema.Diagnostics{{Pos: at.Pos, Code: CodeInvalid,
			Msg: fmt.Sprintf("%s: %d guardrails, at most %d", at.Path, n, maxAll)}}
	}
	for i, g := range p.Spec.Guardrails {
		at := fmt.Sprintf("spec.guardrails[%d]", i)
		text, wrong := textOfOne(p, at, g, from)
		found = append(found, wrong...)
		if wrong != nil {
			continue
		}
		on := cmp.Or(g.On, OnPolicy)
		_, err := Compile(on, text)
		if found = append(found, place(p, at, g, text, err, from)...); err == nil {
			out = append(out, profiles.Guardrail{Name: g.Name, On: on, Rego: text, Rule: rule(schema.OriginOf(p, at))})
		}
	}
	return out, found
}

// textOfOne returns the text of one guardrail: inline or from its file.
func textOfOne(p *schema.Policy, at string, g schema.Guardrail, from Source) (string, schema.Diagnostics) {
	refuse := func(field, hint, format string, args ...any) (string, schema.Diagnostics) {
		o := schema.OriginOf(p, field)
		return "", schema.Diagnostics{{Pos: o.Pos, Code: CodeInvalid, Msg: o.Path + ": " + fmt.Sprintf(format, args...),
			Hint: hint}}
	}
	switch {
	case g.On != "" && g.On != OnPolicy && g.On != OnCall:
		return refuse(at+".on", "", "is neither policy nor call")
	case (g.File == "") == (g.Rego == ""):
		return refuse(at, "", "a guardrail has either rego or file")
	case g.File == "":
		return g.Rego, nil
	case !strings.HasPrefix(g.File, Folder) || path.Clean(g.File) != g.File || strings.HasSuffix(g.File, "_test.rego"):
		return refuse(at+".file", "", "%q is no file below %s", clip(g.File), Folder)
	}
	text, there := from.Files[g.File]
	if !there {
		hint := "put it beside the policy, at " + g.File
		names := regoFiles(from.Files)
		if i := spelling.Of(g.File, names, spelling.Effort{Names: 100, Letters: 4000}); i >= 0 {
			hint = fmt.Sprintf("did you mean %q?", names[i])
		}
		return refuse(at+".file", hint, "there is no file %q", clip(g.File))
	}
	return string(text), nil
}

func regoFiles(files map[string][]byte) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, Folder) && !strings.HasSuffix(name, "_test.rego") {
			out = append(out, name)
		}
	}
	return out
}

// place moves the findings of a compilation to positions that their author sees.
func place(p *schema.Policy, at string, g schema.Guardrail, text string, err error,
	from Source) (out schema.Diagnostics) {
	if err == nil {
		return nil
	}
	var found Findings
	if !errors.As(err, &found) {
		found = Findings{{Line: 1, Column: 1, Msg: err.Error()}}
	}
	for _, f := range found {
		d := schema.Diagnostic{Code: CodeInvalid, Msg: "guardrail " + g.Name + ": " + f.Msg, Hint: f.Hint}
		whole := schema.OriginOf(p, at)
		if g.File != "" {
			d.Pos, d.Related = schema.Pos{File: g.File, Line: f.Line, Column: f.Column}, []schema.Pos{whole.Pos}
			out = append(out, d)
			continue
		}
		value := schema.OriginOf(p, at+".rego")
		inside, ok := within(from.text(value.Pos.File), value.Pos, text, f.Line, f.Column)
		if d.Pos = inside; !ok {
			d.Pos, d.Msg = value.Pos, fmt.Sprintf("guardrail %s: line %d, column %d: %s", g.Name, f.Line, f.Column,
				f.Msg)
		}
		out = append(out, d)
	}
	return out
}

func (s Source) text(file string) []byte {
	for _, one := range s.Sources {
		if one.Name == file {
			return one.Data
		}
	}
	return nil
}

// within returns the position of a line and column inside of a value, given the position of the value. The
// lines of the value must be lines of the source: a block of YAML or CUE, or a value on one line. Otherwise
// within returns false.
func within(source []byte, at schema.Pos, value string, line, column int) (schema.Pos, bool) {
	lines := bytes.Split(source, []byte("\n"))
	wanted, _, _ := strings.Cut(lineOf(value, line), "\n")
	if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > len(lines[at.Line-1])+1 {
		return at, false
	}
	first := lines[at.Line-1][at.Column-1:]
	row := at.Line + line // a block begins on the next line
	if !bytes.HasPrefix(first, []byte("|")) && !bytes.HasPrefix(first, []byte(`"""`)) &&
		!bytes.HasPrefix(first, []byte(`#"""`)) && !bytes.HasPrefix(first, []byte("'''")) {
		row--
	}
	if row > len(lines) {
		return at, false
	}
	// The source must contain the line of the value, otherwise the position would be a guess.
	have := string(lines[row-1])
	from := 0
	if row == at.Line {
		from = at.Column - 1
	}
	i := strings.Index(have[min(from, len(have)):], strings.TrimRight(wanted, "\r"))
	if i < 0 || row != at.Line && strings.TrimSpace(have[:from+i]) != "" {
		return at, false
	}
	return schema.Pos{File: at.File, Line: row, Column: from + i + column}, true
}

func lineOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return ""
	}
	return lines[line-1]
}

// Check evaluates the guardrails on the policy for all agents of a set. previous may be nil. now and target
// are fields of [Input]. A guardrail that does not compile or cannot be evaluated denies.
func Check(ctx context.Context, set, previous *profiles.Set, now *string, target string) (found schema.Diagnostics) {
	known := map[string]*Guardrail{} // by text, because agents of one policy share them
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		in := Input{Effective: View(a), Layers: layersOf(a), Now: now, Target: target}
		if before, ok := previous.Agent(name); ok {
			view := View(before)
			in.Previous = &view
		}
		for _, g := range a.Guardrails {
			found = append(found, check(ctx, known, a, g, in)...)
		}
	}
	return found
}

func check(ctx context.Context, known map[string]*Guardrail, a profiles.Agent, g profiles.Guardrail,
	in Input) (found schema.Diagnostics) {
	at, of := posOf(g.Rule), posOf(a.Rule)
	refuse := func(code, hint, format string, args ...any) {
		f := schema.Diagnostic{Pos: at, Code: code, Related: []schema.Pos{of}, Hint: hint,
			Msg: fmt.Sprintf("guardrail %s, agent %s: ", g.Name, a.Name) + fmt.Sprintf(format, args...)}
		if code == CodeDenied && g.Rule.Layer != "" { // the error is in the agent, not in the layer
			f.Pos, f.Related = of, []schema.Pos{at}
			f.Msg = fmt.Sprintf("guardrail %s at %s (%s): ", g.Name, at, g.Rule.Layer) + fmt.Sprintf(format, args...)
		}
		found = append(found, f)
	}
	key := g.On + "\x00" + g.Rego
	rule, ok := known[key]
	if !ok {
		var err error
		if rule, err = Compile(g.On, g.Rego); err != nil {
			refuse(CodeInvalid, "", "%v", err)
			return found
		}
		known[key] = rule
	}
	if g.On != OnPolicy {
		return nil // the ring evaluates it before each call
	}
	denials, err := rule.Deny(ctx, in)
	if err != nil {
		refuse(CodeInvalid, "a guardrail that cannot be evaluated refuses", "cannot be evaluated: %v", err)
	}
	for _, d := range denials {
		about := ""
		if d.Path != "" {
			about = d.Path + ": "
		}
		refuse(CodeDenied, remedy(a, g), "%s%s", about, d.Msg)
	}
	return found
}

// remedy returns the hint for a denial of a guardrail.
func remedy(a profiles.Agent, g profiles.Guardrail) string {
	for _, l := range a.Layers {
		if l.Kind+" "+l.Name == g.Rule.Layer && l.Owner != "" {
			return "remove what the guardrail names from the agent, or ask " + l.Owner + " to change the guardrail"
		}
	}
	return "remove what the guardrail names from the agent, or change the guardrail"
}

func posOf(r profiles.Rule) schema.Pos {
	return schema.Pos{File: r.File, Line: r.Line, Column: r.Column}
}
