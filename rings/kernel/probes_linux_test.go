package kernel_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A row of testdata/probes.txt: what a probe gets in a guest without network and
// processes (off), in one with both and a workspace (own), and where the layer
// that refuses it is missing (without).
type row struct {
	design, id, off, own, without, layer, what string
}

func rows(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("testdata/probes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []row
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		c := strings.Split(line, "|")
		if len(c) != 7 {
			t.Fatalf("testdata/probes.txt:%d: %d columns, want 7", n, len(c))
		}
		for i := range c {
			c[i] = strings.TrimSpace(c[i])
		}
		all = append(all, row{c[0], c[1], c[2], c[3], c[4], c[5], c[6]})
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// built makes the static programs of testdata.
func built(t *testing.T, names ...string) map[string]string {
	t.Helper()
	dir, all := t.TempDir(), map[string]string{}
	for _, n := range names {
		all[n] = filepath.Join(dir, n)
		c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o",
			all[n], "./testdata/"+n)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", n, err, out)
		}
		if err := os.Chmod(all[n], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// host is what the tests own on this host, for probes to look for.
type host struct{ args map[string]string }

// atHost makes sockets, memory, queues and a key, all of the test's own.
func atHost(t *testing.T) host {
	t.Helper()
	h := host{args: map[string]string{"pid": strconv.Itoa(os.Getpid())}}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	name := "ringd-probe-" + strconv.Itoa(os.Getpid())
	a, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); u.Close(); a.Close() })
	go func() {
		b := make([]byte, 8)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(b[:n], from)
		}
	}()
	_, h.args["tcp"], _ = net.SplitHostPort(l.Addr().String())
	_, h.args["udp"], _ = net.SplitHostPort(u.LocalAddr().String())
	h.args["abstract"], h.args["mq"] = name, name
	systemV(t, h.args)
	// A descriptor that is not close-on-exec: a socket, so that no pipe of a guest is
	// taken for it.
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(s, 251, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(s)
	t.Cleanup(func() { unix.Close(251) })
	return h
}

// systemV makes a segment, a queue and a semaphore, a POSIX queue and a key.
func systemV(t *testing.T, args map[string]string) {
	t.Helper()
	key := 0x52000000 | os.Getpid()&0xffff
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	msg, _, e := unix.Syscall(unix.SYS_MSGGET, uintptr(key), unix.IPC_CREAT|0o666, 0)
	if e != 0 {
		t.Fatal(e)
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_MSGCTL, msg, unix.IPC_RMID, 0) })
	sem, _, e := unix.Syscall(unix.SYS_SEMGET, uintptr(key), 1, unix.IPC_CREAT|0o666)
	if e != 0 {
		t.Fatal(e)
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_SEMCTL, sem, 0, unix.IPC_RMID) })
	p, err := unix.BytePtrFromString(args["mq"])
	if err != nil {
		t.Fatal(err)
	}
	fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC,
		0o666, 0, 0, 0)
	if e != 0 {
		t.Fatal(e)
	}
	unix.Close(int(fd))
	t.Cleanup(func() { unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0) })
	serial, err := unix.AddKey("user", args["mq"], []byte("SECRET"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, serial, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	args["key"], args["shmid"] = strconv.Itoa(serial), strconv.Itoa(id)
	args["shm"], args["msg"], args["sem"] = strconv.Itoa(key), strconv.Itoa(key), strconv.Itoa(key)
}

// stage is one probe's own folders: a workspace, a file that may be read, one
// that is not granted.
type stage struct {
	dir  string
	args map[string]string
}

// bound is the most of this test's processes at once.
const bound = 3

func onStage(t *testing.T, dir string, h host) stage {
	t.Helper()
	s := stage{dir: dir, args: map[string]string{}}
	for k, v := range h.args {
		s.args[k] = v
	}
	at := func(k string, p ...string) string {
		s.args[k] = filepath.Join(append([]string{dir}, p...)...)
		return s.args[k]
	}
	for _, d := range []string{at("ws", "ws"), filepath.Join(dir, "ws", "priv"), filepath.Join(dir, "granted"),
		filepath.Join(dir, "outside"), at("libs", "libs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o777); err != nil { // the guest may be another user
			t.Fatal(err)
		}
	}
	for path, from := range map[string]string{
		at("lib", "granted", "data"): "", at("secret", "outside", "secret"): "",
		at("denied", "ws", "priv", "denied"): "",
		at("copied", "ws", "copied"):         "/usr/bin/true", at("libelf", "libs", "prog"): "/usr/bin/true",
		at("so", "ws", "libtinfo.so.6"):      tinfo(),
		filepath.Join(dir, "libs", "lib.so"): tinfo(),
	} {
		b := []byte("SECRET of this test")
		if from != "" {
			var err error
			if b, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.args["path"] = filepath.Join(dir, "ws", "host.sock")
	s.args["tmp"] = filepath.Join(dir, "outside", "secret")
	s.args["libc"] = filepath.Join(filepath.Dir(tinfo()), "libc.so.6")
	s.args["bash"], s.args["unlisted"], s.args["ldso"] = "/usr/bin/bash", "/usr/bin/true", loader()
	return s
}

// listens has the host listen on a socket of the workspace.
func (s stage) listens(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", s.args["path"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(s.args["path"], 0o777); err != nil {
		t.Fatal(err)
	}
}

func tinfo() string {
	for _, p := range []string{"/usr/lib/x86_64-linux-gnu/libtinfo.so.6", "/usr/lib/aarch64-linux-gnu/libtinfo.so.6"} {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
	}
	return "/usr/lib/libtinfo.so.6"
}

func loader() string {
	for _, p := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
	}
	return "/lib/ld.so"
}

func (s stage) argv(probe, token, id, lab string) []string {
	argv := []string{probe, token, id, "lab=" + lab}
	for k, v := range s.args {
		argv = append(argv, k+"="+v)
	}
	slices.Sort(argv[4:])
	return argv
}

// outcomes is what the end of a program of probes says: the RESULT of each, or the
// signal or the exit code that ended it.
func outcomes(ids []string, stdout []byte, signal syscall.Signal, code int) map[string]string {
	all, end := map[string]string{}, "exit"+strconv.Itoa(code)
	if signal != 0 {
		end = unix.SignalName(signal)
	}
	for _, id := range ids {
		all[id] = end
	}
	for l := range bytes.SplitSeq(stdout, []byte("\n")) {
		if r, ok := bytes.CutPrefix(l, []byte("RESULT ")); ok {
			id, word, _ := strings.Cut(string(r), " ")
			if id == "x" || id == "ex_ran" { // another program than the probe
				id = ids[0]
			}
			all[id] = word
		}
	}
	return all
}

func token(t *testing.T) string {
	t.Helper()
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// inLab runs a probe with namespaces and nothing else. kind names what it is
// left with: "caps", and namespaces that it is not given: "pid", "net", "ipc".
func inLab(t *testing.T, programs map[string]string, s stage, kind string, ids ...string) map[string]string {
	t.Helper()
	tok := token(t)
	root := s.dir + "-root"
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	for ns, f := range map[string]uintptr{"pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC} {
		if !strings.Contains(kind, ns) {
			flags |= f
		}
	}
	s.args["until"] = "escaped"
	order, err := json.Marshal(map[string]any{
		"Token": tok, "Dir": root, "Caps": strings.Contains(kind, "caps"), "NoPID": strings.Contains(kind, "pid"),
		"Binds": s.binds(t, programs["probe"]), "Links": map[string]string{"/bin": "usr/bin", "/lib": "usr/lib", "/lib64": "usr/lib64", "/sbin": "usr/sbin"},
		"Argv": s.argv(programs["probe"], tok, strings.Join(ids, ","), kind),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &exec.Cmd{Path: programs["lab"], Args: []string{"lab", string(order)}, Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: flags, Setsid: true, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}}
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	if strings.HasPrefix(ids[0], "k_tioc") || ids[0] == "d_tty" {
		c.Stdin = terminal(t)
		c.SysProcAttr.Setctty = true
	}
	done := make(chan error, 1)
	go func() { // the signal of a parent's death is of the thread
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- c.Run()
	}()
	if err := <-done; err != nil && c.ProcessState == nil {
		t.Fatalf("%s: %v", ids, err)
	}
	ws := c.ProcessState.Sys().(syscall.WaitStatus)
	var sig syscall.Signal
	if ws.Signaled() {
		sig = ws.Signal()
	}
	if code := ws.ExitStatus(); code == 98 || code == 99 {
		t.Errorf("%v: %s", ids, bad.String())
	}
	return outcomes(ids, out.Bytes(), sig, ws.ExitStatus())
}

// terminal is one that nobody sits at.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

type bind struct {
	From, Path string
	Own        bool
}

// binds are the tree of a lab. What stands for a thing of the host that a guest
// has not is a file of the test's own.
func (s stage) binds(t *testing.T, probe string) []bind {
	t.Helper()
	standIn, folder := filepath.Join(s.dir, "outside", "stand-in"), filepath.Join(s.dir, "outside", "folder")
	if err := os.WriteFile(standIn, []byte("SECRET stand-in"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{".bashrc", "neighbour"} {
		if err := os.WriteFile(filepath.Join(folder, f), []byte("SECRET"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := []bind{{probe, probe, false}, {s.dir, s.dir, true},
		{"/usr/bin", "/usr/bin", false}, {"/usr/lib", "/usr/lib", false}, {folder, "/root", true}, {folder, "/sys", true}, {folder, "/sys/fs/cgroup", true}}
	for _, p := range []string{"/usr/lib64", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/tty", "/dev/ptmx",
		"/etc/ld.so.cache"} {
		if _, err := os.Stat(p); err == nil {
			all = append(all, bind{p, p, strings.HasPrefix(p, "/dev")})
		}
	}
	for _, p := range []string{"/etc/shadow", "/etc/passwd", "/dev/kmsg", "/dev/vda", "/dev/mem", "/dev/fuse",
		"/dev/net/tun", "/dev/kvm", "/dev/vsock",
		"/dev/loop-control", "/dev/userfaultfd", "/run/dbus/system_bus_socket", "/var/run/docker.sock", "/dev/shm/" + s.args["mq"]} {
		all = append(all, bind{standIn, p, true})
	}
	for _, p := range []string{"/dev/pts", "/dev/mqueue", "/sys/fs/bpf", "/sys/kernel/debug"} {
		all = append(all, bind{folder, p, true})
	}
	return all
}

// TestProbeRefusesElsewhere: outside a guest the probe does nothing.
func TestProbeRefusesElsewhere(t *testing.T) {
	p := built(t, "probe", "lab")
	dir := t.TempDir()
	for _, argv := range [][]string{
		nil, {"x"}, {"", "list"}, {"0123456789abcdef", "list"}, {token(t), "fs_write_work", "ws=" + dir},
		{token(t), "fs_write_work", "ws=" + dir, "lab=caps"}, {token(t), "fs_write_work", "ws=" + dir, "lab=pid net ipc"},
	} {
		out, err := exec.CommandContext(t.Context(), p["probe"], argv...).Output()
		var e *exec.ExitError
		if !errors.As(err, &e) || e.ExitCode() != 97 || len(out) != 0 {
			t.Errorf("probe %q: %v, %q; want exit 97 and no word", argv, err, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	err := exec.CommandContext(t.Context(), p["lab"], `{"Token":"0123456789abcdef"}`).Run()
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 97 {
		t.Errorf("lab: %v, want exit 97", err)
	}
	// The host's name alone is not enough: its tree must be a guest's too.
	c := exec.CommandContext(t.Context(), p["probe"], "0123456789abcdef", "fs_write_work", "ws="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}}
	if err := c.Run(); !errors.As(err, &e) || e.ExitCode() != 97 {
		t.Errorf("probe in a namespace: %v, want exit 97", err)
	}
}

// TestProbesCanSucceed: what a guest is refused is possible where the layer is
// missing, so that a refusal says something.
func TestProbesCanSucceed(t *testing.T) {
	p, h := built(t, "probe", "lab"), atHost(t)
	base := t.TempDir()
	kind := func(r row) string {
		k, _, ok := strings.Cut(r.without, ":")
		if !ok || r.without[0] == '=' || strings.Contains(k, "root") && os.Getuid() != 0 {
			return "-" // this kernel refuses it anyway, or root owns it
		}
		return k
	}
	each(t, rows(t), kind, func(k string, rs []row) (bad []string) {
		s := onStage(t, filepath.Join(base, rs[0].id), h)
		if strings.HasPrefix(rs[0].id, "u_") {
			s.listens(t)
		}
		got := inLab(t, p, s, k, names(rs)...)
		for _, r := range rs {
			if _, want, _ := strings.Cut(r.without, ":"); !agrees(want, got[r.id]) {
				bad = append(bad, fmt.Sprintf("%s without %s: %s, want %s", r.id, r.layer, got[r.id], want))
			}
		}
		return bad
	})
}

// together are the probes that leave nothing behind and end nothing: many run in
// one process.
var together = regexp.MustCompile(
	`^(n_[^i]|n_io|s_|d_[^t]|fs_proc|fs_openat2|i_[a-z0-9]+_host$|ex_mmap_[^f]|k_tioclinux_hi)`)

// each runs f for every kind of rows, a few at a time, and reports what it says.
// A row of kind "-" is not run.
func each(t *testing.T, all []row, kind func(row) string, f func(kind string, rs []row) []string) {
	t.Helper()
	var groups [][]row
	at := map[string]int{}
	for _, r := range all {
		k := kind(r)
		if k == "-" || strings.HasPrefix(r.off, "issue") {
			continue
		}
		if n, ok := at[k]; ok && together.MatchString(r.id) && len(groups[n]) < 40 {
			groups[n] = append(groups[n], r)
			continue
		}
		if together.MatchString(r.id) {
			at[k] = len(groups)
		}
		groups = append(groups, []row{r})
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	turn := make(chan struct{}, bound)
	for _, g := range groups {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			bad := f(kind(g[0]), g)
			mu.Lock()
			defer mu.Unlock()
			for _, b := range bad {
				t.Error(b)
			}
		})
	}
	wg.Wait()
}

func names(rs []row) []string {
	var all []string
	for _, r := range rs {
		all = append(all, r.id)
	}
	return all
}

// agrees holds a result against a cell of the table: words with commas between.
func agrees(want, got string) bool { return slices.Contains(strings.Split(want, ","), got) }
