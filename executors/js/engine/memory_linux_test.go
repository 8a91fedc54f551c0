package engine // the file-size limit of a process has no other door

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestStartsWithoutFiles: where no file may be written, VMs copy the image; the
// process must not end with SIGXFSZ. It runs in a child, whose limit cannot be
// raised again.
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
	e, err := New(t.Context(), Config{})
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.image.backing != nil {
		t.Error("a file was made all the same")
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
