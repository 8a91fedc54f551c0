package js_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/executors/js/jsguest"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// broken are guests that were broken out of, played by this test binary: they are
// real ones, sealed as such, which in the middle of a program do what native code
// could try. The program asks for the time, and that is the way in.
const broken = "js-broken-"

func playBroken(attack string) int {
	tried := false
	return jsguest.Main(context.Background(), jsguest.Config{Now: func() time.Time {
		if n, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0); err == nil && n != 0 && !tried { // sealed
			tried = true
			if err := breakOut()[attack](); err != nil {
				os.Exit(3) // it was refused and nobody ended it
			}
		}
		return time.Now()
	}})
}

// breakOut is what a broken-out guest tries. Each returns nil when it worked.
func breakOut() map[string]func() error {
	call := func(number uintptr, a ...uintptr) func() error {
		a = append(a, 0, 0, 0, 0, 0, 0)
		return func() error {
			if _, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
				return e
			}
			return nil
		}
	}
	self := uintptr(os.Getpid())
	return map[string]func() error{
		"nothing":   func() error { return nil },
		"open":      func() error { _, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0); return err },
		"the cache": func() error { _, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0); return err },
		"memory by a file": func() error {
			_, err := unix.Open("/proc/self/mem", unix.O_RDWR, 0)
			return err
		},
		"socket":       func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err },
		"unix socket":  func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"socketpair":   call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM),
		"reconnect":    func() error { return unix.Connect(3, &unix.SockaddrUnix{Name: "@daemon"}) },
		"descriptors":  func() error { return unix.Sendmsg(3, []byte{0}, unix.UnixRights(3), nil, 0) },
		"exec":         func() error { return syscall.Exec("/proc/self/exe", []string{"x"}, nil) },
		"execveat":     call(unix.SYS_EXECVEAT, 3, 0, 0, 0, unix.AT_EMPTY_PATH),
		"fork":         call(unix.SYS_CLONE, unix.CLONE_SIGHAND|uintptr(syscall.SIGCHLD)),
		"a namespace":  call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"ptrace":       call(unix.SYS_PTRACE, unix.PTRACE_TRACEME),
		"kill":         func() error { return unix.Kill(-1, unix.SIGKILL) },
		"signal":       func() error { return unix.Kill(1, 0) },
		"queue":        call(unix.SYS_RT_SIGQUEUEINFO, self, 0),
		"code":         mapping(unix.PROT_READ | unix.PROT_EXEC),
		"own code":     mapping(unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC),
		"made to run":  makeExecutable,
		"pkey":         call(unix.SYS_PKEY_MPROTECT, 0, 4096, unix.PROT_EXEC),
		"personality":  call(unix.SYS_PERSONALITY, 0x0400000), // READ_IMPLIES_EXEC
		"memfd":        func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"pipe":         func() error { return unix.Pipe2(make([]int, 2), 0) },
		"dup":          func() error { _, err := unix.Dup(3); return err },
		"io_uring":     call(unix.SYS_IO_URING_SETUP, 1),
		"bpf":          call(unix.SYS_BPF),
		"userfaultfd":  call(unix.SYS_USERFAULTFD),
		"keyring":      call(unix.SYS_KEYCTL),
		"another's":    call(unix.SYS_PROCESS_VM_READV, 1),
		"pidfd":        call(unix.SYS_PIDFD_OPEN, 1),
		"mount":        call(unix.SYS_MOUNT),
		"another seal": call(unix.SYS_SECCOMP, 1),
		"dumpable":     func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
		"limits": func() error {
			return unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: 0}, nil)
		},
	}
}

func mapping(protection int) func() error {
	return func() error {
		_, err := unix.Mmap(-1, 0, 4096, protection, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	}
}

func makeExecutable() error {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		os.Exit(4)
	}
	return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
}

// recorded are the violations of sealed guests that a ring reports.
type recorded struct {
	mu  sync.Mutex
	all []kernel.Violation
}

func (r *recorded) report(v kernel.Violation) error {
	if v.Layer != initproto.LayerSeal {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
	return nil
}

func (r *recorded) take() []kernel.Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// sealAsOne puts the ring's filter on this process, as a guest does, and tries
// nothing.
func sealAsOne() error {
	time.AfterFunc(time.Hour, func() {}).Stop() // the runtime's poller takes descriptors
	buf := make([]byte, 1<<16)
	n, err := unix.Read(guestside.Control, buf)
	if err != nil {
		return err
	}
	var sent initproto.Seal
	if err := executors.Decode(buf[:n], &sent); err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(sent.Filter))
	for i, f := range sent.Filter {
		program[i] = unix.SockFilter{Code: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const setModeFilter, tsync, newListener, esrch = 1, 1, 8, 16
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync|newListener|esrch, uintptr(unsafe.Pointer(&p)))
	if e != 0 {
		return e
	}
	b, err := json.Marshal(initproto.Sealed{Version: initproto.Version})
	return errors.Join(err, unix.Sendmsg(guestside.Control, b, unix.UnixRights(int(fd)), nil, 0),
		unix.Close(guestside.Control))
}

// Whatever a guest tries once it was broken out of, it is refused, it is on
// record, and it is the end of the guest. The daemon goes on, and so do others.
func TestBrokenOut(t *testing.T) {
	var seen recorded
	ring := launcherOf(t, func(c *kernel.Config) { c.Report = seen.report })
	enclosed(t, ring)
	neighbour := executor(t, func(c *js.Config) { c.Launcher = ring })
	mustRun(t, neighbour, program("1"))
	for attack := range breakOut() {
		t.Run(attack, func(t *testing.T) {
			e := executor(t, func(c *js.Config) {
				c.Launcher, c.Argv = ring, []string{"/proc/self/exe", broken + attack}
			})
			out, err := e.Run(t.Context(), program("Date.now() > 0"), host{})
			if attack == "nothing" {
				if err != nil || string(out.Value) != "true" || len(seen.take()) != 0 {
					t.Errorf("%+v %v", out, err)
				}
				return
			}
			if err != nil || out.State != executors.StateFailed || out.Value != nil {
				t.Fatalf("%s %s %+v %v", out.State, out.Value, out.Error, err)
			}
			got := seen.take()
			if len(got) != 1 || got[0].Layer != initproto.LayerSeal || !got[0].End || got[0].Executor != "js" ||
				got[0].Agent != "default" {
				t.Fatalf("%+v", got)
			}
			if !strings.Contains(out.Error.Message, "a forbidden system call") ||
				!strings.Contains(out.Error.Message, got[0].Call) {
				t.Errorf("%q does not say %s", out.Error.Message, got[0].Call)
			}
			t.Log(got[0])
		})
	}
	if out := mustRun(t, neighbour, program("1 + 1")); string(out.Value) != "2" {
		t.Errorf("the neighbour: %+v", out)
	}
}

// What cannot be recorded ends the guest as well.
func TestBrokenOutUnrecorded(t *testing.T) {
	ring := launcherOf(t, func(c *kernel.Config) {
		c.Report = func(kernel.Violation) error { return errors.New("the disk is full") }
	})
	enclosed(t, ring)
	e := executor(t, func(c *js.Config) { c.Launcher, c.Argv = ring, []string{"/proc/self/exe", broken + "open"} })
	out, err := e.Run(t.Context(), program("Date.now() > 0"), host{})
	if err != nil || out.State != executors.StateFailed || !strings.Contains(out.Error.Message, "the disk is full") {
		t.Errorf("%+v %v", out, err)
	}
}

// Inside the ring a guest attests its seal beside what the ring built.
func TestAttestation(t *testing.T) {
	ring := launcherOf(t, nil)
	enclosed(t, ring)
	e := executor(t, func(c *js.Config) { c.Launcher = ring })
	r := program("1 + 1")
	r.Agent.MinTier = "os-sandbox"
	out := mustRun(t, e, r)
	if out.Attestation.Tier != "os-sandbox" || out.Attestation.LandlockABI == 0 || out.Attestation.Profile == "" {
		t.Errorf("%+v", out.Attestation)
	}
	var missing []string
	for _, layer := range []string{"wasm", initproto.LayerSeal, initproto.LayerMemory, initproto.LayerViolations,
		initproto.LayerNamespaces, initproto.LayerMounts, initproto.LayerLandlock, initproto.LayerSeccomp,
		initproto.LayerSelfTest} {
		if out.Attestation.Layers[layer] != "enforced" {
			missing = append(missing, fmt.Sprintf("%s: %q", layer, out.Attestation.Layers[layer]))
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Error(missing)
	}
}
