package main

// In the package for TestMain, which makes this binary ringd, and for its watchdog.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
	"github.com/ringd/ringd/schema/wire"
)

// A daemon with a listener that has ended, so that some callers can no longer cancel,
// approve or lock down, ends: its runs at once, and itself with what systemd starts again.
func TestLostListenerEndsTheDaemon(t *testing.T) {
	h := newHost(t, false)
	files := apitest.New(t).Write(t, h.dir, "daemon")
	secret := h.write("token", apitest.Secret())
	text, err := os.ReadFile(h.config)
	h.must(err)
	h.write("ringd.yaml", fmt.Sprintf("%slisten: [{tcp: '127.0.0.1:0', tls: {cert: %s, key: %s}}]\ntokens: [{name: "+
		"a, file: %s, roles: [harness]}]\n",
		text, files.Cert, files.Key, secret))
	h.start("", 0)
	run, err := h.client.StartRun(t.Context(), wire.RunRequest{
		Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js", Source: "for (;;) {}"}})
	h.must(err)
	deafen(t, h.cmd.Process.Pid, unix.AF_INET)
	select {
	case <-h.exited:
	case <-time.After(time.Minute):
		t.Fatalf("the daemon lives, with %s running:\n%s", run.ID, h.tail())
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 125 || !strings.Contains(h.tail(), "API ended") {
		t.Errorf("exit %d, want 125:\n%s", code, h.tail())
	}
	h.revive()
	got, err := h.client.GetRun(t.Context(), run.ID, 0)
	h.must(err)
	if got.State == wire.StateRunning {
		t.Errorf("after the restart the run is %s", got.State)
	}
}

// deafen has the listeners of another process in a family listen no more, without closing
// them.
func deafen(t *testing.T, pid, family int) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	done := 0
	for fd := range 256 {
		here, err := unix.PidfdGetfd(process, fd, 0)
		if errors.Is(err, unix.EPERM) {
			t.Skipf("this host lets nobody take a descriptor of another process: %v", err)
		}
		if err != nil {
			continue // there is none
		}
		listens, _ := unix.GetsockoptInt(here, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		of, _ := unix.GetsockoptInt(here, unix.SOL_SOCKET, unix.SO_DOMAIN)
		if listens == 1 && of == family {
			err = unix.Shutdown(here, unix.SHUT_RDWR)
			done++
		}
		if err := errors.Join(err, unix.Close(here)); err != nil {
			t.Fatal(err)
		}
	}
	if done == 0 {
		t.Fatalf("process %d listens nowhere", pid)
	}
}

// systemd is a socket that hears what a daemon says.
func systemd(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "400000")
	return c
}

// A daemon in order says so again and again, until nobody can connect to it.
func TestWatchdogOfADaemon(t *testing.T) {
	c := systemd(t)
	h := newHost(t, false)
	h.start("", 0)
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var heard []string
	for len(heard) < 4 {
		buf := make([]byte, 512)
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v\n%s", heard, err, h.tail())
		}
		heard = append(heard, string(buf[:n]))
	}
	if !strings.HasPrefix(heard[0], "READY=1\n") || heard[1] != "WATCHDOG=1" || heard[2] != "WATCHDOG=1" ||
		heard[3] != "WATCHDOG=1" {
		t.Errorf("systemd hears %q", heard)
	}
	// A Unix socket that was shut down gives accept no error: nothing comes, that is all.
	deafen(t, h.cmd.Process.Pid, unix.AF_UNIX)
	until(t, func() bool { return strings.Contains(h.tail(), "the API does not answer the daemon") })
}

// systemd is not told that the daemon is well while its API does not answer it.
func TestWatchdogNeedsTheAPI(t *testing.T) {
	c := systemd(t)
	path := filepath.Join(t.TempDir(), "s")
	var mu sync.Mutex
	well, hangs := false, make(chan struct{})
	t.Cleanup(func() { close(hangs) })
	var asked int
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	api := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		n, ok := asked, well && r.URL.Path == "/healthz"
		mu.Unlock()
		switch {
		case ok:
		case n%2 == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		default: // it takes the request, and that is all
			select {
			case <-hangs:
			case <-r.Context().Done():
			}
		}
	})}
	go func() { _ = api.Serve(l) }()
	defer api.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var logged bytes.Buffer
	var work sync.WaitGroup
	watchdog(ctx, path, slog.New(slog.NewTextHandler(&logged, nil)), work.Go)
	until(t, func() bool { mu.Lock(); defer mu.Unlock(); return asked >= 5 })
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 512)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("systemd hears %d bytes, %v, of an API that does not answer", n, err)
	}
	mu.Lock()
	well = true
	mu.Unlock()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 512)
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "WATCHDOG=1" {
		t.Errorf("systemd hears %q, %v, once it answers", buf[:n], err)
	}
	stop()
	work.Wait()
	if out := logged.String(); !strings.Contains(out, "503") || !strings.Contains(out, "deadline") {
		t.Errorf("the log does not say why:\n%s", out)
	}
}

// until waits for a condition.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come about within a minute")
		}
	}
}
