// This file is what the hosts of WebAssembly engines share: guests of this
// program that load compiled code from a cache, and seal themselves before they are
// told of a program. It decides nothing.

package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/wasmcache"
)

// Cache is compiled code in a folder that only this user can write.
//
// In a kernel ring no guest that is to run a program can write it, since what lies
// there is loaded as native code by all. A guest that finds it cold says so and ends;
// another one, which runs no program, compiles into a folder of its own, and what that
// made is copied into the cache from here. Several engines may share one folder.
type Cache struct {
	dir     string
	now     func() time.Time
	filling chan struct{} // held while it is filled
	fills   atomic.Int64  // how often it was
}

// NewCache returns the cache in a folder; "" compiles in every guest. now is the wall
// clock.
func NewCache(dir string, now func() time.Time) *Cache {
	return &Cache{dir: dir, now: now, filling: make(chan struct{}, 1)}
}

// Starts is how guests of one kind are started.
type Starts struct {
	// Cold is the text of the *executors.Unavailable of a guest that finds no code.
	Cold string
	// Begin starts a guest that loads from a folder, and waits until it is ready. From
	// "" it compiles for itself.
	Begin func(ctx context.Context, cache string) (*executors.Link, error)
	// Fill starts one that runs no program and may write to room, and waits until it
	// has made the folder made.
	Fill func(ctx context.Context, room, made string) (*executors.Link, error)
}

// Start starts a guest that is ready, with the cache filled first if need be. Where it
// cannot be filled, the guest compiles for itself.
func (c *Cache) Start(ctx context.Context, s Starts) (*executors.Link, error) {
	cache, err := c.folder()
	if err != nil {
		return nil, err
	}
	cold := func(err error) bool {
		var u *executors.Unavailable
		return errors.As(err, &u) && u.Text == s.Cold
	}
	fills := c.fills.Load()
	link, err := s.Begin(ctx, cache)
	if errors.Is(err, executors.ErrOwn) { // a cache below /dev, say
		return s.Begin(ctx, "")
	}
	if !cold(err) {
		return link, err
	}
	select {
	case c.filling <- struct{}{}:
		defer func() { <-c.filling }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.fills.Load() != fills { // by another start, meanwhile
		if link, err = s.Begin(ctx, cache); !cold(err) {
			return link, err
		}
	}
	if err := c.fill(ctx, cache, s.Fill); err == nil {
		if link, err = s.Begin(ctx, cache); !cold(err) {
			return link, err
		}
	}
	return s.Begin(ctx, "")
}

// folder is the cache by its own name; "" when there can be none.
func (c *Cache) folder() (string, error) {
	if c.dir == "" {
		return "", nil
	}
	if err := wasmcache.CheckFolder(c.dir); err != nil {
		return "", &executors.Unavailable{
			Text: err.Error(),
			Fix:  "give ringd a folder for caches that only its user can write: XDG_CACHE_HOME, or CacheDirectory= of its unit",
		}
	}
	dir, err := filepath.EvalSymlinks(c.dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // it could not be made
	}
	if err != nil {
		return "", fmt.Errorf("find the engine's cache: %w", err)
	}
	return dir, nil
}

// fill has a guest compile into a folder of its own, and installs what it made.
func (c *Cache) fill(ctx context.Context, cache string, start func(ctx context.Context, room, made string) (*executors.Link, error)) (err error) {
	// Nobody else gets into the outer folder; the guest, which may be another user,
	// gets the inner one alone.
	c.clear(cache)
	outer, err := os.MkdirTemp(cache, fillPrefix)
	if err != nil {
		return fmt.Errorf("fill the engine's cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(outer)) }()
	room := filepath.Join(outer, "room")
	if err := errors.Join(os.Mkdir(room, 0o700), os.Chmod(room, 0o777)); err != nil {
		return fmt.Errorf("fill the engine's cache: %w", err)
	}
	made := filepath.Join(room, "cache")
	link, err := start(ctx, room, made)
	if err != nil {
		return err
	}
	if err := link.Close(); err != nil {
		return err
	}
	if err := wasmcache.Install(made, cache, os.Geteuid() == 0); err != nil {
		return err
	}
	c.fills.Add(1)
	return nil
}

// clear removes what a process left that was killed while it filled the cache.
func (c *Cache) clear(cache string) {
	left, err := filepath.Glob(filepath.Join(cache, fillPrefix+"*"))
	if err != nil {
		return // the pattern is a constant but for cache, and then nothing is cleared
	}
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && c.now().Sub(info.ModTime()) > fillTime {
			_ = os.RemoveAll(dir) // it stays until the next time
		}
	}
}

const (
	fillPrefix = "fill-"
	fillTime   = 10 * time.Minute // far longer than it takes
)
