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

// wasmDir is where the second engine of Python lies, if it does.
func (p *program) wasmDir() string {
	return cmp.Or(p.Env.PythonWasm, filepath.Join(filepath.Dir(p.Self), "python-wasm"))
}

// newWasm makes the executor of the second engine of Python, of which each guest checks
// the files; nil where this host has them not.
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

// commonModules are what most programs import: a waiting guest has them already.
func commonModules() []string {
	return []string{"collections", "datetime", "functools", "itertools", "json", "math", "random", "re", "string"}
}
