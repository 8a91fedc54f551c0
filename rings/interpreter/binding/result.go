package binding

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Flaw says why a result does not reach the program.
type Flaw struct {
	Name  string // of the error the program gets
	Text  string
	Code  profiles.Code
	Fault string // text for the record
}

// ResultRule is what a result has to fit.
type ResultRule struct {
	limit   int64 // bytes
	schemas []*jsonvalue.Schema
}

// ResultRule returns the rule of the result of the call.
func (k *Request) ResultRule() ResultRule {
	return ResultRule{k.Limits.ResultBytes, results(k.Grants()...)}
}

// ResultRule returns the rule of the result of any call of the grant.
func (g *Grant) ResultRule() ResultRule { return ResultRule{g.Limits.ResultBytes, results(g)} }

// Check checks a result: its size, its form and the schemas. tagged checks a value that uses
// the tagged encoding.
func (t ResultRule) Check(out json.RawMessage, tagged func(json.RawMessage) error) (json.RawMessage, *Flaw) {
	if int64(len(out)) > t.limit {
		return nil, &Flaw{profiles.ErrorResultTooLarge, fmt.Sprintf("the result is larger than %d bytes", t.limit),
			profiles.CodeBridgeResultBytes, fmt.Sprintf("the result has %d bytes", len(out))}
	}
	if len(out) == 0 && len(t.schemas) == 0 {
		return nil, nil // undefined
	}
	s, err := jsonvalue.Scan(out)
	if err == nil && s.Marked {
		err = tagged(out)
	}
	if err != nil {
		return nil, &Flaw{profiles.ErrorBridge, "gave a result that is not a valid value",
			profiles.CodeBridgeResult, err.Error()}
	}
	value, err := jsonvalue.Validate(out, s.Marked, t.schemas...)
	if err != nil {
		return nil, &Flaw{profiles.ErrorBridge, "gave a result that does not match its schema",
			profiles.CodeBridgeResult, err.Error()}
	}
	return value, nil
}

// results returns the schemas that all grants put on the result, each once.
func results(grants ...*Grant) (out []*jsonvalue.Schema) {
	for _, g := range grants {
		if g != nil && g.result != nil && !slices.Contains(out, g.result) {
			out = append(out, g.result)
		}
	}
	return out
}
