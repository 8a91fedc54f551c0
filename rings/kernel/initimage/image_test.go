package initimage_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initimage"
)

// The embedded program is what the sources make, to the byte: an edit without
// `make init` is found here, and so is a build that is not reproducible.
func TestFresh(t *testing.T) {
	if initimage.Init() == nil {
		t.Skip("there is no init for " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	made := filepath.Join(t.TempDir(), "init")
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=",
		"-o", made, "../init")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build init: %v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(initimage.Init(), want) {
		t.Error("the embedded init is not what its sources make: run `make init`")
	}
}

// A guest has no loader and no libraries before its mounts stand.
func TestStatic(t *testing.T) {
	if initimage.Init() == nil {
		t.Skip("there is no init for " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	f, err := elf.NewFile(bytes.NewReader(initimage.Init()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("init has a %v segment, want a static program", p.Type)
		}
	}
}
