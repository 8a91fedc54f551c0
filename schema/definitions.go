package schema

import (
	_ "embed"
)

//go:embed policy.cue
var policyCUE string // go:embed needs a variable; never written

// CUE returns the closed CUE definitions of both forms: #Policy and #Compact.
func CUE() string { return policyCUE }

// JSONSchema returns a JSON Schema (draft 7, which editors know) of both forms,
// made from policy.cue. What it accepts is close to what Decode accepts; what
// compares two values, such as a name used twice, only Decode knows.
func JSONSchema() ([]byte, error) {
	defs, err := ParseShapes(policyCUE)
	if err != nil {
		return nil, err
	}
	return shapesSchema(defs)
}
