package python_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// lab starts guests without the kernel ring, where they can harm nobody: in
// namespaces of their own, as nobody of this host, with a root that holds /usr and
// what the lab put there. It shows what the hook stops alone, and that an attack has
// its effect where nothing stops it.
type lab struct {
	outside, extra, name string
	port                 int
}

// newLab skips where this host gives no namespaces to ordinary users.
func newLab(t testing.TB, outside, extra string) *lab {
	t.Helper()
	l := &lab{outside: outside, extra: extra, name: "ringd-lab", port: labPort}
	for _, program := range []string{"setpriv", "unshare", "ip", "timeout", "pivot_root"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the lab needs %s", program)
		}
	}
	out, err := l.command(t.Context(), "/bin/true").CombinedOutput()
	if err != nil {
		if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
			t.Fatalf("no lab: %v: %s", err, out)
		}
		t.Skipf("no lab: %v: %s", err, out)
	}
	return l
}

const labPort = 47617

func (l *lab) command(ctx context.Context, argv ...string) *exec.Cmd {
	here, err := filepath.Abs("testdata/lab")
	if err != nil {
		panic(err)
	}
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(here, name))
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	args := []string{
		"--reuid", "65534", "--regid", "65534", "--clear-groups", "--",
		"unshare", "-U", "-r", "-m", "-p", "-n", "-i", "-u", "-C", "--fork", "--kill-child=KILL", "--",
		"sh", "-c", text("lab.sh"), "lab", l.outside, l.extra,
		"/usr/bin/python3", "-I", "-S", "-c", text("parent.py"), strconv.Itoa(l.port), l.name, l.outside,
	}
	c := exec.CommandContext(ctx, "setpriv", append(args, argv...)...)
	c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{Setpgid: true}
	return c
}

// Launch implements executors.Launcher.
func (l *lab) Launch(_ context.Context, s executors.Spec) (executors.Guest, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "host")
	g := &labGuest{conn: &once{File: os.NewFile(uintptr(fds[0]), "guest")}, done: make(chan struct{})}
	g.cmd = l.command(context.Background(), s.Argv...)
	g.cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, s.Env...)
	g.cmd.ExtraFiles = []*os.File{theirs, theirs} // a socket serves as both pipes
	var far []*os.File
	pipe := func(ours **once, write bool) *os.File {
		r, w, e := os.Pipe()
		err = errors.Join(err, e)
		if write {
			r, w = w, r
		}
		*ours, far = &once{File: r}, append(far, w)
		return w
	}
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = pipe(&g.stdin, true), pipe(&g.stdout, false), pipe(&g.stderr, false)
	if err == nil {
		err = g.cmd.Start()
	}
	for _, f := range append(far, theirs) {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, err
	}
	go func() {
		_ = g.cmd.Wait() // its state says it
		close(g.done)
	}()
	return g, nil
}

// labGuest is one of them.
type labGuest struct {
	conn, stdin, stdout, stderr *once
	cmd                         *exec.Cmd
	kill                        sync.Once
	done                        chan struct{}
}

// once is a file that may be closed again.
type once struct {
	*os.File
	closing sync.Once
	err     error
}

func (o *once) Close() error {
	o.closing.Do(func() { o.err = o.File.Close() })
	return o.err
}

func (g *labGuest) Conn() io.ReadWriteCloser { return g.conn }
func (g *labGuest) Attestation() executors.Attestation {
	return executors.Attestation{Tier: profiles.TierOS} // a lie, so that runs that ask for the ring are run here
}
func (g *labGuest) Stdin() io.WriteCloser { return g.stdin }
func (g *labGuest) Stdout() io.Reader     { return g.stdout }
func (g *labGuest) Stderr() io.Reader     { return g.stderr }
func (g *labGuest) CPU() (time.Duration, error) {
	select {
	case <-g.done:
		return g.cmd.ProcessState.UserTime() + g.cmd.ProcessState.SystemTime(), nil
	default:
		return 0, nil
	}
}

func (g *labGuest) Kill() error {
	g.kill.Do(func() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) })
	<-g.done
	return nil
}

func (g *labGuest) Wait(ctx context.Context) (executors.Exit, error) {
	select {
	case <-g.done:
	case <-ctx.Done():
		return executors.Exit{}, context.Cause(ctx)
	}
	e := executors.Exit{Code: g.cmd.ProcessState.ExitCode()}
	if n, name := g.cmd.ProcessState.ExitCode(), strings.TrimSpace(g.cmd.ProcessState.String()); n > 128 ||
		strings.HasPrefix(name, "signal") {
		e.Signal = max(n-128, 0)
	}
	return e, nil
}
