package pool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
)

var errFull = errors.New("the disk is full")

// What a process left that was killed while it filled the cache is removed once it is
// old, whichever engine it was of; where nothing can be filled, the guest compiles for
// itself.
func TestCacheLeftBehind(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, age := range map[string]time.Duration{"fill-old": time.Hour, "fill-new": time.Second, "kept": time.Hour} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(p, 0o700), os.Chtimes(p, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	var began []string
	ready := new(executors.Link)
	link, err := pool.NewCache(dir, func() time.Time { return now }).Start(t.Context(), pool.Starts{
		Cold: "cold",
		Begin: func(_ context.Context, cache string) (*executors.Link, error) {
			began = append(began, cache)
			if cache != "" {
				return nil, &executors.Unavailable{Text: "cold"}
			}
			return ready, nil
		},
		Fill: func(_ context.Context, room, made string) (*executors.Link, error) {
			if filepath.Dir(filepath.Dir(room)) != dir || filepath.Dir(made) != room {
				t.Errorf("it may write to %s and makes %s", room, made)
			}
			return nil, errFull
		},
	})
	if err != nil || link != ready || !slices.Equal(began, []string{dir, ""}) {
		t.Errorf("%v, began with %q", err, began)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, []string{"fill-new", "kept"}) {
		t.Errorf("%v, left %q", err, left)
	}
}
