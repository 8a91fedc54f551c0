// A mark tells the runner about a statement before the statement runs. It is an append redirect to a path that
// only the runner knows, in front of the statement's own redirects. The interpreter opens it through the
// runner's handler, and the returned file is the statement's standard error. So every request from inside the
// statement carries its position.
//
// The planter also rewrites the words that the interpreter treats unlike bash.

package bashcompat

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mark starts each path that is a step. A script that writes such a path gains nothing: the opened file is only
// its own standard error.
const mark = "\x01"

// Step is a decoded mark.
type Step struct {
	Line, Column int
	// Weight is how often the statement can put the longest variable into one word, at most. Square is how
	// often it does so for each character of a variable.
	Weight, Square int
	// if not 0, the number of the shell of its own: a subshell, a substitution, a part of a pipe
	Shell int
	Job   bool // the statement inside runs in the background
	Time  bool // the script wants the time it took, on standard error
}

// StepOptions say how a tree is marked.
type StepOptions struct {
	Dry bool // background parts run in the foreground, and loops ask whether to continue
	// Line and Column are the position that every statement gets, for a text that is nested in another. If 0,
	// each statement has its own.
	Line, Column int
}

// PlantSteps marks a tree in place. No other caller may use the tree meanwhile.
func PlantSteps(f *syntax.File, o StepOptions) {
	p := planter{
		StepOptions: o, shells: map[*syntax.Stmt]int{}, done: map[*syntax.Stmt]bool{}, bare: map[*syntax.Stmt]bool{},
	}
	guardLoops(f)
	syntax.Walk(f, p.node)
}

// Source prints a tree as text that parses to the same tree. Errors are those of the printer.
func Source(f *syntax.File) (string, error) {
	var b bytes.Buffer
	if err := syntax.NewPrinter().Print(&b, f); err != nil {
		return "", fmt.Errorf("print script: %w", err)
	}
	return b.String(), nil
}

// StripSteps removes the marks from a tree, so that it can be shown.
func StripSteps(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok && len(st.Redirs) > 0 && st.Redirs[0].Word != nil {
			if _, is := ParseStep(st.Redirs[0].Word.Lit()); is {
				st.Redirs = st.Redirs[1:]
			}
		}
		return true
	})
}

// ParseStep decodes a mark. It returns false if the path is no mark.
func ParseStep(path string) (Step, bool) {
	rest, ok := strings.CutPrefix(path, mark+"s")
	if !ok {
		return Step{}, false
	}
	var s Step
	for i := 0; rest != ""; i++ {
		var field string
		field, rest, _ = strings.Cut(rest, ",")
		if i == 0 {
			s.Job, s.Time = strings.Contains(field, "J"), strings.Contains(field, "T")
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 {
			return Step{}, false
		}
		switch i {
		case 1:
			s.Line = n
		case 2:
			s.Column = n
		case 3:
			s.Weight = n
		case 4:
			s.Square = n
		case 5:
			s.Shell = n
		}
	}
	return s, true
}

// ParseLeft decodes the path of a list that asks whether it was left, or of a statement that leaves lists. It
// returns false if the path is neither.
func ParseLeft(path string) (lists []int, leaves, ok bool) {
	i := strings.LastIndex(path, mark)
	if i < 0 || i+2 > len(path) || path[i+1] != 'g' && path[i+1] != 'k' {
		return nil, false, false
	}
	for _, field := range strings.Split(strings.TrimPrefix(path[i+2:], ","), ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, false, false
		}
		lists = append(lists, n)
	}
	return lists, path[i+1] == 'k', true
}

// ParseTurn decodes the path of a loop's iteration. It returns false if the path is none.
func ParseTurn(path string) (loop int, ok bool) {
	i := strings.LastIndex(path, mark+"t")
	if i < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(path[i+len(mark)+1:])
	return n, err == nil
}

func (s Step) path() string {
	b := make([]byte, 0, 32)
	b = append(b, mark+"s"...)
	if s.Job {
		b = append(b, 'J')
	}
	if s.Time {
		b = append(b, 'T')
	}
	for _, n := range []int{s.Line, s.Column, s.Weight, s.Square, s.Shell} {
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}

func (s Step) redirect(pos syntax.Pos) *syntax.Redirect {
	return &syntax.Redirect{
		OpPos: pos, Op: syntax.AppOut, N: &syntax.Lit{ValuePos: pos, ValueEnd: pos, Value: "2"},
		Word: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: pos, ValueEnd: pos, Value: s.path()}}},
	}
}

type planter struct {
	StepOptions
	loops  int
	count  int                   // number of shells
	shells map[*syntax.Stmt]int  // statements that run in a shell of their own
	done   map[*syntax.Stmt]bool // wrapped: the statement's own mark is still to come
	bare   map[*syntax.Stmt]bool // not marked
}

func (p *planter) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		p.stmt(n)
	case *syntax.Subshell:
		p.own(n.Stmts)
	case *syntax.CmdSubst:
		p.own(n.Stmts)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			p.own([]*syntax.Stmt{n.X})
		}
	case *syntax.WhileClause:
		n.Do = p.turn(n.Do)
	case *syntax.ForClause:
		if _, words := n.Loop.(*syntax.WordIter); !words {
			n.Do = p.turn(n.Do)
		}
	case *syntax.Redirect:
		if n.Op == syntax.RdrClob {
			n.Op = syntax.RdrOut // noclobber is not supported: both operators mean the same
		}
	case *syntax.ParamExp:
		p.param(n)
	case *syntax.CallExpr:
		if len(n.Args) > 0 && n.Args[0].Lit() == "shift" { // the runner has to know the number of parameters
			pos := n.Pos()
			count := &syntax.ParamExp{
				Dollar: pos, Short: true, Param: &syntax.Lit{ValuePos: pos, ValueEnd: pos, Value: "#"},
			}
			n.Args = append(
				n.Args[:len(n.Args):len(n.Args)],
				&syntax.Word{Parts: []syntax.WordPart{lit(pos, mark).Parts[0], count}},
			)
		}
	case *syntax.Word:
		for i, part := range n.Parts {
			if s, ok := part.(*syntax.ProcSubst); ok && s.Op == syntax.CmdIn {
				n.Parts[i] = p.captured(s)
			}
		}
	}
	return true
}

func (p *planter) own(list []*syntax.Stmt) {
	p.count++
	for _, st := range list {
		p.shells[st] = p.count
	}
}

// stmt marks one statement. A statement in the background gets a second one around it, which the starting shell
// runs.
func (p *planter) stmt(st *syntax.Stmt) {
	if p.bare[st] {
		return
	}
	s := p.at(st)
	s.Shell = p.shells[st]
	if (st.Background || st.Disown) && !p.done[st] {
		inner := *st
		inner.Position = st.Pos()
		p.count++
		p.done[&inner], p.shells[&inner] = true, p.count
		*st = syntax.Stmt{Position: st.Position, Redirs: []*syntax.Redirect{s.mark(true, st.Pos())}}
		if p.Dry {
			inner.Background, inner.Disown = false, false
			st.Cmd = &syntax.Subshell{Lparen: inner.Position, Rparen: inner.Position, Stmts: []*syntax.Stmt{&inner}}
		} else {
			st.Cmd = &syntax.Block{Lbrace: inner.Position, Rbrace: inner.Position, Stmts: []*syntax.Stmt{&inner}}
		}
		return
	}
	if st.Cmd == nil && len(st.Redirs) == 1 && st.Redirs[0].Op == syntax.RdrIn && !st.Negated {
		return // $(<file): the interpreter recognises it by its shape
	}
	s.Weight, s.Square = weigh(st)
	if t, ok := st.Cmd.(*syntax.TimeClause); ok {
		s.Time = true
		blk := &syntax.Block{Lbrace: t.Pos(), Rbrace: t.Pos()}
		if t.Stmt != nil {
			blk.Stmts = []*syntax.Stmt{t.Stmt}
		} else {
			blk.Stmts = []*syntax.Stmt{
				{Position: t.Pos(), Cmd: &syntax.CallExpr{Args: []*syntax.Word{lit(t.Pos(), ":")}}},
			}
		}
		st.Cmd = blk
	}
	st.Redirs = append([]*syntax.Redirect{s.redirect(st.Pos())}, st.Redirs...)
}

func (s Step) mark(job bool, pos syntax.Pos) *syntax.Redirect {
	s.Job = job
	return s.redirect(pos)
}

func (p *planter) at(n syntax.Node) Step {
	if p.Line > 0 {
		return Step{Line: p.Line, Column: p.Column}
	}
	return Step{Line: int(n.Pos().Line()), Column: int(n.Pos().Col())}
}

// turn adds, in a dry run, a question in front of a loop's body: is there another iteration?
func (p *planter) turn(body []*syntax.Stmt) []*syntax.Stmt {
	if !p.Dry || len(body) == 0 {
		return body
	}
	p.loops++
	pos := body[0].Pos()
	ask := &syntax.Stmt{Position: pos, Cmd: exists(pos, mark+"t"+strconv.Itoa(p.loops))}
	end := &syntax.Stmt{Position: pos, Cmd: &syntax.CallExpr{Args: []*syntax.Word{lit(pos, "break")}}}
	both := &syntax.Stmt{Position: pos, Cmd: &syntax.BinaryCmd{OpPos: pos, Op: syntax.OrStmt, X: ask, Y: end}}
	p.bare[ask], p.bare[end], p.bare[both] = true, true, true
	return append([]*syntax.Stmt{both}, body...)
}

// Count is the prefix of the number of parameters that is passed to shift.
const Count = mark

// Capture is the command that stores its input in a file, and prints the path of that file.
const Capture = mark + "capture"

// Pipe, Stage and Piped are the commands by which the parts of a pipe report their statuses. Pipe begins a pipe
// and stores its number and the given options in PIPESTATUS. Stage takes a number, a part and its status, and
// exits with that status. Piped stores the reported statuses in PIPESTATUS and exits with the status it is
// given.
const (
	Pipe  = mark + "pipe"
	Stage = mark + "stage"
	Piped = mark + "piped"
)

// Quoted is the command that prints its word in quotes, as ${x@Q} does. A second word says that the variable is
// set; without it nothing is printed.
const Quoted = mark + "quoted"

// captured turns <(list) into the path of a file with the output of list.
func (p *planter) captured(s *syntax.ProcSubst) *syntax.CmdSubst {
	pos := s.Pos()
	stmts := s.Stmts
	if len(stmts) == 0 {
		stmts = []*syntax.Stmt{{Position: pos, Cmd: &syntax.CallExpr{Args: []*syntax.Word{lit(pos, ":")}}}}
	}
	list := &syntax.Stmt{Position: pos, Cmd: &syntax.Subshell{Lparen: pos, Rparen: pos, Stmts: stmts}}
	keep := &syntax.Stmt{Position: pos, Cmd: &syntax.CallExpr{Args: []*syntax.Word{lit(pos, Capture)}}}
	both := &syntax.Stmt{Position: pos, Cmd: &syntax.BinaryCmd{OpPos: pos, Op: syntax.Pipe, X: list, Y: keep}}
	return &syntax.CmdSubst{Left: pos, Right: pos, Stmts: []*syntax.Stmt{both}}
}

func lit(pos syntax.Pos, text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: pos, ValueEnd: pos, Value: text}}}
}

// param makes expansions that differ from run to run constant in a dry run.
func (p *planter) param(n *syntax.ParamExp) {
	if !p.Dry || n.Param == nil {
		return
	}
	switch n.Param.Value {
	case "!", "$", "PPID", "SRANDOM", "BASHPID":
		n.Param = &syntax.Lit{ValuePos: n.Param.ValuePos, ValueEnd: n.Param.ValueEnd, Value: "EUID"}
	}
}
