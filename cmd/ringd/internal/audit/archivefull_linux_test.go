package audit_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// apart runs the test that calls it in a mount namespace of its own, and reports whether
// this is the process there.
func apart(t *testing.T) bool {
	t.Helper()
	const inside = "RINGD_TEST_APART"
	if os.Getenv(inside) == t.Name() {
		return true
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"="+t.Name())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Start()
	if err != nil {
		if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
			t.Fatalf("no namespace: %v", err)
		}
		t.Skipf("no namespace: %v", err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out.String())
	}
	return false
}

// TestArchiveFullDisk: an archive whose disk is full, at whatever byte, takes nothing from
// the log and names the remedy; the log goes on and holds. With room, the same order
// archives what it would have.
func TestArchiveFullDisk(t *testing.T) {
	if !apart(t) {
		return
	}
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		t.Fatal(err)
	}
	defer func() { check(t, syscall.Unmount(mount, 0)) }()
	a := newArchived(t)
	a.to = filepath.Join(mount, "archive")
	check(t, os.Mkdir(a.to, 0o700))
	a.cfg.SegmentBytes = 128 << 10
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 900)
	filler, page := filepath.Join(mount, "filler"), os.Getpagesize()
	refusals := 0
	for left := 0; ; left += page {
		// What is not there is not written: an error is the end of the room.
		_ = os.WriteFile(filler, make([]byte, 512<<10), 0o600)
		info, err := os.Stat(filler)
		check(t, err)
		check(t, os.Truncate(filler, info.Size()-int64(left)))
		before := l.Head()
		done, err := l.Archive(t.Context(), a.order(300))
		if err == nil {
			break
		}
		refusals++
		if !errors.Is(err, audit.ErrArchive) || !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), "make room on the disk of "+a.to) {
			t.Fatalf("with %d bytes left: %v", left, err)
		}
		if bytes, files := l.Packed(); len(done) != int(files) || (bytes > 0) != (files > 0) {
			t.Fatalf("with %d bytes left: archived %d, and counts %d of %d bytes", left, len(done), files, bytes)
		}
		if len(done) > 0 {
			t.Fatalf("with %d bytes left one of the segments went: make the disk smaller", left)
		}
		a.fill(t, l, 1)
		end := l.Head()
		if got := sequences(t, a.cfg.Dir, audit.Filter{}); int64(len(got)) != end.Seq || end.Seq <= before.Seq {
			t.Fatalf("with %d bytes left: %d of %d records are in the log", left, len(got), end.Seq)
		}
		mustVerify(t, a.cfg.Dir, audit.Check{Key: publicKey(), Least: end})
		for _, name := range files(t, a.to) {
			if strings.HasSuffix(name, ".new") {
				t.Errorf("with %d bytes left %s stays", left, name)
			}
		}
	}
	if refusals < 2 {
		t.Errorf("%d refusals: the disk was not full both for a segment and for its head", refusals)
	}
	check(t, os.Remove(filler))
	a.fill(t, l, 1)
	end := l.Head()
	mustClose(t, l)
	a.holds(t, end)
	a.cfg.Least = end
	l = mustOpen(t, a.cfg)
	if size, count := l.Packed(); count == 0 || size != sizes(t, a.to) {
		t.Errorf("opened again: %d files of %d bytes in the archive, want %d bytes", count, size, sizes(t, a.to))
	}
	mustClose(t, l)
}

// sizes is how large the segments in an archive are.
func sizes(t *testing.T, to string) (n int64) {
	t.Helper()
	for _, name := range files(t, to) {
		if strings.HasSuffix(name, ".gz") {
			info, err := os.Stat(filepath.Join(to, name))
			check(t, err)
			n += info.Size()
		}
	}
	return n
}
