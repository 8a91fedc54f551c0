package kernel_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// script is a spec of /bin/sh with some programs.
func script(text string, programs ...string) executors.Spec {
	s := program("/bin/sh", "-c", text)
	for _, p := range programs {
		s.Kernel.Exec = append(s.Kernel.Exec, profiles.PathRule{Path: p})
	}
	return s
}

func TestStreamsAndExit(t *testing.T) {
	for _, r := range []*kernel.Ring{bare(t), pooled(t, 0), pooled(t, 1)} {
		state, _ := r.State()
		for range 2 {
			s := script(`read line; echo "got $line $A"; echo oops >&2; pwd; exit 7`)
			s.Env, s.Dir = []string{"A=b"}, "/"
			s.MinTier = profiles.TierProcess
			g := launch(t, r, s)
			x := g.Guest.(executors.Streamer)
			if _, err := io.WriteString(x.Stdin(), "a line\n"); err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(x.Stdout())
			if err != nil || string(out) != "got a line b\n/\n" {
				t.Errorf("%s: %q %v", state, out, err)
			}
			said, err := io.ReadAll(x.Stderr())
			if err != nil || string(said) != "oops\n" {
				t.Errorf("%s: %q %v", state, said, err)
			}
			e, err := x.Wait(t.Context())
			if err != nil || e.Code != 7 || e.Signal != 0 || e.Limit != "" || e.Peak == 0 {
				t.Errorf("%s: %+v %v", state, e, err)
			}
			if cpu, err := g.CPU(); err != nil || cpu <= 0 {
				t.Errorf("%s: processor time %v %v", state, cpu, err)
			}
		}
		settled(t, r)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	for _, r := range []*kernel.Ring{bare(t), pooled(t, 0)} {
		s := script(`while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; echo b >&2; done`)
		s.MinTier = profiles.TierProcess
		s.Kernel.OutputBytes = 10_000
		g := launch(t, r, s)
		x := g.Guest.(executors.Streamer)
		sizes := make(chan int, 2)
		for _, from := range []io.Reader{x.Stdout(), x.Stderr()} {
			go func() {
				b, _ := io.ReadAll(from)
				sizes <- len(b)
			}()
		}
		if n := <-sizes + <-sizes; n != 10_000 {
			t.Errorf("%d bytes, want 10000", n)
		}
		if e, err := x.Wait(t.Context()); err != nil || e.Limit != "output" {
			t.Errorf("%+v %v", e, err)
		}
	}
}

func TestLimitsOfAProgram(t *testing.T) {
	r := pooled(t, 0)
	for _, tt := range []struct {
		name  string
		spec  func() executors.Spec
		limit string
		code  int
	}{
		{"cpu", func() executors.Spec {
			s := script(`while :; do :; done`)
			s.Kernel.CPUMillis = 300
			return s
		}, "cpu", 0},
		{"wall", func() executors.Spec {
			s := script(`read x`)
			s.Kernel.WallMillis = 200
			return s
		}, "wall", 0},
		{"cpu of two", func() executors.Spec {
			s := script(`(while :; do :; done) & while :; do :; done`)
			s.Kernel.CPUMillis = 300
			return s
		}, "cpu", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := launch(t, r, tt.spec())
			e, err := g.Guest.(executors.Streamer).Wait(t.Context())
			if err != nil || e.Limit != tt.limit {
				t.Errorf("%+v %v", e, err)
			}
		})
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	r := pooled(t, 1)
	s := program("/bin/sh", "-c", "exit")
	s.Dir = "/nowhere"
	g, err := r.Launch(t.Context(), s)
	if g != nil || err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("%v, %v", g, err)
	}
	settled(t, r)
}

// Descendants that have left their parents and their session end with the guest.
const spread = `(setsid sleep 600 & ) ; (sh -c 'sleep 600 & sleep 600' & ) ; sleep 600 & (sleep 600 &) ; echo started; read x`

func TestKillEndsAllDescendants(t *testing.T) {
	r := pooled(t, 0)
	g := launch(t, r, script(strings.Replace(spread, "setsid ", "", 1), "/bin/sh", "/usr/bin/sleep"))
	line, err := bufio.NewReader(g.Guest.(executors.Streamer).Stdout()).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Fatalf("%q %v", line, err)
	}
	all := within(t, kernel.PID(g.Guest))
	if len(all) < 6 {
		t.Fatalf("only %d processes", len(all))
	}
	began := time.Now()
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d processes ended in %v", len(all), time.Since(began))
	if i := slices.IndexFunc(all, alive); i >= 0 {
		t.Errorf("process %d lives on", all[i])
	}
}

// family is a daemon with a guest that has descendants.
func family() int {
	r, err := kernel.New(kernel.Config{Go: func(f func()) { go f() }, Token: rand.Reader})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g, err := r.Launch(context.Background(), script(strings.Replace(spread, "setsid ", "", 1), "/bin/sh",
		"/usr/bin/sleep"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	line, err := bufio.NewReader(g.(executors.Streamer).Stdout()).ReadString('\n')
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(line, kernel.PID(g), "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func TestNothingOutlivesTheDaemon(t *testing.T) {
	needNamespaces(t)
	c := exec.CommandContext(t.Context(), "/proc/self/exe", roleFamily)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(stdout)
	word, _ := in.ReadString('\n')
	number, _ := in.ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || word != "started\n" {
		t.Fatalf("%q %q", word, number)
	}
	var fds []int
	for _, p := range within(t, pid) {
		fds = append(fds, handle(t, p))
	}
	if len(fds) < 6 {
		t.Fatalf("only %d processes", len(fds))
	}
	began := time.Now()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		waitEnd(t, fd)
	}
	t.Logf("%d processes ended %v after the daemon was killed", len(fds), time.Since(began))
	_ = c.Wait()
}

// grouped is a daemon in a delegated group.
func grouped() int {
	err := func() error {
		r, err := kernel.New(kernel.Config{Go: func(f func()) { go f() }, Token: rand.Reader, Groups: true})
		if err != nil {
			return err
		}
		if err := r.Groups(); err != nil {
			return err
		}
		g, err := r.Launch(context.Background(), program("/usr/bin/sleep", "600"))
		if err != nil {
			return err
		}
		at, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", kernel.PID(g)))
		if err != nil {
			return err
		}
		fmt.Printf("%s\n%v\n", at, g.Attestation().Layers)
		return errors.Join(g.Kill(), g.Conn().Close(), r.Close())
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func TestGuestHasAGroupOfItsOwn(t *testing.T) {
	needNamespaces(t)
	if os.Getuid() != 0 {
		t.Skip("a group to delegate is made by root")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	for line := range strings.Lines(string(mounts)) {
		if before, after, _ := strings.Cut(line, " - "); strings.HasPrefix(after, "cgroup2 ") {
			at = strings.Fields(before)[4]
		}
	}
	dir := filepath.Join(at, "ringd-ring-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); at == "" || err != nil {
		t.Skipf("no group can be made: %v", err)
	}
	t.Cleanup(func() {
		for _, d := range []string{dir + "/ringd-daemon", dir} {
			if err := unix.Rmdir(d); err != nil && !errors.Is(err, unix.ENOENT) {
				t.Errorf("%s: %v: a guest's group is left", d, err)
			}
		}
	})
	if err := errors.Join(unix.Setxattr(dir, "user.delegate", []byte("1"), 0)); err != nil {
		t.Skipf("%s takes no mark: %v", dir, err)
	}
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	c := exec.CommandContext(t.Context(), "/proc/self/exe", roleGrouped)
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{filepath.Base(dir) + "/guest-", initproto.LayerCgroups + ":", "cgroups_memory:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s lacks %q", out, want)
		}
	}
	if strings.Contains(string(out), initproto.LayerCgroups+":unavailable") {
		t.Errorf("%s", out)
	}
}
