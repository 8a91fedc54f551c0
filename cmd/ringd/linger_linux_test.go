package main

// In the package for TestMain, which makes this binary ringd.

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/schema/wire"
)

// lingers is a program that hands the daemon sockets whose close waits for so many
// seconds, by whatever socket leads out of its guest, runs one more line, and sleeps.
const lingers = `
import array, os, socket, stat, struct, time
def pair(port):
    l = socket.socket(); l.bind(("127.0.0.1", port)); l.listen(1)
    c = socket.socket(); c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, %d))
    c.connect(("127.1", port)); p, _ = l.accept(); l.close()
    c.setblocking(False)
    try:
        while True: c.send(b"x" * 65536)
    except BlockingIOError: pass
    return c, p
given = [fd for fd in range(3, 64) if os.path.exists("/proc/self/fd/%%d" %% fd)]
out = [fd for fd in given if stat.S_ISSOCK(os.fstat(fd).st_mode)]
pairs = [pair(5555 + i) for i in range(4)]
refused = 0
for fd in given:
    # As it is, also where it is no socket: the program may be wrong about that.
    try: s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, os.dup(fd))
    except OSError: refused += 1; continue
    for i, (c, p) in enumerate(pairs): # the kernel closes in one order or the other
        two = (c.fileno(), p.fileno()) if i %% 2 else (p.fileno(), c.fileno())
        try: s.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", two))])
        except OSError: refused += 1
if not refused:
    for c, p in pairs: c.close(); p.close() # what is in the connection is all there is
print("sent, of", len(given), "refused", refused, "sockets", len(out), flush=True)
%s
time.sleep(3600)
`

const lingerPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors:
    allowed: [python, shell]
    minTier: os-sandbox
    python: {imports: {allow: [array, os, socket, stat, struct, time]}, limits: {wall: %s}}
    shell: {binaries: [{path: /bin/cat}, {path: /usr/bin/cat}]}
  sessions: {maxAge: 1h, maxSize: 8MiB}
  network: {mode: allowlist, egress: [{host: api.example.com}]}
`

// longer is more seconds than any wait of these tests.
const longer = 600

// lingerHost is a daemon whose Python programs may last so long.
func lingerHost(t *testing.T, wall string) *host {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	if ok, err := kernelRing(t); err != nil || !ok {
		t.Skipf("this host has not every layer: %v", err)
	}
	h := newHost(t, false)
	h.write("sync/p.yaml", fmt.Sprintf(lingerPolicy, wall))
	h.write("ringd.yaml", fmt.Sprintf("sync: %s/sync\nstate: %[1]s/state\nsocket: %[1]s/run/s\nlimits: {drain: 5s}\n",
		h.dir))
	h.start("", 0)
	return h
}

// sends starts a program and waits until it has sent what it could.
func (h *host) sends(seconds int, then string) wire.Run {
	h.t.Helper()
	run := h.starts("python", "", fmt.Sprintf(lingers, seconds, then))
	ctx, stop := context.WithTimeout(h.t.Context(), time.Minute)
	defer stop()
	for e, err := range h.client.Events(ctx, run.ID, 0) {
		h.must(err)
		if e.Console == nil || !strings.HasPrefix(e.Console.Text, "sent, of") {
			continue
		}
		if want := "sent, of 2 refused 2 sockets 0"; strings.TrimSpace(e.Console.Text) != want {
			h.t.Errorf("the program says %q, want %q", e.Console.Text, want)
		}
		return run
	}
	ended, err := h.client.GetRun(h.t.Context(), run.ID, 0)
	h.t.Fatalf("it has not sent anything: %s, %+v, %v\n%s", ended.State, ended.Error, err, h.tail())
	return run
}

// broken has the daemon end the guest: what it says is no frame.
const broken = `os.write(given[-1], b"\xff" * 5)`

// No program sends the daemon a socket whose close waits, so that its end would wait for
// it: by a wall limit, by its own fault, by a cancel, a lockdown or the daemon's end. The
// control has sockets whose close does not wait.
func TestNoCloseKeepsARun(t *testing.T) {
	h := lingerHost(t, "1h")
	for _, seconds := range []int{0, longer} {
		failed := h.sends(seconds, broken)
		if run := h.ended(failed.ID); run.State != "failed" {
			t.Errorf("linger %d s, no frame: %s, %+v", seconds, run.State, run.Error)
		}
		cancelled := h.sends(seconds, "")
		_, err := h.client.Cancel(t.Context(), cancelled.ID)
		h.must(err)
		if run := h.ended(cancelled.ID); run.State != "cancelled" {
			t.Errorf("linger %d s, cancelled: %s, %+v", seconds, run.State, run.Error)
		}
		if run := h.ended(h.starts("python", "", "print(1 + 1)").ID); run.State != "done" {
			t.Errorf("an ordinary program: %s, %+v", run.State, run.Error)
		}
		if run := h.ended(h.starts("shell", "", "echo one").ID); run.State != "done" {
			t.Errorf("an ordinary script: %s, %+v", run.State, run.Error)
		}
		closed := h.sends(seconds, "")
		if state := h.order("begin"); state.State != "locked" {
			t.Errorf("linger %d s: %+v", seconds, state)
		}
		if run := h.ended(closed.ID); run.State == "done" {
			t.Errorf("linger %d s, locked down: %s", seconds, run.State)
		}
		h.order("lift")
	}
	for _, session := range []string{"x = 20", "print(x + 1)"} { // kept between two runs
		if run := h.ended(h.starts("python", "s", session).ID); run.State != "done" {
			t.Errorf("%s: %s, %+v", session, run.State, run.Error)
		}
	}
	h.sends(longer, "")
	h.must(h.cmd.Process.Signal(syscall.SIGTERM))
	soon(t, "the daemon's end", h.exited)
}

func TestNoCloseKeepsAWall(t *testing.T) {
	h := lingerHost(t, "4s")
	for _, seconds := range []int{0, longer} {
		if run := h.ended(h.sends(seconds, "").ID); run.State != "limit" {
			t.Errorf("linger %d s: %s, %+v", seconds, run.State, run.Error)
		}
	}
}
