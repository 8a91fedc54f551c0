package pyguest_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// interpreters are those of this host that the guest must run on: one of each version.
func interpreters(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, path := range []string{
		"/usr/bin/python3", "/root/.pyenv/versions/3.10.13/bin/python3", "/root/.pyenv/versions/3.12.1/bin/python3",
		"/root/.pyenv/versions/3.13.0/bin/python3",
	} {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("no interpreter")
	}
	return found
}

// process is an interpreter without a ring around it: benign programs only.
type process struct {
	*os.File // our end of its connection
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	stdout   *output
	stderr   *output
	wait     func() error
}

// output is what a process has written so far.
type output struct {
	mu sync.Mutex
	b  []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b)
}

func (p *process) Conn() io.ReadWriteCloser           { return p.File }
func (p *process) Attestation() executors.Attestation { return executors.Attestation{} }
func (p *process) CPU() (time.Duration, error)        { return 0, nil }
func (p *process) Kill() error {
	_ = p.cmd.Process.Kill()
	_ = p.wait()
	return nil
}

// spawn starts an interpreter with a program of ours.
func spawn(t testing.TB, python, program string) *process {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "host")
	p := &process{File: os.NewFile(uintptr(fds[0]), "guest"), stdout: &output{}, stderr: &output{}}
	p.cmd = exec.Command(python, "-I", "-S", "-B", "-X", "utf8", "-c", program)
	// a socket serves as both pipes
	p.cmd.Env, p.cmd.Dir, p.cmd.ExtraFiles = []string{}, "/", []*os.File{theirs, theirs}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.cmd.Start(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(p.cmd.Wait)
	t.Cleanup(func() { _ = errors.Join(p.Kill(), p.Close()) })
	return p
}

// codes are byte codes by interpreter.
type codes struct {
	mu sync.Mutex
	of map[string][]byte
}

var compiled = codes{of: map[string][]byte{}}

func code(t testing.TB, python string) []byte {
	t.Helper()
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	if b := compiled.of[python]; b != nil {
		return b
	}
	p := spawn(t, python, pyguest.Compiler)
	text := pyguest.Source()
	if _, err := p.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		t.Fatal(err)
	}
	var head [4]byte
	if _, err := io.ReadFull(p, head[:]); err != nil {
		_ = p.wait()
		t.Fatalf("%v: %s", err, p.stderr)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(p, b); err != nil {
		t.Fatal(err)
	}
	compiled.of[python] = b
	return b
}

// hello greets an interpreter with the byte code of the guest.
func hello(t testing.TB, python string, s pyproto.Settings) executors.Hello {
	t.Helper()
	b, err := pyproto.Hello(s, code(t, python))
	if err != nil {
		t.Fatal(err)
	}
	return executors.Hello{Version: executors.ProtocolVersion, Settings: b}
}

func config() executors.LinkConfig {
	return executors.LinkConfig{Go: func(f func()) { go f() }, Now: time.Now}
}

// dial starts a guest that is ready.
func dial(t testing.TB, python string, s pyproto.Settings) (*executors.Link, *process) {
	t.Helper()
	p := spawn(t, python, pyguest.Launcher)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := executors.Dial(ctx, config(), p, hello(t, python, s))
	if err != nil {
		t.Fatalf("%v: %s", err, p.stderr)
	}
	return l, p
}

// profile allows what nothing denies.
func profile() *pyproto.Profile {
	return &pyproto.Profile{Any: true, Network: profiles.NetworkOff, Read: []string{"/"}, Write: []string{"/tmp"}}
}

func options(t testing.TB) pyproto.Options {
	return pyproto.Options{File: "main.py", Profile: profile(), Dir: t.TempDir(), Denials: 16, ResultBytes: 1 << 20}
}

// work is a run of that program.
func work(t testing.TB, o pyproto.Options, program string) executors.Work {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return executors.Work{
		Denials: 100,
		Budget: executors.Budget{CPU: time.Minute, Wall: time.Minute, OutputBytes: 1 << 20,
			ResultBytes: o.ResultBytes},
		Options: b, Source: []byte(program), Holds: true, Session: o.Session,
		Updated: func(executors.Updated) error { return nil },
	}
}

// ended is the end of a run, with what its process wrote.
type ended struct {
	executors.Outcome
	again          bool
	stdout, stderr string
}

// run runs one program in a guest of its own.
func run(t testing.TB, python string, o pyproto.Options, program string, h *executorstest.Host) ended {
	t.Helper()
	l, p := dial(t, python, pyproto.Settings{})
	if !o.Stdin {
		_ = p.stdin.Close()
	}
	if h == nil {
		h = &executorstest.Host{}
	}
	out, again, err := l.Run(t.Context(), work(t, o, program), h)
	_ = p.wait()
	if err != nil {
		t.Fatalf("%v: %s", err, p.stderr)
	}
	return ended{out, again, p.stdout.String(), p.stderr.String()}
}

// each runs a test on every interpreter of the host.
func each(t *testing.T, f func(*testing.T, string)) {
	for _, python := range interpreters(t) {
		t.Run(python, func(t *testing.T) {
			t.Parallel()
			f(t, python)
		})
	}
}

// quickHost answers at once.
type quickHost struct{}

func (quickHost) Ask(_ context.Context, q executors.Question) (executors.Answer, error) {
	return executors.Answer{Value: q.Args}, nil
}
func (quickHost) Console(executors.ConsoleEntry) {}
func (quickHost) Idle([]string)                  {}

// inputs are plain values as inputs of a run.
func inputs(t testing.TB, m map[string]any) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	for k, v := range m {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[k] = b
	}
	return out
}
