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
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Roles of this test binary when it is started again.
const (
	roleGuest   = "kernel-test-guest"   // does what the connection says, a line a command
	roleGrouped = "kernel-test-grouped" // starts a guest in a control group of its own
	roleFamily  = "kernel-test-family"  // starts a guest with descendants, waits to be killed
	roleDriver  = "kernel-test-driver"  // starts the programs that the connection names
	roleEnd     = "kernel-test-end"     // ends with 42
	roleParent  = "kernel-test-parent"  // starts a guest, prints its pid, waits to be killed
)

func TestMain(m *testing.M) {
	if os.Args[0] == "ringd-init" {
		os.Exit(falseInit())
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case roleGuest:
			os.Exit(guest())
		case roleDriver:
			os.Exit(driver())
		case roleEnd:
			os.Exit(42)
		case roleParent:
			os.Exit(parent())
		case roleGrouped:
			os.Exit(grouped())
		case roleFamily:
			os.Exit(family())
		}
	}
	os.Exit(m.Run())
}

// guest answers commands on its connection.
func guest() int {
	from, to := os.NewFile(initproto.Connection, "host"), os.NewFile(initproto.Answers, "host")
	in := bufio.NewScanner(from)
	for in.Scan() {
		word, arg, _ := strings.Cut(in.Text(), " ")
		var out string
		switch word {
		case "pid":
			out = strconv.Itoa(os.Getpid())
		case "env":
			out = fmt.Sprintf("%q", os.Environ())
		case "read":
			b, err := os.ReadFile(arg)
			out = fmt.Sprintf("%q %v", b, err)
		case "fds": // without those that the Go runtime opens itself
			list, _ := os.ReadDir("/proc/self/fd")
			var fds []string
			for _, f := range list {
				to, err := os.Readlink("/proc/self/fd/" + f.Name())
				if err == nil && !strings.Contains(to, "/proc/") && !strings.HasPrefix(to, "anon_inode:[event") &&
					!strings.HasPrefix(to, "/sys/fs/cgroup/") {
					fds = append(fds, f.Name()+"="+strings.SplitN(to, ":", 2)[0])
				}
			}
			slices.Sort(fds)
			out = strings.Join(fds, " ")
		case "ids":
			sid, _ := unix.Getsid(0)
			wd, _ := os.Getwd()
			out = fmt.Sprintf("%v %v %s", sid == os.Getpid(), unix.Getpgrp() == os.Getpid(), wd)
		case "write":
			f, err := os.CreateTemp("", "x")
			if err == nil {
				_, err = f.Write(make([]byte, 5000))
				_ = os.Remove(f.Name())
			}
			out = fmt.Sprint(err)
		case "child": // a descendant in the same group
			c := exec.Command("/proc/self/exe", roleGuest)
			c.ExtraFiles = []*os.File{from, to}
			err := c.Start()
			out = fmt.Sprint(err)
			if err == nil {
				out = strconv.Itoa(c.Process.Pid)
			}
		case "hog":
			type block struct {
				next *block
				b    []byte
			}
			var all *block
			for {
				all = &block{next: all, b: make([]byte, 16<<20)}
				for i := range len(all.b) / 4096 {
					all.b[i*4096] = 1
				}
			}
		case "exit":
			return 0
		}
		fmt.Fprintln(to, out)
	}
	return 0
}

func parent() int {
	r, err := kernel.New(kernel.Config{Go: func(f func()) { go f() }, Token: rand.Reader})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	kernel.SetFinding(r, lacking()) // TestNothingOutlivesTheDaemon is of one that gives the layers
	g, err := r.Launch(context.Background(), spec())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Fprintln(g.Conn(), "pid")
	line, _ := bufio.NewReader(g.Conn()).ReadString('\n')
	fmt.Print(line)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func spec() executors.Spec {
	return executors.Spec{Executor: "js", Argv: []string{"/proc/self/exe", roleGuest}, MinTier: profiles.TierWasm,
		CPU: 20 * time.Second, MemoryBytes: 256 << 20, Kernel: profiles.Kernel{Executor: "js"}}
}

// bare is a ring of a host without namespaces.
func bare(t *testing.T) *kernel.Ring {
	t.Helper()
	r := ring(t)
	kernel.SetFinding(r, lacking())
	return r
}

func lacking() initproto.Report {
	return initproto.Report{Failed: initproto.LayerNamespaces, Kind: initproto.KindMissing, Reason: "not here",
		Remedy: "another host"}
}

func ring(t testing.TB) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return r
}

type talk struct {
	executors.Guest
	in *bufio.Reader
}

func launch(t testing.TB, r *kernel.Ring, s executors.Spec) talk {
	t.Helper()
	g, err := r.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Kill(), g.Conn().Close()); err != nil {
			t.Error(err)
		}
	})
	return talk{g, bufio.NewReader(g.Conn())}
}

func (g talk) say(t testing.TB, line string) string {
	t.Helper()
	if _, err := fmt.Fprintln(g.Conn(), line); err != nil {
		t.Fatal(err)
	}
	s, err := g.in.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSpace(s)
}

// handle is a pidfd, which becomes readable when the process has ended.
func handle(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// waitEnd fails when the process lives on for long.
func waitEnd(t *testing.T, fd int) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("the process lives on: %d %v", n, err)
		}
		return
	}
}

func TestGuestHasNothing(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	// A descriptor that this process did not mark, as if it had been started with it.
	leak, err := unix.Open(filepath.Join(t.TempDir(), "key"), unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	g := launch(t, bare(t), spec())
	pid := g.say(t, "pid")

	for _, tt := range []struct{ say, want string }{
		{"env", "[]"},
		{"fds", "0=/dev/null 1=/dev/null 2=/dev/null 3=pipe 4=pipe"},
		{"ids", "true true /"},
	} {
		if got := g.say(t, tt.say); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.say, got, tt.want)
		}
	}
	if env, err := os.ReadFile("/proc/" + pid + "/environ"); err != nil || len(env) != 0 {
		t.Errorf("environment %q, %v", env, err)
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1\n") {
		t.Errorf("new privileges are not given up: %v", err)
	}
	if got := g.say(t, "write"); !strings.Contains(got, "file too large") {
		t.Errorf("write of a file: %s", got)
	}
	limits, err := os.ReadFile("/proc/" + pid + "/limits")
	if err != nil {
		t.Fatal(err)
	}
	data := "Max data size 268435456 268435456 bytes"
	if raceBuild(g.Attestation()) {
		data = "Max data size unlimited"
	}
	for _, want := range []string{"Max cpu time 21 21 seconds", "Max file size 0 0 bytes", data,
		"Max core file size 1 1 bytes", "Max open files 64 64 files"} {
		if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("limits: no %q in\n%s", want, limits)
		}
	}
}

func TestAttestationSaysWhatIsMissing(t *testing.T) {
	g := launch(t, bare(t), spec())
	a := g.Attestation()
	if a.Tier != profiles.TierWasm {
		t.Errorf("tier %s", a.Tier)
	}
	for _, l := range []string{"namespaces", "landlock", "seccomp", "mounts", "cgroups"} {
		if a.Layers[l] != "unavailable" {
			t.Errorf("layer %s: %q", l, a.Layers[l])
		}
	}
	a.Layers["seccomp"] = "enforced" // a caller's map is its own
	if g2 := launch(t, bare(t), spec()); g2.Attestation().Layers["seccomp"] != "unavailable" {
		t.Error("attestations share a map")
	}
}

func TestLaunchRefuses(t *testing.T) {
	r := bare(t)
	change := func(f func(*executors.Spec)) executors.Spec {
		s := spec()
		f(&s)
		return s
	}
	for _, tt := range []struct {
		name   string
		spec   executors.Spec
		denial bool
		want   string
	}{
		{"the zero spec", executors.Spec{}, true, ""},
		{"a stronger tier", change(func(s *executors.Spec) { s.MinTier = profiles.TierOS }), true, "os-sandbox"},
		{"microvm", change(func(s *executors.Spec) { s.MinTier = profiles.TierMicroVM }), true, "microvm"},
		{"no tier", change(func(s *executors.Spec) { s.MinTier = "" }), true, "none named"},
		{"an unknown tier", change(func(s *executors.Spec) { s.MinTier = "moon" }), true, "moon"},
		{"wasm for an executor without it", change(func(s *executors.Spec) { s.Executor, s.Kernel.Executor = "python", "python" }), true, "python"},
		{"no processor limit", change(func(s *executors.Spec) { s.CPU = 0 }), false, "incomplete"},
		{"no memory limit", change(func(s *executors.Spec) { s.MemoryBytes = 0 }), false, "incomplete"},
		{"no program", change(func(s *executors.Spec) { s.Argv = nil }), false, "incomplete"},
		{"a program that is not there", change(func(s *executors.Spec) { s.Argv = []string{"/nonexistent"} }), false, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := r.Launch(t.Context(), tt.spec)
			if g != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, %v", g, err)
			}
			var d *profiles.Denial
			if errors.As(err, &d) != tt.denial {
				t.Fatalf("error %v: denial %v", err, !tt.denial)
			}
			if tt.denial && (d.Decision.Code != profiles.CodeTierUnavailable || len(d.Decision.Instead) == 0) {
				t.Errorf("decision %+v", d.Decision)
			}
		})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Launch(t.Context(), spec()); !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestKillEndsTheGroup(t *testing.T) {
	g := launch(t, bare(t), spec())
	child, err := strconv.Atoi(g.say(t, "child"))
	if err != nil {
		t.Fatal(err)
	}
	fd := handle(t, child)
	for range 2 {
		if err := g.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	waitEnd(t, fd)
	if cpu, err := g.CPU(); err != nil || cpu <= 0 {
		t.Errorf("processor time of a dead guest: %v %v", cpu, err)
	}
}

func TestCloseEndsGuests(t *testing.T) {
	r := bare(t)
	g := launch(t, r, spec())
	pid, err := strconv.Atoi(g.say(t, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	fd := handle(t, pid)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, fd)
}

// The daemon is killed so that it cannot clean up; its guests must not outlive it.
func TestGuestDiesWithItsParent(t *testing.T) {
	p := exec.Command("/proc/self/exe", roleParent)
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	fd := handle(t, pid)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, fd)
	_ = p.Wait()
}

// raceBuild tells whether guests run under the race detector, without a memory
// limit.
func raceBuild(a executors.Attestation) bool { return a.Layers["rlimits"] == "unavailable" }

func TestMemoryBackstop(t *testing.T) {
	g := launch(t, bare(t), spec())
	if raceBuild(g.Attestation()) {
		t.Skip("the race detector's memory cannot be limited")
	}
	if _, err := fmt.Fprintln(g.Conn(), "hog"); err != nil {
		t.Fatal(err)
	}
	if s, err := g.in.ReadString('\n'); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		t.Fatalf("a guest took all memory it wanted: %q %v", s, err)
	}
}

func TestPrepareRefusesNoSet(t *testing.T) {
	r := ring(t)
	if _, err := r.Prepare(t.Context(), nil); err == nil {
		t.Error("a nil set was prepared")
	}
}

// No launch leaves a descriptor behind in this process.
func TestNoDescriptorLeaks(t *testing.T) {
	r := bare(t)
	count := func() int {
		l, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(l)
	}
	var before int
	for i := range 12 {
		if i == 2 { // what the runtime opens once is open now
			before = count()
		}
		g, err := r.Launch(t.Context(), spec())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Kill(), g.Conn().Close()); err != nil {
			t.Fatal(err)
		}
		_, _ = r.Launch(t.Context(), executors.Spec{Executor: "js", Argv: []string{"/nonexistent"},
			MinTier: profiles.TierWasm, CPU: 1, MemoryBytes: 1, Kernel: profiles.Kernel{Executor: "js"}})
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
