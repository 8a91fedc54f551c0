module github.com/ringd/ringd/docs/benchmarks

go 1.26.0

ignore (
	./js/peers/node_modules
	./kernel/peers/node_modules
	./python/peers/node_modules
	./shell/peers/node_modules
)

require (
	github.com/elazarl/goproxy v1.9.2
	github.com/ringd/ringd v0.0.0
	golang.org/x/sys v0.49.0
)

require (
	code.dny.dev/ssrf v0.3.0 // indirect
	github.com/bits-and-blooms/bitset v1.20.0 // indirect
	github.com/evanw/esbuild v0.25.10 // indirect
	github.com/go-sourcemap/sourcemap v2.1.4+incompatible // indirect
	github.com/gowebpki/jcs v1.0.1 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/nlnwa/whatwg-url v0.6.2 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/ringd/ringd => ../..
