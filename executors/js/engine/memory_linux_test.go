package engine // the file-size limit of a process has no exported entry

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStartsWithoutFiles: where no file may be written, VMs copy the image, and
// nothing half-written stays where starts are kept; the process does not end with
// SIGXFSZ. It runs in a child, whose limit cannot be raised again.
func TestStartsWithoutFiles(t *testing.T) {
	if os.Getenv("RINGD_TEST_NO_FILES") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestStartsWithoutFiles$", "-test.v")
		c.Env = append(os.Environ(), "RINGD_TEST_NO_FILES=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e, err := New(t.Context(), Config{CacheDir: dir})
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.image.backing != nil {
		t.Error("a file was made all the same")
	}
	for _, at := range filesBelow(t, dir) {
		t.Errorf("%s was left", at)
	}
	vm, err := e.Start(t.Context(), Options{CPU: time.Hour, CPUClock: func() time.Duration { return 0 },
		Now: func() time.Time { return time.Time{} }, Clock: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.Eval(t.Context(), Program{Source: "6 * 7"}); err != nil {
		t.Fatal(err)
	}
	if s, err := vm.State(t.Context()); err != nil || s.Status != StatusDone && s.Status != StatusRunning {
		t.Errorf("%v %v", s, err)
	}
}

func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
