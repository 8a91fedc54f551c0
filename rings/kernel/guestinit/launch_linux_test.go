package guestinit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initimage"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/rootfs"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// guestID is the user of a guest when the tests run as root.
const guestID = 1879048192

// launched is an init that was started with an order.
type launched struct {
	t       testing.TB
	cmd     *exec.Cmd
	control *os.File
	ended   bool
}

// namespaces of a guest.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
	syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP

// launch starts init in fresh namespaces: the embedded one, or the program argv[0]
// with the arguments that follow.
func launch(t testing.TB, argv ...string) *launched {
	t.Helper()
	return launchIn(t, namespaces, nil, argv...)
}

// launchIn is launch in some of the namespaces, with one more descriptor when
// there is one.
func launchIn(t testing.TB, flags uintptr, more *os.File, argv ...string) *launched {
	t.Helper()
	if initimage.Init() == nil {
		t.Skip("there is no init for " + runtime.GOARCH)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ring"), os.NewFile(uintptr(fds[1]), "init")
	defer theirs.Close()
	l := &launched{t: t, control: ours, cmd: &exec.Cmd{Env: []string{}, Dir: "/"}}
	if len(argv) == 0 {
		argv = initOf(t, false)
	}
	l.cmd.Path, l.cmd.Args = argv[0], argv[1:]
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	l.cmd.Stderr = os.Stderr
	l.cmd.ExtraFiles = []*os.File{null, theirs}
	if more != nil {
		l.cmd.ExtraFiles = append(l.cmd.ExtraFiles, more)
	}
	uid, gid := os.Getuid(), os.Getgid()
	a := &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		Pdeathsig:   syscall.SIGKILL, Setsid: true,
	}
	if uid == 0 {
		other := syscall.SysProcIDMap{ContainerID: guestID, HostID: guestID, Size: 1}
		a.UidMappings, a.GidMappings = append(a.UidMappings, other), append(a.GidMappings, other)
		a.GidMappingsEnableSetgroups = true
	} else {
		a.AmbientCaps = []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT,
			unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE,
		}
	}
	l.cmd.SysProcAttr = a
	// The thread that forks must not end before the guest, which dies with it.
	started := make(chan error)
	over := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- l.cmd.Start()
		<-over
	}()
	if err := <-started; err != nil {
		close(over)
		if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
			t.Fatalf("no namespaces: %v", err)
		}
		t.Skipf("no namespaces: %v", err)
	}
	t.Cleanup(func() {
		l.kill()
		ours.Close()
		close(over)
	})
	return l
}

func (l *launched) kill() {
	if !l.ended {
		l.ended = true
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	}
}

// wait returns the exit code of init, once it ends.
func (l *launched) wait() int {
	l.t.Helper()
	l.ended = true
	var e *exec.ExitError
	if err := l.cmd.Wait(); err != nil && !errors.As(err, &e) {
		l.t.Fatal(err)
	}
	return l.cmd.ProcessState.ExitCode()
}

// initOf is how the embedded init is started: one that stays, or becomes the
// program.
func initOf(t testing.TB, stays bool) []string {
	t.Helper()
	if stays {
		return []string{initFile(t), "init", initproto.Stays}
	}
	return []string{initFile(t), "init"}
}

// standing is a guest built as o says, by an init that stays or not, with its report.
func standing(t testing.TB, stays bool, o initproto.Order) (*launched, initproto.Report) {
	t.Helper()
	o.Reap = stays
	l := launch(t, initOf(t, stays)...)
	l.send(o)
	return l, l.stands()
}

// initFile is the embedded init as a file that can be started.
func initFile(t testing.TB) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "init")
	if err := os.WriteFile(p, initimage.Init(), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (l *launched) send(m any, fds ...int) {
	l.t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		l.t.Fatal(err)
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if err := unix.Sendmsg(int(l.control.Fd()), b, oob, nil, unix.MSG_NOSIGNAL); err != nil {
		l.t.Fatal(err)
	}
}

// receive decodes the next message; io.EOF when there is none.
func (l *launched) receive(m any) (fds []int, err error) {
	l.t.Helper()
	b, oob := make([]byte, 1<<16), make([]byte, 2048)
	n, got, _, _, err := unix.Recvmsg(int(l.control.Fd()), b, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		l.t.Fatal(err)
	}
	if n == 0 {
		return nil, io.EOF
	}
	if got > 0 {
		ms, err := unix.ParseSocketControlMessage(oob[:got])
		if err != nil {
			l.t.Fatal(err)
		}
		if fds, err = unix.ParseUnixRights(&ms[0]); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := json.Unmarshal(b[:n], m); err != nil {
		l.t.Fatalf("%v: %s", err, b[:n])
	}
	return fds, nil
}

func (l *launched) report() initproto.Report {
	l.t.Helper()
	var r initproto.Report
	fds, err := l.receive(&r)
	if err != nil {
		l.t.Fatalf("no report: %v", err)
	}
	for _, fd := range fds {
		l.t.Cleanup(func() { unix.Close(fd) })
	}
	return r
}

// stands is report, of a guest that must stand.
func (l *launched) stands() initproto.Report {
	l.t.Helper()
	r := l.report()
	if r.Failed != "" {
		l.t.Fatalf("layer %s, %s: %s: %s (errno %d)", r.Failed, r.Kind, r.Step, r.Reason, r.Errno)
	}
	return r
}

// outcome runs a program to its end and returns what it wrote.
type outcome struct {
	out, err string
}

func (l *launched) run(argv ...string) outcome {
	l.t.Helper()
	return l.runWith(initproto.Go{Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}}, "")
}

func (l *launched) runWith(start initproto.Go, in string) (o outcome) {
	l.t.Helper()
	var r, w [3]*os.File
	for i := range r {
		var err error
		if r[i], w[i], err = os.Pipe(); err != nil {
			l.t.Fatal(err)
		}
	}
	start.Files = 3
	l.send(start, int(r[0].Fd()), int(w[1].Fd()), int(w[2].Fd()))
	r[0].Close()
	w[1].Close()
	w[2].Close()
	if _, err := w[0].WriteString(in); err != nil {
		l.t.Fatal(err)
	}
	w[0].Close()
	var out, errs bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&errs, r[2])
	}()
	if _, err := io.Copy(&out, r[1]); err != nil {
		l.t.Fatal(err)
	}
	<-done
	o.out, o.err = out.String(), errs.String()
	return o
}

// orderOf is an order for a profile, as the ring makes it.
func orderOf(t testing.TB, k profiles.Kernel, program string) initproto.Order {
	t.Helper()
	plan, err := rootfs.Resolve(k, program, rootfs.Places{})
	if err != nil {
		t.Fatal(err)
	}
	spec := seccomp.Spec{Arch: runtime.GOARCH, Network: k.Network, Processes: true}
	code, err := seccomp.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	o := initproto.Order{
		Version: initproto.Version, Token: "0123456789abcdef", Mounts: plan.Mounts, Temp: k.TempBytes,
		UID: os.Getuid(), GID: os.Getgid(), Network: initproto.NetworkOff, ABI: 1, Filter: code, WX: !k.JIT,
		Namespaces: map[string]uint64{},
		Limits: []initproto.Limit{
			{Name: "CORE", Resource: unix.RLIMIT_CORE, Value: 1}, {Name: "NOFILE", Resource: unix.RLIMIT_NOFILE, Value: 64},
			{Name: "FSIZE", Resource: unix.RLIMIT_FSIZE, Value: 1 << 20}, {Name: "CPU", Resource: unix.RLIMIT_CPU, Value: 10},
			{Name: "AS", Resource: unix.RLIMIT_AS, Value: 512 << 20}, {Name: "DATA", Resource: unix.RLIMIT_DATA, Value: 128 << 20},
			{Name: "NPROC", Resource: unix.RLIMIT_NPROC, Value: 32},
		},
	}
	if k.Network != "" {
		o.Network = k.Network
	}
	if o.UID == 0 {
		o.UID, o.GID = guestID, guestID
	}
	for _, kind := range initproto.Kinds() {
		var st unix.Stat_t
		if err := unix.Stat("/proc/self/ns/"+kind, &st); err != nil {
			t.Fatal(err)
		}
		o.Namespaces[kind] = st.Ino
	}
	return o
}

func rules(paths ...string) (rs []profiles.PathRule) {
	for _, p := range paths {
		rs = append(rs, profiles.PathRule{Path: p})
	}
	return rs
}
