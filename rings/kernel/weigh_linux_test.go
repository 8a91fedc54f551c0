package kernel

// In the package: the processes are files of the test, since the order in which a guest
// is looked at, and how far, shows in no guest that ends.

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fake is a process whose figures are MiB.
type fake struct {
	pid               int
	anon, shmem, size int
	pssAnon, pssShmem int // pssAnon -1: smaps_rollup cannot be read
	smaps             string
	mappings          int
}

// folderOf writes what /proc has of processes.
func folderOf(t *testing.T, all []fake) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range all {
		at := filepath.Join(root, fmt.Sprint(p.pid))
		maps := strings.Repeat("7f0000000000-7f0000001000 r--p 00000000 00:00 0\n", p.mappings)
		files := map[string]string{
			"status": fmt.Sprintf("Name:\tx\nRssAnon:\t%d kB\nRssShmem:\t%d kB\nVmPTE:\t0 kB\nVmSize:\t%d kB\nVmData:\t%d kB\n",
				p.anon<<10, p.shmem<<10, p.size<<10, p.size<<10),
			"maps": maps,
		}
		if p.pssAnon >= 0 {
			files["smaps_rollup"] = fmt.Sprintf("Pss_Anon: %d kB\nPss_Shmem: %d kB\n", p.pssAnon<<10, p.pssShmem<<10)
		}
		if p.smaps != "" {
			files["smaps"] = p.smaps
		}
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func scaleOf(t *testing.T, all []fake, files int64, allowed time.Duration) *scale {
	t.Helper()
	s := &scale{
		root: folderOf(t, all), folders: []string{"/tmp"}, limit: 100 << 20, files: files, objects: map[string]int64{},
	}
	if err := s.list(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s.clock = watch(allowed, func() {})
	t.Cleanup(s.clock.stop)
	return s
}

func TestWeigh(t *testing.T) {
	const mib = 1 << 20
	unread := fake{pid: 3, anon: 90, size: 90, pssAnon: -1}
	inTmp := "7f0000000000-7f0000001000 rw-s 00000000 00:2a 7 /tmp/f\nSize: 61440 kB\nPss: 61440 kB\n"
	for _, tt := range []struct {
		name    string
		all     []fake
		files   int64
		allowed time.Duration
		want    int64
		held    string
	}{
		{"one has all", []fake{{pid: 2, anon: 120, size: 120, pssAnon: -1}}, 0, time.Minute, 120 * mib, ""},
		{"within by the cheap figures", []fake{
			{pid: 2, anon: 40, pssAnon: -1}, {pid: 3, anon: 30, pssAnon: -1},
		}, 0, time.Minute, 40 * mib, ""},
		{"pages that processes share", []fake{
			{pid: 2, anon: 90, pssAnon: 45}, {pid: 3, anon: 90, pssAnon: 45},
		}, 0, time.Minute, 90 * mib, ""},
		{"the largest first, and none after the limit", []fake{
			{pid: 2, anon: 10, pssAnon: -1}, {pid: 4, shmem: 95, pssShmem: 95}, {pid: 5, shmem: 80, pssShmem: 80},
		}, 0, time.Minute, 175 * mib, ""},
		{"mappings", []fake{
			{pid: 2, anon: 60, size: 480, pssAnon: -1, mappings: 120_000}, {pid: 3, size: 480, pssAnon: -1, mappings: 120_000},
		}, 0, time.Minute, 100*mib + 1, heldMappings},
		{"few mappings", []fake{{pid: 2, anon: 60, size: 480, mappings: 30_000, pssAnon: -1}}, 0, time.Minute, 60 * mib, ""},
		{"no time left", []fake{unread, {pid: 2, anon: 90, pssAnon: -1}}, 0, -time.Hour, 180 * mib, heldUncounted},
		{"a file in memory that is mapped", []fake{
			{pid: 2, shmem: 60, pssShmem: 60, smaps: inTmp},
		}, 60 * mib, time.Minute, 60 * mib, ""},
		{"files in memory, and shared memory", []fake{
			{pid: 2, shmem: 60, pssShmem: 60},
		}, 60 * mib, time.Minute, 120 * mib, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scaleOf(t, tt.all, tt.files, tt.allowed)
			got, held := s.weigh()
			if got != tt.want || held != tt.held {
				t.Errorf("%d MiB, %q, want %d MiB, %q", got>>20, held, tt.want>>20, tt.held)
			}
		})
	}
}

// A thread that runs is late by its processor time, and one that waits for a processor
// or for another thread of this program is not.
func TestStopwatch(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	over := make(chan struct{})
	w := watch(60*time.Millisecond, func() { close(over) })
	defer w.stop()
	wait := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(wait) })
	<-wait
	if w.late() {
		t.Fatal("late without having run")
	}
	for !w.late() {
	}
	<-over
}
