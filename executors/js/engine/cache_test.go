package engine_test

import (
	"os"
	"path/filepath"
	"testing"
)

// cacheDir is shared by the tests of this package on one machine: compiling
// takes most of a second.
func cacheDir(t testing.TB) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(base, "ringd-engine-test")
}
