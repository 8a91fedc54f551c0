package main

// In the package for TestMain, which makes this binary ringd.

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// verb runs ringd and returns its exit code and what it wrote.
func verb(t *testing.T, dir string, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "ringd", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	var failed *exec.ExitError
	if err := cmd.Run(); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, stdout.String(), stderr.String()
}

// The beginning of an id stands for its run. One that two runs share is refused by every
// verb, with both ids, and no run is moved.
func TestAmbiguousRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	dir := t.TempDir()
	one, two := "raaaabbbb"+strings.Repeat("c", 18), "raaaabbbb"+strings.Repeat("d", 18)
	kept, err := store.Open(t.Context(), store.Config{Dir: filepath.Join(dir, "st", "store"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{one, two} {
		if err := kept.Start(t.Context(), store.Run{ID: id, Agent: "a", Actor: "uid:0", Executor: "js",
			State: store.Failed}); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"runs"}, {"approve", "--yes"}, {"approve", "--json"}, {"deny", "--reason", "no"}, {"cancel"},
	} {
		shared := append([]string{args[0], "raaaabbbb", "--state", "st"}, args[1:]...)
		if code, _, said := verb(t, dir, shared...); code != 1 || !strings.Contains(said, one+"  failed  a") ||
			!strings.Contains(said, two) {
			t.Errorf("%v: exit code %d\n%s", shared, code, said)
		}
		short := append([]string{args[0], "raa", "--state", "st"}, args[1:]...)
		if code, _, said := verb(t, dir, short...); code != 2 || !strings.Contains(said, "at least 4 letters") {
			t.Errorf("%v: exit code %d\n%s", short, code, said)
		}
	}
	if code, _, said := verb(t, dir, "revoke", "raaaabbbb", "bridge:pay", "--state", "st"); code != 1 ||
		!strings.Contains(said, two) {
		t.Errorf("revoke: exit code %d\n%s", code, said)
	}
	if code, out, said := verb(t, dir, "runs", "raaaabbbbc", "--state", "st"); code != 0 ||
		!strings.Contains(out, "run "+one+": failed") {
		t.Errorf("the beginning of one: exit code %d\n%s%s", code, out, said)
	}
	if code, out, _ := verb(t, dir, "runs", "--state", "st"); code != 0 || strings.Contains(out, one) ||
		!strings.Contains(out, "\n"+one[:12]+"  failed ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ := verb(t, dir, "runs", "--state", "st", "--wide"); code != 0 ||
		!strings.Contains(out, "\n"+one+"  failed ") {
		t.Errorf("wide: exit code %d\n%s", code, out)
	}
}
