package seccomp_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// both is a guest that seals itself, under the filter of its spec: it makes its
// calls, puts the seal above with a listener, gives that away, and makes them again.
func both(args []string) error {
	fmt.Println("before")
	if err := try(args); err != nil {
		return err
	}
	p, err := seccomp.Seal(runtime.GOARCH, true)
	if err != nil {
		return err
	}
	fd, err := load(p, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(initproto.Control, []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("give the listener: %w", err)
	}
	if _, err := unix.Read(initproto.Control, make([]byte, 1)); err != nil { // until it is served
		return err
	}
	fmt.Println("after")
	return try(args)
}

// TestSealSeesAll: the listener of the seal is asked about what the seal refuses
// and about what the filter beneath refuses, which has no listener of its own and
// answers ENOSYS until then.
func TestSealSeesAll(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	here, there := os.NewFile(uintptr(ends[0]), "here"), os.NewFile(uintptr(ends[1]), "there")
	defer here.Close()
	var indexes []string
	for i, a := range attempts() {
		// The seal has a canary for neither, and the filter beneath refuses the first alone.
		if a.name == "ptrace" || a.name == "fchmod" && a.args[1] == 0o755 || a.name == "bpf" {
			indexes = append(indexes, fmt.Sprint(i))
		}
	}
	cmd := inside(t, roleBoth, &seccomp.Spec{Arch: runtime.GOARCH, JIT: true, Seals: true}, indexes...)
	cmd.ExtraFiles = []*os.File{there, there} // the second is initproto.Control
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = there.Close()

	listener, err := listenerFrom(here)
	if err != nil {
		_ = cmd.Process.Kill()
		t.Fatalf("%v; %v: %s", err, cmd.Wait(), out.String())
	}
	var mu sync.Mutex
	var seen []string
	l, err := violations.Listen(violations.Config{
		Go:   func(f func()) { go f() },
		Name: func(nr int) string { return seccomp.Name(runtime.GOARCH, nr) },
		Report: func(v violations.Violation) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, v.Call)
			return nil
		},
		End:   func(violations.Violation, error) {},
		Errno: func(string) syscall.Errno { return unix.EDOM },
	}, listener)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	before, after, _ := strings.Cut(out.String(), "after\n")
	if n := strings.Count(before, "ENOSYS"); n != 2 || strings.Count(before, "EBADF") != 1 {
		t.Errorf("before the seal: %s", before)
	}
	if n := strings.Count(after, "EDOM"); n != 3 {
		t.Errorf("after the seal: %s", after)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Sort(seen); !slices.Equal(seen, []string{"bpf", "fchmod", "ptrace"}) {
		t.Errorf("seen: %v", seen)
	}
}

// listenerFrom takes the descriptor that a guest gives away.
func listenerFrom(f *os.File) (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(f.Fd()), make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no descriptor"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}
