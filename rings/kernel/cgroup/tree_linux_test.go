package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/cgroup"
)

// fake is a tree of ordinary files that looks like a delegated subtree.
func fake(t *testing.T, controllers string) (cgroup.Config, string) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "mnt with space", "ringd.service")
	for _, d := range []string{dir, filepath.Join(dir, "ringd-daemon")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"cgroup.procs": strconv.Itoa(os.Getpid()) + "\n", "cgroup.events": "populated 1\n", "cgroup.controllers": controllers + "\n", "cgroup.subtree_control": "",
		"ringd-daemon/cgroup.procs": "",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	at := strings.ReplaceAll(filepath.Dir(dir), " ", `\040`)
	write(t, filepath.Join(root, "cgroup"), "5:memory:/elsewhere\n0::/system.slice/ringd.service\n")
	write(t, filepath.Join(root, "mountinfo"), fmt.Sprintf(
		"24 1 0:22 / /sys rw - sysfs sysfs rw\n30 24 0:26 /other.slice /nowhere rw - cgroup2 cgroup2 rw\n31 24 0:26 /system.slice %s rw shared:4 - cgroup2 cgroup2 rw\n", at))
	return cgroup.Config{Cgroup: filepath.Join(root, "cgroup"), Mounts: filepath.Join(root, "mountinfo"),
		UID: os.Getuid()}, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// delegate marks a folder as systemd does; an ordinary user owns it instead.
func delegate(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		if err = unix.Setxattr(dir, "trusted.delegate", []byte("1"), 0); err != nil {
			t.Skipf("%s takes no mark: %v", dir, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFindDividesWhatIsDelegated(t *testing.T) {
	cfg, dir := fake(t, "cpuset cpu io memory pids")
	delegate(t, dir)
	tree, err := cgroup.Find(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "ringd-daemon", "cgroup.procs")); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("the daemon went to %q", got)
	}
	if got := read(t, filepath.Join(dir, "cgroup.subtree_control")); !strings.Contains(got, "+cpu") {
		t.Errorf("controllers: %q", got)
	}
	for _, c := range []string{cgroup.Memory, cgroup.PIDs, cgroup.CPU} {
		if why := tree.Missing(c); why != "" {
			t.Errorf("%s: %s", c, why)
		}
	}
	if tree.Missing("io") == "" {
		t.Error("a controller that is not used is said to hold")
	}
}

func TestMakeSetsEachLimit(t *testing.T) {
	cfg, dir := fake(t, "cpu memory pids")
	delegate(t, dir)
	tree, err := cgroup.Find(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Ordinary folders have no files of their own: without one of them nothing is
	// made, and with all of them each has its value.
	want := map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7",
		"cpu.weight": "50"}
	if g, err := tree.Make("guest-a", cgroup.Limits{MemoryBytes: 1 << 20, Processes: 7}); err == nil {
		t.Errorf("a group without its limits was made: %v", g)
	}
	if _, err := os.Stat(filepath.Join(dir, "guest-a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something of it is left: %v", err)
	}
	cgroup.SetMkdir(tree, func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		for name := range want {
			write(t, filepath.Join(path, name), "")
		}
		return nil
	})
	g, err := tree.Make("guest-a", cgroup.Limits{MemoryBytes: 1 << 20, Processes: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	got := map[string]string{}
	for name := range want {
		got[name] = read(t, filepath.Join(dir, "guest-a", name))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"", "..", "a/b", "."} {
		if _, err := tree.Make(name, cgroup.Limits{}); err == nil {
			t.Errorf("a group called %q was made", name)
		}
	}
}

func TestControllersAreMissingOneByOne(t *testing.T) {
	cfg, dir := fake(t, "pids")
	delegate(t, dir)
	tree, err := cgroup.Find(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Missing(cgroup.PIDs) != "" || tree.Missing(cgroup.Memory) == "" || tree.Missing(cgroup.CPU) == "" {
		t.Errorf("pids %q, memory %q, cpu %q", tree.Missing(cgroup.PIDs), tree.Missing(cgroup.Memory),
			tree.Missing(cgroup.CPU))
	}
}

func TestFindTakesNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, c *cgroup.Config, dir string)
		want  string
	}{
		{"no group of version 2", func(t *testing.T, c *cgroup.Config, _ string) { write(t, c.Cgroup, "4:memory:/\n") }, "no group of version 2"},
		{"a path that climbs", func(t *testing.T, c *cgroup.Config, _ string) { write(t, c.Cgroup, "0::/../../etc\n") }, "no group of version 2"},
		{"not mounted", func(t *testing.T, c *cgroup.Config, _ string) {
			write(t, c.Mounts, "24 1 0:22 / /sys rw - sysfs sysfs rw\n")
		}, "no cgroup2 file system"},
		{"outside of what is mounted", func(t *testing.T, c *cgroup.Config, _ string) { write(t, c.Cgroup, "0::/user.slice/x\n") }, "no cgroup2 file system"},
		{"no file", func(t *testing.T, c *cgroup.Config, _ string) { c.Cgroup += "-gone" }, "no such file"},
		{"the root group", func(t *testing.T, _ *cgroup.Config, dir string) {
			if err := os.Remove(filepath.Join(dir, "cgroup.events")); err != nil {
				t.Fatal(err)
			}
		}, "root group"},
		{"somebody else's", func(t *testing.T, c *cgroup.Config, _ string) { c.UID = os.Getuid() + 1 }, "somebody else"},
		{"not alone in it", func(t *testing.T, _ *cgroup.Config, dir string) {
			write(t, filepath.Join(dir, "cgroup.procs"), "1\n"+strconv.Itoa(os.Getpid())+"\n")
		}, "other processes"},
		{"no leaf to go to", func(t *testing.T, _ *cgroup.Config, dir string) {
			if err := os.Remove(filepath.Join(dir, "ringd-daemon", "cgroup.procs")); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, dir := fake(t, "cpu memory pids")
			delegate(t, dir)
			tt.spoil(t, &cfg, dir)
			_, err := cgroup.Find(cfg)
			var u *cgroup.Unavailable
			if !errors.As(err, &u) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if os.Getuid() == 0 {
		cfg, _ := fake(t, "cpu memory pids")
		if _, err := cgroup.Find(cfg); err == nil || !strings.Contains(err.Error(), "not delegated") {
			t.Errorf("root took a group that nobody had delegated: %v", err)
		}
	}
}

// roleTree is this binary in a group of its own: it divides the tree, puts a
// process into a group, freezes it and ends it.
const roleTree = "cgroup-test-tree"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == roleTree {
		if err := inTree(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func inTree() error {
	tree, err := cgroup.Find(cgroup.Config{UID: os.Getuid()})
	if err != nil {
		return err
	}
	g, err := tree.Make("guest-x", cgroup.Limits{MemoryBytes: 1 << 28, Processes: 8})
	if err != nil {
		return err
	}
	fmt.Printf("memory %q pids %q cpu %q\n", tree.Missing(cgroup.Memory), tree.Missing(cgroup.PIDs),
		tree.Missing(cgroup.CPU))
	c := exec.Command("/bin/sleep", "600")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.Dir().Fd())}
	if err := c.Start(); err != nil {
		return err
	}
	at, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.Process.Pid))
	if err != nil || !strings.Contains(string(at), "/guest-x") {
		return fmt.Errorf("the process is in %q: %w", at, err)
	}
	for used := time.Duration(0); used <= 0; { // its exec takes some
		if used, err = g.Used(); err != nil {
			return err
		}
	}
	if err := errors.Join(g.Freeze(), g.Kill()); err != nil {
		return err
	}
	state, err := c.Process.Wait()
	if err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return fmt.Errorf("the process ended as %v: %w", state, err)
	}
	return errors.Join(g.Close(), tree.Close())
}

// The kernel's own tree, of which this test makes a part and marks it as its own.
func TestRealTree(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a group of one's own is made by root")
	}
	at := realTree(t)
	dir := filepath.Join(at, "ringd-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no group can be made: %v", err)
	}
	t.Cleanup(func() {
		for _, d := range []string{dir + "/guest-x", dir + "/ringd-daemon", dir} {
			if err := unix.Rmdir(d); err != nil && !errors.Is(err, unix.ENOENT) {
				t.Errorf("%s: %v", d, err)
			}
		}
	})
	delegate(t, dir)
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	c := exec.CommandContext(t.Context(), "/proc/self/exe", roleTree)
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// realTree is where cgroup2 is mounted.
func realTree(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		if before, after, _ := strings.Cut(line, " - "); strings.HasPrefix(after, "cgroup2 ") {
			return strings.Fields(before)[4]
		}
	}
	t.Skip("no cgroup2 is mounted")
	return ""
}
