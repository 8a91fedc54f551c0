//go:build linux

package main

// In the package: the binary that these tests kill is main with a point set.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// points are the labels of every effect in a run's life, in the order of a life.
var points = []string{
	"call_recorded", "call_open", "snapshot_taken", "pause_sealed", "pause_recorded", "pause_kept",
	"answer_recorded", "answer_kept", "claimed", "unsealed", "resume_recorded", "executing_kept",
	"acted", "result_kept", "end_recorded", "end_kept",
}

const killPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges:
    - {name: lookup, powers: {sensitive: false, untrusted: false, external: true}}
    - name: pay
      powers: {sensitive: false, untrusted: false, external: true}
      approval: {required: true}
    - {name: ask, powers: {sensitive: false, untrusted: false, external: false}}
`

// killProgram looks something up, waits for a person and its harness at once,
// acts, and waits again. Its value tells that every line ran once.
const killProgram = `
const trail = [];
const found = await lookup({n: 1}); trail.push("lookup");
const [paid, said] = await Promise.all([pay({euro: 5}), ask({go: "on"})]); trail.push("pay", "ask");
const more = await lookup({n: 2}); trail.push("lookup");
const again = await pay({euro: 6}); trail.push("pay");
[trail.join(" "), found.n, paid.euro, said, more.n, again.euro]
`

const killValue = `["lookup pay ask lookup pay",1,5,"go",2,6]`

// host is a daemon and its folder.
type host struct {
	t       testing.TB
	dir     string
	effects string // one line an effect: key, bridge
	config  string
	binary  string // of the daemon; "" is this one
	cmd     *exec.Cmd
	exited  chan struct{}
	client  *client.Client

	credential *syscall.Credential // of the daemon; nil: that of the test
	session    bool                // the daemon has a session of its own
}

func newHost(t testing.TB, idempotent bool) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir()}
	h.effects = filepath.Join(h.dir, "effects")
	for _, d := range []string{"sync", "run"} {
		if err := os.Mkdir(filepath.Join(h.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	act := fmt.Sprintf(`{provider: command, command: [/bin/sh, -c, 'echo "$RINGD_IDEMPOTENCY_KEY $RINGD_BRIDGE $RINGD_CALL" >>%s; cat'], idempotent: %v}`, h.effects, idempotent)
	h.write("sync/p.yaml", killPolicy)
	h.config = h.write("ringd.yaml", fmt.Sprintf("sync: %s/sync\nstate: %[1]s/state\nsocket: %[1]s/run/s\nbridges:\n "+
		" lookup: %s\n  pay: %[2]s\n  ask: {provider: harness}\nroles: {approver: ['uid:%d']}\nlimits: {drain: 5s}\n", h.dir, act, approverUID))
	t.Cleanup(h.kill)
	return h
}

func (h *host) write(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// start runs a daemon that dies the nth time it comes to a point; "" never.
func (h *host) start(point string, nth int) {
	h.t.Helper()
	h.unlocked(func() error {
		err := h.begin(point, nth)
		if err != nil && strings.Contains(h.tail(), "another ringd uses this state folder") {
			h.must(os.Truncate(filepath.Join(h.dir, "log"), 0))
			err = fmt.Errorf("%w: %w", store.ErrInUse, err)
		}
		return err
	})
}

func (h *host) begin(point string, nth int) error {
	h.t.Helper()
	name := "ringd"
	switch {
	case point != "":
		name = "ringd-killed"
	case h.binary != "":
		name = h.binary
	}
	// kill ends it
	h.cmd = exec.CommandContext(context.WithoutCancel(h.t.Context()), name, "serve", "--config", h.config)
	h.cmd.Env = append(os.Environ(), killAt+"="+point, killNth+"="+strconv.Itoa(nth), "XDG_CACHE_HOME="+sharedCache)
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	h.cmd.Stderr = log
	if h.credential != nil {
		h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.credential}
		h.cmd.Env = append(h.cmd.Env, "HOME="+h.dir, "XDG_CACHE_HOME="+filepath.Join(h.dir, "cache"),
			"XDG_STATE_HOME="+h.dir, "XDG_RUNTIME_DIR=")
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if h.session {
		if h.cmd.SysProcAttr == nil {
			h.cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		h.cmd.SysProcAttr.Setsid = true
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	cmd, exited := h.cmd, make(chan struct{})
	h.exited = exited
	ready := bufio.NewScanner(out).Scan()
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	if !ready {
		<-exited
		return errors.New("the daemon ended before it was ready")
	}
	if h.client, err = client.New(client.Config{Socket: filepath.Join(h.dir, "run", "s")}); err != nil {
		h.t.Fatal(err)
	}
	return nil
}

// kill ends the daemon at once.
func (h *host) kill() {
	if h.cmd == nil {
		return
	}
	_ = h.cmd.Process.Kill()
	<-h.exited
	h.cmd = nil
	if h.client != nil {
		h.client.Close()
	}
}

// revive starts a daemon that is not killed, when the other one is dead.
func (h *host) revive() {
	h.t.Helper()
	h.kill()
	h.start("", 0)
}

// unlocked tries again while the folder is in use: a process that the dead
// daemon was about to start has its files until it is another program.
func (h *host) unlocked(try func() error) {
	h.t.Helper()
	over := time.After(10 * time.Second)
	for {
		err := try()
		if !errors.Is(err, store.ErrInUse) {
			h.must(err)
			return
		}
		select {
		case <-over:
			h.must(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (h *host) tail() string {
	b, _ := os.ReadFile(filepath.Join(h.dir, "log"))
	return string(b[max(0, len(b)-3000):])
}

// approverUID is who approves in these tests: not the user that runs programs.
const approverUID = 54321

func asApprover(ctx context.Context, socket string) (net.Conn, error) {
	return dialAs(ctx, socket, approverUID)
}

// dialAs connects as another user. The socket keeps who connected; the permission
// to do so stays that of root.
func dialAs(ctx context.Context, socket string, uid int) (net.Conn, error) {
	runtime.LockOSThread() // the thread keeps its user until it is given back
	defer runtime.UnlockOSThread()
	keep := ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return nil, errno
	}
	syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, 0, keep); errno != 0 {
		os.Exit(3) // a thread of another user cannot go on
	}
	return conn, err
}

// approve allows a call as another user, or, where tests cannot become one, as
// the owner of the state folder while no daemon has it.
func (h *host) approve(run string, c wire.Pending) error {
	if os.Geteuid() != 0 {
		h.kill()
		out, err := exec.CommandContext(h.t.Context(), "ringd", "approve", run, c.ID, "--digest", c.Digest, "--state",
			filepath.Join(h.dir, "state")).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		h.revive()
		return err
	}
	socket := filepath.Join(h.dir, "run", "s")
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return asApprover(ctx, socket)
		}}}
	body, err := json.Marshal(wire.ApprovalAnswer{Verdict: "allow", Digest: c.Digest})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://ringd/v1/approvals/"+run+"/"+c.ID,
		strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var e wire.ErrorBody
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		return err
	}
	return &client.Error{Status: resp.StatusCode, Code: e.Error.Code, Message: e.Error.Message}
}

// drive starts a run and answers whatever it waits for until it ends, over every
// death of the daemon.
func (h *host) drive() wire.Run {
	h.t.Helper()
	ctx := h.t.Context()
	id := ""
	for range 200 { // far more than a life takes
		if id == "" {
			run, err := h.client.StartRun(ctx, wire.RunRequest{
				Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js", Source: killProgram}})
			if err != nil {
				h.diedOf(err)
				list, err := h.client.Runs(ctx, client.Filter{})
				if err != nil {
					h.t.Fatal(err)
				}
				if len(list.Runs) > 0 {
					id = list.Runs[0].ID
				}
				continue
			}
			id = run.ID
		}
		run, err := h.client.GetRun(ctx, id, 5*time.Second)
		switch {
		case err != nil:
			h.diedOf(err)
		case run.State == "running":
		case run.State == "paused":
			if run.Error != nil {
				h.t.Fatalf("run %s is stuck: %s: %s", id, run.Error.Name, run.Error.Message)
			}
			h.answer(run)
		default:
			return run
		}
	}
	h.t.Fatalf("run %s does not end\n%s", id, h.tail())
	return wire.Run{}
}

// answer answers every call that a paused run waits on.
func (h *host) answer(run wire.Run) {
	h.t.Helper()
	for _, c := range run.Pending {
		var err error
		if c.For == "approver" {
			err = h.approve(run.ID, c)
		} else {
			body := wire.Answers{Answers: []wire.Answer{{Call: c.ID, Digest: c.Digest, Value: json.RawMessage(`"go"`)}}}
			_, err = h.client.Answer(h.t.Context(), run.ID, body.Answers...)
		}
		if err != nil {
			h.diedOf(err)
			return // what was taken is shown by the next look
		}
	}
}

// diedOf takes an error that a dying daemon explains, and starts another.
func (h *host) diedOf(err error) {
	h.t.Helper()
	var told *client.Error
	if errors.As(err, &told) &&
		slices.Contains([]string{wire.CodeAlreadyAnswered, wire.CodeNotWaiting, wire.CodeRunEnded,
			wire.CodeAlreadyResumed, wire.CodeNotFound}, told.Code) {
		return // it had been taken
	}
	if errors.As(err, &told) {
		h.t.Fatalf("refused: %v\n%s", err, h.tail())
	}
	select {
	case <-h.exited:
	case <-time.After(30 * time.Second):
		h.t.Fatalf("the daemon lives and does not answer: %v\n%s", err, h.tail())
	}
	h.revive()
}

// acted counts effects: by key, and which keys a call had.
func (h *host) acted() (times map[string]int, calls map[string][]string) {
	h.t.Helper()
	b, err := os.ReadFile(h.effects)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	times, calls = map[string]int{}, map[string][]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			h.t.Fatalf("torn effect %q", line)
		}
		if times[f[0]]++; times[f[0]] == 1 {
			calls[f[2]] = append(calls[f[2]], f[0])
		}
	}
	return times, calls
}

// check holds what must be true however the daemon died.
func (h *host) check(run wire.Run, idempotent bool) {
	h.t.Helper()
	times, keys := h.acted()
	for key, n := range times {
		if n > 1 && !idempotent {
			h.t.Errorf("effect %s happened %d times", key, n)
		}
	}
	for call, k := range keys {
		if len(k) > 1 {
			h.t.Errorf("call %s acted under %d keys", call, len(k))
		}
	}
	switch run.State {
	case "done":
		if string(run.Value) != killValue {
			h.t.Errorf("value %s, want %s", run.Value, killValue)
		}
		if len(keys) != 4 {
			h.t.Errorf("done with %d effects, want 4: %v", len(keys), keys)
		}
	case "unknown":
		if idempotent && run.Error != nil && run.Error.Name == "" {
			h.t.Errorf("unknown without a reason: %+v", run.Error)
		}
	case "failed":
		if run.Error == nil || run.Error.Name != "Interrupted" {
			h.t.Errorf("failed: %+v", run.Error)
		}
	default:
		h.t.Errorf("run is %s: %+v", run.State, run.Error)
	}
	h.kill()
	var st *store.Store
	h.unlocked(func() (err error) {
		st, err = store.Open(h.t.Context(), store.Config{Dir: filepath.Join(h.dir, "state", "store"), Now: time.Now})
		return err
	})
	defer st.Close()
	calls, err := st.Calls(h.t.Context(), run.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range calls {
		if c.Bridge == "ask" {
			continue
		}
		switch acted := len(keys[c.ID]); {
		case c.State == store.CallClosed && c.Result != nil && acted == 0:
			h.t.Errorf("call %s has a result, and nothing happened", c.ID)
		case c.State != store.CallClosed && acted > 0 && run.State != "unknown":
			h.t.Errorf("call %s acted, its record says %s, and the run is %s: lost", c.ID, c.State, run.State)
		}
	}
}

// TestKillAnywhere kills the daemon at every labelled point of a run's life: no
// effect happens twice, and none is lost without the run saying that it does not
// know. RINGD_LONG=1 kills 20 times at each.
func TestKillAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	rounds := 1
	if os.Getenv("RINGD_LONG") != "" {
		rounds = 20
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			died, ends := 0, map[string]int{}
			most := 5 // occurrences of the point in one life, as far as is known
			for life := 0; died < rounds && life < 2*rounds+5; life++ {
				// Every occurrence gets its turn, under both kinds of provider.
				nth, idempotent := 1+died%most, died/2%2 == 1
				h := newHost(t, idempotent)
				h.start(point, nth)
				first := h.cmd
				run := h.drive()
				if h.cmd != first {
					died++
				} else if most = max(nth-1, 1); nth == 1 {
					break
				}
				ends[run.State]++
				h.check(run, idempotent)
			}
			if died < rounds {
				t.Errorf("the daemon died %d times at %s, want %d", died, point, rounds)
			}
			t.Logf("%d deaths; the runs ended %v", died, ends)
		})
	}
}

// An approval that the same user gives whose program asks is none, and neither
// is one for other arguments: the check of the tests above can fail.
func TestKillTestCanFail(t *testing.T) {
	fake := &testing.T{}
	dir := t.TempDir()
	h := &host{t: fake, dir: dir, effects: filepath.Join(dir, "effects")}
	for _, text := range []string{"k1 pay c1\nk1 pay c1\n", "k1 pay c1\nk2 pay c1\n"} {
		if err := os.WriteFile(h.effects, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		times, keys := h.acted()
		if times["k1"] < 2 && len(keys["c1"]) < 2 {
			t.Errorf("%q passes for one effect", text)
		}
	}
}
