package bashcompat

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// pipes makes a pipe record its statuses if the next statement asks for them. Package script has rejected every
// other use of them.
//
//	a | b; echo "${PIPESTATUS[@]}"
//
// becomes, with builtins that only the runner knows,
//
//	{ pipe "$-"; (a; stage 0 $?) | (b; stage 1 $?); }; piped 0; echo "${PIPESTATUS[@]}"
func (r *rewriter) pipes(stmts []*syntax.Stmt) []*syntax.Stmt {
	for i := 0; i+1 < len(stmts); i++ {
		if _, ok := pipe(stmts[i]); !ok || !mentions(stmts[i+1], "PIPESTATUS") {
			continue
		}
		at := stmts[i].Pos()
		reportStatus(stmts[i])
		begin := simple(at, Pipe, parameter(at, "-"))
		inner := *stmts[i]
		inner.Semicolon = syntax.Pos{}
		stmts[i] = &syntax.Stmt{
			Position: at, Cmd: &syntax.Block{Lbrace: at, Rbrace: inner.End(), Stmts: []*syntax.Stmt{begin, &inner}},
		}
		status := text(at, "0")
		if mentions(stmts[i+1], "?") {
			status = parameter(at, "?")
		}
		out := append([]*syntax.Stmt{}, stmts[:i+1]...)
		out = append(out, simple(stmts[i+1].Pos(), Piped, status))
		stmts = append(out, stmts[i+1:]...)
		i++
	}
	return stmts
}

// pipe returns the pipe that a statement consists of.
func pipe(s *syntax.Stmt) (*syntax.BinaryCmd, bool) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	return b, ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) && !s.Background && len(s.Redirs) == 0
}

// reportStatus makes each part of a pipe report its status, with errexit or without.
func reportStatus(s *syntax.Stmt) {
	b, _ := pipe(s)
	var links []*syntax.BinaryCmd
	for {
		links = append(links, b)
		next, ok := pipe(b.X)
		if !ok || b.X.Negated {
			break
		}
		b = next
	}
	n := len(links)
	for i, l := range links { // the last part first
		l.Y = tells(l.Y, n-i)
	}
	links[n-1].X = tells(links[n-1].X, 0)
}

func tells(s *syntax.Stmt, number int) *syntax.Stmt {
	at := s.Pos()
	kept := &syntax.Word{Parts: []syntax.WordPart{element(at, "1")}}
	on := &syntax.IfClause{Position: at, ThenPos: at, FiPos: at,
		Cond: []*syntax.Stmt{
			{
				Position: at,
				Cmd: &syntax.TestClause{
					Left: at, Right: at,
					X: &syntax.BinaryTest{OpPos: at, Op: syntax.TsMatch, X: kept, Y: text(at, "*e*")},
				},
			},
		},
		Then: []*syntax.Stmt{simple(at, "set", text(at, "-e"))}}
	own := &syntax.Stmt{
		Position: at,
		Cmd:      &syntax.Subshell{Lparen: at, Rparen: s.End(), Stmts: []*syntax.Stmt{{Position: at, Cmd: on}, s}},
	}
	id := &syntax.Word{Parts: []syntax.WordPart{element(at, "0")}}
	return &syntax.Stmt{Position: at, Cmd: &syntax.Subshell{Lparen: at, Rparen: s.End(), Stmts: []*syntax.Stmt{
		simple(at, "set", text(at, "+e")), own,
		simple(at, Stage, id, text(at, strconv.Itoa(number)), parameter(at, "?")),
	}}}
}

// element is one element of the array that pipe stored: the number of the pipe, and the options.
func element(at syntax.Pos, index string) *syntax.ParamExp {
	return &syntax.ParamExp{
		Dollar: at, Rbrace: at, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: "PIPESTATUS"},
		Index: text(at, index),
	}
}

func parameter(at syntax.Pos, name string) *syntax.Word {
	return &syntax.Word{
		Parts: []syntax.WordPart{
			&syntax.ParamExp{Dollar: at, Short: true, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: name}},
		},
	}
}

func simple(at syntax.Pos, name string, args ...*syntax.Word) *syntax.Stmt {
	return &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Args: append([]*syntax.Word{text(at, name)}, args...)}}
}

// mentions reports whether a statement expands a parameter.
func mentions(s *syntax.Stmt, name string) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && p.Param.Value == name {
			found = true
		}
		return !found
	})
	return found
}
