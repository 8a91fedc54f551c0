package schema

import (
	_ "embed"
)

//go:embed policy.cue
var policyCUE string // go:embed needs a variable; it is never written

// CUE returns the closed CUE definitions of both forms: #Policy and #Compact.
func CUE() string { return policyCUE }

// JSONSchema returns a JSON Schema (draft 7, which editors support) of both forms, made from policy.cue. It
// accepts nearly what Decode accepts. Only Decode checks rules that compare two values, such as repeated
// names.
func JSONSchema() ([]byte, error) {
	defs, err := ParseShapes(policyCUE)
	if err != nil {
		return nil, err
	}
	return shapesSchema(defs)
}
