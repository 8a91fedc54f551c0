package wasmcache

import (
	"path/filepath"
	"strings"
	"testing"
)

// A source that is not in the digest could change the format of what is kept unseen.
func TestDigestCoversSources(t *testing.T) {
	all, err := filepath.Glob("*.go")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		if _, err := sources.ReadFile(path); (err == nil) == strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s: in the digest: %v", path, err == nil)
		}
	}
}
