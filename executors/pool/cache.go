// The cache is for guests with WebAssembly engines: guests of this program that load compiled code, and seal
// themselves before they get a program.

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
// In a kernel ring no guest that will run a program can write it, since all guests load its content as native
// code. A guest that finds the cache cold reports that and ends. Another one, which runs no program, compiles
// into a folder of its own, and the host copies the result into the cache. Several engines may share one
// folder.
type Cache struct {
	dir     string
	now     func() time.Time
	filling chan struct{} // holds a value while it is filled
	fills   atomic.Int64  // number of fills
}

// NewCache returns the cache in a folder. If dir is empty, every guest compiles. now is the wall clock.
func NewCache(dir string, now func() time.Time) *Cache {
	return &Cache{dir: dir, now: now, filling: make(chan struct{}, 1)}
}

// Starts says how guests of one kind are started.
type Starts struct {
	// Cold is the text of the *executors.Unavailable of a guest that finds no code.
	Cold string
	// Begin starts a guest that loads from a folder, and waits until it is ready. If cache is empty, the guest
	// compiles for itself.
	Begin func(ctx context.Context, cache string) (*executors.Link, error)
	// Fill starts a guest that runs no program and may write to room, and waits until it has made the folder
	// made.
	Fill func(ctx context.Context, room, made string) (*executors.Link, error)
}

// Start starts a guest that is ready. If the cache is cold, it is filled first. If it cannot be filled, the
// guest compiles for itself.
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
	if errors.Is(err, executors.ErrOwn) { // for example a cache below /dev
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

// folder returns the real path of the cache, or an empty path if there can be none.
func (c *Cache) folder() (string, error) {
	if c.dir == "" {
		return "", nil
	}
	if err := wasmcache.CheckFolder(c.dir); err != nil {
		return "", &executors.Unavailable{
			Text: err.Error(),
			Fix: "give ringd a folder for caches that only its user can write: XDG_CACHE_HOME, or CacheDirectory= " +
				"of its unit",
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

// fill makes a guest compile into a folder of its own, and installs the result.
func (c *Cache) fill(
	ctx context.Context, cache string, start func(ctx context.Context, room, made string) (*executors.Link, error),
) (err error) {
	// Other users have no access to the outer folder. The guest, which may be another user, gets only the inner
	// one.
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

// clear removes the folders of processes that were killed while they filled the cache.
func (c *Cache) clear(cache string) {
	left, err := filepath.Glob(filepath.Join(cache, fillPrefix+"*"))
	if err != nil {
		return // the pattern is constant except for cache; on an error nothing is cleared
	}
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && c.now().Sub(info.ModTime()) > fillTime {
			_ = os.RemoveAll(dir) // on an error it stays until the next time
		}
	}
}

const (
	fillPrefix = "fill-"
	fillTime   = 10 * time.Minute // far longer than it takes
)
