package seccomp_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// TestNumbers compares numbers.txt with golang.org/x/sys, which has them from the
// kernel's own tables, and rewrites it with RINGD_UPDATE=1.
func TestNumbers(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil || len(dir) < 2 {
		t.Fatalf("where is golang.org/x/sys: %q, %v", dir, err)
	}
	amd, arm := tableOf(t, string(dir), seccomp.AMD64), tableOf(t, string(dir), seccomp.ARM64)
	delete(arm, "arch_specific_syscall") // marks the begin of a range, and is no call
	names := maps.Clone(amd)
	maps.Copy(names, arm)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%s %s %s\n", name, at(amd, name), at(arm, name))
	}
	if os.Getenv("RINGD_UPDATE") != "" {
		if err := os.WriteFile("numbers.txt", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.String(), string(got)); d != "" {
		t.Errorf("numbers.txt is another (RINGD_UPDATE=1 writes it):\n%s", d)
	}
}

func tableOf(t *testing.T, dir, arch string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(dir), "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+=\s+(\d+)$`).FindAllStringSubmatch(string(b), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		out[strings.ToLower(m[1])] = n
	}
	if len(out) < 300 {
		t.Fatalf("%s: %d calls", arch, len(out))
	}
	return out
}

func at(m map[string]int, name string) string {
	if n, ok := m[name]; ok {
		return strconv.Itoa(n)
	}
	return "-"
}
