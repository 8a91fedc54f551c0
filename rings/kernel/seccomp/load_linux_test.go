package seccomp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// A test of the kernel's own reading of a filter runs in a child: this binary
// again, which loads the filter on its one locked thread and then is or tries what
// its arguments say.
const (
	roleVar  = "RINGD_FILTER_ROLE"
	specVar  = "RINGD_FILTER_SPEC"
	roleRun  = "run"  // becomes the program of its arguments
	roleTry  = "try"  // makes calls and prints what came of them
	roleUse  = "use"  // measures calls
	roleSeal = "seal" // seals itself, lives on and makes one call
	roleBoth = "both" // makes calls, seals itself and makes them again
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if err := act(role, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(120)
	}
	os.Exit(0)
}

func act(role string, args []string) error {
	var s *seccomp.Spec
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &s); err != nil {
		return err
	}
	if s != nil {
		p, err := seccomp.Build(*s)
		if err != nil {
			return err
		}
		if err := install(p, 0); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	switch role {
	case roleRun:
		return syscall.Exec(args[0], args, cleanEnv())
	case roleTry:
		return try(args)
	case roleUse:
		return use()
	case roleSeal:
		return live(args)
	case roleBoth:
		return both(args)
	}
	return fmt.Errorf("no role %q", role)
}

func cleanEnv() (out []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "RINGD_FILTER_") && !strings.HasPrefix(e, "GLIBC_TUNABLES=") {
			out = append(out, e)
		}
	}
	return out
}

// install loads a filter on this thread, or by its flags on all, for good.
func install(p []initproto.Instruction, flags uintptr) error {
	_, err := load(p, flags)
	return err
}

// load returns a descriptor of the listener when the flags ask for one.
func load(p []initproto.Instruction, flags uintptr) (fd int, err error) {
	ins := make([]unix.SockFilter, 0, len(p))
	for _, i := range p {
		ins = append(ins, unix.SockFilter{Code: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	prog := unix.SockFprog{Len: uint16(len(ins)), Filter: &ins[0]}
	n, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(ins)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// inside returns the command of this binary in a role, under the filter of a spec;
// nil is none.
func inside(t testing.TB, role string, s *seccomp.Spec, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a wrong filter can leave it waiting for ever
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role, specVar+"="+string(b))
	// Under the race detector there is a C library, which else asks how many
	// processors there are, in a folder of the kernel, when a thread is started.
	cmd.Env = append(cmd.Env, "GLIBC_TUNABLES=glibc.malloc.arena_max=1")
	return cmd
}

// attempt is a call that is made in a child, with harmless arguments: where it is
// not refused it does nothing, or fails in another way.
type attempt struct {
	name string
	args []uintptr
	bare string // the outcome without a filter
	want string // with the filter of one process without a network
}

// attempts are tried by the kernel. Every outcome differs from the bare one.
func attempts() []attempt {
	const bad = ^uintptr(0) // no descriptor, no process
	return []attempt{
		{"getppid", nil, "ok", "ok"},
		{"read", []uintptr{bad, 0, 0}, "EBADF", "EBADF"},
		{"unshare", []uintptr{0}, "ok", "EPERM"},
		{"socket", []uintptr{unix.AF_NETLINK, 15, 0}, "EINVAL", "EAFNOSUPPORT"},
		{"socket", []uintptr{unix.AF_INET, 14, 0}, "EINVAL", "EAFNOSUPPORT"},
		{"socket", []uintptr{unix.AF_INET | 1<<32, 14, 0}, "EINVAL", "EAFNOSUPPORT"},
		{"socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0, 0}, "EFAULT", "EAFNOSUPPORT"},
		{"socketpair", []uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, 0}, "EFAULT", "EFAULT"},
		{"clone3", []uintptr{0, 0}, "EINVAL", "ENOSYS"},
		{"openat2", []uintptr{bad, 0, 0, 0}, "EINVAL", "ENOSYS"},
		{"ptrace", []uintptr{unix.PTRACE_DETACH, bad, 0, 0}, "ESRCH", "EPERM"},
		{"process_vm_readv", []uintptr{0, 0, 0, 0, 0, 1}, "EINVAL", "EPERM"},
		{"bpf", []uintptr{bad, 0, 0}, "EINVAL|EPERM", "EPERM"},
		{"io_uring_setup", []uintptr{0, 0}, "EFAULT|EINVAL|EPERM", "EPERM"},
		{"ioctl", []uintptr{bad, unix.TIOCSTI, 0}, "EBADF", "EPERM"},
		{"ioctl", []uintptr{bad, unix.TIOCSTI | 1<<32, 0}, "EBADF", "EPERM"},
		{"ioctl", []uintptr{bad, unix.TCGETS, 0}, "EBADF", "EBADF"},
		{"fchmod", []uintptr{bad, 0o4755}, "EBADF", "EPERM"},
		{"fchmod", []uintptr{bad, 0o755}, "EBADF", "EBADF"},
		{"memfd_create", []uintptr{0, 0}, "EFAULT", "ENOSYS"},
		{"memfd_create", []uintptr{0, 9}, "EFAULT", "ENOSYS"},
		{"execveat", []uintptr{bad, 0, 0, 0, unix.AT_EMPTY_PATH}, "EFAULT", "EPERM"},
		{"personality", []uintptr{0x0400000 | 1<<32}, "ok", "EPERM"},
		{"prlimit64", []uintptr{1<<31 - 1, unix.RLIMIT_NOFILE, 0, 0}, "ESRCH", "EPERM"},
		{"fcntl", []uintptr{bad, 8, 0}, "EBADF", "EPERM"},
		{"mmap", []uintptr{0, 4096, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_SHARED | unix.MAP_ANONYMOUS, bad, 0}, "ok", "EACCES"},
		{"shmget", []uintptr{0, 0, 0}, "EINVAL", "ENOSYS"},
		{"keyctl", []uintptr{bad, 0, 0, 0, 0}, "ENOTSUP", "EPERM"},
		{"setsid", nil, "EPERM|ok", "EPERM"},
	}
}

func try(indexes []string) error {
	all := attempts()
	for _, i := range indexes {
		var n int
		if _, err := fmt.Sscan(i, &n); err != nil {
			return err
		}
		a := all[n]
		nr, ok := seccomp.Number(runtime.GOARCH, a.name)
		if !ok {
			return fmt.Errorf("no call %s", a.name)
		}
		var args [6]uintptr
		copy(args[:], a.args)
		_, _, errno := unix.RawSyscall6(uintptr(nr), args[0], args[1], args[2], args[3], args[4], args[5])
		out := "ok"
		if errno != 0 {
			out = unix.ErrnoName(errno)
		}
		fmt.Println(n, out)
	}
	return nil
}

// TestKernel loads the filter and lets the kernel decide; and makes the same calls
// without one, so that each refusal is shown to be the filter's.
func TestKernel(t *testing.T) {
	var indexes []string
	for i := range attempts() {
		indexes = append(indexes, fmt.Sprint(i))
	}
	for _, with := range []bool{false, true} {
		name := map[bool]string{false: "bare", true: "filtered"}[with]
		t.Run(name, func(t *testing.T) {
			var s *seccomp.Spec
			if with {
				s = &seccomp.Spec{Arch: runtime.GOARCH}
			}
			out, err := inside(t, roleTry, s, indexes...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != len(attempts()) {
				t.Fatalf("%d outcomes: %s", len(lines), out)
			}
			for i, a := range attempts() {
				_, got, _ := strings.Cut(lines[i], " ")
				want := a.bare
				if with {
					want = a.want
				}
				if !strings.Contains("|"+want+"|", "|"+got+"|") {
					t.Errorf("%s %#x: %s, want %s", a.name, a.args, got, want)
				}
			}
		})
	}
}

// live seals this process on all its threads and does what the Go runtime does for
// a long-lived program. Then it makes the calls of its arguments.
func live(indexes []string) error {
	p, err := seccomp.Seal(runtime.GOARCH, false)
	if err != nil {
		return err
	}
	if r, w, err := os.Pipe(); err != nil || r.Close() != nil || w.Close() != nil { // opens the poller of Go
		return errors.Join(err, errors.New("no poller"))
	}
	if err := install(p, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	work()
	runtime.GC()
	debug.FreeOSMemory()
	for begin := time.Now(); time.Since(begin) < 30*time.Millisecond; { // long enough to be interrupted
	}
	fmt.Println("alive")
	return try(indexes)
}

// work makes threads and garbage.
func work() {
	var held [][]byte
	ready, done := make(chan struct{}), make(chan struct{})
	for range 30 {
		go func() {
			runtime.LockOSThread() // a new thread for each
			ready <- struct{}{}
			<-done
		}()
		<-ready
		held = append(held, make([]byte, 4<<20))
		<-time.After(time.Microsecond)
	}
	close(done)
	for i := range held {
		held[i][1<<20] = 1
	}
}

// TestSealedRuntime: the Go runtime lives under the seal, and a call that is not on
// its list is the end.
func TestSealedRuntime(t *testing.T) {
	out, err := inside(t, roleSeal, nil).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "alive" {
		t.Fatalf("%v: %s", err, out)
	}
	for i, a := range attempts() {
		if a.name == "read" || a.name == "clone3" {
			continue
		}
		cmd := inside(t, roleSeal, nil, fmt.Sprint(i))
		out, err := cmd.CombinedOutput()
		status, isStatus := cmd.ProcessState.Sys().(syscall.WaitStatus)
		refused := isStatus && status.Signaled() && status.Signal() == unix.SIGSYS
		if quiet := a.name == "ioctl" && a.args[1] == unix.TCGETS; err == nil != quiet || refused == quiet ||
			!strings.HasPrefix(string(out), "alive") {
			t.Errorf("%s %#x: %v: %s", a.name, a.args, err, out)
		}
	}
}
