package guestside

// In the package: sealing has no exported name. It is for good, so each try runs
// in a process of its own; the test is its ring.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
	"github.com/ringd/ringd/rings/kernel/violations"
)

const roleRing = "ring-seal-test"

// Exit codes of the role, beside 0: it was sealed and its attack was refused.
const (
	exitNotSealed = 3
	exitCould     = 4
)

// attack is what a process tries that was broken out of. Each returns nil when it
// worked.
func attacks() map[string]func() error {
	return map[string]func() error{
		"none":   func() error { return errors.New("nothing was tried") },
		"open":   func() error { return descriptorOf(unix.Open("/etc/passwd", unix.O_RDONLY, 0)) },
		"socket": func() error { return descriptorOf(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)) },
		"exec":   func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
		"dup":    func() error { return descriptorOf(unix.Dup(3)) },
		"a program in memory": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
				unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		},
	}
}

// ringGuest seals itself, in a host that may lie, and tries one attack.
func ringGuest(lie, attack string) int {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := lieAbout(lie); err != nil {
		fmt.Println(err)
		return 1
	}
	startPoller()
	if err := SealInRing(4); err != nil {
		fmt.Println(err)
		return exitNotSealed
	}
	if err := stillRuns(); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := attacks()[attack](); err == nil {
		return exitCould
	}
	return 0
}

// stillRuns does what the runtime of a guest does all the time.
func stillRuns() error {
	var work sync.WaitGroup
	for range 8 { // each on a thread of its own
		work.Go(func() {
			runtime.LockOSThread()
			_ = make([]byte, 1<<20)
			time.Sleep(time.Millisecond)
		})
	}
	work.Wait()
	runtime.GC()
	_, err := unix.Write(1, []byte("sealed\n"))
	return err
}

// lieAbout makes one system call succeed without doing anything, as a host could.
func lieAbout(what string) error {
	var program []unix.SockFilter
	switch what {
	case "":
		return nil
	case "seccomp":
		program = verdict(unix.SECCOMP_RET_ERRNO, unix.SYS_SECCOMP)
	case "mdwe": // prctl(PR_SET_MDWE)
		program = []unix.SockFilter{
			{Code: 0x20, K: 0}, {Code: 0x15, K: unix.SYS_PRCTL, Jf: 3},
			{Code: 0x20, K: 16}, {Code: 0x15, K: unix.PR_SET_MDWE, Jf: 1},
			{Code: 0x06, K: unix.SECCOMP_RET_ERRNO}, {Code: 0x06, K: unix.SECCOMP_RET_ALLOW},
		}
	default:
		return fmt.Errorf("no lie about %q is known", what)
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, flagTSync, uintptr(unsafe.Pointer(&p)))
	if e != 0 {
		return e
	}
	return nil
}

// verdict is a program that gives the calls a verdict and lets all others be.
func verdict(verdict uint32, calls ...uint32) []unix.SockFilter {
	out := []unix.SockFilter{{Code: 0x20, K: 0}}
	for _, c := range calls {
		out = append(out, unix.SockFilter{Code: 0x15, K: c, Jf: 1}, unix.SockFilter{Code: 0x06, K: verdict})
	}
	return append(out, unix.SockFilter{Code: 0x06, K: unix.SECCOMP_RET_ALLOW})
}

// canaryFilter refuses what the canaries try, but for one call.
func canaryFilter(but string) initproto.Program {
	calls := map[string]uint32{
		"openat": unix.SYS_OPENAT, "socket": unix.SYS_SOCKET, "memfd_create": unix.SYS_MEMFD_CREATE, "pipe2": unix.SYS_PIPE2,
		"execve": unix.SYS_EXECVE, "dup": unix.SYS_DUP,
	}
	var out initproto.Program
	add := func(code uint16, k uint32, jt, jf uint8) {
		out = append(out, initproto.Instruction{Code: code, K: k, Jt: jt, Jf: jf})
	}
	add(0x20, 0, 0, 0)
	for name, c := range calls {
		if name != but {
			add(0x15, c, 0, 1)
			add(0x06, unix.SECCOMP_RET_USER_NOTIF, 0, 0)
		}
	}
	for name, c := range map[string]uint32{"mmap": unix.SYS_MMAP, "mprotect": unix.SYS_MPROTECT} {
		if name != but { // the third argument has PROT_EXEC
			add(0x15, c, 0, 4)
			add(0x20, 32, 0, 0)
			add(0x45, unix.PROT_EXEC, 0, 1)
			add(0x06, unix.SECCOMP_RET_USER_NOTIF, 0, 0)
			add(0x06, unix.SECCOMP_RET_ALLOW, 0, 0)
		}
	}
	if but != "clone" { // a process, not a thread
		add(0x15, unix.SYS_CLONE, 0, 4)
		add(0x20, 16, 0, 0)
		add(0x45, unix.CLONE_THREAD, 1, 0)
		add(0x06, unix.SECCOMP_RET_USER_NOTIF, 0, 0)
		add(0x06, unix.SECCOMP_RET_ALLOW, 0, 0)
	}
	add(0x06, unix.SECCOMP_RET_ALLOW, 0, 0)
	return out
}

// ended is what a ring sees of one guest.
type ended struct {
	sealed     initproto.Sealed
	violations []violations.Violation
	canaries   bool // it closed control: they were refused
	output     string
	code       int
	killed     bool
}

// inTestRing runs the role with a ring played by the test.
func inTestRing(t *testing.T, lie, attack string, seal any) (e ended) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer unix.Close(fds[0])
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	message, err := json.Marshal(seal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(fds[0], message); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", roleRing, lie, attack)
	cmd.Env = []string{"MALLOC_ARENA_MAX=1"} // as the executor has it
	cmd.Stderr = os.Stderr
	cmd.Stdout, cmd.ExtraFiles = &out, []*os.File{null, theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	serve(t, fds[0], cmd.Process, &e)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e.output, e.code = strings.TrimSpace(out.String()), cmd.ProcessState.ExitCode()
	e.killed = e.code == -1
	return e
}

// serve is the ring's part, until the guest closes control.
func serve(t *testing.T, control int, guest *os.Process, e *ended) {
	t.Helper()
	buf, oob := make([]byte, 1<<16), make([]byte, 64)
	n, rights, _, _, err := unix.Recvmsg(control, buf, oob, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(buf[:n], &e.sealed); err != nil {
		t.Fatalf("%q: %v", buf[:n], err)
	}
	if rights == 0 {
		return
	}
	messages, err := unix.ParseSocketControlMessage(oob[:rights])
	if err != nil {
		t.Fatal(err)
	}
	passed, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	armed := false
	l, err := violations.Listen(violations.Config{
		Go: func(f func()) { work.Go(f) }, Name: strconv.Itoa, Sealed: true,
		Canary: func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !armed
		},
		Report: func(v violations.Violation) error {
			e.violations = append(e.violations, v)
			return nil
		},
		End: func(violations.Violation, error) {
			if err := guest.Kill(); err != nil {
				t.Error(err)
			}
		},
	}, os.NewFile(uintptr(passed[0]), "listener"))
	if err != nil {
		// What a lying host gave is no listener; the guest finds out, and is gone.
		_, _ = unix.Read(control, buf)
		return
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		work.Wait()
	})
	n, err = unix.Read(control, buf)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	armed, e.canaries = true, n == 0
}

func sealWith(p initproto.Program) initproto.Seal {
	return initproto.Seal{Version: initproto.Version, Filter: p}
}

// A sealed guest runs on; over the first thing that it gave up it ends.
func TestSealInRing(t *testing.T) {
	real, err := seccomp.Seal(runtime.GOARCH, true)
	if err != nil {
		t.Fatal(err)
	}
	for attack := range attacks() {
		t.Run(attack, func(t *testing.T) {
			e := inTestRing(t, "", attack, sealWith(real))
			if e.sealed.Failed != "" || !e.canaries || e.output != "sealed" {
				t.Fatalf("%+v", e)
			}
			if attack == "none" {
				if e.code != 0 || len(e.violations) != 0 {
					t.Errorf("%+v", e)
				}
				return
			}
			if !e.killed || len(e.violations) != 1 || !e.violations[0].End ||
				e.violations[0].Layer != initproto.LayerSeal {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Every canary finds the filter that lets its call through, and a host that only
// says that it has put a layer in place.
func TestSealCanariesCanFail(t *testing.T) {
	for _, call := range []string{"openat", "socket", "memfd_create", "pipe2", "execve", "mprotect", "mmap", "clone"} {
		t.Run(call, func(t *testing.T) {
			e := inTestRing(t, "", "none", sealWith(canaryFilter(call)))
			if e.code != exitNotSealed || !strings.Contains(e.output, "the filter does not hold: "+call+" said") ||
				!strings.Contains(e.output, "on another thread: the filter does not hold: "+call) {
				t.Errorf("%+v", e)
			}
		})
	}
	for lie, want := range map[string]string{"seccomp": "the filter does not hold: openat",
		"mdwe": "memory became executable"} {
		t.Run("a lie about "+lie, func(t *testing.T) {
			if e := inTestRing(t, lie, "none", sealWith(canaryFilter(""))); e.code != exitNotSealed ||
				!strings.Contains(e.output, want) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// What is no filter is not put on, and the ring is told.
func TestSealInRingRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		seal any
		want string
	}{
		"another version": {initproto.Seal{Version: initproto.Version + 1, Filter: canaryFilter("")}, fmt.Sprintf("version %d", initproto.Version+1)},
		"no filter":       {initproto.Seal{Version: initproto.Version}, "0 bytes are no filter"},
		"half a filter":   {map[string]any{"Version": initproto.Version, "Filter": []byte("1234")}, "4 bytes are no filter"},
		"a field more":    {map[string]any{"Version": initproto.Version, "Filter": []byte("12345678"), "More": 1}, "unknown field"},
		"no program":      {map[string]any{"Version": initproto.Version, "Filter": []byte("12345678")}, "put the filter on all threads"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inTestRing(t, "", "none", tt.seal)
			if e.code != exitNotSealed || !strings.Contains(e.sealed.Failed, tt.want) || e.canaries {
				t.Errorf("%+v", e)
			}
		})
	}
}

// The guest may not import the ring's messages; they are the same.
func TestMessagesOfTheRing(t *testing.T) {
	b, err := json.Marshal(sealWith(initproto.Program{{Code: 0x15, Jt: 1, Jf: 2, K: 0xc0000001}, {Code: 6, K: 7}}))
	if err != nil {
		t.Fatal(err)
	}
	var s Seal
	if err := decode(b, &s); err != nil {
		t.Fatal(err)
	}
	got, err := decodeFilter(s)
	if d := cmp.Diff([]unix.SockFilter{{Code: 0x15, Jt: 1, Jf: 2, K: 0xc0000001}, {Code: 6, K: 7}}, got); d != "" ||
		err != nil {
		t.Error(d, err)
	}
	if b, err = json.Marshal(Sealed{Version: controlVersion, Failed: "why"}); err != nil {
		t.Fatal(err)
	}
	var sealed initproto.Sealed
	if err := decode(b, &sealed); err != nil || sealed != (initproto.Sealed{
		Version: initproto.Version, Failed: "why"}) {
		t.Errorf("%+v %v", sealed, err)
	}
	if Control != initproto.Control {
		t.Error("another descriptor")
	}
}
