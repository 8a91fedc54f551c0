package rootfs // otherCase is not exported

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringd/ringd/profiles/paths"
)

// Two names of one file stand for a file system that takes both cases for one.
func TestOtherCase(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"d/Deep/7", "d/deep/7", "d/other"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"d/Deep/7/Key", "d/other/key", "d/other/KEY"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "d/Deep/7/Key"), filepath.Join(root, "d/Deep/7/KEY")); err != nil {
		t.Fatal(err)
	}
	r := resolver{host: host{root: root}, grants: paths.Of("/d")}
	for p, want := range map[string]bool{"/d/Deep/7/Key": true, "/d/Deep/7/KEY": false, "/d/other/key": false,
		"/d/Deep": false, "/d/none": false} {
		if got := r.otherCase(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}
