package preflight

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// walker decides a script and its nested scripts. Denials are kept until the end.
type walker struct {
	ended   func() error // returns nil until the time is up
	d       *profiles.Decider
	shell   *profiles.Shell
	out     *Report
	cwd     string
	home    string
	refused profiles.Refusals
	later   []later

	scripts, nested, words int
}

// place is the position of a statement in a script. It is passed by value.
type place struct {
	*scope
	dirs  *dirs
	in    source
	body  bool // the body of a function, which may run at any time
	nodes *[]*Node
}

// scope is one shell with the names that are its own.
type scope struct {
	text string
	file *syntax.File
	// position of the command in the outermost script that holds the text; if 0, this is the outermost one
	line, column int
	chain        []string
	depth        int
	funcs        map[string]function
	aliases      map[string]bool // if nil, they are not expanded
}

// function says where a name is defined, and whether it is certainly defined from there on.
type function struct {
	offset uint
	sure   bool
}

// dirs are the folders that a relative path may be relative to.
type dirs struct {
	list    []string
	unknown bool
}

func (d *dirs) copy() *dirs { return &dirs{list: slices.Clone(d.list), unknown: d.unknown} }

func anywhere() *dirs { return &dirs{unknown: true} }

func (w *walker) script(s *script.Script, cfg Config) {
	d := &dirs{list: []string{cfg.Cwd}, unknown: cfg.Cwd == ""}
	known := map[string]function{}
	for _, name := range cfg.Functions {
		known[name] = function{sure: !strings.Contains(s.Text, "unset")}
	}
	p := place{scope: &scope{text: s.Text, file: s.File, funcs: defined(s, known)}, dirs: d, nodes: &w.out.Tree}
	if strings.Contains(s.Text, "expand_aliases") {
		p.aliases = map[string]bool{}
	}
	w.stmts(s.File.Stmts, p)
}

// defined collects the names of functions.
func defined(s *script.Script, outer map[string]function) map[string]function {
	if !strings.Contains(s.Text, "()") && !strings.Contains(s.Text, "function") && !strings.Contains(s.Text, ")") {
		return outer
	}
	out := make(map[string]function, len(outer))
	for name, f := range outer {
		out[name] = function{sure: f.sure}
	}
	unset := strings.Contains(s.Text, "unset") // unset may remove a function again
	for _, st := range s.File.Stmts {
		if f, ok := st.Cmd.(*syntax.FuncDecl); ok && f.Name != nil && !st.Background && !unset {
			if _, is := out[f.Name.Value]; !is {
				out[f.Name.Value] = function{offset: f.Pos().Offset(), sure: true}
			}
		}
	}
	syntax.Walk(s.File, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			if _, is := out[f.Name.Value]; !is {
				out[f.Name.Value] = function{}
			}
		}
		return true
	})
	return out
}

func (w *walker) refuse(p place, at syntax.Pos, d profiles.Decision) profiles.Decision {
	d.Verdict = profiles.Deny
	var e profiles.Evidence
	if d.Evidence != nil {
		e = *d.Evidence
	}
	e.Line, e.Column = p.at(at)
	if len(p.chain) > 0 {
		e.Chain = append(slices.Clone(p.chain), e.Chain...)
	}
	d.Evidence = &e
	w.refused.Add(d, maxRefused)
	return d
}

// deny denies for a reason of the preflight's own.
func (w *walker) deny(p place, at syntax.Pos, code profiles.Code, reason string, instead ...string) profiles.Decision {
	return w.refuse(
		p, at,
		profiles.Decision{Code: code, Reason: reason, Instead: instead, Rule: &w.shell.Rule, Revision: w.d.Revision()},
	)
}

// switched denies a construct that a switch of the executor grants. The rule is that of the executor, since no
// list of programs applies to it.
func (w *walker) switched(p place, at syntax.Pos, what, by string) {
	d := profiles.Decision{Code: profiles.CodeShellSwitch, Reason: "the policy does not grant " + what +
		": spec.executors.shell has no " + by + ": true",
		Rule: &w.shell.Rule, Revision: w.d.Revision()}
	if r := w.d.Profile().ExecutorsRule; r != (profiles.Rule{}) {
		d.Rule = &r
	}
	w.refuse(p, at, d)
}

// at returns the position in the outermost script.
func (s *scope) at(pos syntax.Pos) (line, column int) {
	if s.line > 0 {
		return s.line, s.column
	}
	return int(pos.Line()), int(pos.Col())
}

// node adds a node, and returns the place for its children.
func (w *walker) node(p place, kind string, n syntax.Node) (*Node, place) {
	from, to := n.Pos().Offset(), n.End().Offset()
	text := ""
	if from < to && int(to) <= len(p.text) {
		text = p.text[from:min(to, from+maxNodeText)]
	}
	out := &Node{Kind: kind, Text: text, Chain: p.chain, Verdict: command.Allow}
	out.Line, out.Column = p.at(n.Pos())
	*p.nodes = append(*p.nodes, out)
	p.nodes = &out.Children
	return out, p
}

// maxNodeText limits the text of a node.
const maxNodeText = 400

func (w *walker) stmts(list []*syntax.Stmt, p place) {
	for _, s := range list {
		w.stmt(s, p)
	}
}

func (w *walker) stmt(s *syntax.Stmt, p place) {
	if s == nil || w.ended() != nil {
		return
	}
	if s.Background {
		p.dirs = p.dirs.copy()
	}
	own := p.in
	if in, ok := w.input(s, p); ok {
		own = in
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		c := p
		c.in = own
		w.call(call, c)
	} else {
		c := p
		c.in = own.shared()
		w.command(s.Cmd, c)
	}
	for _, r := range s.Redirs {
		w.redirect(r, p)
	}
}

func (w *walker) command(cmd syntax.Command, p place) {
	switch x := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		w.call(x, p)
	case *syntax.BinaryCmd:
		w.binary(x, p)
	case *syntax.Block:
		w.stmts(x.Stmts, p)
	case *syntax.Subshell:
		p.dirs = p.dirs.copy()
		w.stmts(x.Stmts, p)
	case *syntax.IfClause:
		for ; x != nil; x = x.Else {
			w.stmts(x.Cond, p)
			w.stmts(x.Then, p)
		}
	case *syntax.WhileClause:
		w.loop(x.Cond, p)
		w.loop(x.Do, p)
	case *syntax.ForClause:
		w.each(x, p)
	case *syntax.CaseClause:
		w.word(x.Word, p)
		for _, item := range x.Items {
			w.wordList(item.Patterns, p)
			w.stmts(item.Stmts, p)
		}
	case *syntax.FuncDecl:
		p.body, p.dirs, p.in = true, anywhere(), source{kind: inOpen}
		w.stmt(x.Body, p)
	case *syntax.TimeClause:
		w.stmt(x.Stmt, p)
	case *syntax.ArithmCmd:
		w.arithm(x.X, p)
	case *syntax.LetClause:
		w.let(x, p)
	case *syntax.TestClause:
		w.test(x.X, p)
	case *syntax.DeclClause:
		w.decl(x, p)
	default:
		w.deny(p, cmd.Pos(), profiles.CodeShellUnsupported, "not supported: a construct that bash does not have")
	}
}

// loop decides statements that may run many times: a cd inside affects them from their start.
func (w *walker) loop(list []*syntax.Stmt, p place) {
	if changesDir(list) {
		p.dirs.unknown = true
	}
	w.stmts(list, p)
}

// changesDir reports whether statements may change the folder.
func changesDir(list []*syntax.Stmt) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				name := script.StaticWord(c.Args[0])
				found = found || name.Open || movesDir(name.Text)
			}
			return !found
		})
	}
	return found
}

func movesDir(name string) bool {
	switch name {
	case "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command":
		return true
	default:
		return false
	}
}

func (w *walker) each(f *syntax.ForClause, p place) {
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		w.wordList(l.Items, p)
		w.variable(p, l.Name.Pos(), l.Name.Value, argv.Word{Open: true})
		if f.Select {
			w.variable(p, l.Name.Pos(), "REPLY", argv.Word{Open: true})
		}
	case *syntax.CStyleLoop:
		w.arithm(l.Init, p)
		w.arithm(l.Cond, p)
		w.arithm(l.Post, p)
	}
	w.loop(f.Do, p)
}

// binary walks a chain of any length in the order of the text.
func (w *walker) binary(b *syntax.BinaryCmd, p place) {
	var links []*syntax.BinaryCmd
	s := &syntax.Stmt{Cmd: b}
	for {
		x, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || len(s.Redirs) > 0 {
			break
		}
		links = append(links, x)
		s = x.X
	}
	piped := func(i int) bool { return i >= 0 && (links[i].Op == syntax.Pipe || links[i].Op == syntax.PipeAll) }
	first := p
	if piped(len(links) - 1) {
		first.dirs = p.dirs.copy()
	}
	w.stmt(s, first)
	left := s
	for i, l := range slices.Backward(links) {
		right := p
		if piped(i) {
			if !w.shell.Pipes {
				w.switched(p, l.OpPos, "pipes", "allowPipes")
			}
			right.dirs = p.dirs.copy()
			right.in = w.output(left, p)
		} else if piped(i - 1) {
			right.dirs = p.dirs.copy()
		}
		w.stmt(l.Y, right)
		left = l.Y
	}
}

// variable decides setting a variable.
func (w *walker) variable(p place, at syntax.Pos, name string, value argv.Word) {
	d, settled := w.d.Assign(name, value)
	switch {
	case d.Verdict == profiles.Allow:
	case settled:
		line, column := p.at(at)
		d = w.refuse(p, at, d)
		*p.nodes = append(
			*p.nodes,
			&Node{
				Kind: "variable", Text: name + "=" + shown(value), Line: line, Column: column, Chain: p.chain,
				Decision: d,
			},
		)
	default:
		w.out.Open = true
	}
}

func shown(v argv.Word) string {
	if len(v.Text) > maxNodeText {
		v.Text = v.Text[:maxNodeText]
	}
	if v.Open {
		return v.Text + "…"
	}
	return v.Text
}
