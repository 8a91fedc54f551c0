package engine

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/ringd/ringd/executors/js/engine/snapshot"
	"github.com/ringd/ringd/executors/wasmcache"
	"github.com/ringd/ringd/profiles"
)

// wasmDigest pins the engine file: quickjs.wasm of npm quickjs-wasi 3.6.2.
const wasmDigest = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"

// embedded holds the engine file when `make engine` has placed it.
//
//go:embed wasm
var embedded embed.FS

// Engine holds the compiled engine and the image from which every VM starts. It is safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without a folder
	module  wazero.CompiledModule
	image   *image
	digest  string
	codec   snapshot.Codec
}

// New compiles the engine, or loads it from c.CacheDir, and builds the image. It returns ErrUnavailable if the
// engine file is not in this build. The caller closes the Engine, after every VM of it.
func New(ctx context.Context, c Config) (*Engine, error) {
	wasm, err := engineFile(c, embedded)
	if err != nil {
		return nil, err
	}
	text, err := preludeSource()
	if err != nil {
		return nil, err
	}
	e := &Engine{}
	if err := e.build(ctx, c, wasm, text); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	if !c.CopyRestore {
		e.image.backing = newBacking(e.image) // nil if the system has none
	}
	return e, nil
}

// build makes the module and the image, or loads them from c.CacheDir.
func (e *Engine) build(ctx context.Context, c Config, wasm []byte, text preludeText) error {
	path := "" // if empty, nothing is kept
	if c.CacheDir != "" {
		name, err := startName(text.String())
		if err == nil {
			err = wasmcache.CheckFolder(c.CacheDir)
		}
		if err != nil {
			return err
		}
		path = filepath.Join(c.CacheDir, name)
		if metered, im, ok := loadStart(path); ok {
			e.image, e.digest = im, digestOf(metered, text.String(), im)
			return e.compile(ctx, c, metered)
		}
		if c.ReadOnly {
			return ErrCold
		}
	}
	metered, err := rewriteMetered(wasm, "env", "host_interrupt")
	if err != nil {
		return fmt.Errorf("meter the engine: %w", err)
	}
	if err := e.compile(ctx, c, metered.Wasm); err != nil {
		return err
	}
	if e.image, err = e.boot(ctx, metered.Data, text); err != nil {
		return fmt.Errorf("build the engine's image: %w", err)
	}
	e.digest = digestOf(metered.Wasm, text.String(), e.image)
	if path != "" {
		keepStart(path, metered.Wasm, e.image)
	}
	return nil
}

// engineFile returns the pinned bytes, of c or from the build.
func engineFile(c Config, build fs.ReadFileFS) ([]byte, error) {
	wasm := c.Wasm
	if wasm == nil {
		var err error
		wasm, err = build.ReadFile("wasm/quickjs.wasm")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrUnavailable
		}
		if err != nil {
			return nil, fmt.Errorf("read the engine file: %w", err)
		}
	}
	if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != wasmDigest {
		return nil, fmt.Errorf("%w (the engine file has sha256 %x, not %s)", ErrUnavailable, sum, wasmDigest)
	}
	return wasm, nil
}

// FileDigest names the engine file of this build, "sha256:" and hex. It is empty if there is none, or another
// than the pinned one.
func FileDigest() string {
	if _, err := engineFile(Config{}, embedded); err != nil {
		return ""
	}
	return "sha256:" + wasmDigest
}

// digestOf names the code, the prelude, and the image made of them, against which snapshots are differences.
func digestOf(metered []byte, prelude string, im *image) string {
	h := sha256.New()
	fmt.Fprintf(h, "ringd js image 2\n%d %d %d\n", len(metered), len(prelude), len(im.memory))
	h.Write(metered)
	h.Write([]byte(prelude))
	h.Write(im.memory)
	for _, w := range im.words() {
		fmt.Fprintln(h, *w)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// compile compiles wasm with the cache. If the folder can be neither read nor written, it compiles without one.
// A read-only folder without the code is ErrCold.
func (e *Engine) compile(ctx context.Context, c Config, wasm []byte) error {
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(
		profiles.MaxJSMemoryBytes / pageSize,
	).WithDebugInfoEnabled(false)
	if c.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(c.CacheDir)
		if err == nil {
			e.cache = cache
			e.runtime = wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache))
			e.module, err = e.runtime.CompileModule(ctx, wasm)
		}
		if err == nil {
			return e.defineImports(ctx)
		}
		if c.ReadOnly {
			return ErrCold
		}
		if err := e.Close(ctx); err != nil {
			return err
		}
		e.cache = nil
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	var err error
	if e.module, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		return fmt.Errorf("compile the engine: %w", err)
	}
	return e.defineImports(ctx)
}

// Digest names the engine file, the meter and the prelude together. A snapshot of one digest cannot be used
// with another.
func (e *Engine) Digest() string { return e.digest }

// Close frees the engine. No VM of it may be in use.
func (e *Engine) Close(ctx context.Context) error {
	var errs []error
	if e.runtime != nil {
		errs = append(errs, e.runtime.Close(ctx))
	}
	if e.cache != nil {
		errs = append(errs, e.cache.Close(ctx))
	}
	if e.image != nil {
		errs = append(errs, e.image.close())
	}
	return errors.Join(errs...)
}
