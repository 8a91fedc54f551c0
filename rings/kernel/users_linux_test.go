package kernel_test

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// asRoot makes a ring whose guests have users of this range.
func asRoot(t *testing.T, first, count int) *kernel.Ring {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root gives guests users of their own")
	}
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader, GuestID: first,
		GuestCount: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	needKernel(t, r)
	return r
}

// counted is a guest of the program of that name.
type counted struct {
	executors.Guest
	line string // that it has said
}

func countedSpec(program, agent string, args ...string) executors.Spec {
	s := off(append([]string{program}, args...))
	s.Agent, s.Seals, s.Kernel.Files, s.Kernel.TempBytes = agent, false, 2400, 1<<20
	return s
}

// start waits for what it says; the guest then lives until it is ended.
func (s counting) start(t *testing.T, r *kernel.Ring, agent string, args ...string) *counted {
	t.Helper()
	spec := countedSpec(s.program, agent, args...)
	if s.change != nil {
		s.change(&spec)
	}
	g, err := r.Launch(t.Context(), spec)
	if err != nil {
		t.Fatalf("%s of %s: %v", args[0], agent, err)
	}
	c := &counted{Guest: g}
	t.Cleanup(c.end)
	st := g.(executors.Streamer)
	line, err := bufio.NewReader(st.Stdout()).ReadString('\n')
	if err != nil {
		said, _ := io.ReadAll(st.Stderr())
		exit, failed := st.Wait(t.Context())
		t.Fatalf("%s of %s says %q, %s: %v; it ended with %+v, %v", args[0], agent, line, said, err, exit, failed)
	}
	c.line = strings.TrimSpace(line)
	return c
}

func (c *counted) end() { _ = errors.Join(c.Kill(), c.Conn().Close()) }

type counting struct {
	program string
	change  func(*executors.Spec)
}

func newCounting(t *testing.T) counting {
	t.Helper()
	return counting{program: built(t, "counted")["counted"]}
}

// TestAgentsHaveUsersOfTheirOwn: two agents never share one, one agent keeps its own.
func TestAgentsHaveUsersOfTheirOwn(t *testing.T) {
	r, c := asRoot(t, 0, 0), newCounting(t)
	first, second, again := c.start(t, r, "a", "id"), c.start(t, r, "b", "id"), c.start(t, r, "a", "id")
	nobodys := c.start(t, r, "", "id")
	if first.line != again.line {
		t.Errorf("guests of one agent are %q and %q", first.line, again.line)
	}
	seen := map[string]bool{}
	for _, l := range []string{first.line, second.line, nobodys.line} {
		var uid, euid, gid int
		if _, err := fmt.Sscan(l, &uid, &euid, &gid); err != nil || uid != euid || gid != kernel.DefaultGuestID ||
			uid <= kernel.DefaultGuestID || uid >= kernel.DefaultGuestID+kernel.DefaultGuestCount {
			t.Errorf("a guest is %q", l)
		}
		if seen[l] {
			t.Errorf("two guests of different agents are %q", l)
		}
		seen[l] = true
	}
}

// TestUsersAreUsedUp: an agent for whom there is no number is refused by name, and
// has that of another one whose guests have ended.
func TestUsersAreUsedUp(t *testing.T) {
	const first = 1879000000
	r, c := asRoot(t, first, 3), newCounting(t)
	one := c.start(t, r, "a", "id")
	_, err := r.Launch(t.Context(), countedSpec(c.program, "b", "id"))
	var denial *profiles.Denial
	if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeHostFull || denial.Capability != "agent b" ||
		!slices.ContainsFunc(denial.Decision.Instead, func(s string) bool {
			return strings.Contains(s, "guests.count")
		}) {
		t.Fatalf("a second agent: %v", err)
	}
	more := c.start(t, r, "a", "id") // its own
	one.end()
	if _, err := r.Launch(t.Context(), countedSpec(c.program, "b", "id")); !errors.As(err, &denial) {
		t.Fatalf("a second agent, while the first has a guest: %v", err)
	}
	more.end()
	if got := c.start(t, r, "b", "id"); got.line != one.line {
		t.Errorf("the other agent is %q, want the number that is free: %q", got.line, one.line)
	}
}

func TestUsersThatCannotBe(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives guests users of their own")
	}
	for _, tt := range []struct{ first, count int }{{-1, 0}, {1000, -1}, {1000, 2}, {1 << 30, 1 << 31}} {
		r, err := kernel.New(kernel.Config{Go: func(f func()) { go f() }, Token: rand.Reader, GuestID: tt.first,
			GuestCount: tt.count})
		if err == nil {
			t.Errorf("%d users from %d on are taken", tt.count, tt.first)
			_ = r.Close()
		}
	}
}

// TestOneAgentUsesUpWhatAnotherOneHas: pages of pipes are counted for a user. The
// guest of one agent takes more than a user may have, and a new pipe of its own has
// less room from then on; that of another agent has as much as ever. With one user
// for all guests it has not.
func TestOneAgentUsesUpWhatAnotherOneHas(t *testing.T) {
	const usual = 64 << 10
	for _, tt := range []struct {
		name         string
		first, count int
		want         bool
	}{{"a user for each agent", 0, 0, true}, {"one for all", 1879000000, 1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			r, c := asRoot(t, tt.first, tt.count), newCounting(t)
			if got := c.start(t, r, "victim", "room"); got.line != fmt.Sprintf("room for %d", usual) {
				t.Skipf("a pipe of this host has %s", got.line)
			}
			if got := c.start(t, r, "hog", "pipes", "1100"); got.line != "1100 pipes" {
				t.Fatalf("the hog has %s", got.line)
			}
			if got := c.start(t, r, "hog", "room"); got.line == fmt.Sprintf("room for %d", usual) {
				t.Skip("this host does not bound the pipes of a user")
			}
			if got := c.start(t, r, "victim", "room"); (got.line == fmt.Sprintf("room for %d", usual)) != tt.want {
				t.Errorf("the other agent has %s", got.line)
			}
		})
	}
}

// TestFilesBelongToOneUser: what is granted belongs to the first number of the range
// on disk, whoever wrote it, and in each guest to the guest. Files of others stay
// theirs.
func TestFilesBelongToOneUser(t *testing.T) {
	r, c := asRoot(t, 0, 0), newCounting(t)
	dir, err := os.MkdirTemp("/var/tmp", "ringd-users")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(dir, "others")
	if err := os.WriteFile(others, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chown(dir, kernel.DefaultGuestID, kernel.DefaultGuestID), os.Chmod(dir, 0o700),
		os.Chown(old, kernel.DefaultGuestID, kernel.DefaultGuestID), os.Chown(others, 4711, 4711),
		os.Chmod(others, 0o666))
	if err != nil {
		t.Fatal(err)
	}
	c.change = func(s *executors.Spec) {
		s.FileBytes = 1 << 20
		s.Kernel.Write = []profiles.PathRule{{Path: dir}}
		s.Kernel.Read = s.Kernel.Write
	}
	for i, agent := range []string{"a", "b"} {
		var uid, euid, gid int
		if _, err := fmt.Sscan(c.start(t, r, agent, "id").line, &uid, &euid, &gid); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("new2:%d:%d ", uid, gid)
		if i > 0 {
			want += fmt.Sprintf("new3:%d:%d ", uid, gid)
		}
		want += fmt.Sprintf("old:%d:%d others:%d:%d", uid, gid, 65534, 65534) // who has no number in the guest
		if got := c.start(t, r, agent, "write", dir); got.line != want {
			t.Errorf("agent %s sees %q, want %q", agent, got.line, want)
		}
	}
	for name, want := range map[string]uint32{"old": kernel.DefaultGuestID, "new2": kernel.DefaultGuestID,
		"new3": kernel.DefaultGuestID, "others": 4711} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != want || s.Gid != want {
			t.Errorf("%s belongs to %d:%d on disk, want %d", name, s.Uid, s.Gid, want)
		}
	}
}
