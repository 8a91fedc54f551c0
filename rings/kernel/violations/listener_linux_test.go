package violations_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/violations"
)

const roleGuest = "watch-test-guest"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleGuest {
		if err := guest(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == roleLandlocked {
		if err := landlocked(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// guest is a process under a filter that asks for mkdirat, socket and execve. It
// sends the listeners over descriptor 3 and does what it is told on descriptor 0.
func guest(listeners string) error {
	n, err := strconv.Atoi(listeners)
	if err != nil {
		return err
	}
	for range n - 1 {
		failed := make(chan error)
		go func() {
			runtime.LockOSThread()
			failed <- filtered()
			select {}
		}()
		if err := <-failed; err != nil {
			return err
		}
	}
	runtime.LockOSThread()
	if err := filtered(); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		fmt.Println(do(verb, arg))
	}
	return in.Err()
}

func do(verb, arg string) string {
	switch verb {
	case "mkdir":
		return text(unix.Mkdirat(unix.AT_FDCWD, strings.ReplaceAll(arg, `\n`, "\n"), 0o700))
	case "socket":
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
		if err == nil {
			unix.Close(fd)
		}
		return text(err)
	case "unreadable":
		_, _, e := unix.Syscall(unix.SYS_MKDIRAT, ^uintptr(99), 8, 0)
		return e.Error()
	case "exec":
		p, err := os.StartProcess(arg, []string{arg}, &os.ProcAttr{Dir: "/"})
		if err != nil {
			return text(err)
		}
		state, err := p.Wait()
		if err != nil {
			return err.Error()
		}
		return state.String()
	default:
		return "what is " + verb
	}
}

func text(err error) string {
	var e syscall.Errno
	if errors.As(err, &e) {
		return unix.ErrnoName(e)
	}
	return fmt.Sprint(err)
}

// filtered puts the calling thread under the filter and sends its listener.
func filtered() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const load, jump, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: 0},
		{Code: jump, Jt: 3, K: unix.SYS_MKDIRAT},
		{Code: jump, Jt: 2, K: unix.SYS_SOCKET},
		{Code: jump, Jt: 1, K: unix.SYS_EXECVE},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&f)))
	if e != 0 {
		return fmt.Errorf("install the filter: %w", e)
	}
	if err := unix.Sendmsg(3, []byte{1}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	return unix.Close(int(fd))
}

// held is a guest under test.
type held struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	fds     []*os.File
	routine sync.WaitGroup

	mu   sync.Mutex
	seen []violations.Violation
}

func start(t *testing.T, listeners int) *held {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "guest")
	defer unix.Close(pair[0])
	h := &held{t: t, cmd: exec.Command("/proc/self/exe", roleGuest, strconv.Itoa(listeners))}
	h.cmd.ExtraFiles, h.cmd.Stderr = []*os.File{theirs}, os.Stderr
	// Go preempts a goroutine by a signal, which interrupts a call that waits for its answer. The kernel then
	// restarts the call, and the listener counts it twice.
	h.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		for _, f := range h.fds {
			f.Close()
		}
		h.routine.Wait()
	})
	for range listeners {
		b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(pair[0], b, oob, unix.MSG_CMSG_CLOEXEC)
		if err != nil || n == 0 {
			unavailable(t, "the guest has no listener: %v", err)
		}
		m, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil {
			t.Fatal(err)
		}
		fds, err := unix.ParseUnixRights(&m[0])
		if err != nil {
			t.Fatal(err)
		}
		h.fds = append(h.fds, os.NewFile(uintptr(fds[0]), "listener"))
	}
	return h
}

// unavailable skips a test that this host cannot run, unless it must.
func unavailable(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func (h *held) config() violations.Config {
	return violations.Config{
		Go: func(f func()) { h.routine.Go(f) },
		Name: func(nr int) string {
			return map[int]string{unix.SYS_MKDIRAT: "mkdirat", unix.SYS_SOCKET: "socket", unix.SYS_EXECVE: "execve"}[nr]
		},
		Report: func(v violations.Violation) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.seen = append(h.seen, v)
			return nil
		},
		End: func(v violations.Violation, err error) { h.t.Errorf("end: %v %v", v, err) },
	}
}

func (h *held) listen(c violations.Config) *violations.Listener {
	h.t.Helper()
	fd := h.fds[0]
	h.fds = h.fds[1:]
	l, err := violations.Listen(c, fd)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = l.Close() })
	return l
}

func (h *held) say(s string) string {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in, s); err != nil {
		h.t.Fatal(err)
	}
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatalf("%s: %v", s, err)
	}
	return strings.TrimSpace(line)
}

func (h *held) violations() []violations.Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]violations.Violation{}, h.seen...)
}

func (h *held) want(want ...violations.Violation) {
	h.t.Helper()
	if d := cmp.Diff(want, h.violations(), cmpopts.IgnoreFields(violations.Violation{}, "PID")); d != "" {
		h.t.Error(d)
	}
}

func TestRefusedCallsAreTold(t *testing.T) {
	h := start(t, 1)
	h.listen(h.config())
	for _, tt := range []struct{ say, want string }{
		{"mkdir /tmp/ringd-watch-must-not-be", "EPERM"},
		{`mkdir /tmp/a\nlevel=info`, "EPERM"},
		{"socket", "EAFNOSUPPORT"},
		{"unreadable", "operation not permitted"},
		{"exec /usr/bin/true", "EPERM"},
	} {
		if got := h.say(tt.say); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.say, got, tt.want)
		}
	}
	for range 9 {
		h.say("socket")
	}
	h.want(
		violations.Violation{Layer: "seccomp", Call: "mkdirat", Detail: "/tmp/ringd-watch-must-not-be", Count: 1},
		violations.Violation{Layer: "seccomp", Call: "mkdirat", Detail: "/tmp/a?level=info", Count: 1},
		violations.Violation{Layer: "seccomp", Call: "socket", Detail: "AF_NETLINK", Count: 1},
		violations.Violation{Layer: "seccomp", Call: "mkdirat", Detail: "(not readable)", Count: 1},
		violations.Violation{Layer: "exec", Call: "execve", Detail: "/usr/bin/true", Count: 1},
		violations.Violation{Layer: "seccomp", Call: "socket", Detail: "AF_NETLINK", Count: 10},
	)
	if pid := h.violations()[0].PID; pid == 0 {
		t.Error("no process is named")
	}
	if _, err := os.Stat("/tmp/ringd-watch-must-not-be"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused folder: %v", err)
	}
}

// A guest that tries for ever does not keep the daemon busy for ever.
func TestTheKernelRefusesInTheEnd(t *testing.T) {
	h := start(t, 1)
	h.listen(h.config())
	got := map[string]int{}
	for range 80 {
		got[h.say("socket")]++
	}
	if d := cmp.Diff(map[string]int{"EAFNOSUPPORT": 64, "ENOSYS": 16}, got); d != "" {
		t.Error(d)
	}
}

func TestErrnoIsTheCallers(t *testing.T) {
	h := start(t, 1)
	c := h.config()
	c.Errno = func(call string) syscall.Errno {
		if call == "socket" {
			return unix.EACCES
		}
		return 0
	}
	h.listen(c)
	if a, b := h.say("socket"), h.say("mkdir /tmp/x"); a != "EACCES" || b != "EPERM" {
		t.Errorf("%s %s", a, b)
	}
}

// What ends a guest: a violation after it sealed itself, or one that nobody took.
func TestViolationEndsTheGuest(t *testing.T) {
	full := errors.New("the disk is full")
	for _, tt := range []struct {
		name   string
		sealed bool
		report error
		layer  string
	}{
		{"sealed", true, nil, "seal"},
		{"sealed and not on record", true, full, "seal"},
		{"not on record", false, full, "seccomp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, 1)
			type end struct {
				v   violations.Violation
				err error
			}
			ended := make(chan end, 1)
			c := h.config()
			c.Sealed = tt.sealed
			c.Report = func(violations.Violation) error { return tt.report }
			listening := make(chan *violations.Listener, 1)
			c.End = func(v violations.Violation, err error) {
				// As the ring does it.
				if err := errors.Join(h.cmd.Process.Kill(), (<-listening).Close()); err != nil {
					t.Error(err)
				}
				ended <- end{v, err}
			}
			listening <- h.listen(c)
			if _, err := fmt.Fprintln(h.in, "socket"); err != nil {
				t.Fatal(err)
			}
			got := <-ended
			if got.v.Layer != tt.layer || got.v.Call != "socket" || got.v.End != tt.sealed ||
				!errors.Is(got.err, tt.report) {
				t.Errorf("ended by %+v", got)
			}
			if s, err := h.out.ReadString('\n'); err == nil {
				t.Errorf("the call was answered: %q", s)
			}
		})
	}
}

// Where other layers decide about exec it is looked at and let go on.
func TestExecIsSeen(t *testing.T) {
	h := start(t, 1)
	c := h.config()
	var banned unix.Stat_t
	if err := unix.Stat("/usr/bin/false", &banned); err != nil {
		t.Skip(err)
	}
	c.Granted = func(device, inode uint64) bool { return device != banned.Dev || inode != banned.Ino }
	h.listen(c)
	for _, tt := range []struct{ say, want string }{
		{"exec /usr/bin/true", "exit status 0"},
		{"exec /nonexistent/true", "ENOENT"},
		{"exec /usr/bin/false", "exit status 1"}, // nothing but this listener stands around this guest
		{"exec usr/bin/../bin/false", "exit status 1"},
		{"socket", "EAFNOSUPPORT"},
	} {
		if got := h.say(tt.say); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.say, got, tt.want)
		}
	}
	h.want(
		violations.Violation{Layer: "exec", Call: "execve", Detail: "/usr/bin/false", Count: 1},
		violations.Violation{Layer: "exec", Call: "execve", Detail: "usr/bin/../bin/false", Count: 1},
		violations.Violation{Layer: "seccomp", Call: "socket", Detail: "AF_NETLINK", Count: 1},
	)
}

// A caller that is gone, or was interrupted, before the answer started nothing.
func TestExecThatWasNoneIsNotReported(t *testing.T) {
	h := start(t, 1)
	c := h.config()
	c.Granted = func(uint64, uint64) bool {
		list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.cmd.Process.Pid))
		if err != nil {
			t.Error(err)
		}
		for _, f := range list {
			text, _ := os.ReadFile(f)
			for pid := range strings.FieldsSeq(string(text)) {
				n, _ := strconv.Atoi(pid)
				fd, err := unix.PidfdOpen(n, 0)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := unix.Kill(n, unix.SIGKILL); err != nil {
					t.Error(err)
				}
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
				unix.Close(fd)
			}
		}
		return false
	}
	h.listen(c)
	h.say("exec /usr/bin/true")
	if v := h.violations(); len(v) > 0 {
		t.Errorf("%v", v)
	}
}

// One that is refused more than anybody looks at is ended: its exec calls would fail.
func TestTooManyRefusalsEndTheGuest(t *testing.T) {
	h := start(t, 1)
	c := h.config()
	c.Granted = func(uint64, uint64) bool { return true }
	ended := make(chan error, 1)
	c.End = func(_ violations.Violation, err error) {
		_ = h.cmd.Process.Kill()
		ended <- err
	}
	h.listen(c)
	for range 4096 {
		if _, err := fmt.Fprintln(h.in, "socket"); err != nil {
			break // it has ended: a call that was interrupted counts again
		}
		if s, err := h.out.ReadString('\n'); err != nil {
			break
		} else if s != "EAFNOSUPPORT\n" {
			t.Fatal(s)
		}
	}
	if err := <-ended; !errors.Is(err, violations.ErrTooMany) {
		t.Error(err)
	}
	if n := len(h.violations()); n != 4 {
		t.Errorf("%d records, want those of 1, 10, 100 and 1000", n)
	}
}

// A sealed guest starts nothing, whatever is granted.
func TestSealedGuestStartsNothing(t *testing.T) {
	h := start(t, 1)
	c := h.config()
	c.Sealed = true
	c.Granted = func(uint64, uint64) bool { return true }
	ended := make(chan violations.Violation, 1)
	c.End = func(v violations.Violation, _ error) {
		_ = h.cmd.Process.Kill()
		ended <- v
	}
	h.listen(c)
	if _, err := fmt.Fprintln(h.in, "exec /usr/bin/true"); err != nil {
		t.Fatal(err)
	}
	if v := <-ended; v.Call != "execve" || !v.End {
		t.Errorf("ended by %v", v)
	}
}

// Quiet guests cost no thread, and a listener ends with its guest.
func TestListenersWaitWithoutThreads(t *testing.T) {
	const many = 24
	h := start(t, many)
	before := threads(t)
	var all []*violations.Listener
	for range many {
		all = append(all, h.listen(h.config()))
	}
	if got := h.say("socket"); got != "EAFNOSUPPORT" {
		t.Error(got)
	}
	if after := threads(t); after > before+many/2 {
		t.Errorf("%d threads, %d before %d listeners", after, before, many)
	}
	if err := h.in.Close(); err != nil {
		t.Fatal(err)
	}
	h.routine.Wait()
	for _, l := range all {
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	}
}

func threads(t *testing.T) int {
	t.Helper()
	l, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

func TestListenRefuses(t *testing.T) {
	h := start(t, 1)
	for _, tt := range []struct {
		name   string
		change func(*violations.Config)
	}{
		{"no Go", func(c *violations.Config) { c.Go = nil }},
		{"no names", func(c *violations.Config) { c.Name = nil }},
		{"nobody to report to", func(c *violations.Config) { c.Report = nil }},
		{"no end", func(c *violations.Config) { c.End = nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.config()
			tt.change(&c)
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			if l, err := violations.Listen(c, f); err == nil || l != nil {
				t.Errorf("got %v %v", l, err)
			}
			if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the listener is left open: %v", err)
			}
		})
	}
	if _, err := violations.Listen(h.config(), nil); err == nil {
		t.Error("no listener was taken")
	}
}
