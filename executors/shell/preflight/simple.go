package preflight

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// call decides a simple command.
func (w *walker) call(x *syntax.CallExpr, p place) {
	var args []argv.Word
	for _, a := range x.Args {
		var ok bool
		if args, ok = script.Fields(args, a); !ok {
			w.deny(p, a.Pos(), profiles.CodeShellSize, "braces make too many words")
			return
		}
	}
	if w.words += len(args); w.words > maxWords {
		w.deny(p, x.Pos(), profiles.CodeShellSize, "the script has more words than ringd reads")
		return
	}
	n, inner := w.node(p, "command", x)
	if len(args) > 0 {
		n.Text = joined(args)
	}
	for _, a := range x.Assigns {
		w.assigned(a, inner)
	}
	w.wordList(x.Args, inner)
	if len(args) == 0 {
		n.Kind = "variable"
		for _, a := range x.Assigns {
			w.variable(inner, a.Pos(), a.Name.Value, valueOf(a))
		}
		w.lowest(n)
		return
	}
	if f, ok := p.funcs[args[0].Text]; ok && !args[0].Open && f.sure &&
		(p.body || f.offset < x.Pos().Offset() || f.offset == 0) {
		n.Kind = "function"
		p.dirs.unknown = true // the body of the function may change the folder
		for _, a := range x.Assigns {
			w.variable(inner, a.Pos(), a.Name.Value, valueOf(a))
		}
		w.lowest(n)
		return
	}
	c := argv.Command{Words: args}
	for _, a := range x.Assigns {
		c.Set = append(c.Set, argv.Assignment{Name: a.Name.Value, Value: valueOf(a)})
	}
	w.decideCommand(c, x.Pos(), n, p, inner)
	if n.Verdict == command.Unsettled && len(w.later) < maxLater {
		w.later = append(w.later, later{Command: c, args: x.Args, at: x.Pos(), node: n, place: p})
	}
	w.moves(args, p)
	if p.aliases != nil && args[0].Text == "alias" && !args[0].Open {
		for _, a := range args[1:] {
			name, _, _ := strings.Cut(a.Text, "=")
			p.aliases[name] = true
		}
	}
	w.lowest(n)
}

// joined returns the words in one line, with … for parts that are not known.
func joined(args []argv.Word) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > maxNodeText {
			b.WriteString("…")
			break
		}
		b.WriteString(shown(a))
	}
	return b.String()
}

// lowest sets the verdict of a node to the verdict of its strictest child, if that verdict is stricter than its
// own.
func (w *walker) lowest(n *Node) {
	for _, c := range n.Children {
		n.Verdict = min(n.Verdict, c.Verdict)
	}
}

// decideCommand decides a command, and reads the scripts that it would run.
func (w *walker) decideCommand(c argv.Command, at syntax.Pos, n *Node, p, inner place) {
	d, j := w.d.Command(c)
	n.Verdict, n.Decision = j.Verdict, d
	if j.Builtin {
		n.Kind = "builtin"
	}
	switch j.Verdict {
	case command.Deny:
		if w.hidden(c.Words[0], p) {
			n.Verdict, w.out.Open = command.Unsettled, true
			return
		}
		n.Decision = w.refuse(p, at, d)
		return
	case command.Unsettled:
		w.out.Open = true
	case command.Ask:
		w.ask(c, at, d, p)
	case command.Allow:
	default:
		n.Decision = w.refuse(p, at, d)
		return
	}
	for _, s := range j.Scripts {
		if s.Outside && s.Known && slices.ContainsFunc(s.Chain[:max(len(s.Chain)-1, 0)], starts) {
			n.Children = append(n.Children, w.started(s, at, p))
		}
		w.inside(s, at, inner)
	}
	if j.Stdin != "" {
		w.program(j.Stdin, c, at, inner)
	}
}

// starts reports whether a program of a chain starts the words that follow it. The other programs precede a
// shell that ringd interprets itself, and they are not started either.
func starts(by string) bool {
	switch by {
	case "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "time":
		return false
	default:
		return true
	}
}

// started adds a node for the reader of an explanation: a program would start a shell itself, which no guest
// can. The text is decided nevertheless.
func (w *walker) started(s argv.Script, at syntax.Pos, p place) *Node {
	n := &Node{
		Kind: "script", Text: "starts " + s.Shell + " itself: refused at run time", Chain: s.Chain,
		Verdict: command.Unsettled,
	}
	n.Decision = profiles.Decision{Code: profiles.CodeShellOpaque, Rule: &w.shell.Rule, Revision: w.d.Revision()}
	n.Line, n.Column = p.at(at)
	n.Decision.Reason, n.Decision.Instead = s.Unread()
	return n
}

// hidden reports whether a denied name may be that of a function or an alias when it runs.
func (w *walker) hidden(name argv.Word, p place) bool {
	if name.Open {
		return false
	}
	_, f := p.funcs[name.Text]
	return f || p.aliases[name.Text]
}

// ask records a command that people have to approve.
func (w *walker) ask(c argv.Command, at syntax.Pos, d profiles.Decision, p place) {
	a := Ask{Decision: d}
	a.Line, a.Column = p.at(at)
	for _, x := range c.Words {
		if x.Open {
			w.out.Open = true
			return
		}
		a.Action.Argv = append(a.Action.Argv, x.Text)
	}
	for _, s := range c.Set {
		if s.Value.Open {
			w.out.Open = true
			return
		}
		a.Action.Env = append(a.Action.Env, s.Name+"="+s.Value.Text)
	}
	if p.dirs.unknown || len(p.dirs.list) != 1 {
		w.out.Open = true
	} else {
		a.Action.Cwd = p.dirs.list[0]
	}
	w.out.Asks = append(w.out.Asks, a)
}

// inside reads and decides a text that a command would run.
func (w *walker) inside(s argv.Script, at syntax.Pos, p place) {
	text := s.Text
	if !s.Known {
		switch p.in.kind {
		case inText:
			text = p.in.text
		case inOpen:
			w.out.Open = true
			return
		default:
			d := profiles.Decision{
				Code: profiles.CodeShellOpaque, Rule: &w.shell.Rule, Revision: w.d.Revision(),
				Reason:   "a shell would run unchecked text: it comes from " + p.in.from(),
				Evidence: &profiles.Evidence{Chain: s.Chain},
				Instead:  []string{"write the commands out in the script itself"},
			}
			w.refuse(p, at, d)
			return
		}
	}
	w.scripts++
	w.nested += len(text)
	if w.scripts > maxScripts || w.nested > maxNested || p.depth >= maxDepth {
		w.deny(p, at, profiles.CodeShellSize, "the script has more nested text that runs than ringd reads")
		return
	}
	inner := *p.scope
	inner.depth++
	inner.text = text
	inner.line, inner.column = p.at(at)
	inner.chain = append(slices.Clone(p.chain), s.Chain...)
	q := p
	q.scope = &inner
	read, bad := script.Parse(text)
	if bad != nil {
		reason := bad.Reason
		if bad.Line > 0 {
			reason = bad.Error() + " of the inner text"
		}
		w.deny(q, at, bad.Code, reason, bad.Instead...)
		return
	}
	inner.file = read.File
	if s.Shell != "" {
		inner.funcs, inner.aliases = defined(read, nil), nil
		if strings.Contains(text, "expand_aliases") {
			inner.aliases = map[string]bool{}
		}
		q.dirs = p.dirs.copy()
		q.body = false
	} else {
		inner.funcs = defined(read, p.funcs)
		for name, f := range inner.funcs {
			if _, known := p.funcs[name]; !known && p.funcs != nil {
				p.funcs[name] = function{sure: f.sure, offset: at.Offset()}
			}
		}
		if changesDir(read.File.Stmts) {
			p.dirs.unknown = true
		}
	}
	q.in = p.in.shared()
	if !s.Known {
		q.in = source{kind: inText} // the shell has read all of it
	}
	w.stmts(read.File.Stmts, q)
}

// moves updates the folders that a relative path may be relative to.
func (w *walker) moves(args []argv.Word, p place) {
	if args[0].Open {
		p.dirs.unknown = true
		return
	}
	if !movesDir(args[0].Text) {
		return
	}
	rest := args[1:]
	for len(rest) > 1 && !rest[0].Open && (rest[0].Text == "--" || rest[0].Text == "-L" || rest[0].Text == "-P") {
		rest = rest[1:]
	}
	if args[0].Text != "cd" || len(rest) != 1 || rest[0].Open || rest[0].Text == "-" || rest[0].Text == "" ||
		p.dirs.unknown || len(p.dirs.list) > 4 {
		if args[0].Text != "command" && args[0].Text != "builtin" ||
			len(args) > 1 && (args[1].Open || args[1].Text[:min(1, len(args[1].Text))] != "-" &&
				movesDir(args[1].Text)) {
			p.dirs.unknown = true
		}
		return
	}
	for _, from := range slices.Clone(p.dirs.list) { // cd may fail
		to := rest[0].Text
		if !path.IsAbs(to) {
			to = path.Join(from, to)
		}
		if to = path.Clean(to); !slices.Contains(p.dirs.list, to) {
			p.dirs.list = append(p.dirs.list, to)
		}
	}
}

// valueOf returns the value of an assignment, as far as it is known.
func valueOf(a *syntax.Assign) argv.Word {
	switch {
	case a.Array != nil || a.Index != nil || a.Append:
		return argv.Word{Open: true}
	default:
		return script.StaticWord(a.Value)
	}
}

// decl decides declare, export, local, readonly and typeset as the builtins they are.
func (w *walker) decl(x *syntax.DeclClause, p place) {
	n, inner := w.node(p, "builtin", x)
	c := argv.Command{Words: []argv.Word{argv.Known(x.Variant.Value)}}
	refers := false
	for _, a := range x.Args {
		w.assigned(a, inner)
		if a.Name == nil {
			v := script.StaticWord(a.Value)
			refers = refers || !v.Open && len(v.Text) > 1 && v.Text[0] == '-' && strings.Contains(v.Text, "n")
			c.Words = append(c.Words, v)
			continue
		}
		word := argv.Known(a.Name.Value)
		if !a.Naked {
			v := valueOf(a)
			word = argv.Word{Text: a.Name.Value + "=" + v.Text, Open: v.Open}
			if refers {
				w.refers(v, a.Pos(), inner)
			}
		}
		c.Words = append(c.Words, word)
	}
	w.decideCommand(c, x.Pos(), n, p, inner)
	w.lowest(n)
}

// refers decides a name that refers to another variable: values that are set through it are not visible in the
// text.
func (w *walker) refers(to argv.Word, at syntax.Pos, p place) {
	if to.Open {
		w.out.Open = true
		return
	}
	name, _, _ := strings.Cut(to.Text, "[")
	w.variable(p, at, name, argv.Word{Open: true})
}
