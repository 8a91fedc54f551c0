package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/profiles"
)

// check walks a script and stops at the first construct that does not run as in bash. It knows every node that
// the parser makes and rejects every other.
type check struct {
	bad   *Refusal
	depth int
	sub   int  // number of enclosing subshells
	match bool // inside of a pattern of [[ ]] or case

	piped    bool   // the expansion comes directly after a pipe: PIPESTATUS is of that pipe
	function string // the function whose body is being walked

	braces int // words that braces make

	stored    syntax.Pos // a value with a command substitution in it
	list      syntax.Pos // a value that names a list: a[@]
	evaluates bool       // something evaluates the value of a variable
	indirect  bool       // ${!x}
}

// supported rejects the first construct that would not run as in bash.
func supported(f *syntax.File) *Refusal {
	c := &check{}
	c.stmts(f.Stmts)
	switch {
	case c.bad != nil:
	case c.stored.IsValid() && c.evaluates:
		c.refuse("string.code", c.stored)
	case c.list.IsValid() && c.indirect:
		c.refuse("parameter.elements", c.list)
	}
	return c.bad
}

func (c *check) refuse(key string, at syntax.Pos) {
	if c.bad != nil {
		return
	}
	c.bad = &Refusal{
		Code: profiles.CodeShellUnsupported, Key: key, Line: int(at.Line()), Column: int(at.Col()),
		Reason: "not supported: " + key,
	}
	for _, u := range Unsupported() {
		if u.Key == key {
			c.bad.Reason = "not supported: " + u.What
			if u.Instead != "" {
				c.bad.Instead = []string{u.Instead}
			}
		}
	}
	if key == "brace.size" {
		c.bad.Code = profiles.CodeShellSize
	}
}

// enter adds one level of nesting. If it returns false, the walk ends.
func (c *check) enter(at syntax.Pos) bool {
	if c.bad != nil {
		return false
	}
	if c.depth++; c.depth > maxDepth {
		c.bad = tooDeep(int(at.Line()), int(at.Col()))
		return false
	}
	return true
}

func (c *check) stmts(list []*syntax.Stmt) {
	if len(list) == 0 || !c.enter(list[0].Pos()) {
		return
	}
	for i, s := range list {
		if i > 0 {
			c.piped = pipes(list[i-1])
		}
		c.stmt(s)
		c.piped = false
	}
	c.depth--
}

// pipes reports whether a statement is a pipe whose parts can report their statuses.
func pipes(s *syntax.Stmt) bool {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || s.Background || len(s.Redirs) > 0 {
		return false
	}
	told := true
	syntax.Walk(b, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil &&
			(p.Param.Value == "?" || p.Param.Value == "PIPESTATUS") {
			told = false
		}
		return told
	})
	return told
}

func (c *check) stmt(s *syntax.Stmt) {
	if c.bad != nil || s == nil {
		return
	}
	if s.Coprocess || s.Disown {
		c.refuse("node", s.Pos())
	}
	c.piped = c.piped && !s.Background
	c.command(s.Cmd)
	for _, r := range s.Redirs {
		c.redirect(r)
	}
}

func (c *check) command(cmd syntax.Command) {
	c.piped = c.piped && heads(cmd)
	switch x := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		c.call(x)
	case *syntax.BinaryCmd:
		c.binary(x)
	case *syntax.Block:
		c.stmts(x.Stmts)
	case *syntax.Subshell:
		c.subshell(x.Stmts)
	case *syntax.IfClause:
		for ; x != nil; x = x.Else {
			c.stmts(x.Cond)
			c.piped = false
			c.stmts(x.Then)
		}
	case *syntax.WhileClause:
		c.stmts(x.Cond)
		c.stmts(x.Do)
	case *syntax.ForClause:
		c.loop(x)
	case *syntax.CaseClause:
		c.caseClause(x)
	case *syntax.FuncDecl:
		if x.Name == nil {
			c.refuse("node", x.Pos())
			return
		}
		old := c.function
		c.function = x.Name.Value
		c.within(x.Body)
		c.function = old
	case *syntax.TimeClause:
		c.within(x.Stmt)
	case *syntax.ArithmCmd:
		c.arithm(x.X)
	case *syntax.LetClause:
		c.let(x)
	case *syntax.TestClause:
		c.test(x.X)
	case *syntax.DeclClause:
		c.decl(x)
	case *syntax.CoprocClause:
		c.refuse("coproc", x.Pos())
	default:
		c.refuse("node", cmd.Pos())
	}
}

// heads reports whether a command begins with an expansion or a command that runs once, in this shell, directly
// after the statement before it.
func heads(cmd syntax.Command) bool {
	switch x := cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.IfClause, *syntax.Block,
		*syntax.CaseClause:
		return true
	case *syntax.BinaryCmd:
		return x.Op == syntax.AndStmt || x.Op == syntax.OrStmt
	default:
		return false
	}
}

// within walks a nested statement.
func (c *check) within(s *syntax.Stmt) {
	if s == nil || !c.enter(s.Pos()) {
		return
	}
	c.stmt(s)
	c.depth--
}

// binary walks a chain of any length without one level of nesting for each link.
func (c *check) binary(b *syntax.BinaryCmd) {
	var right []*syntax.Stmt
	s := &syntax.Stmt{Cmd: b}
	for {
		x, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || len(s.Redirs) > 0 {
			break
		}
		right = append(right, x.Y)
		s = x.X
	}
	if !c.enter(b.Pos()) {
		return
	}
	c.stmt(s)
	for _, y := range slices.Backward(right) {
		c.piped = false
		c.stmt(y)
	}
	c.depth--
}

func (c *check) subshell(list []*syntax.Stmt) {
	c.sub++
	c.piped = false
	c.stmts(list)
	c.sub--
}

func (c *check) loop(f *syntax.ForClause) {
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		c.words(l.Items)
	case *syntax.CStyleLoop:
		c.arithm(l.Init)
		c.arithm(l.Cond)
		c.arithm(l.Post)
	default:
		c.refuse("node", f.Pos())
	}
	c.stmts(f.Do)
}

func (c *check) caseClause(x *syntax.CaseClause) {
	if x.Braces {
		c.refuse("node", x.Pos())
	}
	c.word(x.Word)
	c.piped = false
	for _, item := range x.Items {
		if item.Op == syntax.ResumeKorn {
			c.refuse("node", item.Pos())
		}
		for _, p := range item.Patterns {
			c.pattern(p)
		}
		c.stmts(item.Stmts)
	}
}

func (c *check) pattern(w *syntax.Word) {
	old := c.match
	c.match = true
	c.word(w)
	c.match = old
}

func (c *check) redirect(r *syntax.Redirect) {
	if c.bad != nil {
		return
	}
	if r.N != nil {
		switch n := r.N.Value; {
		case strings.HasPrefix(n, "{"):
			c.refuse("redirect.variable", r.Pos())
		case strings.TrimLeft(n, "0") == "1", strings.TrimLeft(n, "0") == "2", strings.Trim(n, "0") == "":
			if n != strings.TrimLeft(n, "0") && n != "0" {
				c.refuse("redirect.fd", r.Pos())
			}
		default:
			c.refuse("redirect.fd", r.Pos())
		}
	}
	input := r.Op == syntax.RdrIn || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc
	switch r.Op {
	case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.WordHdoc:
	case syntax.Hdoc, syntax.DashHdoc:
		c.heredoc(r)
	case syntax.DplIn, syntax.DplOut:
		c.dup(r)
	case syntax.RdrInOut:
		c.refuse("redirect.readwrite", r.Pos())
	default:
		c.refuse("node", r.Pos())
	}
	if input && r.N != nil && r.N.Value != "0" || !input && r.Op != syntax.DplIn && r.N != nil && r.N.Value == "0" {
		c.refuse("redirect.fd", r.Pos())
	}
	c.word(r.Word)
	if r.Hdoc != nil {
		c.word(r.Hdoc)
	}
}

// heredoc rejects a delimiter of which only a part is quoted: the parser treats the body as one that is
// expanded.
func (c *check) heredoc(r *syntax.Redirect) {
	quoted, plain := false, false
	for _, p := range r.Word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			plain = plain || strings.ReplaceAll(p.Value, "\\", "") != ""
			quoted = quoted || strings.Contains(p.Value, "\\")
			if strings.Contains(p.Value, "\\") {
				plain = false
			}
		default:
			quoted = true
		}
	}
	if quoted && plain || len(r.Word.Parts) > 1 {
		c.refuse("heredoc.delimiter", r.Pos())
	}
}

// dup allows the supported copies of descriptors: of 0, 1 and 2, closing one, and >&file.
func (c *check) dup(r *syntax.Redirect) {
	to := StaticWord(r.Word)
	switch {
	case to.Open:
		c.refuse("redirect.dup", r.Pos())
	case to.Text == "-":
	case r.Op == syntax.DplIn && to.Text == "0" && (r.N == nil || r.N.Value == "0"):
	case r.Op == syntax.DplOut && (to.Text == "1" || to.Text == "2"):
	case r.Op == syntax.DplOut && strings.Trim(to.Text, "0123456789-") != "" && (r.N == nil || r.N.Value == "1"):
	default:
		c.refuse("redirect.dup", r.Pos())
	}
}

func (c *check) words(list []*syntax.Word) {
	for _, w := range list {
		c.word(w)
	}
}

func (c *check) word(w *syntax.Word) {
	if c.bad != nil || w == nil {
		return
	}
	n, ok := Braces(w)
	if c.braces += n; !ok || c.braces > maxFields {
		c.refuse("brace.size", w.Pos())
		return
	}
	c.parts(w.Parts, false)
}

func (c *check) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		switch x := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if c.enter(x.Pos()) {
				c.parts(x.Parts, true)
				c.depth--
			}
		case *syntax.ParamExp:
			if l, ok := next(parts, i).(*syntax.Lit); ok && x.Short && !quoted && strings.HasPrefix(l.Value, "{") &&
				strings.Contains(l.Value, "}") && strings.ContainsAny(l.Value, ",.") {
				c.refuse("brace.after", x.Pos())
			}
			c.param(x)
		case *syntax.CmdSubst:
			if x.TempFile || x.ReplyVar {
				c.refuse("node", x.Pos())
			}
			c.subshell(x.Stmts)
		case *syntax.ProcSubst:
			switch x.Op {
			case syntax.CmdIn:
			case syntax.CmdOut:
				c.refuse("procsubst.output", x.Pos())
			default:
				c.refuse("node", x.Pos())
			}
			c.subshell(x.Stmts)
		case *syntax.ArithmExp:
			if x.Unsigned {
				c.refuse("node", x.Pos())
			}
			c.arithm(x.X)
		case *syntax.ExtGlob:
			if !c.match {
				c.refuse("extglob.word", x.Pos())
			}
		default:
			c.refuse("node", p.Pos())
		}
		if c.bad != nil {
			return
		}
	}
}

func next(parts []syntax.WordPart, i int) syntax.WordPart {
	if i+1 < len(parts) {
		return parts[i+1]
	}
	return nil
}
