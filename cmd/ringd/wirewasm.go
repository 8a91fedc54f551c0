package main

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/wasm"
	"github.com/ringd/ringd/executors/python/wasm/place"
)

// wasmDir returns the folder of the second engine of Python, or "".
func (p *program) wasmDir() string {
	return cmp.Or(p.Env.PythonWasm, filepath.Join(filepath.Dir(p.Self), "python-wasm"))
}

// newWasm constructs the executor of the second engine of Python, or returns nil if this host does not have
// its files. Each guest verifies the files.
func (p stackBuilder) newWasm(c stackConfig, s *stack) (executors.Executor, error) {
	dir, cache := p.wasmDir(), ""
	if !place.There(dir) {
		return nil, nil
	}
	if p.Env.Cache != "" {
		cache = filepath.Join(p.Env.Cache, "python-wasm")
	}
	return wasm.New(wasm.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Argv: []string{p.Self, verbWasm}, Dir: dir, CacheDir: cache,
		Go: s.group.Go, Now: time.Now, Blank: c.guests.python.Blank, Preload: commonModules(),
	})
}

// commonModules returns modules that most programs import. A pre-started guest has loaded them.
func commonModules() []string {
	return []string{"collections", "datetime", "functools", "itertools", "json", "math", "random", "re", "string"}
}
