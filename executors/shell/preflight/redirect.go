package preflight

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// redirect decides the file that a redirect opens.
func (w *walker) redirect(r *syntax.Redirect, p place) {
	w.word(r.Word, p)
	w.word(r.Hdoc, p)
	var op string
	target := w.located(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		op = "read"
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
		op = "write"
	case syntax.AppOut, syntax.AppAll:
		op = "append"
	case syntax.RdrInOut:
		op = "readwrite"
	case syntax.DplOut, syntax.DplIn:
		if !target.Open && strings.Trim(target.Text, "0123456789-") == "" {
			return
		}
		op = "write"
		if r.Op == syntax.DplIn {
			op = "read"
		}
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	default:
		w.deny(p, r.Pos(), profiles.CodeShellUnsupported, "not supported: a redirect that bash does not have")
		return
	}
	if !w.shell.Redirects {
		w.switched(p, r.Pos(), "redirects", "allowRedirects")
		return
	}
	for _, part := range r.Word.Parts {
		if _, ok := part.(*syntax.ProcSubst); ok {
			return // no file
		}
	}
	d, verdict := w.opened(op, target, p)
	switch verdict {
	case command.Allow:
		return
	case command.Deny:
		d = w.refuse(p, r.Pos(), d)
	case command.Unsettled, command.Ask:
		w.out.Open = true
	default:
		d = w.refuse(p, r.Pos(), d)
	}
	line, column := p.at(r.Pos())
	*p.nodes = append(*p.nodes, &Node{
		Kind: "redirect", Text: r.Op.String() + shown(target), Line: line, Column: column, Chain: p.chain,
		Verdict: verdict, Decision: d,
	})
}

// opened decides a file for each folder that its path may be relative to.
func (w *walker) opened(op string, target argv.Word, p place) (profiles.Decision, command.Verdict) {
	list := p.dirs.list
	if strings.HasPrefix(target.Text, "/") && (!target.Open || target.Text != "/") {
		list = []string{w.cwd}
	} else if p.dirs.unknown {
		// A file that is denied below two unrelated folders is denied below each.
		list = []string{w.cwd, "/\x01unknown"}
	}
	var last profiles.Decision
	verdict, first := command.Unsettled, true
	for _, cwd := range list {
		d, settled := w.d.Redirect(op, target, cwd)
		v := command.Deny
		switch {
		case d.Verdict == profiles.Allow:
			v = command.Allow
		case !settled:
			v = command.Unsettled
		}
		if !first && v != verdict {
			return d, command.Unsettled
		}
		last, verdict, first = d, v, false
	}
	return last, verdict
}

// located returns the target of a redirect. HOME is the same in the whole script, since it may not be set.
func (w *walker) located(x *syntax.Word) argv.Word {
	v := script.StaticWord(x)
	if !v.Open || v.Text != "" || w.home == "" || len(x.Parts) == 0 {
		return v
	}
	part, rest := x.Parts[0], x.Parts[1:]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
		part = q.Parts[0]
		rest = append([]syntax.WordPart{&syntax.DblQuoted{Left: q.Left, Right: q.Right, Parts: q.Parts[1:]}}, rest...)
	}
	var tail argv.Word
	switch y := part.(type) {
	case *syntax.ParamExp:
		if y.Param == nil || y.Param.Value != "HOME" || y.Exp != nil || y.Repl != nil || y.Slice != nil ||
			y.Index != nil || y.Length || y.Excl {
			return v
		}
	case *syntax.Lit:
		if y.Value != "~" && !strings.HasPrefix(y.Value, "~/") {
			return v
		}
		tail = script.StaticWord(&syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: y.Value[1:]}}})
	default:
		return v
	}
	end := script.StaticWord(&syntax.Word{Parts: append([]syntax.WordPart{&syntax.SglQuoted{}}, rest...)})
	return argv.Word{Text: w.home + tail.Text + end.Text, Open: end.Open}
}
