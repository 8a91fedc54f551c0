package preflight

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
)

// source is the standard input of a command.
type source struct {
	kind kind
	text string // of inText
	what string // of inOpaque: its origin
}

type kind uint8

const (
	inOuter  kind = iota // the standard input of the script
	inText               // known, and the command is the only reader
	inOpen               // made by the shell itself: known when it runs
	inFile               // a file
	inOpaque             // made by a program
)

// shared returns the source for one of several readers. The rest that an earlier reader leaves is known only
// when it runs.
func (s source) shared() source {
	if s.kind == inText {
		return source{kind: inOpen}
	}
	return s
}

func (s source) from() string {
	switch s.kind {
	case inFile:
		return "a file"
	case inOpaque:
		return s.what
	default:
		return "the standard input of the script"
	}
}

// input returns the standard input that the redirects of a statement set. It returns false if none of them
// does.
func (w *walker) input(s *syntax.Stmt, p place) (in source, found bool) {
	for _, r := range s.Redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in, found = document(r), true
		case syntax.WordHdoc:
			in, found = source{kind: inOpen}, true
			if v := script.StaticWord(r.Word); !v.Open {
				in = source{kind: inText, text: v.Text + "\n"}
			}
		case syntax.RdrIn:
			in, found = w.file(r, p), true
		case syntax.RdrInOut:
			in, found = source{kind: inFile}, true
		case syntax.DplIn:
			if v := script.StaticWord(r.Word); v.Open || v.Text != "-" && v.Text != "0" {
				in, found = source{kind: inFile}, true
			} else if v.Text == "-" {
				in, found = source{kind: inText}, true
			}
		}
	}
	return in, found
}

func document(r *syntax.Redirect) source {
	v := script.StaticBody(r.Hdoc)
	if v.Open {
		return source{kind: inOpen}
	}
	if quotedDelimiter(r.Word) {
		v.Text = literal(r.Hdoc)
	}
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(v.Text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		v.Text = strings.Join(lines, "")
	}
	return source{kind: inText, text: v.Text}
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(l.Value, "\\") {
			return true
		}
	}
	return false
}

func literal(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return w.Lit()
}

// file returns the source of <.
func (w *walker) file(r *syntax.Redirect, p place) source {
	for _, part := range r.Word.Parts {
		if s, ok := part.(*syntax.ProcSubst); ok && len(r.Word.Parts) == 1 && len(s.Stmts) == 1 {
			return w.output(s.Stmts[0], p)
		} else if ok {
			return source{kind: inOpaque, what: "another command"}
		}
	}
	if v := script.StaticWord(r.Word); !v.Open && v.Text == "/dev/null" {
		return source{kind: inText}
	}
	return source{kind: inFile}
}

// output returns the output of a statement, as far as the text says it.
func (w *walker) output(s *syntax.Stmt, p place) source {
	opaque := source{kind: inOpaque, what: "another command"}
	if s == nil {
		return opaque
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		if writesItself(s, p) {
			return source{kind: inOpen}
		}
		return opaque
	}
	var args []argv.Word
	for _, a := range call.Args {
		args, _ = script.Fields(args, a)
	}
	name := args[0]
	if _, f := p.funcs[name.Text]; f || name.Open || p.aliases != nil {
		return source{kind: inOpen} // the run finds out which it is
	}
	for _, r := range s.Redirs {
		if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc && r.Op != syntax.WordHdoc {
			return source{kind: inOpen}
		}
	}
	switch name.Text {
	case "echo", "printf":
		if text, ok := printed(args); ok {
			return source{kind: inText, text: text}
		}
		return source{kind: inOpen}
	case "cat", "/bin/cat", "/usr/bin/cat":
		if in, ok := w.input(s, p); ok && len(args) == 1 {
			return in
		}
		if len(args) > 1 {
			return source{kind: inOpaque, what: "a file"}
		}
		return opaque
	}
	if _, is := w.d.Builtin(name.Text); is && name.Text != "command" && name.Text != "exec" && name.Text != "eval" &&
		name.Text != "builtin" {
		return source{kind: inOpen}
	}
	return opaque
}

// writesItself reports whether the shell itself writes all of a statement's output.
func writesItself(s *syntax.Stmt, p place) bool {
	all := true
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			switch v := script.StaticWord(c.Args[0]); {
			case v.Open:
			case v.Text == "echo" || v.Text == "printf" || v.Text == ":" || v.Text == "true" || v.Text == "read" ||
				v.Text == "test" || v.Text == "[":
			default:
				if _, f := p.funcs[v.Text]; !f {
					all = false
				}
			}
		}
		return all
	})
	return all
}

// printed returns the output of echo or printf.
func printed(args []argv.Word) (string, bool) {
	texts := make([]string, len(args))
	for i, a := range args {
		if a.Open {
			return "", false
		}
		texts[i] = a.Text
	}
	if texts[0] == "printf" {
		return formatted(texts[1:])
	}
	texts = texts[1:]
	newline, escapes := "\n", false
	for len(texts) > 0 && len(texts[0]) > 1 && texts[0][0] == '-' && strings.Trim(texts[0][1:], "neE") == "" {
		if strings.Contains(texts[0], "n") {
			newline = ""
		}
		escapes = strings.LastIndexByte(texts[0], 'e') > strings.LastIndexByte(texts[0], 'E') ||
			escapes && !strings.Contains(texts[0], "E")
		texts = texts[1:]
	}
	text := strings.Join(texts, " ")
	if escapes && strings.Contains(text, "\\") {
		if strings.Contains(text, "\\c") || strings.Contains(text, "\\0") {
			return "", false
		}
		out, _, err := expand.Format(&expand.Config{}, text, nil)
		if err != nil {
			return "", false
		}
		text = out
	}
	return text + newline, true
}

// formatted returns the output of printf for plain formats.
func formatted(args []string) (string, bool) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", false
	}
	format, args := args[0], args[1:]
	for i := 0; i < len(format); i++ {
		if format[i] == '%' {
			if i++; i >= len(format) || format[i] != 's' && format[i] != '%' {
				return "", false
			}
		}
	}
	if strings.Contains(format, "\\c") || strings.Contains(format, "\\0") {
		return "", false
	}
	var b strings.Builder
	if args == nil {
		args = []string{}
	}
	for {
		text, n, err := expand.Format(&expand.Config{}, format, args)
		if err != nil || b.Len() > maxNested {
			return "", false
		}
		b.WriteString(text)
		args = args[n:]
		if n == 0 || len(args) == 0 {
			return b.String(), true
		}
	}
}

// program decides a program in another language that a command reads from its standard input. A file with such
// a program is allowed, as an operand would be.
func (w *walker) program(lang string, c argv.Command, at syntax.Pos, p place) {
	switch p.in.kind {
	case inOuter, inFile:
	case inText:
		if p.in.text != "" {
			w.inline(lang, p.in.text, at, p)
		}
	case inOpen:
		w.out.Open = true
	default:
		w.deny(p, at, profiles.CodeShellOpaque, c.Words[0].Text+" would run an unchecked program: it comes from "+
			p.in.from(),
			"pass it as a file, or write it out in the script")
	}
}

// inline decides the text of such a program.
func (w *walker) inline(lang, text string, at syntax.Pos, p place) {
	if what, starts := programs.Inline(lang, text); starts {
		w.deny(
			p, at, profiles.CodeShellStarts, "the "+lang+" program on standard input names what starts programs: "+what,
		)
	}
}
