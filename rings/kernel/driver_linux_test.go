package kernel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// start is one program that the driver is to start.
type start struct {
	Argv  []string
	Env   []string
	Dir   string
	Input string
	Open  bool              // first: the driver may be looked into
	Files map[string]string // written before, or added to
	Tree  map[string][]byte // written in place of all that is there
	Look  string            // a path to look for afterwards
	Give  string            // a folder to give afterwards
}

// ended is how it was.
type ended struct {
	Out  string // and standard error
	Code int    // -1: it was not started, or a signal ended it
	Err  string
	Mark bool // what was looked for is there
	Tree map[string][]byte
}

// driver stands for the guest half of the shell executor: it starts what the
// connection names, one program after another.
func driver() int {
	from, to := os.Stdin, os.Stdout // in a lab
	if len(os.Args) == 2 {
		from, to = os.NewFile(initproto.Connection, "host"), os.NewFile(initproto.Answers, "host")
	}
	in, out := json.NewDecoder(from), json.NewEncoder(to)
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
		if err := s.write(); err != nil {
			e.Err += err.Error() + "; "
		}
		if len(s.Argv) == 0 {
			if err := out.Encode(e); err != nil {
				return 1
			}
			continue
		}
		var b bytes.Buffer
		c := exec.Cmd{Path: s.Argv[0], Args: s.Argv, Env: s.Env, Dir: s.Dir, Stdin: strings.NewReader(s.Input),
			Stdout: &b, Stderr: &b}
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
		if s.Give != "" {
			e.Tree = given(s.Give)
		}
		if s.Look != "" {
			_, err := os.Stat(s.Look)
			e.Mark = err == nil
		}
		if err := out.Encode(e); err != nil {
			return 1
		}
	}
}

// given reads a folder.
func given(dir string) map[string][]byte {
	all := map[string][]byte{}
	_ = filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error { // what is missed shows
		if err == nil && e.Type().IsRegular() {
			all[p], err = os.ReadFile(p)
		}
		return err
	})
	return all
}

// write adds to files, in folders that may not be there yet.
func (s start) write() error {
	if s.Tree != nil {
		old, err := os.ReadDir(executors.Workspace)
		for _, e := range old {
			err = errors.Join(err, os.RemoveAll(filepath.Join(executors.Workspace, e.Name())))
		}
		for name, b := range s.Tree {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o755))
		}
		if err != nil {
			return err
		}
	}
	for name, text := range s.Files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o755)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// driven is a guest that runs the driver.
type driven struct {
	executors.Guest // nil: it is a lab
	in              *json.Decoder
	out             *json.Encoder
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
		Executor: profiles.ExecutorShell, Exec: granted(programs...), Network: profiles.NetworkOff, Path: true,
		Scratch:   true,
		CPUMillis: 60_000, WallMillis: 120_000, MemoryBytes: 1 << 30, Processes: 64, Files: 256, FileBytes: 64 << 20,
		TempBytes: 64 << 20, OutputBytes: 1 << 20,
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
