package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (c *check) param(p *syntax.ParamExp) {
	if !c.enter(p.Pos()) {
		return
	}
	defer func() { c.depth-- }()
	if p.Param == nil || p.Flags != nil || p.Width || p.IsSet || p.NestedParam != nil || len(p.Modifiers) > 0 ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset {
		c.refuse("node", p.Pos())
		return
	}
	if isMissingVariable(p.Param.Value) && !c.usesStatuses(p) && !c.usesFunctionName(p) {
		c.refuse("variable", p.Pos())
	}
	if p.Excl && p.Names == 0 && p.Index == nil {
		c.indirect, c.evaluates = true, true
	}
	c.subscript(p.Index)
	if p.Slice != nil {
		c.arithm(p.Slice.Offset)
		c.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		if l := first(p.Repl.Orig); strings.HasPrefix(l, "#") || strings.HasPrefix(l, "%") {
			c.refuse("parameter.anchor", p.Pos())
		}
		if extended(p.Repl.Orig) {
			c.refuse("extglob.word", p.Pos())
		}
		c.word(p.Repl.Orig)
		c.word(p.Repl.With)
	}
	if p.Exp != nil {
		c.expansion(p)
	}
}

// usesStatuses reports whether an expansion asks for the statuses of the pipe before it.
func (c *check) usesStatuses(p *syntax.ParamExp) bool {
	return p.Param.Value == "PIPESTATUS" && c.piped && !p.Excl &&
		(p.Exp == nil || p.Exp.Op != syntax.AssignUnset && p.Exp.Op != syntax.AssignUnsetOrNull)
}

// usesFunctionName reports whether an expansion is the name of the function whose body it is in.
func (c *check) usesFunctionName(p *syntax.ParamExp) bool {
	if p.Param.Value != "FUNCNAME" || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil ||
		c.function == "" || strings.Trim(c.function, plainLetters) != "" {
		return false
	}
	w, ok := p.Index.(*syntax.Word)
	return p.Index == nil || ok && w.Lit() == "0"
}

const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"

func (c *check) expansion(p *syntax.ParamExp) {
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix,
		syntax.RemLargePrefix, syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		if extended(p.Exp.Word) {
			c.refuse("extglob.word", p.Pos())
		}
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset,
		syntax.AssignUnsetOrNull:
		if isAllSubscript(p.Index) && !empty(p.Exp.Word) {
			c.refuse("array.default", p.Pos())
		}
	case syntax.OtherParamOps:
		switch first(p.Exp.Word) {
		case "Q", "a", "A", "U", "u", "L":
		default:
			c.refuse("parameter.transform", p.Pos())
		}
	default:
		c.refuse("node", p.Pos())
	}
	c.word(p.Exp.Word)
}

// extended reports whether a pattern has the operators of extglob.
func extended(w *syntax.Word) bool {
	if w == nil {
		return false
	}
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 1; i < len(l.Value); i++ {
			if l.Value[i] == '(' && strings.IndexByte("?*+@!", l.Value[i-1]) >= 0 && (i < 2 || l.Value[i-2] != '\\') {
				return true
			}
		}
	}
	return false
}

// isAllSubscript reports whether a subscript is @ or *.
func isAllSubscript(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func empty(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	v := StaticWord(w)
	return !v.Open && v.Text == ""
}

// first returns the text at the beginning of a word, outside of quotes.
func first(w *syntax.Word) string {
	if w == nil || len(w.Parts) == 0 {
		return ""
	}
	l, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return ""
	}
	return l.Value
}

func (c *check) subscript(x syntax.ArithmExpr) {
	if x != nil && !isAllSubscript(x) {
		c.arithm(x)
	}
}

// arithm walks an expression; a chain of operators is one level.
func (c *check) arithm(x syntax.ArithmExpr) {
	if x == nil || !c.enter(x.Pos()) {
		return
	}
	defer func() { c.depth-- }()
	for c.bad == nil {
		b, ok := x.(*syntax.BinaryArithm)
		if !ok {
			break
		}
		switch b.Op {
		case syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn, syntax.XorBool:
			c.refuse("node", b.OpPos)
		case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
			syntax.AndAssgn,
			syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
			c.changes(b.X)
		}
		c.arithm(b.Y)
		x = b.X
	}
	switch x := x.(type) {
	case *syntax.BinaryArithm:
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			c.changes(x.X)
		}
		c.arithm(x.X)
	case *syntax.ParenArithm:
		c.arithm(x.X)
	case *syntax.Word:
		c.operand(x)
	default:
		c.refuse("node", x.Pos())
	}
}

// changes rejects a target that is no simple variable.
func (c *check) changes(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || !syntax.ValidName(w.Lit()) {
		c.refuse("arithmetic.element", x.Pos())
	}
}

// operand walks a word of an expression. The value of a variable is evaluated.
func (c *check) operand(w *syntax.Word) {
	v := StaticWord(w)
	if !v.Open && isMissingVariable(v.Text) {
		c.refuse("variable", w.Pos())
	}
	if v.Open || syntax.ValidName(v.Text) {
		c.evaluates = true
	}
	c.coded(v.Text, w.Pos())
	c.word(w)
}

// coded rejects a subscript with a command substitution in quotes: bash would run it, although it looks like
// data.
func (c *check) coded(text string, at syntax.Pos) {
	i := strings.IndexByte(text, '[')
	if i > 0 && substitutes(text[i:]) && syntax.ValidName(text[:i]) {
		c.refuse("string.code", at)
	}
}

func substitutes(s string) bool {
	return strings.Contains(s, "$(") || strings.Contains(s, "`") ||
		strings.Contains(s, "${") && strings.Contains(s, "@P")
}

func (c *check) let(l *syntax.LetClause) {
	for _, x := range l.Exprs {
		w, ok := x.(*syntax.Word)
		if ok && quotes(w) {
			if v := StaticWord(w); v.Open || strings.ContainsAny(v.Text, "\\'\"`") {
				c.refuse("let.quoted", w.Pos())
			} else {
				c.coded(v.Text, w.Pos())
				c.text(v.Text, w.Pos())
			}
			continue
		}
		c.arithm(x)
	}
}

// text walks an expression in quotes.
func (c *check) text(s string, at syntax.Pos) {
	if x, err := syntax.NewParser().Arithmetic(strings.NewReader(s)); err != nil {
		c.refuse("let.quoted", at)
	} else if x != nil {
		c.arithm(x)
	}
}

func quotes(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		}
	}
	return false
}

// test walks [[ ]]; a chain of && and || is one level.
func (c *check) test(x syntax.TestExpr) {
	if x == nil || !c.enter(x.Pos()) {
		return
	}
	defer func() { c.depth-- }()
	switch x := x.(type) {
	case *syntax.Word:
		c.word(x)
	case *syntax.ParenTest:
		c.test(x.X)
	case *syntax.UnaryTest:
		c.unary(x)
	case *syntax.BinaryTest:
		for c.bad == nil && (x.Op == syntax.AndTest || x.Op == syntax.OrTest) {
			c.test(x.X)
			y, ok := x.Y.(*syntax.BinaryTest)
			if !ok {
				c.test(x.Y)
				return
			}
			x = y
		}
		c.comparison(x)
	default:
		c.refuse("node", x.Pos())
	}
}

func (c *check) unary(x *syntax.UnaryTest) {
	if x.Op == syntax.TsParen {
		c.refuse("node", x.Pos())
		return
	}
	if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
		v := StaticWord(w)
		c.coded(v.Text, w.Pos())
		if strings.Contains(v.Text, "[") {
			c.refuse("test.code", w.Pos())
		}
		c.evaluates = c.evaluates || v.Open
	}
	c.test(x.X)
}

func (c *check) comparison(x *syntax.BinaryTest) {
	left, ok1 := x.X.(*syntax.Word)
	right, ok2 := x.Y.(*syntax.Word)
	if !ok1 || !ok2 {
		c.refuse("node", x.Pos())
		return
	}
	c.word(left)
	switch x.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		c.number(left)
		c.number(right)
		c.word(right)
	case syntax.TsReMatch:
		for _, p := range right.Parts {
			if q, ok := p.(*syntax.DblQuoted); ok && StaticWord(&syntax.Word{Parts: []syntax.WordPart{q}}).Open {
				c.refuse("test.pattern", q.Pos())
			}
		}
		c.pattern(right)
	default:
		c.pattern(right)
	}
}

// number allows operands that run as in bash: a number, a variable, an expansion.
func (c *check) number(w *syntax.Word) {
	v := StaticWord(w)
	c.coded(v.Text, w.Pos())
	if v.Open {
		c.evaluates = true
		if v.Text != "" && v.Text != "-" {
			c.refuse("test.number", w.Pos())
		}
		return
	}
	if syntax.ValidName(v.Text) {
		c.evaluates = true
		return
	}
	if t := strings.TrimLeft(v.Text, " +-"); strings.Trim(t, "0123456789") != "" {
		c.refuse("test.number", w.Pos())
	}
}
