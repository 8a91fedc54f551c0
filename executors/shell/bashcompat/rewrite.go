// Package bashcompat rewrites the syntax tree of a script so that mvdan's interpreter does with it what bash
// does with the text. It also plants the marks by which the runner recognises each statement. Package script
// rejects the constructs that no rewriting can make equal.
//
// The rewritten tree can still be printed and parsed again. Package runner calls it.
package bashcompat

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
)

// Rewrite changes a tree that script.Parse returned and that no other caller uses. text is the source of the
// tree.
func Rewrite(f *syntax.File, text string) {
	r := &rewriter{maps: map[string]bool{}}
	r.errexit = strings.Contains(text, "errexit") || setsErrexit(text)
	r.statuses = strings.Contains(text, "PIPESTATUS")
	r.inherits = strings.Contains(text, "inherit_errexit")
	if strings.Contains(text, "-A") || strings.Contains(text, "A ") {
		r.collect(f)
	}
	f.Stmts = r.list(f.Stmts, false)
}

// setsErrexit reports whether a text may turn errexit on.
func setsErrexit(text string) bool {
	for rest := text; ; {
		i := strings.Index(rest, "set ")
		if i < 0 {
			return false
		}
		rest = rest[i+4:]
		for _, w := range strings.Fields(rest[:min(len(rest), 80)]) {
			if w[0] != '-' && w[0] != '$' && w[0] != '"' && w != "pipefail" {
				break
			}
			if w[0] != '-' || strings.Contains(w, "e") {
				return true
			}
		}
	}
}

type rewriter struct {
	errexit, inherits bool
	function          string          // the function whose body is being rewritten
	statuses          bool            // the script asks for the statuses of the parts of pipes
	maps              map[string]bool // names that are declared -A
	deep              int             // number of enclosing double quotes
}

// collect finds the names of associative arrays.
func (r *rewriter) collect(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		d, ok := n.(*syntax.DeclClause)
		if !ok {
			return true
		}
		is := false
		for _, a := range d.Args {
			switch {
			case a.Name == nil && a.Value != nil:
				l := a.Value.Lit()
				is = is || strings.HasPrefix(l, "-") && strings.Contains(l, "A")
			case is && a.Name != nil:
				r.maps[a.Name.Value] = true
			}
		}
		return true
	})
}

// list rewrites statements. If loose is set, the status of the last one is not checked: in bash it never ends
// the script.
func (r *rewriter) list(stmts []*syntax.Stmt, loose bool) []*syntax.Stmt {
	for i, s := range stmts {
		last := i == len(stmts)-1
		r.stmt(s, !last || loose)
		if r.errexit && last && loose {
			guard(s)
		}
	}
	if r.statuses {
		return r.pipes(stmts)
	}
	return stmts
}

// guard turns "a && b" into an if. As the last statement of a loop or branch, bash continues when a fails, but
// the interpreter takes the status for that of a command.
func guard(s *syntax.Stmt) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt || s.Negated || s.Background || len(s.Redirs) > 0 {
		return
	}
	at := s.Pos()
	s.Cmd = &syntax.IfClause{Position: at, ThenPos: at, FiPos: at, Cond: []*syntax.Stmt{b.X}, Then: []*syntax.Stmt{b.Y}}
}

func (r *rewriter) stmt(s *syntax.Stmt, loose bool) {
	if s == nil {
		return
	}
	loose = loose && !s.Background && !s.Negated
	s.Cmd = r.command(s.Cmd, loose)
	kept := s.Redirs[:0]
	for _, d := range s.Redirs {
		if r.redirect(d) {
			kept = append(kept, d)
		}
	}
	s.Redirs = kept
}

func (r *rewriter) command(cmd syntax.Command, loose bool) syntax.Command {
	switch x := cmd.(type) {
	case *syntax.CallExpr:
		r.call(x)
	case *syntax.BinaryCmd:
		r.binary(x)
	case *syntax.Block:
		x.Stmts = r.list(x.Stmts, loose)
	case *syntax.Subshell:
		x.Stmts = r.list(x.Stmts, false)
	case *syntax.IfClause:
		for i := x; i != nil; i = i.Else {
			i.Cond = r.list(i.Cond, false)
			i.Then = r.list(i.Then, loose)
		}
	case *syntax.WhileClause:
		x.Cond = r.list(x.Cond, false)
		x.Do = r.list(x.Do, loose)
	case *syntax.ForClause:
		if l, ok := x.Loop.(*syntax.WordIter); ok {
			r.fields(l.Items)
		} else if l, ok := x.Loop.(*syntax.CStyleLoop); ok {
			r.arithm(l.Init)
			r.arithm(l.Cond)
			r.arithm(l.Post)
		}
		x.Do = r.list(x.Do, loose)
	case *syntax.CaseClause:
		r.value(x.Word)
		for _, item := range x.Items {
			for _, p := range item.Patterns {
				r.inner(p.Parts)
			}
			item.Stmts = r.list(item.Stmts, loose)
		}
	case *syntax.FuncDecl:
		old := r.function
		r.function = x.Name.Value
		r.stmt(x.Body, false)
		r.function = old
	case *syntax.TimeClause:
		r.stmt(x.Stmt, false)
	case *syntax.ArithmCmd:
		r.arithm(x.X)
	case *syntax.LetClause:
		r.let(x)
	case *syntax.TestClause:
		return r.test(x)
	case *syntax.DeclClause:
		for _, a := range x.Args {
			r.assign(a, a.Name != nil)
		}
	}
	return cmd
}

// binary rewrites a chain of any length. The last part of a pipe is a shell of its own.
func (r *rewriter) binary(b *syntax.BinaryCmd) {
	for {
		r.stmt(b.Y, false)
		if b.Op == syntax.Pipe || b.Op == syntax.PipeAll {
			r.ownShell(b)
		}
		x, ok := b.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(b.X.Redirs) > 0 {
			break
		}
		b = x
	}
	r.stmt(b.X, false)
}

// ownShell puts the last part of a pipe into a subshell, unless it is a program or a builtin that does not change
// the shell.
func (r *rewriter) ownShell(b *syntax.BinaryCmd) {
	if c, ok := b.Y.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && len(c.Assigns) == 0 {
		if name := script.StaticWord(c.Args[0]); !name.Open && !changesShell(name.Text) {
			return
		}
	}
	if _, ok := b.Y.Cmd.(*syntax.Subshell); ok && len(b.Y.Redirs) == 0 && !b.Y.Negated {
		return
	}
	at := b.Y.Pos()
	b.Y = &syntax.Stmt{Position: at, Cmd: &syntax.Subshell{Lparen: at, Rparen: b.Y.End(), Stmts: []*syntax.Stmt{b.Y}}}
}

// changesShell reports whether a command of that name could change the shell that runs
// it. Any name could be a function.
func changesShell(name string) bool {
	switch name {
	case "cat", "grep", "sed", "awk", "sort", "head", "tail", "wc", "tr", "cut", "uniq", "tee", "jq", "xargs", "less",
		"column", "git", "rev", "tac", "base64", "bash", "sh":
		return false
	default:
		return true
	}
}

func (r *rewriter) call(x *syntax.CallExpr) {
	if len(x.Args) == 0 {
		x.Assigns = r.added(x.Assigns)
	}
	for _, a := range x.Assigns {
		r.assign(a, true)
	}
	r.fields(x.Args)
	if len(x.Args) == 1 && x.Args[0].Lit() == "return" { // the status of the last command
		at := x.Args[0].End()
		x.Args = append(x.Args, &syntax.Word{Parts: []syntax.WordPart{
			&syntax.ParamExp{Dollar: at, Short: true, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: "?"}},
		}})
	}
}

// redirect rewrites one redirect. If it returns false, the redirect is removed.
func (r *rewriter) redirect(d *syntax.Redirect) bool {
	if d.Hdoc != nil {
		r.inner(d.Hdoc.Parts)
		return true
	}
	if d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc {
		return true
	}
	to := script.StaticWord(d.Word)
	switch {
	case d.Op == syntax.DplOut && !to.Open && strings.Trim(to.Text, "0123456789-") != "":
		d.Op, d.N = syntax.RdrAll, nil
	case d.Op == syntax.DplIn && !to.Open && to.Text == "0":
		return false
	}
	r.value(d.Word)
	return true
}

// substituted rewrites the list in $( ): bash turns errexit off in it.
func (r *rewriter) substituted(stmts []*syntax.Stmt) []*syntax.Stmt {
	old := r.deep
	r.deep = 0
	defer func() { r.deep = old }()
	stmts = r.list(stmts, false)
	if !r.errexit || r.inherits || len(stmts) == 0 || len(stmts) == 1 && stmts[0].Cmd == nil {
		return stmts
	}
	at := stmts[0].Pos()
	off := &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Args: []*syntax.Word{text(at, "set"), text(at, "+e")}}}
	return append([]*syntax.Stmt{off}, stmts...)
}

func text(at syntax.Pos, s string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: at, Value: s}}}
}

func (r *rewriter) assign(a *syntax.Assign, value bool) {
	if a.Index != nil {
		r.arithm(a.Index)
	}
	if a.Append && a.Index != nil && a.Value != nil && a.Name != nil { // a[i]+=x
		at := a.Value.Pos()
		before := &syntax.ParamExp{
			Dollar: at, Rbrace: at, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: a.Name.Value}, Index: a.Index,
		}
		a.Append = false
		a.Value = &syntax.Word{
			Parts: append([]syntax.WordPart{
				&syntax.DblQuoted{Left: at, Right: at, Parts: []syntax.WordPart{before}},
			}, a.Value.Parts...),
		}
	}
	if value {
		r.value(a.Value)
	} else if a.Value != nil {
		r.fields([]*syntax.Word{a.Value})
	}
	if a.Array == nil {
		return
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			r.arithm(e.Index)
			if w, ok := e.Index.(*syntax.Word); ok && a.Name != nil && r.maps[a.Name.Value] && !quotedWord(w) {
				e.Index = &syntax.Word{
					Parts: []syntax.WordPart{&syntax.DblQuoted{Left: w.Pos(), Right: w.End(), Parts: w.Parts}},
				}
			}
			r.value(e.Value)
		} else if e.Value != nil {
			r.fields([]*syntax.Word{e.Value})
		}
	}
}

// added turns m+=([a]=b) of an associative array into one assignment for each element.
func (r *rewriter) added(list []*syntax.Assign) []*syntax.Assign {
	var out []*syntax.Assign
	for _, a := range list {
		if !a.Append || a.Array == nil || !r.maps[a.Name.Value] {
			out = append(out, a)
			continue
		}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				out = append(out, &syntax.Assign{Name: a.Name, Index: e.Index, Value: e.Value})
			}
		}
	}
	return out
}

func quotedWord(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch w.Parts[0].(type) {
	case *syntax.DblQuoted, *syntax.SglQuoted:
		return true
	default:
		return false
	}
}

func (r *rewriter) let(l *syntax.LetClause) {
	for i, x := range l.Exprs {
		w, ok := x.(*syntax.Word)
		if !ok {
			r.arithm(x)
			continue
		}
		v := script.StaticWord(w)
		if v.Open {
			r.arithm(x)
			continue
		}
		if read, err := syntax.NewParser().Arithmetic(strings.NewReader(v.Text)); err == nil && read != nil {
			if _, plain := read.(*syntax.Word); !plain { // let splits words itself
				read = &syntax.ParenArithm{Lparen: w.Pos(), Rparen: w.End(), X: read}
			}
			l.Exprs[i] = read
		}
	}
}

// meta quotes text for a regular expression.
func meta(s string) string { return regexp.QuoteMeta(s) }
