package js

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine/kept"
	"github.com/ringd/ringd/executors/js/start"
	"github.com/ringd/ringd/profiles"
)

// In a kernel ring no guest that is to run a program can write the compile cache,
// since what lies there is loaded as native code by all. A guest that finds it
// cold says so and ends; another one, which runs no program, compiles into a
// folder of its own, and what that made is copied into the cache from here.

// cache is the folder that guests load compiled code from, by its own name; ""
// when there can be none.
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

// warmed starts a guest that is ready, with the cache filled first if need be.
// Where it cannot be filled, the guest compiles for itself.
func (e *Executor) warmed(ctx context.Context, s spec, argv []string) (*executors.Link, error) {
	cache, err := e.cache()
	if err != nil {
		return nil, err
	}
	fills := e.fills.Load()
	link, err := e.begin(ctx, s, argv, cache)
	if errors.Is(err, executors.ErrOwn) { // a cache below /dev, say
		return e.begin(ctx, s, argv, "")
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
	if e.fills.Load() != fills { // by another start, meanwhile
		if link, err = e.begin(ctx, s, argv, cache); !isCold(err) {
			return link, err
		}
	}
	if err := e.fill(ctx, s, argv, cache); err == nil {
		if link, err = e.begin(ctx, s, argv, cache); !isCold(err) {
			return link, err
		}
	}
	return e.begin(ctx, s, argv, "")
}

func isCold(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Text == start.Cold
}

// fill has a guest compile into a folder of its own, and installs what it made.
func (e *Executor) fill(ctx context.Context, s spec, argv []string, cache string) (err error) {
	// Nobody else gets into the outer folder; the guest, which may be another user,
	// gets the inner one alone.
	e.clear(cache)
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
		Executor: profiles.ExecutorJS, Argv: argv, MinTier: s.tier, Kernel: s.kernel, Room: room,
		CPU: guestCPU, MemoryBytes: guestData, FileBytes: guestFiles,
	})
	if err != nil {
		return err
	}
	made := filepath.Join(room, "cache")
	link, err := e.greet(ctx, g, start.Settings{CacheDir: made, Ring: true, Fill: true})
	if err != nil {
		return err
	}
	if err := link.Close(); err != nil {
		return err
	}
	if err := kept.Install(made, cache, os.Geteuid() == 0); err != nil {
		return err
	}
	e.fills.Add(1)
	return nil
}

// clear removes what a process left that was killed while it filled the cache.
func (e *Executor) clear(cache string) {
	left, err := filepath.Glob(filepath.Join(cache, fillPrefix+"*"))
	if err != nil {
		return // the pattern is a constant but for cache, and then nothing is cleared
	}
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && e.cfg.Now().Sub(info.ModTime()) > fillTime {
			_ = os.RemoveAll(dir) // it stays until the next time
		}
	}
}

const (
	fillPrefix = "fill-"
	fillTime   = 10 * time.Minute // far longer than it takes
)
