// Package script reads shell text. It checks limits before the parser sees the text, parses it, and rejects by
// name each construct that would not run as in bash. The guest and the command that explains a script call it;
// the daemon never does.
//
// It runs nothing and opens nothing. Its result is safe to walk: the depth is limited.
package script

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/profiles"
)

// Script is a parsed text. Only Take changes it.
type Script struct {
	Text string
	File *syntax.File // nil after Take
}

// Take returns the tree to a caller that changes it. The text stays. After the first Take, the tree is parsed
// again from the text, so that each caller gets a tree of its own. Take must not be called concurrently with
// itself or with a reader of File.
func (s *Script) Take() (*syntax.File, *Refusal) {
	if f := s.File; f != nil {
		s.File = nil
		return f, nil
	}
	again, r := Parse(s.Text)
	if r != nil {
		return nil, r
	}
	return again.File, nil
}

// Defines reports whether the script is only the definition of one function with this name.
func (s *Script) Defines(name string) bool {
	if s.File == nil || len(s.File.Stmts) != 1 {
		return false
	}
	st := s.File.Stmts[0]
	f, ok := st.Cmd.(*syntax.FuncDecl)
	return ok && f.Name != nil && f.Name.Value == name && len(st.Redirs) == 0 && !st.Background && !st.Negated &&
		!st.Coprocess
}

// Refusal says why a text is not accepted as a script. Line and Column are the position, or 0 if it has none.
type Refusal struct {
	Code         profiles.Code // shell.parse, shell.size or shell.unsupported
	Key          string        // for shell.unsupported, the row of Unsupported
	Reason       string
	Line, Column int
	Instead      []string
}

// Error returns the position and the reason.
func (r *Refusal) Error() string {
	if r.Line == 0 {
		return r.Reason
	}
	return fmt.Sprintf("%d:%d: %s", r.Line, r.Column, r.Reason)
}

// Parse parses a text. It rejects the whole text if any part of it cannot be parsed or would not run as in
// bash. Exactly one result is nil. Text that a running script makes (eval, sh -c, trap) is parsed by it too.
func Parse(text string) (*Script, *Refusal) {
	if r := bounds(text); r != nil {
		return nil, r
	}
	in := &feed{text: text}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(in, "")
	switch {
	case in.deep:
		return nil, tooDeep(0, 0)
	case err != nil:
		return nil, parseRefusal(err)
	}
	if r := supported(f); r != nil {
		return nil, r
	}
	if r := continued(text); r != nil {
		return nil, r
	}
	return &Script{Text: text, File: f}, nil
}

// continued rejects a comment that ends in a backslash: the parser takes the next line as part of the comment,
// but bash runs that line.
func continued(text string) *Refusal {
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(strings.TrimRight(line, "\r\n"), "\\") || !strings.Contains(line, "#") {
			continue
		}
		f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(
			strings.NewReader(text), "",
		)
		if err != nil {
			return parseRefusal(err)
		}
		c := &check{}
		syntax.Walk(f, func(n syntax.Node) bool {
			if x, ok := n.(*syntax.Comment); ok &&
				(strings.Contains(x.Text, "\n") || strings.HasSuffix(strings.TrimRight(x.Text, "\r"), "\\") ||
					int(x.End().Offset()) < len(text) && followed(text, x)) {
				c.refuse("comment.continued", x.Pos())
			}
			return true
		})
		return c.bad
	}
	return nil
}

// followed reports whether the line in which a comment begins ends in a backslash.
func followed(text string, x *syntax.Comment) bool {
	line, _, _ := strings.Cut(text[x.Pos().Offset():], "\n")
	return strings.HasSuffix(strings.TrimRight(line, "\r"), "\\")
}

func parseRefusal(err error) *Refusal {
	r := &Refusal{Code: profiles.CodeShellParse, Reason: "the script cannot be read: " + err.Error()}
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.As(err, &pe):
		r.Line, r.Column = int(pe.Pos.Line()), int(pe.Pos.Col())
		r.Reason = "the script cannot be read: " + pe.Text
	case errors.As(err, &le):
		r.Line, r.Column = int(le.Pos.Line()), int(le.Pos.Col())
		r.Reason = "the script cannot be read: " + strings.TrimPrefix(le.Error(), le.Filename+":"+le.Pos.String()+": ")
	}
	return r
}
