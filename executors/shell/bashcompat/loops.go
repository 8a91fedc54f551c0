package bashcompat

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// After break or continue, the interpreter continues with the list until the end of the loop's own statement.
// So each list that break or continue can leave checks before its next statement whether it was left, and break
// and continue record which lists they leave.

// frame is one enclosing construct of a statement within a shell: a loop, or a list with statements that
// follow.
type frame struct {
	loop bool
	list int // if not 0, the number of the list
	used *bool
}

type guardStep struct{ lists int }

// guardLoops rewrites every shell of a tree.
func guardLoops(f *syntax.File) {
	g := &guardStep{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.File:
			g.shell(n.Stmts)
		case *syntax.Subshell:
			g.shell(n.Stmts)
		case *syntax.CmdSubst:
			g.shell(n.Stmts)
		case *syntax.ProcSubst:
			g.shell(n.Stmts)
		case *syntax.FuncDecl:
			g.stmt(n.Body, nil)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				g.stmt(n.X, nil)
				g.stmt(n.Y, nil)
			}
		}
		return true
	})
}

// shell walks the statements of a shell, outside of its loops.
func (g *guardStep) shell(stmts []*syntax.Stmt) {
	for _, st := range stmts {
		g.stmt(st, nil)
	}
}

func (g *guardStep) stmt(st *syntax.Stmt, around []frame) {
	if st == nil {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		g.leave(st, c, around)
	case *syntax.Block:
		c.Stmts = g.list(c.Stmts, around)
	case *syntax.IfClause:
		for i := c; i != nil; i = i.Else {
			i.Then = g.list(i.Then, around)
		}
	case *syntax.CaseClause:
		for _, item := range c.Items {
			item.Stmts = g.list(item.Stmts, around)
		}
	case *syntax.WhileClause:
		g.body(c.Do, around)
	case *syntax.ForClause:
		g.body(c.Do, around)
	case *syntax.TimeClause:
		g.stmt(c.Stmt, around)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			g.stmt(c.X, around)
			g.stmt(c.Y, around)
		}
	}
}

// body walks a loop's own list, which the interpreter leaves by itself.
func (g *guardStep) body(stmts []*syntax.Stmt, around []frame) {
	inside := append(around[:len(around):len(around)], frame{loop: true})
	for _, st := range stmts {
		g.stmt(st, inside)
	}
}

// list guards the statements that follow one which can leave the list.
func (g *guardStep) list(stmts []*syntax.Stmt, around []frame) []*syntax.Stmt {
	if len(around) == 0 { // no enclosing loop
		g.shell(stmts)
		return stmts
	}
	for i, st := range stmts {
		if i == len(stmts)-1 {
			g.stmt(st, around)
			return stmts
		}
		g.lists++
		used := false
		number := g.lists
		g.stmt(st, append(around[:len(around):len(around)], frame{list: number, used: &used}))
		if used {
			pos := stmts[i+1].Pos()
			rest := g.list(stmts[i+1:], around)
			ask := &syntax.Stmt{Position: pos, Cmd: exists(pos, mark+"g"+strconv.Itoa(number))}
			then := &syntax.Stmt{
				Position: pos,
				Cmd: &syntax.IfClause{
					Position: pos, ThenPos: pos, FiPos: pos, Cond: []*syntax.Stmt{ask}, Then: rest,
				},
			}
			return append(stmts[:i+1:i+1], then)
		}
	}
	return stmts
}

// leave makes break and continue record which lists they leave.
func (g *guardStep) leave(st *syntax.Stmt, c *syntax.CallExpr, around []frame) {
	if len(c.Args) == 0 || len(c.Args) > 2 {
		return
	}
	if name := c.Args[0].Lit(); name != "break" && name != "continue" {
		return
	}
	loops := 1
	if len(c.Args) == 2 {
		if n, err := strconv.Atoi(c.Args[1].Lit()); err == nil {
			loops = n
		}
	}
	path := mark + "k"
	found := false
	for i := len(around) - 1; i >= 0 && loops > 0; i-- {
		switch f := around[i]; {
		case f.loop:
			loops--
		default:
			*f.used, found = true, true
			path += "," + strconv.Itoa(f.list)
		}
	}
	if !found {
		return
	}
	pos := st.Pos()
	say := &syntax.Stmt{Position: pos, Cmd: exists(pos, path)}
	end := &syntax.Stmt{Position: pos, Cmd: c}
	st.Cmd = &syntax.Block{Lbrace: pos, Rbrace: pos, Stmts: []*syntax.Stmt{say, end}}
}

// exists builds a test that asks the runner through a path.
func exists(pos syntax.Pos, path string) *syntax.TestClause {
	return &syntax.TestClause{
		Left: pos, Right: pos, X: &syntax.UnaryTest{OpPos: pos, Op: syntax.TsExists, X: lit(pos, path)},
	}
}
