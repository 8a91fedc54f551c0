package kernel_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel"
)

// needNamespaces skips where not even an init can be started.
func needNamespaces(t testing.TB) {
	t.Helper()
	needKernel(t, ring(t))
}

func descriptors(t testing.TB) int {
	t.Helper()
	l, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

// children are the processes that this one has forked and not waited for.
func children(t testing.TB) []int {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if stat, err := os.ReadFile("/proc/" + p.Name() + "/stat"); err == nil { // else it is gone
			_, after, _ := strings.Cut(string(stat), ") ")
			if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
				list = append(list, pid)
			}
		}
	}
	return list
}

func noChildren(t testing.TB) {
	t.Helper()
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// within are the processes in the namespace of this one, itself included.
func within(t testing.TB, pid int) []int {
	t.Helper()
	space := func(pid int) string {
		s, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		if err != nil {
			return ""
		}
		return s
	}
	want := space(pid)
	if want == "" {
		t.Fatalf("process %d is in no namespace", pid)
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, p := range all {
		if n, err := strconv.Atoi(p.Name()); err == nil && space(n) == want {
			list = append(list, n)
		}
	}
	return list
}

// eventually looks until something holds, and fails when it does not for long.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("%s: not seen", what)
		}
	}
}

// settled waits until a ring prepares nothing any more.
func settled(t testing.TB, r *kernel.Ring) {
	t.Helper()
	eventually(t, "a pool that is full", func() bool { return kernel.Coming(r) == 0 })
}

// alive tells whether a process runs, and is not dead and merely not waited for.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && unix.Kill(pid, 0) == nil
}
