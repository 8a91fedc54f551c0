package main // for TestMain, which makes this binary ringd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// The users of the siege where root tests: that of the daemon, and the harness
// that besieges.
const (
	ordinaryUID = 54323
	besiegerUID = 54322
)

// siegeTime bounds the wait for one act of an operator during a siege: what is
// tested is that it works, and not how fast.
const siegeTime = time.Minute

const siegePolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: besieger, revision: 1, owner: "team:red@acme.example"}
spec:
  agents: [{match: besieger}]
  executors:
    allowed: [shell]
    minTier: os-sandbox
    shell:
      limits: {cpu: 60s, wall: 90s, memory: 128MiB}
      binaries: [{path: %[1]s, acknowledge: true, helpers: [%[2]s/lib-dynload]}]
  filesystem: {read: [%[2]s, %[3]s/program], write: [%[3]s/held]}
---
apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: connector, revision: 1, owner: "team:red@acme.example"}
spec:
  agents: [{match: connector}]
  executors:
    allowed: [shell]
    minTier: os-sandbox
    shell:
      limits: {cpu: 60s, wall: 90s, memory: 128MiB}
      binaries: [{path: %[1]s, acknowledge: true, helpers: [%[2]s/lib-dynload]}]
  filesystem: {read: [%[2]s, %[3]s/program], write: [%[3]s/held]}
  network: {mode: allowlist, egress: [{host: api.example.com}]}
---
apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: flood, revision: 1, owner: "team:red@acme.example"}
spec:
  agents: [{match: flood}]
  executors: {allowed: [js]}
  bridges:
    - {name: pay, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true}}
---
apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: victim, revision: 1, owner: "user:victim"}
spec:
  agents: [{match: victim}]
  executors: {allowed: [js, shell], shell: {binaries: []}, js: {limits: {wall: %[4]ds}}}
  bridges:
    - {name: ask, powers: {sensitive: false, untrusted: false, external: false}}
    - {name: pay, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true}}
`

// siege is a host whose guests use up what there is.
type siege struct {
	*host
	python, library string
	seconds         int // of the limit that a push changes
	besieger        *http.Client
}

// TestSiege: guests use up one thing after the other, and hold it. At each step an
// operator, an approver, a push and the run of another agent do what they do, and
// do it again afterwards, in the same daemon.
func TestSiege(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	if raceDetector {
		t.Skip("with the race detector guests cannot be held to limits; make test runs it without")
	}
	if ok, err := kernelRing(t); err != nil || !ok {
		t.Skip("guests of the kernel ring besiege")
	}
	users := map[string]uint32{"as this user": 0}
	if os.Geteuid() == 0 {
		users = map[string]uint32{"as root": 0, "as an ordinary user": ordinaryUID}
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, uid, "")
			for _, what := range []string{
				"descriptors", "watches", "tasks", "pipes", "sockets", "connections", "locks", "memory", "shared memory", "temporary files",
				"disk", "inodes", "processors", "threads", "places", "refusals", "approvals",
			} {
				t.Run(what, func(t *testing.T) { s.step(t, what) })
			}
		})
	}
	// Guests have sessions of their own, which must not outweigh that of the daemon.
	t.Run("in a session of low weight", func(t *testing.T) {
		if _, err := os.Stat("/proc/self/autogroup"); err != nil {
			t.Skip(err)
		}
		newSiege(t, slices.Max(slices.Collect(maps.Values(users))), "15").step(t, "threads")
	})
}

// newSiege starts the daemon as a user, 0 is that of the test, in a session of its own with a nice value, or in the
// session of the test if that is "".
func newSiege(t *testing.T, uid uint32, session string) *siege {
	t.Helper()
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skipf("no python3 besieges: %v", err)
	}
	dir, err := os.MkdirTemp("", "siege") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &siege{host: &host{t: t, dir: dir, session: session != ""}, python: python, library: "/usr/lib/" + filepath.Base(python)}
	for _, d := range []string{"", "sync", "run", "state", "program", "held", "cache"} {
		d = filepath.Join(dir, d)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if uid != 0 {
			s.must(os.Chown(d, int(uid), int(uid)))
		}
	}
	s.must(os.Chmod(filepath.Join(dir, "held"), 0o777)) // guests of root are another user
	// A disk of its own, where there may be one: what is full is never the test's.
	if os.Geteuid() == 0 {
		held := filepath.Join(dir, "held")
		s.must(syscall.Mount("tmpfs", held, "tmpfs", 0, "size=64m,nr_inodes=20000,mode=0777"))
		t.Cleanup(func() { _ = syscall.Unmount(held, syscall.MNT_DETACH) })
	}
	program, err := os.ReadFile("testdata/siege/besiege.py")
	s.must(err)
	s.must(os.WriteFile(filepath.Join(dir, "program", "besiege.py"), program, 0o644))
	s.writePolicy()
	s.config = filepath.Join(dir, "ringd.yaml")
	s.must(os.WriteFile(s.config, fmt.Appendf(nil, "sync: %s/sync\nstate: %[1]s/state\nsocket: %[1]s/run/s\nroles: "+
		"{approver: ['uid:%d'], harness: ['uid:%d']}\n"+
		"bridges:\n  ask: {provider: harness}\n  pay: {provider: command, command: [/bin/cat]}\nlimits: {drain: 5s}\n",
		dir, approverUID, besiegerUID), 0o644))
	if uid != 0 { // who may not go where the test binary lies
		self, err := os.ReadFile("/proc/self/exe")
		s.must(err)
		s.binary = filepath.Join(dir, "ringd")
		s.must(os.WriteFile(s.binary, self, 0o755))
		s.credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	t.Cleanup(s.kill)
	s.start("", 0)
	if session != "" {
		s.until("the daemon is in a session of low weight", func() bool {
			err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", s.cmd.Process.Pid), []byte(session), 0)
			return !errors.Is(err, syscall.EAGAIN) // an ordinary user may do it ten times a second
		})
	}
	s.besieger = s.as(besiegerUID)
	if st, err := s.client.Status(t.Context()); err != nil || st.Generation == 0 {
		t.Fatalf("%+v %v", st, err)
	}
	return s
}

func (s *siege) writePolicy() {
	s.seconds = max(s.seconds+1, 30)
	next := filepath.Join(s.dir, "next.yaml")
	for i, text := range strings.Split(fmt.Sprintf(siegePolicy, s.python, s.library, s.dir, s.seconds), "---\n") {
		name := filepath.Join(s.dir, "sync", fmt.Sprintf("p%d.yaml", i))
		if was, err := os.ReadFile(name); err == nil && string(was) == text {
			continue
		}
		s.must(os.WriteFile(next, []byte(text), 0o644))
		s.must(os.Rename(next, name))
	}
}

// as connects as another user, where the test may become one.
func (s *siege) as(uid int) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		socket := filepath.Join(s.dir, "run", "s")
		if os.Geteuid() != 0 {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
		return dialAs(ctx, socket, uid)
	}
	return &http.Client{Timeout: siegeTime, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

// send is one request of a user.
func (s *siege) send(web *http.Client, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		s.must(json.NewEncoder(&body).Encode(in))
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://ringd"+path, &body)
	s.must(err)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		var e wire.ErrorBody
		_ = json.NewDecoder(resp.Body).Decode(&e) // the status says enough
		return fmt.Errorf("%s: %s %s", resp.Status, e.Error.Code, e.Error.Message)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// step besieges with one thing, and looks at everything meanwhile and afterwards.
func (s *siege) step(t *testing.T, what string) {
	outer := s.t
	s.t = t
	defer func() { s.t = outer }()
	var runs []string
	if what == "connections" {
		most := s.mostSockets(func() { runs = s.besiege(what); s.overMemory(runs) })
		if most > 400_000 { // three guests that nobody stopped had a million
			t.Errorf("the host had %d sockets of TCP", most)
		}
	} else {
		runs = s.besiege(what)
	}
	s.works("meanwhile")
	s.lockdown(runs)
	held, err := filepath.Glob(filepath.Join(s.dir, "held", "*"))
	s.must(err)
	for _, name := range held {
		s.must(os.RemoveAll(name))
	}
	s.works("afterwards")
}

// mostSockets is how many sockets of TCP the host has at most while f runs.
func (s *siege) mostSockets(f func()) (most int) {
	over, seen := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			text, _ := os.ReadFile("/proc/net/sockstat")
			_, rest, _ := strings.Cut(string(text), " alloc ")
			var now int
			_, _ = fmt.Sscan(rest, &now)
			n = max(n, now)
			select {
			case <-over:
				seen <- n
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	defer func() {
		close(over)
		most = <-seen
	}()
	f()
	return 0
}

// overMemory waits until guests have ended for what they had of the kernel's memory.
func (s *siege) overMemory(runs []string) {
	s.t.Helper()
	for _, id := range runs {
		run, err := s.client.Wait(s.t.Context(), id)
		s.must(err)
		if run.State != "limit" || run.Error == nil || run.Error.Name != profiles.ErrorOutOfMemory {
			s.t.Errorf("a guest whose connections nobody accepts is %s: %+v", run.State, run.Error)
		}
	}
}

// besiege starts guests and returns when each holds what it could get, or has
// ended: a limit that ends it is an end of the siege, too.
func (s *siege) besiege(what string) []string {
	request := wire.RunRequest{Agent: "besieger", Executor: "shell"}
	guests := 3
	script := func(i int) string {
		return fmt.Sprintf("%s -I -S %s/program/besiege.py '%s' %[2]s/held/%[4]d", s.python, s.dir, what, i)
	}
	switch what {
	case "connections":
		request.Agent = "connector"
	case "watches":
		guests = 6
	case "places", "threads":
		guests = 16
	case "approvals":
		request.Agent, request.Executor, guests = "flood", "js", 40
		script = func(int) string {
			return `await Promise.all(Array.from({length: 16}, (_, i) => pay({i, text: "x".repeat(60000)})))`
		}
	}
	var ids []string
	for i := range guests {
		request.Program = wire.Program{Name: "p", Source: script(i)}
		var run wire.Run
		if err := s.send(s.besieger, "POST", "/v1/runs", request, &run); err != nil {
			if i == 0 {
				s.t.Fatalf("the siege did not begin: %v", err)
			}
			break // refused by name: what bounds the siege
		}
		ids = append(ids, run.ID)
	}
	s.await(ids, "is there", ".now")
	s.must(os.WriteFile(filepath.Join(s.dir, "held", "go"), nil, 0o644))
	s.await(ids, "holds", "")
	if what == "threads" { // which begin when all guests hold
		s.must(os.WriteFile(filepath.Join(s.dir, "held", "all"), nil, 0o644))
		time.Sleep(time.Second) // until they are in full swing
	}
	return ids
}

// await waits until each guest made its file, or has ended.
func (s *siege) await(ids []string, what, suffix string) {
	s.t.Helper()
	for i, id := range ids {
		s.until(fmt.Sprintf("guest %d %s or ends", i, what), func() bool {
			if _, err := os.Stat(filepath.Join(s.dir, "held", fmt.Sprint(i)+suffix)); err == nil {
				return true
			}
			run, err := s.client.GetRun(s.t.Context(), id, 0)
			s.must(err)
			if run.State == "running" {
				return false
			}
			if run.State != "limit" && run.State != "paused" {
				s.t.Errorf("guest %d is %s and besieged nothing: %v %.500s", i, run.State, run.Error, run.Stderr)
			}
			return true
		})
	}
}

// until waits for a condition.
func (s *siege) until(what string, done func() bool) {
	s.t.Helper()
	over := time.After(siegeTime)
	for !done() {
		select {
		case <-over:
			s.t.Fatalf("%s: not within %s\n%s", what, siegeTime, s.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail is the end of the log, and what weight the daemon has.
func (s *siege) tail() string {
	weight, _ := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", s.cmd.Process.Pid))
	own, _ := syscall.Getpriority(syscall.PRIO_PROCESS, s.cmd.Process.Pid)
	return fmt.Sprintf("the daemon: nice %d, session %q\n%s", 20-own, weight, s.host.tail())
}

// works tries what people and other agents do.
func (s *siege) works(when string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), siegeTime)
	defer cancel()
	check := func(what string, err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatalf("%s: %s: %v\n%s", when, what, err, s.tail())
		}
	}
	st, err := s.client.Status(ctx)
	check("status", err)

	s.writePolicy()
	s.until(when+": a push", func() bool {
		now, err := s.client.Status(ctx)
		check("status", err)
		return now.Generation > st.Generation
	})

	for executor, source := range map[string]string{"js": "1+1", "shell": "echo 2"} {
		run, err := s.client.Run(ctx, wire.RunRequest{Agent: "victim", Executor: executor,
			Program: wire.Program{Name: "p", Source: source}})
		check("a run of another agent", err)
		if run.State != "done" {
			s.t.Fatalf("%s: a run of another agent in %s is %s: %+v", when, executor, run.State, run.Error)
		}
	}

	waits, err := s.client.Run(ctx, wire.RunRequest{Agent: "victim", Executor: "js",
		Program: wire.Program{Name: "p", Source: "await Promise.all([ask(1), pay(1)])"}})
	check("a run that waits", err)
	if waits.State != "paused" {
		s.t.Fatalf("%s: a run that waits is %s: %+v", when, waits.State, waits.Error)
	}
	var list wire.Approvals
	check("approvals", s.send(s.as(approverUID), "GET", "/v1/approvals", nil, &list))
	found := false
	for _, c := range list.Approvals {
		found = found || c.Run == waits.ID
	}
	if !found {
		s.t.Fatalf("%s: %d calls wait, and that of another agent is not among them", when, len(list.Approvals))
	}
	_, err = s.client.Revoke(ctx, waits.ID, "bridge:ask")
	check("revoke", err)
	ended, err := s.client.Cancel(ctx, waits.ID)
	check("cancel", err)
	if ended.State != "cancelled" {
		s.t.Fatalf("%s: a run that was cancelled is %s", when, ended.State)
	}
}

// lockdown ends the siege, and is lifted.
func (s *siege) lockdown(runs []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), siegeTime)
	defer cancel()
	_, err := s.client.SetLockdown(ctx, wire.LockdownOrder{State: "begin", Reason: "a siege"})
	s.must(err)
	for _, id := range runs {
		run, err := s.client.Wait(ctx, id)
		s.must(err)
		if run.State == "paused" {
			_, err = s.client.Cancel(ctx, id)
			s.must(err)
		}
	}
	_, err = s.client.SetLockdown(ctx, wire.LockdownOrder{State: "lift", Reason: "it is over"})
	s.must(err)
}
