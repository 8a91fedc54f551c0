package kernel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// start is one program that the driver is to start.
type start struct {
	Argv  []string
	Env   []string
	Dir   string
	Input string
	Open  bool              // first: the driver may be looked into
	Files map[string]string // written before
}

// ended is how it was.
type ended struct {
	Out  string // and standard error
	Code int    // -1: it was not started, or a signal ended it
	Err  string
}

// driver stands for the guest half of the shell executor: it starts what the
// connection names, one program after another.
func driver() int {
	conn := os.NewFile(3, "host")
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	closed := false
	for {
		var s start
		if err := in.Decode(&s); err != nil {
			return 0
		}
		if !closed && !s.Open {
			if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
				return 9
			}
			closed = true
		}
		e := ended{}
		for name, text := range s.Files {
			if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
				e.Err += err.Error() + "; "
			}
		}
		var b bytes.Buffer
		c := exec.Cmd{Path: s.Argv[0], Args: s.Argv, Env: s.Env, Dir: s.Dir, Stdin: strings.NewReader(s.Input), Stdout: &b, Stderr: &b}
		if s.Input == "" {
			c.Stdin = nil
		}
		c.WaitDelay = time.Second // what it left behind holds its output
		if err := c.Run(); err != nil {
			e.Err += err.Error()
		}
		e.Out, e.Code = b.String(), -1
		if c.ProcessState != nil {
			e.Code = c.ProcessState.ExitCode()
		}
		if err := out.Encode(e); err != nil {
			return 1
		}
	}
}

// driven is a guest that runs the driver.
type driven struct {
	executors.Guest
	in  *json.Decoder
	out *json.Encoder
}

// run starts one program in the guest.
func (d driven) run(t testing.TB, s start) ended {
	t.Helper()
	if s.Env == nil {
		s.Env = []string{"PATH=" + executors.Programs, "HOME=/tmp", "LC_ALL=C"}
	}
	var e ended
	if err := errors.Join(d.out.Encode(s), d.in.Decode(&e)); err != nil {
		t.Fatalf("%q: %v", s.Argv, err)
	}
	return e
}

// scripted is the profile of a shell guest with these programs.
func scripted(programs ...string) profiles.Kernel {
	return profiles.Kernel{
		Executor: profiles.ExecutorShell, Exec: granted(programs...), Network: profiles.NetworkOff, Path: true, Scratch: true,
		CPUMillis: 60_000, WallMillis: 120_000, MemoryBytes: 1 << 30, Processes: 64, Files: 256, FileBytes: 64 << 20, TempBytes: 64 << 20, OutputBytes: 1 << 20,
	}
}

// tried collects violations.
type tried struct {
	mu  sync.Mutex
	all []kernel.Violation
}

func (v *tried) report(x kernel.Violation) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, x)
	return nil
}

// take gives what was tried since, as text.
func (v *tried) take() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for _, x := range v.all {
		all = append(all, x.Violation.String())
	}
	v.all = nil
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

// recording is a ring that records violations.
func recording(t testing.TB) (*kernel.Ring, *tried) {
	t.Helper()
	var wg sync.WaitGroup
	v := &tried{}
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: zeroes{}, Report: v.report})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return r, v
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// drive launches a driver.
func drive(t testing.TB, r *kernel.Ring, k profiles.Kernel) driven {
	t.Helper()
	g, err := r.Launch(t.Context(), executors.Spec{
		Executor: profiles.ExecutorShell, Argv: []string{"/proc/self/exe", roleDriver}, MinTier: profiles.TierOS,
		CPU: 60 * time.Second, MemoryBytes: 1 << 30, FileBytes: 64 << 20, Kernel: k, Env: []string{"GOMAXPROCS=2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Kill(), g.Conn().Close()); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	})
	return driven{g, json.NewDecoder(g.Conn()), json.NewEncoder(g.Conn())}
}
