// Package condition owns the conditions of approvals: Rego over one call, the `when` of a policy. It compiles
// and evaluates them.
//
// It rejects everything that could take long, grow, or differ between two evaluations: functions outside a
// short list, rules, data, time, randomness and network. A condition depends only on the call. If a condition
// cannot be evaluated, the approval is required. That is so if a field is absent, if values cannot be
// compared, if the arguments are too large, or if the evaluation takes too long. The compiler, `ringd decide`
// and the interpreter ring call it.
package condition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/ringd/ringd/compiler/rego"
	"github.com/ringd/ringd/profiles"
)

// Limits of a condition and its input.
const (
	maxText     = 4 << 10
	MaxArgs     = 64 << 10 // of JSON text; larger arguments require the approval
	Timeout     = 50 * time.Millisecond
	maxDepth    = 16  // of nested brackets
	maxTerms    = 600 // values, names and calls
	maxProducts = 4   // of * and /, each of which may double the digits of a number
	maxPattern  = 128 // instructions of a regular expression
)

// ErrTimeout means that a condition did not finish in its time, or that its context ended.
var ErrTimeout = errors.New("the condition took too long")

// finding is one error in a condition. Line and Column count from 1 in its text. Code is one of the constants
// below.
type finding struct {
	Line, Column    int
	Code, Msg, Hint string
}

// Codes of findings.
const (
	codeSyntax   = "condition-syntax"   // the text is not Rego, or uses a part that conditions do not have
	codeFunction = "condition-function" // a function that a condition may not call
	codeName     = "condition-name"     // an undeclared name
	codeType     = "condition-type"     // the value is not true or false
)

// Findings is the error of [Compile].
type Findings []finding

// Error returns the findings, one on each line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = fmt.Sprintf("%d:%d: %s: %s", one.Line, one.Column, one.Code, one.Msg)
	}
	return strings.Join(lines, "\n")
}

// Condition is a compiled condition. It is immutable and safe for concurrent use. The nil Condition always
// requires the approval.
type Condition struct {
	body     ast.Body
	compiler *ast.Compiler
	query    ast.QueryCompiler
	builtins map[string]*topdown.Builtin
}

// Compile compiles a condition. A condition consists of Rego statements. If all of them are true for a call,
// the call needs its approval. The error is [Findings].
func Compile(text string) (*Condition, error) {
	body, found := parse(text)
	if found != nil {
		return nil, found
	}
	c := &checker{declared: map[ast.Var]bool{}, text: text}
	c.declare(body)
	body = c.body(body)
	if len(c.found) == 0 && !c.readsInput {
		c.add(nil, codeName, "leave `when` out to ask for every call", "the condition does not depend on the call")
	}
	if len(c.found) > 0 {
		return nil, c.found
	}
	compiler := ast.NewCompiler().WithCapabilities(rego.Capabilities(allowed)).WithStrict(true)
	if compiler.Compile(nil); compiler.Failed() {
		return nil, fromOPA(compiler.Errors)
	}
	query := compiler.QueryCompiler().WithStrict(true)
	compiled, err := query.Compile(body)
	if err != nil {
		return nil, fromOPA(err)
	}
	return &Condition{body: compiled, compiler: compiler, query: query, builtins: rego.Own()}, nil
}

// Ask reports whether a call needs its approval. If the condition cannot be evaluated, Ask returns true and
// an error, which contains no argument values. Ask returns within Timeout, or when ctx ends.
func (c *Condition) Ask(ctx context.Context, call profiles.Call) (bool, error) {
	if c == nil {
		return true, errors.New("there is no condition")
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	input, err := inputOf(call)
	if err != nil {
		return true, err
	}
	if ctx.Err() != nil {
		return true, ErrTimeout
	}
	stop := topdown.NewCancel()
	defer context.AfterFunc(ctx, stop.Cancel)()
	holds := false
	err = topdown.NewQuery(c.body).WithCompiler(c.compiler).WithQueryCompiler(c.query).
		WithInput(input).WithCancel(stop).WithBuiltins(c.builtins).WithStrictBuiltinErrors(true).
		WithSeed(strings.NewReader("")).WithTime(time.Unix(0, 1)).
		Iter(ctx, func(topdown.QueryResult) error {
			holds = true
			return errFound
		})
	switch {
	case err == nil, errors.Is(err, errFound):
		return holds, nil
	case topdown.IsCancel(err):
		return true, ErrTimeout
	}
	var missing *rego.Mismatch
	if errors.As(err, &missing) {
		return true, missing
	}
	return true, errors.New("a function of the condition does not take these values")
}

// errFound ends an evaluation at its first result.
var errFound = errors.New("the condition holds")
