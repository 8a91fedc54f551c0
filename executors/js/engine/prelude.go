package engine

import _ "embed"

// prelude is evaluated into the image. Its value is an object of the functions
// that preludeFunctions names.
//
//go:embed prelude.js
var prelude string

// The functions of the prelude that the host calls.
const (
	preInstall = iota
	preSettle
	preResult
	preDescribe
	preMakeError
	preAdopt
	preExported
	preUnawaited
	preCount
)

// preludeFunctions are their names, in that order.
func preludeFunctions() [preCount]string {
	return [preCount]string{"install", "settle", "result", "describe", "makeError", "adopt", "exported", "unawaited"}
}
