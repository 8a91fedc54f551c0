package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDiskAtTheStart: a daemon whose disk is full does not start, says how to
// get out, and so does doctor.
func TestFullDiskAtTheStart(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	}()
	state := filepath.Join(mount, "state")
	for _, args := range [][]string{
		{"serve", "--sync", t.TempDir(), "--state", state, "--socket", filepath.Join(t.TempDir(), "s")},
		{"doctor", "--state", state},
	} {
		for _, left := range []int{0, 64 << 10} {
			if err := os.RemoveAll(state); err != nil {
				t.Fatal(err)
			}
			// What is not there is not written: an error is the end of the room.
			_ = os.WriteFile(filepath.Join(mount, "filler"), make([]byte, 2<<20-left), 0o600)
			out, err := exec.CommandContext(t.Context(), "ringd", args...).CombinedOutput()
			code := 0
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				code = ended.ExitCode()
			}
			if want := "make room on the disk of " + state; code != 125 || !strings.Contains(string(out), want) {
				t.Errorf("%s with %d bytes left: exit %d, want 125 and %q:\n%.1000s", args[0], left, code, want, out)
			}
		}
	}
}
