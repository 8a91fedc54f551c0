package preflight

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

func (w *walker) wordList(list []*syntax.Word, p place) {
	for _, x := range list {
		w.word(x, p)
	}
}

// word decides the commands inside of a word.
func (w *walker) word(x *syntax.Word, p place) {
	if x != nil {
		w.parts(x.Parts, p)
	}
}

func (w *walker) parts(parts []syntax.WordPart, p place) {
	for _, part := range parts {
		switch x := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.ExtGlob:
		case *syntax.DblQuoted:
			w.parts(x.Parts, p)
		case *syntax.ParamExp:
			w.param(x, p)
		case *syntax.CmdSubst:
			w.substitution(x.Stmts, x.Pos(), p, p.in.shared())
		case *syntax.ProcSubst:
			in := p.in.shared()
			if x.Op == syntax.CmdOut {
				in = source{kind: inOpaque, what: "another command"}
			}
			w.substitution(x.Stmts, x.Pos(), p, in)
		case *syntax.ArithmExp:
			w.arithm(x.X, p)
		default:
			w.deny(p, part.Pos(), profiles.CodeShellUnsupported, "not supported: a construct that bash does not have")
		}
	}
}

func (w *walker) substitution(list []*syntax.Stmt, at syntax.Pos, p place, in source) {
	if !w.shell.Substitution {
		w.switched(p, at, "command substitution", "allowSubstitution")
	}
	p.dirs, p.in = p.dirs.copy(), in
	w.stmts(list, p)
}

func (w *walker) param(x *syntax.ParamExp, p place) {
	w.arithm(x.Index, p)
	if x.Slice != nil {
		w.arithm(x.Slice.Offset, p)
		w.arithm(x.Slice.Length, p)
	}
	if x.Repl != nil {
		w.word(x.Repl.Orig, p)
		w.word(x.Repl.With, p)
	}
	if x.Exp == nil {
		return
	}
	w.word(x.Exp.Word, p)
	if x.Param != nil && (x.Exp.Op == syntax.AssignUnset || x.Exp.Op == syntax.AssignUnsetOrNull) {
		if x.Excl {
			w.out.Open = true // the name is the value of the variable
			return
		}
		w.variable(p, x.Pos(), x.Param.Value, script.StaticWord(x.Exp.Word))
	}
}

// arithm decides the commands in an expression, and the variables that it sets.
func (w *walker) arithm(x syntax.ArithmExpr, p place) {
	for {
		b, ok := x.(*syntax.BinaryArithm)
		if !ok {
			break
		}
		if assigns(b.Op) {
			w.target(b.X, p)
		}
		w.arithm(b.Y, p)
		x = b.X
	}
	switch x := x.(type) {
	case nil:
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			w.target(x.X, p)
		}
		w.arithm(x.X, p)
	case *syntax.ParenArithm:
		w.arithm(x.X, p)
	case *syntax.Word:
		w.word(x, p)
	default:
		w.deny(p, x.Pos(), profiles.CodeShellUnsupported, "not supported: an expression that bash does not have")
	}
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn,
		syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	default:
		return false
	}
}

func (w *walker) target(x syntax.ArithmExpr, p place) {
	t, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	if name := t.Lit(); name != "" {
		w.variable(p, t.Pos(), name, argv.Word{Open: true})
		return
	}
	w.out.Open = true
}

func (w *walker) let(l *syntax.LetClause, p place) {
	for _, x := range l.Exprs {
		t, ok := x.(*syntax.Word)
		if !ok {
			w.arithm(x, p)
			continue
		}
		w.word(t, p)
		if v := script.StaticWord(t); v.Open {
			w.out.Open = true
		} else if read, err := syntax.NewParser().Arithmetic(strings.NewReader(v.Text)); err == nil && read != nil {
			w.arithm(read, p)
		}
	}
}

func (w *walker) test(x syntax.TestExpr, p place) {
	for {
		b, ok := x.(*syntax.BinaryTest)
		if !ok {
			break
		}
		w.test(b.X, p)
		x = b.Y
	}
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		w.word(x, p)
	case *syntax.ParenTest:
		w.test(x.X, p)
	case *syntax.UnaryTest:
		w.test(x.X, p)
	default:
		w.deny(p, x.Pos(), profiles.CodeShellUnsupported, "not supported: a test that bash does not have")
	}
}

// assigned decides the commands in an assignment.
func (w *walker) assigned(a *syntax.Assign, p place) {
	w.arithm(a.Index, p)
	w.word(a.Value, p)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			w.arithm(e.Index, p)
			w.word(e.Value, p)
		}
	}
}
