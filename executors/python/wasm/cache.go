package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine/kept"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/start"
	"github.com/ringd/ringd/profiles"
)

// As of the JavaScript executor, no guest that is to run a program can write the compile
// cache in a kernel ring: one that finds it cold says so and ends, and another one, which
// runs no program, compiles into a folder of its own.

// cache is the folder that guests load compiled code from, by its own name; "" when
// there can be none.
func (e *Executor) cache() (string, error) {
	if e.cfg.CacheDir == "" {
		return "", nil
	}
	if err := kept.CheckFolder(e.cfg.CacheDir); err != nil {
		return "", &executors.Unavailable{Text: err.Error(),
			Fix: "give ringd a folder for caches that only its user can write: XDG_CACHE_HOME, or CacheDirectory= of its unit"}
	}
	dir, err := filepath.EvalSymlinks(e.cfg.CacheDir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // it could not be made
	}
	if err != nil {
		return "", fmt.Errorf("find the engine's cache: %w", err)
	}
	return dir, nil
}

// warmed starts a guest that is ready, with the cache filled first if need be. Where it
// cannot be filled, the guest compiles for itself.
func (e *Executor) warmed(ctx context.Context, s spec) (*executors.Link, error) {
	// The guest checks the files itself, whatever happens in between; here, so that no
	// process is started in vain and the refusal names the file.
	if err := place.Check(e.cfg.Dir); err != nil {
		return nil, err
	}
	cache, err := e.cache()
	if err != nil {
		return nil, err
	}
	fills := e.filled(0)
	link, err := e.begin(ctx, s, cache)
	if errors.Is(err, executors.ErrOwn) { // a cache below /dev, say
		return e.begin(ctx, s, "")
	}
	if !isCold(err) {
		return link, err
	}
	select {
	case e.filling <- struct{}{}:
		defer func() { <-e.filling }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.filled(0) != fills { // by another start, meanwhile
		if link, err = e.begin(ctx, s, cache); !isCold(err) {
			return link, err
		}
	}
	if err := e.fill(ctx, s, cache); err == nil {
		if link, err = e.begin(ctx, s, cache); !isCold(err) {
			return link, err
		}
	}
	return e.begin(ctx, s, "")
}

func isCold(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Text == start.Cold
}

func (e *Executor) filled(more int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fills += more
	return e.fills
}

// fill has a guest compile into a folder of its own, and installs what it made.
func (e *Executor) fill(ctx context.Context, s spec, cache string) (err error) {
	// Nobody else gets into the outer folder; the guest, which may be another user,
	// gets the inner one alone.
	outer, err := os.MkdirTemp(cache, fillPrefix)
	if err != nil {
		return fmt.Errorf("fill the engine's cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(outer)) }()
	room := filepath.Join(outer, "room")
	if err := errors.Join(os.Mkdir(room, 0o700), os.Chmod(room, 0o777)); err != nil {
		return fmt.Errorf("fill the engine's cache: %w", err)
	}
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorPython, Argv: e.cfg.Argv, MinTier: profiles.TierProcess, Kernel: kernel(), Room: room, Own: e.own(""),
		CPU: guestCPU, MemoryBytes: fillData, FileBytes: guestFiles,
	})
	if err != nil {
		return err
	}
	made := filepath.Join(room, "cache")
	link, err := e.greet(ctx, g, start.Settings{Dir: e.cfg.Dir, CacheDir: made, Ring: true, Fill: true})
	if err != nil {
		return err
	}
	if err := link.Close(); err != nil {
		return err
	}
	if err := kept.Install(made, cache, os.Geteuid() == 0); err != nil {
		return err
	}
	e.filled(1)
	return nil
}

const fillPrefix = "fill-"
