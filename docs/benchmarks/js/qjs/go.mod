// A module of its own: fastschema/qjs v0.0.6 runs on wazero 1.11 and fails on the 1.12 of
// ringd ("signature mismatch" of env.jsFunctionProxy).
module github.com/ringd/ringd/docs/benchmarks/js/qjs

go 1.26.0

require github.com/fastschema/qjs v0.0.6

require (
	github.com/tetratelabs/wazero v1.11.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
)
