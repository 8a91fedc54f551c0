package kernel_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
)

// TestTwoGuests: neither sees the other's processes, sockets, shared memory,
// queues, temporary files or ports, also with one workspace for both.
func TestTwoGuests(t *testing.T) {
	p, h := built(t, "probe"), atHost(t)
	r, token := probeRing(t)
	base := t.TempDir()
	openUp(t, base)
	s := onStage(t, filepath.Join(base, "both"), h)
	// Keys that the host has not: what is found is the neighbour's.
	for k, v := range map[string]string{"shm": "1380000001", "msg": "1380000002", "sem": "1380000003",
		"mq": "ringd-neighbour", "tcp": "39377"} {
		s.args[k] = v
	}
	spec := ownLayers(s, s.argv(p["probe"], token, "i_sleep", ""))
	first, err := r.Launch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := first.Kill(); err != nil {
			t.Error(err)
		}
		first.Conn().Close()
	}()
	made, err := bufio.NewReader(first.(executors.Streamer).Stdout()).ReadString('\n')
	if err != nil || !strings.HasPrefix(made, "READY ") {
		t.Fatalf("the first guest says %q, %v", made, err)
	}
	t.Log("the first guest has", strings.TrimSpace(made))
	if !strings.Contains(made, "file=ok") || !strings.Contains(made, "tcp=ok") {
		t.Errorf("the first guest has not what the second should not see: %s", made)
	}
	for _, c := range []struct{ id, want string }{
		{"i_sees", "file=ENOENT shm=ENOSYS msg=ENOSYS sem=ENOSYS mq=ENOSYS tcp=ECONNREFUSED"},
		{"i_shares", "alone"},
		{"u_abstract_host", "EAFNOSUPPORT"},
	} {
		got := inGuest(t, r, ownLayers(s, s.argv(p["probe"], token, c.id, "")), c.id)[c.id]
		if got != c.want {
			t.Errorf("%s beside another guest: %s, want %s", c.id, got, c.want)
		}
	}
	// The first still lives, whatever the others tried.
	if err := first.(executors.Streamer).Stdin().Close(); err != nil {
		t.Error(err)
	}
	e, err := first.(executors.Streamer).Wait(t.Context())
	if err != nil || e.Code != 0 {
		t.Errorf("the first guest ended with %+v, %v", e, err)
	}
}

// TestInFlight: descriptors that a guest has sent and nobody has received are
// counted for its user, which others may have too. Guests are started beside it:
// what their init sends to the ring, and what one that seals itself does, passes.
func TestInFlight(t *testing.T) {
	p := built(t, "probe")
	r, token := probeRing(t)
	base := t.TempDir()
	openUp(t, base)
	s := onStage(t, filepath.Join(base, "stage"), host{args: map[string]string{}})
	hog, err := r.Launch(t.Context(), ownLayers(s, s.argv(p["probe"], token, "i_inflight", "")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hog.Kill(); err != nil {
			t.Error(err)
		}
		hog.Conn().Close()
	}()
	said, err := bufio.NewReader(hog.(executors.Streamer).Stdout()).ReadString('\n')
	if err != nil || !strings.Contains(said, "ETOOMANYREFS") {
		t.Fatalf("the guest says %q, %v", said, err)
	}
	watched, _ := reporting(t, nil)
	spec := program("/usr/bin/true")
	spec.Kernel.Files = 16 // fewer than are in flight
	g, err := watched.Launch(t.Context(), spec)
	if err != nil {
		t.Fatalf("beside it no guest starts whose init sends a listener: %v", err)
	}
	defer g.Conn().Close()
	if _, e := end(t, g); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	got := inGuest(t, r, off(s.argv(p["probe"], token, "i_sends", "")), "i_sends")["i_sends"]
	if got != "ok" {
		t.Errorf("a guest that seals itself sends a descriptor: %s", got)
	}
}

// TestDaemonDeath: when the process that holds a ring is killed, nothing of a
// guest is left, not what forked twice into a session of its own.
func TestDaemonDeath(t *testing.T) {
	needKernel(t, ring(t))
	p := built(t, "probe")
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGTERM, unix.SIGSEGV} {
		t.Run(unix.SignalName(sig), func(t *testing.T) { daemonDeath(t, p["probe"], sig) })
	}
}

func daemonDeath(t *testing.T, probe string, sig unix.Signal) {
	base := t.TempDir()
	openUp(t, base)
	text, err := json.Marshal(map[string]string{"Probe": probe, "Base": base})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestMortal$", "-test.v")
	c.Env = append(os.Environ(), "RINGD_TEST_MORTAL="+string(text), "GOTRACEBACK=none")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	in := bufio.NewScanner(out)
	said := ""
	for in.Scan() && !strings.HasPrefix(in.Text(), "MORTAL") {
		said += in.Text() + "\n"
	}
	if !strings.HasPrefix(in.Text(), "MORTAL") {
		t.Fatalf("the daemon has no guest: %s", said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var fds []unix.PollFd
	for f := range strings.FieldsSeq(strings.TrimPrefix(in.Text(), "MORTAL")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		defer unix.Close(fd)
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if len(fds) < 7 { // init, the program, five that it left behind
		t.Fatalf("%d processes, want 7", len(fds))
	}
	began := time.Now()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	n := len(fds)
	for len(fds) > 0 {
		if k, err := unix.Poll(fds, 5000); err != nil && err != unix.EINTR || k == 0 && err == nil {
			t.Fatalf("%d of %d processes live 5 s after the daemon's death", len(fds), n)
		}
		var left []unix.PollFd
		for _, f := range fds {
			if f.Revents == 0 {
				left = append(left, f)
			}
		}
		fds = left
	}
	t.Logf("%d processes, none left %v after %s", n, time.Since(began), unix.SignalName(sig))
}

// TestMortal is the process of TestDaemonDeath; it does nothing by itself.
func TestMortal(t *testing.T) {
	text := os.Getenv("RINGD_TEST_MORTAL")
	if text == "" {
		return
	}
	var m struct{ Probe, Base string }
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	r, token := probeRing(t)
	s := onStage(t, filepath.Join(m.Base, "mortal"), host{args: map[string]string{}})
	g, err := r.Launch(t.Context(), ownLayers(s, s.argv(m.Probe, token, "l_doublefork", "")))
	if err != nil {
		t.Fatal(err)
	}
	st := g.(executors.Streamer)
	out := bufio.NewReader(st.Stdout())
	if l, err := out.ReadString('\n'); err != nil || l != "READY\n" {
		rest, _ := io.ReadAll(st.Stderr())
		t.Fatalf("the guest says %q, %v, %s", l, err, rest)
	}
	fmt.Println("MORTAL", strings.Join(descendants(t, os.Getpid()), " "))
	_, _ = io.Copy(io.Discard, out) // until the end
}

// descendants are the processes below one, as this host numbers them.
func descendants(t *testing.T, of int) []string {
	t.Helper()
	list, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	below := map[int][]int{}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it ended
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if ppid, err := strconv.Atoi(f[1]); err == nil && f[0] != "Z" {
			below[ppid] = append(below[ppid], pid)
		}
	}
	var all []string
	for next := []int{of}; len(next) > 0; {
		var more []int
		for _, p := range next {
			for _, c := range below[p] {
				all, more = append(all, strconv.Itoa(c)), append(more, c)
			}
		}
		next = more
	}
	return all
}
