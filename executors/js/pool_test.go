package js_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

// counting is the real launcher, which keeps what it started.
type counting struct {
	executors.Launcher
	mu      sync.Mutex
	guests  []executors.Guest
	started chan struct{} // one for each launch
}

func (c *counting) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	g, err := c.Launcher.Launch(ctx, s)
	if err == nil {
		c.mu.Lock()
		c.guests = append(c.guests, g)
		c.mu.Unlock()
		c.started <- struct{}{}
	}
	return g, err
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.guests)
}

func counted(t *testing.T, change func(*js.Config)) (*js.Executor, *counting) {
	c := &counting{Launcher: launcher(t), started: make(chan struct{}, 1000)}
	return executor(t, func(cfg *js.Config) {
		cfg.Launcher = c
		if change != nil {
			change(cfg)
		}
	}), c
}

func mustRun(t *testing.T, e *js.Executor, r executors.Run) executors.Outcome {
	t.Helper()
	out, err := e.Run(t.Context(), r, host{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A guest serves the same agent, actor and revision again, and nobody else.
func TestReuse(t *testing.T) {
	base := func() executors.Run { return program("1 + 1") }
	for _, tt := range []struct {
		name   string
		second func(*executors.Run)
		want   int // processes for a run, then the second one
	}{
		{"the same", func(*executors.Run) {}, 1},
		{"another program", func(r *executors.Run) { r.Program.Source = "2" }, 1},
		{"another actor", func(r *executors.Run) { r.Actor = "you" }, 2},
		{"another agent", func(r *executors.Run) { r.Agent.Name = "other" }, 2},
		{"another revision", func(r *executors.Run) { r.Revision = "sha256:2" }, 2},
		{"limits over what the process was made for", func(r *executors.Run) { r.Limits.MemoryBytes = ptr(200 << 20) }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, c := counted(t, nil)
			mustRun(t, e, base())
			r := base()
			tt.second(&r)
			mustRun(t, e, r)
			if c.count() != tt.want {
				t.Errorf("%d processes, want %d", c.count(), tt.want)
			}
		})
	}
}

// After anything but a clean end the process is gone.
func TestNoReuse(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		change       func(*executors.Run)
	}{
		{"a limit", "for (;;) {}", func(r *executors.Run) { r.Limits.CPUMillis = ptr(50) }},
		{"out of memory", "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))", nil},
		{"memory that grew", "const a = new Uint8Array(24 << 20); a.length", nil},
		{"a deadlock", "await new Promise(() => {})", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, c := counted(t, nil)
			r := program(tt.source, "echo")
			if tt.change != nil {
				tt.change(&r)
			}
			mustRun(t, e, r)
			mustRun(t, e, program("1 + 1"))
			if c.count() != 2 {
				t.Errorf("%d processes, want 2", c.count())
			}
		})
	}
}

// What one run leaves behind is not there for the next in the same process.
func TestReuseIsFresh(t *testing.T) {
	e, c := counted(t, nil)
	mustRun(t, e, program("globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = null; var v = 3; 1"))
	out := mustRun(t, e, program("[typeof left, typeof v, ({}).left === undefined, typeof [].map]"))
	if string(out.Value) != `["undefined","undefined",true,"function"]` {
		t.Errorf("the second run sees %s", out.Value)
	}
	if c.count() != 1 {
		t.Fatalf("%d processes: the test proves nothing", c.count())
	}
}

func TestReuseIsBounded(t *testing.T) {
	e, c := counted(t, func(cfg *js.Config) { cfg.Reuse = 3 })
	for range 7 {
		mustRun(t, e, program("1"))
	}
	if c.count() != 3 {
		t.Errorf("%d processes for 7 runs of 3 each", c.count())
	}
	e, c = counted(t, func(cfg *js.Config) { cfg.Reuse = 0; cfg.Idle = 0; cfg.PerKey = 0 })
	for range 3 {
		mustRun(t, e, program("1"))
	}
	if c.count() != 3 {
		t.Errorf("the zero config used a process again: %d processes for 3 runs", c.count())
	}
}

// alive tells whether the guest's connection is still open on our side: a
// dropped guest's is closed.
func alive(g executors.Guest) bool {
	_, err := g.Conn().Write(nil)
	return err == nil
}

func TestDrop(t *testing.T) {
	e, c := counted(t, nil)
	for _, rev := range []string{"old", "new"} {
		r := program("1")
		r.Revision = rev
		mustRun(t, e, r)
	}
	e.Drop("new")
	if alive(c.guests[0]) || !alive(c.guests[1]) {
		t.Errorf("old alive %v, new alive %v", alive(c.guests[0]), alive(c.guests[1]))
	}
}

func TestIdleMakesRoom(t *testing.T) {
	e, c := counted(t, func(cfg *js.Config) { cfg.Idle = 2 })
	for _, actor := range []string{"a", "b", "c"} {
		r := program("1")
		r.Actor = actor
		mustRun(t, e, r)
	}
	got := []bool{alive(c.guests[0]), alive(c.guests[1]), alive(c.guests[2])}
	if !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("alive %v, want the two newest", got)
	}
}

// Guests of one agent that wait do not end that of another.
func TestIdleIsFair(t *testing.T) {
	e, c := counted(t, func(cfg *js.Config) { cfg.Idle = 3 })
	benign := program("1")
	benign.Agent.Name = "benign"
	mustRun(t, e, benign)
	for _, actor := range []string{"a", "b", "c", "d"} {
		r := program("1")
		r.Actor = actor
		mustRun(t, e, r)
	}
	var got []bool
	for _, g := range c.guests {
		got = append(got, alive(g))
	}
	if !slices.Equal(got, []bool{true, false, false, true, true}) {
		t.Errorf("alive %v, want that of the other agent and the two newest", got)
	}
}

func TestBlankGuests(t *testing.T) {
	e, c := counted(t, func(cfg *js.Config) { cfg.Blank = 1 })
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-c.started
	if e.Digest() == "" {
		t.Error("no digest of a warm executor")
	}
	mustRun(t, e, program("1")) // takes the blank one
	<-c.started                 // and another is started in its place
	if c.count() != 2 {
		t.Errorf("%d processes", c.count())
	}
}

func TestOnce(t *testing.T) {
	e, c := counted(t, func(cfg *js.Config) { cfg.Blank, cfg.Once = 1, true })
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustRun(t, e, program("1"))
	if err := e.Close(); err != nil { // waits for starts under way
		t.Fatal(err)
	}
	if c.count() != 1 {
		t.Errorf("%d processes for one program", c.count())
	}
}

// A guest that died while it waited costs a run nothing but the start of another.
func TestKeptGuestDied(t *testing.T) {
	e, c := counted(t, nil)
	mustRun(t, e, program("1"))
	if err := c.guests[0].Kill(); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, e, program("1 + 1"))
	if out.State != executors.StateDone || string(out.Value) != "2" || c.count() != 2 {
		t.Errorf("%+v after %d processes", out, c.count())
	}
}

// wrong are guests that are none, played by this test binary.
const wrong = "js-wrong-"

func playWrong(how string) int {
	host := guestside.Connect()
	s := executors.NewStream(host, executors.GuestSide)
	m, err := s.Read()
	if err != nil {
		return 1
	}
	hello, _ := m.(executors.Hello)
	if settings, err := executors.DecodeAs[jsproto.Settings](hello.Settings); err != nil || settings.Ring && how != "unsealed" &&
		sealAsOne() != nil {
		return 1
	}
	ready := executors.Ready{Version: executors.ProtocolVersion, Executor: "js", Digest: "sha256:wrong"}
	switch how {
	case "unavailable":
		ready.Unavailable = "the engine is not in this build: run `make engine`"
	case "version":
		ready.Version++
	case "other":
		ready.Executor = "python"
	case "dies":
		return 3
	case "garbage":
		_, _ = host.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 1000)))
	}
	_ = s.Send(ready)
	for n := uint64(1); ; n++ {
		if _, err := s.Read(); err != nil {
			return 0
		}
		switch how {
		case "crash": // in the middle of a call
			_ = s.Send(executors.Ask{Call: n, Bridge: "echo", Args: []byte("[]")})
			_, _ = s.Read()
			return 4
		case "unasked", "endless", "missing", "restore":
			return playPause(how, s)
		case "noise":
			junk := make([]byte, 1<<16)
			_, _ = rand.Read(junk)
			_, _ = host.Write(junk)
		case "flood":
			for {
				if err := s.Send(executors.Line{Level: "log", Text: strings.Repeat("x", 1000)}); err != nil {
					return 0
				}
			}
		case "busy":
			for sum := byte(0); ; sum++ { // never ends
				_ = sum
			}
		case "silent":
		}
	}
}

func TestWrongGuests(t *testing.T) {
	for _, tt := range []struct {
		how   string
		err   string // of Run
		state executors.State
		msg   string
	}{
		{"version", "version 3", "", ""},
		{"other", "python", "", ""},
		{"dies", "wait for ready", "", ""},
		{"garbage", "guest protocol", "", ""},
		{"unsealed", "not sealed", "", ""},
		{"crash", "", executors.StateFailed, "it exited"},
		{"noise", "", executors.StateFailed, "guest protocol"},
		{"flood", "", executors.StateFailed, "console output over"},
		{"silent", "", executors.StateLimit, "wall time"},
		{"busy", "", executors.StateLimit, "processor time"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			ring := launcher(t)
			if tt.how == "unsealed" {
				enclosed(t, ring)
			}
			e := executor(t, func(c *js.Config) {
				c.Launcher, c.Argv = ring,
					[]string{"/proc/self/exe", wrong + tt.how}
			})
			r := program("1", "echo")
			r.Limits.WallMillis = ptr(30000)
			r.Limits.CPUMillis = ptr(100)
			if tt.how == "silent" {
				r.Limits.WallMillis = ptr(100)
			}
			out, err := e.Run(t.Context(), r, host{})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || out.State != tt.state || out.Error == nil || !strings.Contains(out.Error.Message, tt.msg) {
				t.Errorf("%s %+v %v, want %s with %q", out.State, out.Error, err, tt.state, tt.msg)
			}
		})
	}
}

func TestUnavailableEngine(t *testing.T) {
	e := executor(t, func(c *js.Config) { c.Argv = []string{"/proc/self/exe", wrong + "unavailable"} })
	_, err := e.Run(t.Context(), program("1"), host{})
	var d *profiles.Denial
	if !errors.As(err, &d) || d.Decision.Code != profiles.CodeExecutorUnavailable ||
		!strings.Contains(d.Decision.Reason, "make engine") {
		t.Errorf("Run: %v", err)
	}
	if err := e.Warm(t.Context()); !errors.As(err, &d) {
		t.Errorf("Warm: %v", err)
	}
}

// A guest that talks before it is asked, or of another engine than the first, is
// not used.
func TestOtherEngine(t *testing.T) {
	l := launcher(t)
	argv := []string{"/proc/self/exe", verb}
	var wg sync.WaitGroup
	defer wg.Wait()
	e, err := js.New(js.Config{Launcher: switching{l, &argv}, Argv: argv, CacheDir: cacheDir,
		Go: func(f func()) { wg.Go(f) }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	mustRun(t, e, program("1"))
	argv[1] = wrong + "silent"
	if _, err := e.Run(t.Context(), program("1"), host{}); err == nil ||
		!strings.Contains(err.Error(), "engine sha256:wrong") {
		t.Errorf("got %v", err)
	}
}

// switching launches what argv says at the time.
type switching struct {
	executors.Launcher
	argv *[]string
}

func (s switching) Launch(ctx context.Context, spec executors.Spec) (executors.Guest, error) {
	spec.Argv = *s.argv
	return s.Launcher.Launch(ctx, spec)
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]js.Config{
		"nothing":  {},
		"no argv":  {Launcher: &counting{}, Go: func(func()) {}, Now: time.Now},
		"negative": {Launcher: &counting{}, Go: func(func()) {}, Now: time.Now, Argv: []string{"x"}, Idle: -1},
	} {
		if _, err := js.New(c); err == nil {
			t.Errorf("%s: New took it", name)
		}
	}
}
