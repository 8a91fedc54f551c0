// Package guardrail owns the guardrails of policies: Rego rules that can deny. A guardrail on the policy
// checks what an agent may do before the policy comes into force. A guardrail on calls checks each call of a
// bridge before the call happens.
//
// A guardrail can only deny. If a guardrail does not compile, fails, takes too long or returns anything but a
// set of reasons, it denies everything. A guardrail sees only its input: no network, file, environment, time
// or randomness. Each guardrail is compiled and evaluated by itself, so none changes the meaning of another.
// A hostile text can use much memory and processor time, so the callers are processes that can be killed:
// package worker, and the child process that evaluates guardrails on calls.
package guardrail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/ringd/ringd/compiler/rego"
	"github.com/ringd/ringd/profiles/canonjson"
)

// The values of `on`: what a guardrail is evaluated on.
const (
	OnPolicy = "policy"
	OnCall   = "call"
)

// Limits of a guardrail.
const (
	maxText    = 64 << 10
	maxDenials = 100 // denials that are reported
	maxMessage = 1000
	maxDepth   = 32 // of nested brackets

	policyTimeout = time.Second            // of one evaluation on a policy
	callTimeout   = 100 * time.Millisecond // of one evaluation on a call
)

// Codes of findings. They are API.
const (
	CodeInvalid = "guardrail-invalid" // an invalid guardrail, or one that cannot be evaluated, which denies
	CodeDenied  = "guardrail-denied"  // a guardrail denies the policy or the call
)

// ErrTimeout means that a guardrail did not finish in its time, or that its context ended.
var ErrTimeout = errors.New("the guardrail took too long")

// finding is one error in a guardrail. Line and Column count from 1 in its text.
type finding struct {
	Line, Column int
	Msg, Hint    string
}

// Findings is the error of [Compile].
type Findings []finding

// Error returns the findings, one on each line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = fmt.Sprintf("%d:%d: %s", one.Line, one.Column, one.Msg)
	}
	return strings.Join(lines, "\n")
}

// Denial is one of the reasons why a guardrail denies. Path is the place in the policy that the guardrail
// names, or empty.
type Denial struct {
	Msg  string `json:"msg"`
	Path string `json:"path,omitempty"`
}

// Call is the input of a guardrail on calls.
type Call struct {
	Agent    string          `json:"agent"`
	Bridge   string          `json:"bridge"`
	Executor string          `json:"executor"`
	Powers   Powers          `json:"powers"`
	Args     json.RawMessage `json:"args" doc:"the argument, or the list of them when there is not exactly one"`
}

// Guardrail is a compiled guardrail. It is immutable and safe for concurrent use. The nil Guardrail cannot be
// evaluated.
type Guardrail struct {
	on       string
	compiler *ast.Compiler
	query    ast.Body
}

// Compile compiles the text of a guardrail on policies or calls. The error is [Findings].
func Compile(on, text string) (*Guardrail, error) {
	if on != OnPolicy && on != OnCall {
		return nil, Findings{{Line: 1, Column: 1, Msg: "is neither on the policy nor on calls"}}
	}
	module, found := parse("guardrail.rego", text)
	if found != nil {
		return nil, found
	}
	c := &checker{on: on, pkg: packageOf(on)}
	if c.guardrail(module); len(c.found) > 0 {
		return nil, c.found
	}
	// The first build checks the types of the input. The second one cannot, because strict lookups have no
	// types.
	first, err := build(on, map[string]*ast.Module{"guardrail.rego": module.Copy()})
	if err != nil {
		return nil, findings(err)
	}
	strict(module, on, first.TypeEnv)
	compiler, err := build(on, map[string]*ast.Module{"guardrail.rego": module})
	if err != nil {
		return nil, findings(err)
	}
	query, err := compiler.QueryCompiler().Compile(ast.MustParseBody("denials = data." + c.pkg + ".deny"))
	if err != nil {
		return nil, findings(err)
	}
	return &Guardrail{on: on, compiler: compiler, query: query}, nil
}

// packageOf returns the Rego package of guardrails of one kind.
func packageOf(on string) string {
	if on == OnCall {
		return "ringd.calls"
	}
	return "ringd.guardrails"
}

// build compiles modules with the schema of their input.
func build(on string, modules map[string]*ast.Module) (*ast.Compiler, error) {
	schemas := ast.NewSchemaSet()
	schemas.Put(ast.SchemaRootRef, Schemas()[on])
	compiler := ast.NewCompiler().WithCapabilities(rego.Capabilities(allowed)).WithStrict(true).WithSchemas(schemas)
	if compiler.Compile(modules); compiler.Failed() {
		return nil, compiler.Errors
	}
	return compiler, nil
}

// findings converts errors of the parser and the compiler to findings.
func findings(err error) (out Findings) {
	for _, f := range rego.Faults(err) {
		out = append(out, finding{f.Line, f.Column, f.Msg, f.Hint})
	}
	if len(out) == 0 {
		out = Findings{{Line: 1, Column: 1, Msg: "is not Rego"}}
	}
	return out
}

// Deny evaluates a guardrail on a policy and returns its reasons to deny, sorted. If there is no reason and
// no error, the guardrail does not deny. An error means that the guardrail denies. The error contains no
// values of the input.
func (g *Guardrail) Deny(ctx context.Context, in Input) ([]Denial, error) {
	return g.ask(ctx, OnPolicy, policyTimeout, in)
}

// DenyCall evaluates a guardrail on a call, like [Guardrail.Deny].
func (g *Guardrail) DenyCall(ctx context.Context, in Call) ([]Denial, error) {
	return g.ask(ctx, OnCall, callTimeout, in)
}

func (g *Guardrail) ask(ctx context.Context, on string, most time.Duration, in any) ([]Denial, error) {
	if g == nil || g.on != on {
		return nil, fmt.Errorf("there is no guardrail on %s to ask", on)
	}
	input, err := valueOf(in)
	if err != nil {
		return nil, err
	}
	return evaluate(ctx, g.compiler, g.query, input, most)
}

// evaluate evaluates a query that has one result: a set of reasons to deny.
func evaluate(ctx context.Context, compiler *ast.Compiler, query ast.Body, input *ast.Term,
	most time.Duration) ([]Denial, error) {
	var value ast.Value
	err := run(ctx, compiler, query, input, most, func(b topdown.QueryResult) error {
		if t := b[ast.Var("denials")]; t != nil {
			value = t.Value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errors.New("deny is undefined")
	}
	return denials(value)
}

// run evaluates a query until it ends or its time is used up.
func run(ctx context.Context, compiler *ast.Compiler, query ast.Body, input *ast.Term, most time.Duration,
	result func(topdown.QueryResult) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if ctx.Err() != nil {
		return ErrTimeout
	}
	store := inmem.New()
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return errors.New("the guardrail cannot be asked")
	}
	defer store.Abort(ctx, txn)
	stop := topdown.NewCancel()
	defer context.AfterFunc(ctx, stop.Cancel)()
	q := topdown.NewQuery(query).WithCompiler(compiler).WithStore(store).WithTransaction(txn).WithCancel(stop).
		WithBuiltins(rego.Own()).WithStrictBuiltinErrors(true).WithSeed(strings.NewReader("")).WithTime(time.Unix(0, 1))
	if input != nil {
		q = q.WithInput(input)
	}
	return failure(q.Iter(ctx, result))
}

// failure returns the reason why an evaluation ended, without values of its input.
func failure(err error) error {
	var missing *rego.Mismatch
	var of *topdown.Error
	switch {
	case err == nil:
		return nil
	case topdown.IsCancel(err):
		return ErrTimeout
	case errors.As(err, &missing):
		return missing
	case errors.As(err, &of) && of.Location != nil:
		return fmt.Errorf("line %d, column %d: %s", of.Location.Row, of.Location.Col, why(of.Code))
	default:
		return errors.New("a function does not take these values")
	}
}

func why(code string) string {
	switch code {
	case topdown.ConflictErr:
		return "a rule has two values at once"
	case topdown.TypeErr:
		return "a value is of the wrong type"
	default:
		return "a function does not take these values"
	}
}

// denials reads the value of deny: a set of texts, and of objects with msg and path.
func denials(v ast.Value) ([]Denial, error) {
	set, ok := v.(ast.Set)
	if !ok {
		return nil, fmt.Errorf("deny is not a set, but %s", rego.Kind(ast.NewTerm(v)))
	}
	out := []Denial{}
	for _, t := range set.Slice() {
		if len(out) == maxDenials {
			return append(out, Denial{Msg: fmt.Sprintf("and %d more", set.Len()-maxDenials)}), nil
		}
		d, ok := denial(t)
		if !ok {
			return nil, errors.New("deny contains an item that is neither a text nor an object with the texts msg " +
				"and path")
		}
		out = append(out, d)
	}
	return out, nil
}

func denial(t *ast.Term) (Denial, bool) {
	switch v := t.Value.(type) {
	case ast.String:
		return Denial{Msg: clip(string(v))}, true
	case ast.Object:
		msg, ok := textOf(v, "msg")
		path, _ := textOf(v, "path")
		known := v.Len() == 1 || v.Len() == 2 && v.Get(ast.StringTerm("path")) != nil
		return Denial{Msg: clip(msg), Path: clip(path)}, ok && known
	default:
		return Denial{}, false
	}
}

func textOf(o ast.Object, field string) (string, bool) {
	t := o.Get(ast.StringTerm(field))
	if t == nil {
		return "", false
	}
	s, ok := t.Value.(ast.String)
	return string(s), ok
}

// clip shortens an author's text so that it fits a line of output.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return "refused"
	}
	return canonjson.Truncate(s, maxMessage)
}

// allowed reports whether a guardrail may call a function.
func allowed(name string) bool {
	return slices.Contains(Functions(), name) || slices.Contains(operators(), name)
}

// Functions lists the functions that a guardrail may call, sorted. They read only their arguments.
func Functions() []string {
	return []string{
		"abs", "array.concat", "array.flatten", "array.reverse", "array.slice", "base64.decode", "base64.encode",
		"base64.is_valid",
		"bits.and", "bits.lsh", "bits.negate", "bits.or", "bits.rsh", "bits.xor", "ceil", "concat", "contains", "count",
		"crypto.sha256",
		"endswith", "floor", "format_int", "glob.match", "glob.quote_meta", "hex.decode", "hex.encode", "indexof",
		"indexof_n",
		"intersection", "is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string",
		"json.filter",
		"json.is_valid", "json.marshal", "json.remove", "json.unmarshal", "lower", "max", "min", "net.cidr_contains",
		"net.cidr_intersects", "net.cidr_is_valid", "numbers.range", "object.filter", "object.get", "object.keys",
		"object.remove",
		"object.subset", "object.union", "object.union_n", "product", "regex.find_n", "regex.is_valid", "regex.match",
		"regex.replace",
		"regex.split", "replace", "round", "semver.compare", "semver.is_valid", "sort", "split", "sprintf",
		"startswith",
		"strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.replace_n", "strings.reverse",
		"strings.split_n",
		"substring", "sum", "time.add_date", "time.diff", "time.parse_duration_ns", "time.parse_rfc3339_ns",
		"to_number", "trim",
		"trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix", "type_name", "union", "units.parse",
		"units.parse_bytes",
		"upper", "uri.is_valid", "uri.parse", "walk",
	}
}

// operators lists the allowed operators.
func operators() []string {
	return []string{"eq", "assign", "equal", "neq", "gt", "gte", "lt", "lte", "plus", "minus", "mul", "div", "rem",
		"and", "or",
		"internal.member_2", "internal.member_3"}
}
