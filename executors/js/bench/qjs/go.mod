module github.com/ringd/ringd/executors/js/bench/qjs

go 1.26.0

require github.com/fastschema/qjs v0.0.6

require (
	github.com/tetratelabs/wazero v1.11.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
)
