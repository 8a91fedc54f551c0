package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// misbehave plays children that do not do their work, on a host that is well: without
// a policy to compile they do.
func misbehave(how string, args []string) int {
	text, err := io.ReadAll(os.Stdin)
	work := func() int {
		return worker.CompileMain(context.Background(), time.Now, bytes.NewReader(text), os.Stdout, os.Stderr)
	}
	if err != nil || !strings.HasPrefix(how, "host ") && bytes.Contains(text, []byte(`{"kind":"well"`)) {
		return work()
	}
	switch strings.TrimPrefix(how, "host ") {
	case "silence":
		return 0
	case "garbage":
		fmt.Print("<html>not a frame</html>")
		return 0
	case "flood":
		chunk := strings.Repeat("x", 1<<20)
		for range 1024 {
			fmt.Print(chunk)
		}
		return 0
	case "words":
		fmt.Fprint(os.Stderr, strings.Repeat("noise ", 1<<16))
		return 7
	case "threads": // as a runtime with cgo ends when a stack does not fit
		fmt.Fprint(os.Stderr, "runtime/cgo: pthread_create failed: Resource temporarily unavailable")
		return 2
	case "collector": // as the collector of Go 1.26 ends when its queue of spans does not fit
		fmt.Fprint(os.Stderr, "SIGSEGV: segmentation violation\nPC=0x43939d m=3 sigcode=1 addr=0x0\n\n"+
			"goroutine 0 gp=0x2566da70d0e0 m=3 mp=0x2566da75b008 [idle]:\nruntime.(*spanQueue).tryDrain(0x7f9600004000?, 0x439ed1?, 0xda8aa000?)\n")
		return 2
	case "elsewhere": // the same signal in anything else is a crash
		fmt.Fprint(os.Stderr, "SIGSEGV: segmentation violation\nPC=0x43939d m=3 sigcode=1 addr=0x0\n\n"+
			"goroutine 1 gp=0x2566da70d0e0 m=3 mp=0x2566da75b008 [running]:\nmain.main()\nruntime.(*spanQueue).tryDrain(0x7f9600004000?)\n")
		return 2
	case "environment":
		fmt.Fprintf(os.Stderr, "environment: %q", os.Environ())
		return 6
	case "crash":
		var p *int
		*p = 1
	case "hang":
		hang()
	case "spin": // works without end
		spin := func() {
			for i := uint64(1); i != 0; i += 2 {
			}
		}
		go spin()
		spin()
	case "second": // is starved the first time and answers the second
		if err := os.Remove(args[0]); err == nil {
			hang()
		}
		return work()
	case "once": // dies the first time and answers the second
		if err := os.Remove(args[0]); err == nil {
			return 9
		}
		return work()
	case "turns": // dies in another way each time
		fmt.Fprint(os.Stderr, os.Getpid())
		return 9
	case "priority": // says how nice its threads are, once it is not starved
		if err := os.Remove(args[0]); err == nil {
			hang()
		}
		for range 4 {
			go func() { runtime.LockOSThread(); hang() }()
		}
		time.Sleep(50 * time.Millisecond)
		fmt.Fprint(os.Stderr, "nice:", niceness())
		return 6
	case "family": // starts a child of its own that holds the pipes, and hangs
		cmd := exec.Command(os.Args[0], append([]string{"misbehave", "holder"}, args...)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 4
		}
		hang()
	case "holder": // keeps a file open for as long as it lives
		if _, err := os.OpenFile(args[0], os.O_WRONLY, 0); err != nil {
			return 5
		}
		hang()
	}
	return 3
}

// niceness is that of each thread of this process, without repeats.
func niceness() string {
	var out []string
	stats, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ") // after the name of the thread
		if fields := strings.Fields(after); len(fields) > 16 {
			out = append(out, " "+fields[16])
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "")
}

func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

func compileConfig(t testing.TB) worker.CompileConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return worker.CompileConfig{Path: self, Args: []string{compileVerb}}
}

const compactPolicy = `interpreter_ring:
  allowed_imports: ["pandas"]
  denied_imports: ["urllib3"]
`

func oneSource(name, text string) worker.CompileRequest {
	return worker.CompileRequest{Sources: []schema.Source{{Name: name, Data: []byte(text)}}}
}

func TestRunCompiles(t *testing.T) {
	got, err := worker.Compile(t.Context(), patientConfig(t), oneSource("policy.yaml", compactPolicy))
	if err != nil || len(got.Diagnostics) > 0 || got.Set == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	here, found := worker.CompileHere(t.Context(), []schema.Source{{Name: "policy.yaml", Data: []byte(compactPolicy)}},
		nil)
	if len(found) > 0 || here.Revision != got.Set.Revision {
		t.Errorf("in process: revision %s, in the child %s; findings %v", here.Revision, got.Set.Revision, found)
	}
	t.Logf("cpu %v, peak %d KiB", got.Usage.CPU, got.Usage.PeakBytes>>10)
}

func TestDiedChildren(t *testing.T) {
	for how, code := range map[string]string{
		"silence": worker.CodeCrashed, "garbage": worker.CodeCrashed, "flood": worker.CodeMemory,
		"words": worker.CodeCrashed, "crash": worker.CodeCrashed, "threads": worker.CodeMemory,
		"collector": worker.CodeMemory, "elsewhere": worker.CodeCrashed, "hang": worker.CodeBusy, "spin": worker.CodeTimeout,
		"turns": worker.CodeBusy, "host crash": worker.CodeBusy, "host threads": worker.CodeBusy, "host silence": worker.CodeBusy,
	} {
		t.Run(how, func(t *testing.T) {
			cfg := patientConfig(t)
			cfg.Args = []string{"misbehave", how}
			if how == "hang" || how == "spin" {
				cfg.Wall = 300 * time.Millisecond
			}
			got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != code || got.Diagnostics[0].Hint == "" ||
				got.Set != nil {
				t.Errorf("got %+v, want one %s", got.Diagnostics, code)
			}
		})
	}
}

// TestStarved: a child that got no processor time is tried again with more
// patience, so that a busy host does not refuse an honest policy.
func TestStarved(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := compileConfig(t)
	cfg.Wall = 3 * time.Second
	cfg.Args = []string{"misbehave", "second", first}
	got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
	if err != nil || len(got.Diagnostics) > 0 || got.Set == nil {
		t.Fatalf("got %v, %v", got.Diagnostics, err)
	}
}

// TestUnanswered: a child that the host ended is started again, and the policy is not
// blamed while a child that has nothing to do ends so too. Each way to end a child is
// real: the shell takes address space or processes away, or kills, before ringd starts.
func TestUnanswered(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, ends := range map[string]string{"killed": "kill -KILL $$", "no memory": "ulimit -v 60000",
		"less memory": "ulimit -v 200000"} {
		t.Run(name, func(t *testing.T) {
			flag := filepath.Join(t.TempDir(), "short")
			script := fmt.Sprintf(`case "$(cat %[1]q 2>/dev/null)" in 1) rm %[1]q; %[2]s;; always) %[2]s;; esac; exec %[3]q %[4]s`, flag, ends, self, compileVerb)
			cfg := patientConfig(t)
			cfg.Path, cfg.Args = "/bin/sh", []string{"-c", script}
			for _, tt := range []struct{ short, code string }{{"always", worker.CodeBusy}, {"1", ""}, {"never", ""}} {
				if err := os.WriteFile(flag, []byte(tt.short), 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
				code := ""
				if len(got.Diagnostics) > 0 {
					code = got.Diagnostics[0].Code
				}
				if err != nil || code != tt.code || (code == "") != (got.Set != nil) {
					t.Errorf("host short %q: %v, %v, want %q", tt.short, got.Diagnostics, err, tt.code)
				}
			}
		})
	}
}

// TestYields: a child runs behind its parent with all its threads, and no longer when
// it was starved.
func TestYields(t *testing.T) {
	own := niceness()
	n, err := strconv.Atoi(strings.TrimSpace(own))
	if err != nil {
		t.Skip("this host does not tell how nice its threads are:", own)
	}
	first := filepath.Join(t.TempDir(), "first")
	for _, starved := range []bool{false, true} {
		cfg, want := patientConfig(t), fmt.Sprintf("nice: %d)", min(n+10, 19))
		cfg.Args = []string{"misbehave", "priority", first}
		if starved {
			cfg.Wall, want = 5*time.Second, fmt.Sprintf("nice:%s)", own)
			if err := os.WriteFile(first, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
		if err != nil || len(got.Diagnostics) != 1 || !strings.Contains(got.Diagnostics[0].Msg, want) {
			t.Errorf("starved %v: got %v, %v, want %s", starved, got.Diagnostics, err, want)
		}
	}
}

// TestCrowd: honest policies compile when eight do so at once.
func TestCrowd(t *testing.T) {
	text := rules(4_000)
	cfg := compileConfig(t)
	cfg.Wall = 3 * worker.RaceSlowdown * worker.DefaultCompileWall // the machine has other work too
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", text))
			if err == nil && got.Set == nil {
				err = got.Diagnostics
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestRunErrors(t *testing.T) {
	if _, err := worker.Compile(t.Context(), worker.CompileConfig{}, worker.CompileRequest{}); err == nil {
		t.Error("ran without a binary")
	}
	if _, err := worker.Compile(t.Context(), worker.CompileConfig{Path: "/no/such/binary", Args: []string{"x"}},
		worker.CompileRequest{}); err == nil {
		t.Error("ran a binary that is not there")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutting down")
	cancel(cause)
	if _, err := worker.Compile(ctx, compileConfig(t), oneSource("p.yaml", compactPolicy)); !errors.Is(err, cause) &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestFamilyDies: what a child starts ends with it.
func TestFamilyDies(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "held")
	clitest.NamedPipe(t, fifo)
	closed := make(chan error, 1)
	go func() { // the read ends when nobody holds the other end any more
		b, err := os.ReadFile(fifo)
		if err == nil && len(b) > 0 {
			err = errors.New("the holder wrote")
		}
		closed <- err
	}()
	cfg := compileConfig(t)
	cfg.Wall = time.Second
	cfg.Args = []string{"misbehave", "family", fifo}
	got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
	if err != nil || len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != worker.CodeBusy {
		t.Errorf("got %v, %v", got.Diagnostics, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestEmptyEnvironment: nothing of the daemon's environment reaches a child.
func TestEmptyEnvironment(t *testing.T) {
	t.Setenv("RINGD_TEST_SECRET", "x")
	cfg := patientConfig(t)
	cfg.Args = []string{"misbehave", "environment"}
	got, err := worker.Compile(t.Context(), cfg, oneSource("p.yaml", compactPolicy))
	if err != nil || len(got.Diagnostics) != 1 || !strings.Contains(got.Diagnostics[0].Msg, "environment: []") {
		t.Errorf("got %v, %v", got.Diagnostics, err)
	}
}

func TestRequestBounds(t *testing.T) {
	large := worker.CompileRequest{Sources: []schema.Source{{Name: "p.yaml", Data: make([]byte, 20<<20)}}}
	got, err := worker.Compile(t.Context(), compileConfig(t), large)
	if err != nil || len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != schema.CodeTooLarge {
		t.Errorf("sources: %v, %v", got.Diagnostics, err)
	}
	large = oneSource("p.yaml", compactPolicy)
	large.Files = map[string][]byte{"modules/x.js": make([]byte, 40<<20)}
	got, err = worker.Compile(t.Context(), compileConfig(t), large)
	if err != nil || len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != schema.CodeTooLarge {
		t.Errorf("files: %v, %v", got.Diagnostics, err)
	}
}

func TestDiagnosticsAndSchema(t *testing.T) {
	req := worker.CompileRequest{JSONSchema: true, Sources: []schema.Source{
		{Name: "a.yaml", Data: []byte("interpreter_ring:\n  allowed_import: []\n")},
		{Name: "b.yaml", Data: []byte("interpreter_ring:\n  denied_patterns: ['a | b']\n")}}}
	got, err := worker.Compile(t.Context(), patientConfig(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Diagnostics) != 2 || got.Diagnostics[0].Pos.File != "a.yaml" ||
		got.Diagnostics[1].Pos.File != "b.yaml" || got.Set != nil {
		t.Errorf("findings of both stages: %v", got.Diagnostics)
	}
	if !json.Valid(got.JSONSchema) {
		t.Errorf("JSON Schema: %.100s", got.JSONSchema)
	}
	req = oneSource("p.yaml", compactPolicy)
	req.DiagnosticsOnly = true
	if got, err = worker.Compile(t.Context(), patientConfig(t), req); err != nil || got.Set != nil ||
		len(got.Diagnostics) > 0 || got.Encoded != nil {
		t.Errorf("only diagnostics: %+v, %v", got, err)
	}
}

// TestModules: files of the modules folder reach the set.
func TestModules(t *testing.T) {
	req := oneSource("p.yaml", "interpreter_ring:\n  allowed_imports: [lodash-lite]\n")
	req.Files = map[string][]byte{"modules/lodash-lite.js": []byte("export default 1\n")}
	got, err := worker.Compile(t.Context(), patientConfig(t), req)
	if err != nil || got.Set == nil || got.Set.Modules["lodash-lite"].Source != "export default 1\n" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if d := got.Set.Decider("default", profiles.Environment{}).Import(
		"js", "lodash-lite"); d.Verdict != profiles.Allow {
		t.Errorf("got %+v", d)
	}
}
