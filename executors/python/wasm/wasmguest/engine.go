package wasmguest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/wasmcache"
)

// engineConfig builds an Engine.
type engineConfig struct {
	Files place.Files // of place.Read
	// Sources are the guest's own Python, by the names that its frames show, in the order in which they run in
	// one module. They are compiled once for each cache.
	Sources []Source
	// CacheDir keeps compiled code, so that a machine compiles only once. If it is empty, every process
	// compiles. It must not be writable by anyone whom the process does not trust, since native code is loaded
	// from it.
	CacheDir string
	// ReadOnly says that CacheDir cannot be written. newEngine returns errCold if something is missing there.
	ReadOnly bool
}

// Source is a text of Python.
type Source struct{ Name, Text string }

// errCold is returned by newEngine if something is missing in a read-only cache.
var errCold = errors.New("the compile cache does not hold the WebAssembly Python")

// Engine holds the compiled interpreter. It is safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without a folder
	module  wazero.CompiledModule
	library *library
	code    []byte
}

const pageSize = 1 << 16

// maxMemoryBytes limits the memory of any program's interpreter.
const maxMemoryBytes = 2 << 30

// newEngine compiles the interpreter, or loads it from c.CacheDir. The caller closes the Engine.
func newEngine(ctx context.Context, c engineConfig) (*Engine, error) {
	lib, err := readLibrary(c.Files.Library)
	if err != nil {
		return nil, err
	}
	e := &Engine{library: lib}
	if err := e.build(ctx, c); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

// build makes the module and the code, or loads them from c.CacheDir.
func (e *Engine) build(ctx context.Context, c engineConfig) error {
	path := "" // if empty, nothing is kept
	if c.CacheDir != "" {
		if err := wasmcache.CheckFolder(c.CacheDir); err != nil {
			return err
		}
		path = startPath(c)
		if start, err := wasmcache.Load(path); err == nil {
			e.code = start.Memory
		}
		if e.code == nil && c.ReadOnly {
			return errCold
		}
	}
	if err := e.compile(ctx, c); err != nil {
		return err
	}
	if e.code != nil {
		return nil
	}
	var err error
	if e.code, err = e.compileSources(ctx, c.Sources); err != nil {
		return err
	}
	if path != "" {
		// If it cannot be written, each process compiles for itself.
		_ = wasmcache.Keep(path, wasmcache.Start{Memory: e.code}.Encode())
	}
	return nil
}

// compile compiles the interpreter with the cache. If the folder can be neither read nor written, it compiles
// without one. A read-only folder without the code is errCold.
func (e *Engine) compile(ctx context.Context, c engineConfig) error {
	// The file holds 8 MiB of DWARF, which would be read at each start.
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(
		maxMemoryBytes / pageSize,
	).WithDebugInfoEnabled(false)
	if c.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(c.CacheDir)
		if err == nil {
			e.cache = cache
			err = e.compileWith(ctx, config.WithCompilationCache(cache), c.Files.Wasm)
		}
		if err == nil {
			return nil
		}
		if c.ReadOnly {
			return errCold
		}
		if err := e.Close(ctx); err != nil {
			return err
		}
		e.cache = nil
	}
	return e.compileWith(ctx, config, c.Files.Wasm)
}

func (e *Engine) compileWith(ctx context.Context, config wazero.RuntimeConfig, wasm []byte) (err error) {
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, e.runtime); err != nil {
		return fmt.Errorf("compile the WebAssembly Python: %w", err)
	}
	if e.module, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		return fmt.Errorf("compile the WebAssembly Python: %w", err)
	}
	return nil
}

// startPath names the file in which the guest's compiled code is kept.
func startPath(c engineConfig) string {
	h := sha256.New()
	fmt.Fprintf(h, "python %s\n", place.WasmDigest)
	for _, s := range c.Sources {
		fmt.Fprintf(h, "%q %d\n%s", s.Name, len(s.Text), s.Text)
	}
	return c.CacheDir + "/" + wasmcache.StartPrefix + "python-" + hex.EncodeToString(h.Sum(nil))
}

// Code is the guest's own Python in the format of this interpreter's `marshal`.
func (e *Engine) Code() []byte { return e.code }

// Close frees the engine. No program may run in it.
func (e *Engine) Close(ctx context.Context) error {
	var errs []error
	if e.runtime != nil {
		errs = append(errs, e.runtime.Close(ctx))
	}
	if e.cache != nil {
		errs = append(errs, e.cache.Close(ctx))
	}
	return errors.Join(errs...)
}
