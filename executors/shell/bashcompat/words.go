package bashcompat

import (
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
)

// fields rewrites words of a command. A list in double quotes becomes separate words, whatever surrounds it.
func (r *rewriter) fields(list []*syntax.Word) {
	for _, w := range list {
		for i := 0; i < len(w.Parts); i++ {
			q, ok := w.Parts[i].(*syntax.DblQuoted)
			if !ok || len(q.Parts) < 2 || !lists(q.Parts) {
				continue
			}
			parts := splitQuotes(q)
			w.Parts = append(append(append([]syntax.WordPart{}, w.Parts[:i]...), parts...), w.Parts[i+1:]...)
			i += len(parts) - 1
		}
		r.inner(w.Parts)
	}
}

func lists(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if isList(p) {
			return true
		}
	}
	return false
}

func isList(p syntax.WordPart) bool {
	x, ok := p.(*syntax.ParamExp)
	if !ok || x.Length || x.Param == nil {
		return false
	}
	if x.Param.Value == "@" || x.Names == syntax.NamesPrefixWords {
		return true
	}
	w, ok := x.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// splitQuotes gives each list in double quotes its own quotes.
func splitQuotes(q *syntax.DblQuoted) []syntax.WordPart {
	var out []syntax.WordPart
	var cur []syntax.WordPart
	flush := func() {
		if len(cur) > 0 {
			out = append(out, &syntax.DblQuoted{Left: q.Left, Right: q.Right, Parts: cur})
			cur = nil
		}
	}
	for _, p := range q.Parts {
		if isList(p) {
			flush()
			out = append(out, &syntax.DblQuoted{Left: q.Left, Right: q.Right, Parts: []syntax.WordPart{p}})
			continue
		}
		cur = append(cur, p)
	}
	flush()
	return out
}

// value rewrites a word that is not split into words: there the interpreter keeps the backslashes that bash
// removes.
func (r *rewriter) value(w *syntax.Word) {
	if w == nil {
		return
	}
	w.Parts = r.plain(w.Parts, false)
	r.inner(w.Parts)
}

// plain turns backslashes outside of quotes into quotes. Within double quotes only some characters can be
// escaped.
func (r *rewriter) plain(parts []syntax.WordPart, within bool) []syntax.WordPart {
	some := false
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, "\\") {
			some = true
		}
		if _, ok := p.(*syntax.SglQuoted); ok && within {
			some = true
		}
	}
	if !some {
		return parts
	}
	var out []syntax.WordPart
	for _, p := range parts {
		switch x := p.(type) {
		case *syntax.Lit:
			out = append(out, unescaped(x, within)...)
		case *syntax.SglQuoted:
			if within && !x.Dollar { // single quotes have no meaning there
				out = append(out, quoted(x.Left, "'"+x.Value+"'"))
				continue
			}
			out = append(out, p)
		default:
			out = append(out, p)
		}
	}
	return out
}

func unescaped(l *syntax.Lit, within bool) []syntax.WordPart {
	var out []syntax.WordPart
	at := l.Pos()
	put := func(s string) {
		if s != "" {
			out = append(out, &syntax.Lit{ValuePos: at, ValueEnd: at, Value: s})
		}
	}
	s, from := l.Value, 0
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' || within && !strings.ContainsRune("\"\\$`}", rune(s[i+1])) {
			continue
		}
		put(s[from:i])
		to := i + 2
		for to < len(s) && s[to]&0xC0 == 0x80 { // the rest of a character
			to++
		}
		out = append(out, quoted(at, s[i+1:to]))
		from = to
		i = to - 1
	}
	put(s[from:])
	return out
}

// quoted is text in quotes that read back.
func quoted(at syntax.Pos, s string) syntax.WordPart {
	if !strings.Contains(s, "'") {
		return &syntax.SglQuoted{Left: at, Right: at, Value: s}
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\\", "\\\\"), "'", "\\'")
	return &syntax.SglQuoted{Left: at, Right: at, Dollar: true, Value: s}
}

// inner rewrites what stands inside of a word.
func (r *rewriter) inner(parts []syntax.WordPart) {
	for i, p := range parts {
		switch x := p.(type) {
		case *syntax.DblQuoted:
			r.deep++
			r.inner(x.Parts)
			r.deep--
		case *syntax.ParamExp:
			if c := r.count(x); c != nil {
				parts[i] = c
				continue
			}
			if name := r.name(x); name != nil {
				parts[i] = name
				continue
			}
			if q := r.enclosed(x); q != nil {
				parts[i] = q
				continue
			}
			r.param(x)
		case *syntax.CmdSubst:
			x.Stmts = r.substituted(x.Stmts)
		case *syntax.ProcSubst:
			old := r.deep
			r.deep = 0
			x.Stmts = r.list(x.Stmts, false)
			r.deep = old
		case *syntax.ArithmExp:
			r.arithm(x.X)
		}
	}
}

// count rewrites ${#m[@]} of an associative array, for which the interpreter always returns 1.
func (r *rewriter) count(x *syntax.ParamExp) syntax.WordPart {
	if !x.Length || x.Param == nil || !r.maps[x.Param.Value] {
		return nil
	}
	if w, ok := x.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
		return nil
	}
	at := x.Pos()
	keys := &syntax.ParamExp{Dollar: at, Rbrace: at, Excl: true, Param: x.Param, Index: text(at, "@")}
	all := &syntax.Word{
		Parts: []syntax.WordPart{&syntax.DblQuoted{Left: at, Right: at, Parts: []syntax.WordPart{keys}}},
	}
	number := &syntax.Word{
		Parts: []syntax.WordPart{
			&syntax.ParamExp{Dollar: at, Short: true, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: "#"}},
		},
	}
	set := &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Args: []*syntax.Word{text(at, "set"), text(at, "--"), all}}}
	echo := &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Args: []*syntax.Word{text(at, "echo"), number}}}
	return &syntax.CmdSubst{Left: at, Right: at, Stmts: []*syntax.Stmt{set, echo}}
}

// name is ${FUNCNAME[0]}, of which package script has left those in a function.
func (r *rewriter) name(x *syntax.ParamExp) syntax.WordPart {
	if r.function == "" || x.Param == nil || x.Param.Value != "FUNCNAME" {
		return nil
	}
	return &syntax.Lit{ValuePos: x.Pos(), ValueEnd: x.End(), Value: r.function}
}

// enclosed is ${x@Q}, for which the interpreter writes quotes only where they are
// needed.
func (r *rewriter) enclosed(x *syntax.ParamExp) syntax.WordPart {
	if x.Exp == nil || x.Exp.Op != syntax.OtherParamOps || x.Exp.Word == nil || x.Exp.Word.Lit() != "Q" || x.Excl ||
		x.Param == nil || x.Param.Value == "@" || x.Param.Value == "*" {
		return nil
	}
	if w, ok := x.Index.(*syntax.Word); x.Index != nil && (!ok || w.Lit() == "" || w.Lit() == "@" || w.Lit() == "*") {
		return nil // a list, or an index that would be worked out twice
	}
	at := x.Pos()
	value := &syntax.ParamExp{Dollar: at, Rbrace: at, Param: x.Param, Index: x.Index}
	r.param(value)
	whole := &syntax.Word{
		Parts: []syntax.WordPart{&syntax.DblQuoted{Left: at, Right: at, Parts: []syntax.WordPart{value}}},
	}
	set := &syntax.Word{
		Parts: []syntax.WordPart{
			&syntax.ParamExp{
				Dollar: at, Rbrace: at, Param: x.Param, Index: x.Index,
				Exp: &syntax.Expansion{Op: syntax.AlternateUnset, Word: text(at, "1")},
			},
		},
	}
	return &syntax.CmdSubst{Left: at, Right: at, Stmts: []*syntax.Stmt{simple(at, Quoted, whole, set)}}
}

func (r *rewriter) param(x *syntax.ParamExp) {
	if x.Index != nil {
		r.arithm(x.Index)
	}
	if x.Slice != nil {
		r.arithm(x.Slice.Offset)
		r.arithm(x.Slice.Length)
	}
	if x.Repl != nil {
		if x.Repl.Orig != nil {
			r.inner(x.Repl.Orig.Parts)
		}
		if x.Repl.With != nil {
			x.Repl.With.Parts = r.plain(x.Repl.With.Parts, false)
			r.inner(x.Repl.With.Parts)
		}
	}
	if n := x.Param; n != nil && len(n.Value) > 1 && strings.Trim(n.Value, "0123456789") == "" && x.Slice == nil &&
		x.Exp == nil && x.Repl == nil && !x.Length {
		// The interpreter has nine parameters.
		from := n.Value
		x.Short, x.Rbrace = false, x.Pos()
		x.Param = &syntax.Lit{ValuePos: n.ValuePos, ValueEnd: n.ValueEnd, Value: "@"}
		x.Slice = &syntax.Slice{Offset: text(x.Pos(), from), Length: text(x.Pos(), "1")}
	}
	if x.Exp == nil || x.Exp.Word == nil {
		return
	}
	w := x.Exp.Word
	switch x.Exp.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		for i, p := range w.Parts {
			w.Parts[i] = exact(p)
		}
	case syntax.OtherParamOps:
	default:
		w.Parts = r.plain(w.Parts, r.deep > 0)
	}
	r.inner(w.Parts)
}

// exact makes quoted text of a pattern stand for itself.
func exact(p syntax.WordPart) syntax.WordPart {
	switch p.(type) {
	case *syntax.SglQuoted, *syntax.DblQuoted:
	default:
		return p
	}
	v := script.StaticWord(&syntax.Word{Parts: []syntax.WordPart{p}})
	if v.Open || !pattern.HasMeta(v.Text, 0) && !strings.Contains(v.Text, "\\") {
		return p
	}
	return quoted(p.Pos(), pattern.QuoteMeta(v.Text, 0))
}

func (r *rewriter) arithm(x syntax.ArithmExpr) {
	for {
		b, ok := x.(*syntax.BinaryArithm)
		if !ok {
			break
		}
		r.arithm(b.Y)
		x = b.X
	}
	switch x := x.(type) {
	case *syntax.UnaryArithm:
		r.arithm(x.X)
	case *syntax.ParenArithm:
		r.arithm(x.X)
	case *syntax.Word:
		r.inner(x.Parts)
	}
}
