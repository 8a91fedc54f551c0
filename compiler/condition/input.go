package condition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// maxNumber is the largest number of characters of a number.
const maxNumber = 64

// inputOf returns the input of a condition for a call.
func inputOf(call profiles.Call) (*ast.Term, error) {
	if len(call.Args) > MaxArgs {
		return nil, fmt.Errorf("the arguments have more than %d bytes", MaxArgs)
	}
	if err := canonjson.Check(call.Args); err != nil {
		return nil, errors.New("the arguments are not plain JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(call.Args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the arguments are not plain JSON")
	}
	if !plainNumbers(v) {
		return nil, errors.New("the arguments hold a number that no double holds")
	}
	args, err := ast.InterfaceToValue(v)
	if err != nil {
		return nil, errors.New("the arguments are not plain JSON")
	}
	return ast.ObjectTerm(
		ast.Item(ast.StringTerm("args"), ast.NewTerm(args)),
		ast.Item(ast.StringTerm("bridge"), ast.StringTerm(call.Bridge)),
		ast.Item(ast.StringTerm("agent"), ast.StringTerm(call.Agent)),
	), nil
}

func plainNumbers(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for _, e := range v {
			if !plainNumbers(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !plainNumbers(e) {
				return false
			}
		}
	}
	return true
}

// plainNumber reports whether a number is short and fits a double. Arithmetic with other numbers could be
// slow, since it writes out every digit.
func plainNumber(n string) bool {
	f, err := strconv.ParseFloat(n, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	return len(n) <= maxNumber && err == nil && (f != 0 || !strings.ContainsAny(mantissa, "123456789"))
}
