package condition

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/ringd/ringd/compiler/rego"
)

// parse parses the statements of a condition. Findings are nil if it is valid Rego.
func parse(text string) (ast.Body, Findings) {
	wrong := func(line, column int, format string, args ...any) Findings {
		return Findings{{Line: line, Column: column, Code: codeSyntax, Msg: fmt.Sprintf(format, args...)}}
	}
	switch {
	case len(text) > maxText:
		return nil, wrong(1, 1, "the condition has more than %d bytes", maxText)
	case !utf8.ValidString(text):
		return nil, wrong(1, 1, "the condition is not UTF-8")
	}
	if line, column, deep := rego.TooDeep(text, maxDepth); deep {
		return nil, wrong(line, column, "brackets are nested deeper than %d", maxDepth)
	}
	body, err := ast.ParseBodyWithOpts(text, ast.ParserOptions{
		RegoVersion: ast.RegoV1, SkipRules: true, FutureKeywords: []string{"and", "or", "not"},
		Capabilities: rego.Capabilities(allowed),
	})
	if err != nil {
		return nil, fromOPA(err)
	}
	if len(body) == 0 {
		return nil, wrong(1, 1, "the condition is empty")
	}
	return body, nil
}

// syntaxHint returns the Rego form of a construct of other languages.
func syntaxHint(words string) string {
	for _, h := range [][2]string{
		{"unexpected and token", "Rego has no &&: write each condition on a separate line, or put ; between them"},
		{"unexpected or token", "Rego has no ||: write input.args.a in {1, 2}, or ask for both"},
		{"unexpected assign token", "compare with =="},
		{"unexpected if keyword", "write the condition alone, without if"},
		{"illegal token", "a condition is Rego, such as input.args.amount > 100, with texts in double quotes"},
		{"unexpected eof token", "the condition ends too early"},
		{"unexpected", "a condition is Rego, such as input.args.amount > 100"},
	} {
		if strings.Contains(words, h[0]) {
			return h[1]
		}
	}
	return ""
}

// fromOPA converts errors of the parser and the compiler to findings.
func fromOPA(err error) Findings {
	faults := rego.Faults(err)
	if len(faults) == 0 {
		return Findings{{Line: 1, Column: 1, Code: codeSyntax,
			Msg: "a condition holds statements: no package, import or rule"}}
	}
	var out Findings
	for _, e := range faults {
		f := finding{Line: e.Line, Column: e.Column, Code: codeSyntax, Msg: e.Msg, Hint: syntaxHint(e.Msg)}
		switch e.Code {
		case ast.UnsafeVarErr:
			f.Code = codeName
		case ast.TypeErr:
			f.Code = codeType
		}
		out = append(out, f)
	}
	return out
}
