// Package executorstest is the conformance suite of executors: the rules that every executor must keep, in
// every language. The tests of each executor call Run with real guests and with a program of its language for
// each behaviour.
package executorstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Suite is one executor under test.
type Suite struct {
	// New returns a fresh executor. The suite closes it.
	New func(testing.TB) executors.Executor
	// Agent returns a profile that grants the executor and nothing else.
	Agent    func() profiles.Agent
	Language string
	Programs Programs
	Pauses   *Pauses // if nil, it cannot pause
	// Streams says that the output of its programs is text of their standard streams, in pieces, and not lines
	// of a console.
	Streams bool
}

// Programs are texts in the language of the executor. If one is empty, the language does not have it. The only
// bridge is echo, which returns the array of its arguments unless a line says otherwise.
type Programs struct {
	Two      string // value 2
	Echo     string // calls echo with 41 and adds 1 to the result: value 42
	Order    string // starts echo 0 to 9 concurrently, waits for all: value [0…9]
	Catch    string // calls echo, returns the name of the error it catches
	Result   string // calls echo and returns the result
	Kind     string // whether the answer to echo has the member polluted: true or false
	Uncaught string // throws an error named Oops on its line 3
	Ambient  string // the files, network, environment and processes that it could reach: value []
	Seeded   string // some random numbers
	Loop     string // an endless loop
	Busy     string // writes a line to the console, then an endless loop
	Memory   string // allocates memory forever
	Wait     string // calls echo and waits, forever if it is not answered
	Deadlock string // waits for something that nothing can settle
	Dropped  string // calls echo without waiting for it
	Flood    string // writes "x" to the console forever, or until its limit, then value 1
	Lines    string // writes "one" and "two" to the console: value 1
	Huge     string // a result of a megabyte or more
}

// Host is a host that a test scripts. Its zero value echoes.
type Host struct {
	Answer func(context.Context, executors.Question) (executors.Answer, error)
	Line   func() // called for each console entry

	mu      sync.Mutex
	asked   []executors.Question
	console []executors.ConsoleEntry
}

// Ask records q and answers it.
func (h *Host) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	h.mu.Lock()
	recorded := q
	recorded.Hold = nil // a function of the link
	h.asked = append(h.asked, recorded)
	h.mu.Unlock()
	if h.Answer != nil {
		return h.Answer(ctx, q)
	}
	return executors.Answer{Value: q.Args}, nil
}

// Console records e.
func (h *Host) Console(e executors.ConsoleEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = append(h.console, e)
	if h.Line != nil {
		h.Line()
	}
}

// Idle does nothing.
func (h *Host) Idle([]string) {}

// Asked returns the questions so far.
func (h *Host) Asked() []executors.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Run runs the whole suite.
func Run(t *testing.T, s Suite) {
	e := s.New(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	x := suite{Suite: s, e: e}
	t.Run("value", x.value)
	t.Run("order", x.order)
	t.Run("denial", x.denial)
	t.Run("refuses", x.refuses)
	t.Run("uncaught", x.uncaught)
	t.Run("ambient", x.ambient)
	t.Run("determinism", x.determinism)
	t.Run("limits", x.limits)
	t.Run("output", x.output)
	t.Run("cancel", x.cancel)
	t.Run("hosterror", x.hostError)
	t.Run("answers", x.answers)
	t.Run("pollution", x.pollution)
	t.Run("neighbours", x.neighbours)
	if s.Pauses != nil {
		t.Run("pauses", x.pauses)
	}
	t.Run("closed", x.closed)
}

type suite struct {
	Suite
	e executors.Executor
}

// program is a run with generous limits. A test tightens the limit that it is about.
func (x suite) program(source string) executors.Run {
	a := x.Agent()
	a.Bridges = map[string]profiles.Bridge{"echo": {Name: "echo"}}
	n := func(v int64) *int64 { return &v }
	return executors.Run{
		ID: "run", Actor: "actor", Agent: &a, Revision: "sha256:suite",
		Program: executors.Program{Name: "program", Language: x.Language, Source: source},
		Limits: profiles.Limits{CPUMillis: n(10000), WallMillis: n(60000), MemoryBytes: n(32 << 20),
			OutputBytes: n(4 << 10),
			ResultBytes: n(64 << 10), StackBytes: n(256 << 10), Processes: n(1), Files: n(16), RefusedCalls: n(64)},
	}
}

// do runs source and fails the test on an error.
func (x suite) do(t *testing.T, source string, h executors.Host) executors.Outcome {
	t.Helper()
	out, err := x.e.Run(t.Context(), x.program(source), h)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func want(t *testing.T, out executors.Outcome, state executors.State, rest string) {
	t.Helper()
	got := string(out.Value)
	if out.Error != nil {
		got = out.Error.Name
	}
	if out.State != state || rest != "" && got != rest {
		t.Errorf("%s %s %+v, want %s %s", out.State, got, out.Error, state, rest)
	}
}

func (x suite) value(t *testing.T) {
	out := x.do(t, x.Programs.Two, &Host{})
	want(t, out, executors.StateDone, "2")
	// Its processor time is not checked: while a guest runs on another processor the kernel counts it to the
	// last tick, and such a program ends within one.
	if out.Usage.Wall <= 0 || out.Attestation.Tier == "" || len(out.Attestation.Layers) == 0 {
		t.Errorf("usage or attestation is missing: %+v", out)
	}
	h := &Host{}
	h.Answer = func(_ context.Context, q executors.Question) (executors.Answer, error) {
		return executors.Answer{Value: json.RawMessage("41")}, nil
	}
	out = x.do(t, x.Programs.Echo, h)
	want(t, out, executors.StateDone, "42")
	asked := h.Asked()
	for i := range asked {
		if asked[i].Turn == nil {
			t.Errorf("question %d has no turn", i+1)
		}
		asked[i].Turn = nil
	}
	q := []executors.Question{{Call: "c1", Bridge: "echo", Args: json.RawMessage("[41]")}}
	if d := cmp.Diff(q, asked); d != "" || out.Usage.Calls["echo"] != 1 {
		t.Errorf("calls %v\n%s", out.Usage.Calls, d)
	}
}

// order settles ten calls in reverse: each answer must reach its own call.
func (x suite) order(t *testing.T) {
	var mu sync.Mutex
	turn := sync.NewCond(&mu)
	next := 9
	h := &Host{}
	h.Answer = func(_ context.Context, q executors.Question) (executors.Answer, error) {
		var args []int
		if err := json.Unmarshal(q.Args, &args); err != nil || len(args) != 1 {
			return executors.Answer{}, fmt.Errorf("arguments %s: %w", q.Args, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for next != args[0] {
			turn.Wait()
		}
		next--
		turn.Broadcast()
		return executors.Answer{Value: json.RawMessage(fmt.Sprint(args[0]))}, nil
	}
	out := x.do(t, x.Programs.Order, h)
	want(t, out, executors.StateDone, "[0,1,2,3,4,5,6,7,8,9]")
	ids := map[string]bool{}
	for _, q := range h.Asked() {
		ids[q.Call] = true
	}
	if len(ids) != 10 {
		t.Errorf("%d different calls", len(ids))
	}
}

func (x suite) denial(t *testing.T) {
	h := &Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
		return executors.Answer{Error: &executors.GuestError{Name: "CapabilityDenied", Message: "not today"}}, nil
	}}
	want(t, x.do(t, x.Programs.Catch, h), executors.StateDone, `"CapabilityDenied"`)
	want(t, x.do(t, x.Programs.Result, h), executors.StateFailed, "CapabilityDenied")
}

// refuses lists runs that must not begin.
func (x suite) refuses(t *testing.T) {
	h := &Host{}
	for name, change := range map[string]func(*executors.Run){
		"no agent":     func(r *executors.Run) { r.Agent = nil },
		"no grant":     func(r *executors.Run) { r.Agent = &profiles.Agent{Name: "x", MinTier: profiles.TierProcess} },
		"no limits":    func(r *executors.Run) { r.Limits = profiles.Limits{} },
		"higher tier":  func(r *executors.Run) { r.Agent.MinTier = profiles.TierRemote },
		"no tier":      func(r *executors.Run) { r.Agent.MinTier = "" },
		"unknown tier": func(r *executors.Run) { r.Agent.MinTier = "moon" },
		"language":     func(r *executors.Run) { r.Program.Language = "cobol" },
	} {
		t.Run(name, func(t *testing.T) {
			r := x.program(x.Programs.Echo)
			change(&r)
			out, err := x.e.Run(t.Context(), r, h)
			if err == nil || out.State == executors.StateDone {
				t.Errorf("it ran: %s %v", out.State, err)
			}
			var d *profiles.Denial
			if strings.Contains(name, "tier") &&
				(!errors.As(err, &d) || d.Decision.Code != profiles.CodeTierUnavailable) {
				t.Errorf("error %v, want %s", err, profiles.CodeTierUnavailable)
			}
		})
	}
	if n := len(h.Asked()); n != 0 {
		t.Errorf("refused runs made %d calls", n)
	}
}

func (x suite) uncaught(t *testing.T) {
	out := x.do(t, x.Programs.Uncaught, &Host{})
	want(t, out, executors.StateFailed, "Oops")
	if out.Error == nil || len(out.Error.Frames) == 0 || out.Error.Frames[0].Line != 3 ||
		out.Error.Frames[0].File != "program" {
		t.Errorf("frames %+v, want line 3 of program first", out.Error)
	}
}

func (x suite) ambient(t *testing.T) {
	want(t, x.do(t, x.Programs.Ambient, &Host{}), executors.StateDone, "[]")
}

func (x suite) determinism(t *testing.T) {
	if x.Programs.Seeded == "" {
		t.Skip("its random numbers are its own")
	}
	values := map[byte][]string{}
	for _, seed := range []byte{1, 1, 2} {
		r := x.program(x.Programs.Seeded)
		r.Seed = [32]byte{seed}
		out, err := x.e.Run(t.Context(), r, &Host{})
		if err != nil || out.State != executors.StateDone {
			t.Fatalf("%+v %v", out, err)
		}
		values[seed] = append(values[seed], string(out.Value))
	}
	if values[1][0] != values[1][1] || values[1][0] == values[2][0] {
		t.Errorf("random numbers do not follow the seed: %v", values)
	}
}

func (x suite) limits(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, tt := range []struct {
		name, source string
		change       func(*profiles.Limits)
		state        executors.State
		want         string
	}{
		{
			"processor time", x.Programs.Loop, func(l *profiles.Limits) { l.CPUMillis = n(100) }, executors.StateLimit,
			"Timeout",
		},
		{
			"wall time of a busy program", x.Programs.Loop, func(l *profiles.Limits) { l.WallMillis = n(100) },
			executors.StateLimit, "Timeout",
		},
		{
			"memory", x.Programs.Memory, func(l *profiles.Limits) { l.MemoryBytes = n(8 << 20) }, executors.StateLimit,
			"OutOfMemory",
		},
		{"deadlock", x.Programs.Deadlock, nil, executors.StateLimit, "Deadlock"},
		{"result", x.Programs.Huge, nil, executors.StateLimit, "ResultTooLarge"},
		{"a call that is dropped", x.Programs.Dropped, nil, executors.StateFailed, "UnawaitedCall"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.source == "" {
				t.Skip("it has no such program")
			}
			r := x.program(tt.source)
			if tt.change != nil {
				tt.change(&r.Limits)
			}
			out, err := x.e.Run(t.Context(), r, &Host{})
			if err != nil {
				t.Fatal(err)
			}
			want(t, out, tt.state, tt.want)
			if tt.name == "processor time" && out.Usage.CPU < 50*time.Millisecond {
				t.Errorf("it used 100 ms, and %v are counted", out.Usage.CPU)
			}
			want(t, x.do(t, x.Programs.Two, &Host{}), executors.StateDone, "2")
		})
	}
	t.Run("wall time of a waiting program", func(t *testing.T) {
		r := x.program(x.Programs.Wait)
		r.Limits.WallMillis = n(100)
		h := &Host{Answer: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
			<-ctx.Done()
			return executors.Answer{}, ctx.Err()
		}}
		out, err := x.e.Run(t.Context(), r, h)
		if err != nil {
			t.Fatal(err)
		}
		want(t, out, executors.StateLimit, "Timeout")
		if out.Usage.HostWait <= 0 || out.Usage.HostWait > out.Usage.Wall ||
			out.Usage.CPU > out.Usage.Wall+time.Second {
			t.Errorf("the figures do not part: %+v", out.Usage)
		}
	})
}

func (x suite) output(t *testing.T) {
	h := &Host{}
	out := x.do(t, x.Programs.Lines, h)
	lines := []executors.ConsoleEntry{{Seq: 1, Level: "log", Text: "one"}, {Seq: 2, Level: "log", Text: "two"}}
	if x.Streams {
		text := ""
		for _, e := range out.Console {
			if e.Level == executors.LevelStdout {
				text += e.Text
			}
		}
		if text != "one\ntwo\n" || cmp.Diff(out.Console, h.console) != "" {
			t.Errorf("printed %q, and streamed %v", text, h.console)
		}
	} else if d := cmp.Diff(lines, out.Console); d != "" || cmp.Diff(lines, h.console) != "" {
		t.Errorf("console, and as streamed %v\n%s", h.console, d)
	}
	r := x.program(x.Programs.Flood)
	*r.Limits.CPUMillis = 300
	out, err := x.e.Run(t.Context(), r, &Host{})
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, e := range out.Console {
		bytes += int64(len(e.Text))
	}
	if bytes == 0 || bytes > *r.Limits.OutputBytes+200 {
		t.Errorf("%d bytes of console under a limit of %d", bytes, *r.Limits.OutputBytes)
	}
	if out.Dropped <= 0 && out.State == executors.StateDone {
		t.Error("nobody says that output was dropped")
	}
}

func (x suite) cancel(t *testing.T) {
	for name, source := range map[string]string{"busy": x.Programs.Busy, "waiting": x.Programs.Wait} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := &Host{Answer: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
				cancel()
				<-ctx.Done()
				return executors.Answer{}, ctx.Err()
			}}
			h.Line = cancel
			out, err := x.e.Run(ctx, x.program(source), h)
			if err != nil {
				t.Fatal(err)
			}
			want(t, out, executors.StateCancelled, "Cancelled")
		})
	}
}

func (x suite) hostError(t *testing.T) {
	boom := errors.New("the record could not be written")
	h := &Host{
		Answer: func(context.Context, executors.Question) (executors.Answer, error) { return executors.Answer{}, boom },
	}
	out, err := x.e.Run(t.Context(), x.program(x.Programs.Catch), h)
	if !errors.Is(err, boom) || out.State == executors.StateDone {
		t.Errorf("%s %v: a failure of the host has to end the run", out.State, err)
	}
}

// answers are those of a broken or hostile host: each becomes an error that the program can catch.
func (x suite) answers(t *testing.T) {
	deep := strings.Repeat("[", 100000) + strings.Repeat("]", 100000)
	for name, value := range map[string]string{
		"cut short":     `{"a":`,
		"garbage":       "\x00\xff\xfe",
		"two values":    `1 2`,
		"huge":          `"` + strings.Repeat("x", executors.MaxFrameBytes) + `"`,
		"deep":          deep,
		"unknown tag":   `{"$ringd":"root"}`,
		"broken number": `{"$ringd":"bigint","value":"1e9"}`,
		"dangling ref":  `{"$ringd":"ref","id":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := &Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
				return executors.Answer{Value: json.RawMessage(value)}, nil
			}}
			out := x.do(t, x.Programs.Catch, h)
			if got := string(out.Value); out.State != executors.StateDone ||
				got != `"BridgeError"` && got != `"ResultTooLarge"` {
				t.Errorf("%s %s %+v", out.State, got, out.Error)
			}
		})
	}
}

func (x suite) pollution(t *testing.T) {
	for _, value := range []string{
		`{"__proto__":{"polluted":true}}`,
		`{"constructor":{"prototype":{"polluted":true}}}`,
		`{"$ringd":"entries","value":[["__proto__",{"polluted":true}]]}`,
	} {
		h := &Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
			return executors.Answer{Value: json.RawMessage(value)}, nil
		}}
		want(t, x.do(t, x.Programs.Kind, h), executors.StateDone, "false")
	}
}

// neighbours run concurrently, hostile ones among them, and get their own results.
func (x suite) neighbours(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range 8 {
		wg.Go(func() {
			source, state, rest := x.Programs.Two, executors.StateDone, "2"
			if i%4 == 0 {
				source, state, rest = x.Programs.Loop, executors.StateLimit, "Timeout"
			}
			r := x.program(source)
			r.Actor = fmt.Sprintf("actor %d", i)
			if i%4 == 0 {
				*r.Limits.CPUMillis = 100
			}
			out, err := x.e.Run(t.Context(), r, &Host{})
			if err != nil {
				t.Error(err)
				return
			}
			want(t, out, state, rest)
		})
	}
}

func (x suite) closed(t *testing.T) {
	e := x.New(t)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if out, err := e.Run(t.Context(), x.program(x.Programs.Two), &Host{}); err == nil {
		t.Errorf("a closed executor ran: %s", out.State)
	}
}
