package condition

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
)

// parse reads the statements of a condition. Nil findings: it is Rego.
func parse(text string) (ast.Body, Findings) {
	wrong := func(line, column int, format string, args ...any) Findings {
		return Findings{{Line: line, Column: column, Code: CodeSyntax, Msg: fmt.Sprintf(format, args...)}}
	}
	switch {
	case len(text) > MaxText:
		return nil, wrong(1, 1, "the condition has more than %d bytes", MaxText)
	case !utf8.ValidString(text):
		return nil, wrong(1, 1, "the condition is not UTF-8")
	}
	if line, column, deep := tooDeep(text); deep {
		return nil, wrong(line, column, "brackets stand in more than %d others", maxDepth)
	}
	body, err := ast.ParseBodyWithOpts(text, ast.ParserOptions{
		RegoVersion: ast.RegoV1, SkipRules: true, FutureKeywords: []string{"and", "or", "not"}, Capabilities: capabilities(),
	})
	if err != nil {
		return nil, fromOPA(err)
	}
	if len(body) == 0 {
		return nil, wrong(1, 1, "the condition is empty")
	}
	return body, nil
}

// tooDeep looks for brackets in brackets, which the parser reads in time that
// grows faster than the text. What stands in text counts too.
func tooDeep(text string) (line, column int, deep bool) {
	depth := 0
	line, column = 1, 1
	for _, r := range text {
		switch r {
		case '(', '[', '{':
			if depth++; depth > maxDepth {
				return line, column, true
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '\n':
			line, column = line+1, 0
		}
		column++
	}
	return 0, 0, false
}

// fromOPA turns the errors of the parser and the compiler into findings.
func fromOPA(err error) Findings {
	var list ast.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		return Findings{{Line: 1, Column: 1, Code: CodeSyntax, Msg: "a condition holds statements: no package, import or rule"}}
	}
	var out Findings
	for _, e := range list {
		f := Finding{Line: 1, Column: 1, Code: CodeSyntax}
		if e.Location != nil {
			f.Line, f.Column = max(1, e.Location.Row), max(1, e.Location.Col)
		}
		switch e.Code {
		case ast.UnsafeVarErr:
			f.Code = CodeName
		case ast.TypeErr:
			f.Code = CodeType
		}
		f.Msg, _, _ = strings.Cut(e.Message, "\n")
		f.Msg = strings.TrimSuffix(f.Msg, ":")
		out = append(out, f)
	}
	return out
}
