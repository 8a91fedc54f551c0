package bashcompat

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
)

// test rewrites [[ ]]. The interpreter evaluates both sides of && and ||, which an if does not.
func (r *rewriter) test(t *syntax.TestClause) syntax.Command {
	r.operands(t.X)
	if !joins(t.X) {
		return t
	}
	return branch(t.X, t)
}

// joins reports whether a test has && or || with operands that are more than words.
func joins(x syntax.TestExpr) bool {
	for {
		switch y := x.(type) {
		case *syntax.ParenTest:
			x = y.X
		case *syntax.UnaryTest:
			if y.Op != syntax.TsNot {
				return false
			}
			x = y.X
		case *syntax.BinaryTest:
			return y.Op == syntax.AndTest || y.Op == syntax.OrTest
		default:
			return false
		}
	}
}

// chain splits a test with && and || into its terms and operators. The parser gives the two no precedence, and
// takes everything after ! as its operand.
func chain(x syntax.TestExpr) (terms []syntax.TestExpr, ops []syntax.BinTestOperator) {
	switch y := x.(type) {
	case *syntax.BinaryTest:
		if y.Op != syntax.AndTest && y.Op != syntax.OrTest {
			break
		}
		terms, ops = chain(y.X)
		more, between := chain(y.Y)
		return append(terms, more...), append(append(ops, y.Op), between...)
	case *syntax.UnaryTest:
		if y.Op != syntax.TsNot {
			break
		}
		if terms, ops = chain(y.X); len(ops) > 0 {
			terms[0] = &syntax.UnaryTest{OpPos: y.OpPos, Op: syntax.TsNot, X: terms[0]}
			return terms, ops
		}
	}
	return []syntax.TestExpr{x}, nil
}

// branch turns a test into an if whose status is that of the test.
func branch(x syntax.TestExpr, t *syntax.TestClause) syntax.Command {
	at := t.Pos()
	cond := condition(x, t)
	yes := &syntax.Stmt{Position: at, Cmd: &syntax.TestClause{Left: at, Right: at, X: text(at, "1")}}
	no := &syntax.Stmt{
		Position: at,
		Cmd: &syntax.TestClause{
			Left: at, Right: at, X: &syntax.UnaryTest{OpPos: at, Op: syntax.TsEmpStr, X: text(at, "1")},
		},
	}
	return &syntax.IfClause{
		Position: at, ThenPos: at, FiPos: at, Cond: []*syntax.Stmt{cond}, Then: []*syntax.Stmt{yes},
		Else: &syntax.IfClause{Position: at, ThenPos: syntax.Pos{}, FiPos: at, Then: []*syntax.Stmt{no}},
	}
}

// condition turns a test into commands.
func condition(x syntax.TestExpr, t *syntax.TestClause) *syntax.Stmt {
	at := t.Pos()
	terms, ops := chain(x)
	if len(ops) == 0 {
		switch y := x.(type) {
		case *syntax.ParenTest:
			return condition(y.X, t)
		case *syntax.UnaryTest:
			if y.Op == syntax.TsNot && joins(y.X) {
				return &syntax.Stmt{
					Position: at, Negated: true,
					Cmd: &syntax.Block{Lbrace: at, Rbrace: at, Stmts: []*syntax.Stmt{condition(y.X, t)}},
				}
			}
		}
		return &syntax.Stmt{Position: at, Cmd: &syntax.TestClause{Left: at, Right: at, X: x}}
	}
	join := func(op syntax.BinCmdOperator, x, y *syntax.Stmt) *syntax.Stmt {
		if x == nil {
			return y
		}
		return &syntax.Stmt{Position: at, Cmd: &syntax.BinaryCmd{OpPos: at, Op: op, X: x, Y: y}}
	}
	var all, part *syntax.Stmt
	for i, term := range terms {
		part = join(syntax.AndStmt, part, grouped(condition(term, t)))
		if i == len(ops) || ops[i] == syntax.OrTest {
			all = join(syntax.OrStmt, all, grouped(part))
			part = nil
		}
	}
	return all
}

// grouped keeps a chain inside of a chain together.
func grouped(s *syntax.Stmt) *syntax.Stmt {
	if _, ok := s.Cmd.(*syntax.BinaryCmd); !ok || s.Negated {
		return s
	}
	at := s.Pos()
	return &syntax.Stmt{Position: at, Cmd: &syntax.Block{Lbrace: at, Rbrace: at, Stmts: []*syntax.Stmt{s}}}
}

func (r *rewriter) operands(x syntax.TestExpr) {
	for {
		b, ok := x.(*syntax.BinaryTest)
		if !ok || b.Op != syntax.AndTest && b.Op != syntax.OrTest {
			break
		}
		r.operands(b.X)
		x = b.Y
	}
	switch y := x.(type) {
	case *syntax.ParenTest:
		r.operands(y.X)
	case *syntax.UnaryTest:
		r.operands(y.X)
	case *syntax.Word:
		r.value(y)
	case *syntax.BinaryTest:
		r.compare(y)
	}
}

func (r *rewriter) compare(b *syntax.BinaryTest) {
	left, ok1 := b.X.(*syntax.Word)
	right, ok2 := b.Y.(*syntax.Word)
	if !ok1 || !ok2 {
		return
	}
	r.value(left)
	switch b.Op {
	case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch:
		r.inner(right.Parts)
	case syntax.TsReMatch:
		for i, p := range right.Parts { // quoted text is literal
			switch p.(type) {
			case *syntax.SglQuoted, *syntax.DblQuoted:
				if v := script.StaticWord(&syntax.Word{Parts: []syntax.WordPart{p}}); !v.Open {
					right.Parts[i] = quoted(p.Pos(), meta(v.Text))
				}
			}
		}
		r.inner(right.Parts)
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		r.value(right)
		number(left)
		number(right)
	default:
		r.value(right)
	}
}

// number replaces a name by the value of the variable, and reads an octal number as one.
func number(w *syntax.Word) {
	v := script.StaticWord(w)
	digits := strings.TrimLeft(v.Text, " +-")
	if v.Open || !syntax.ValidName(v.Text) && (len(digits) < 2 || digits[0] != '0') {
		return
	}
	x, err := syntax.NewParser().Arithmetic(strings.NewReader(v.Text))
	if err != nil || x == nil {
		return
	}
	w.Parts = []syntax.WordPart{&syntax.ArithmExp{Left: w.Pos(), Right: w.End(), X: x}}
}
