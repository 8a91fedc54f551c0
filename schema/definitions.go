package schema

import (
	_ "embed"
)

//go:embed policy.cue
var policyCUE string // go:embed needs a variable; it is never written

// CUE returns the closed CUE definitions of both forms: #Policy and #Compact.
func CUE() string { return policyCUE }

// JSONSchema returns a JSON Schema of both forms, made from policy.cue. Its draft is 7, which editors
// support. It accepts nearly the same documents as Decode. Rules that compare two values, such as the rule
// against repeated names, are checked only by Decode.
func JSONSchema() ([]byte, error) {
	defs, err := ParseShapes(policyCUE)
	if err != nil {
		return nil, err
	}
	return shapesSchema(defs)
}
