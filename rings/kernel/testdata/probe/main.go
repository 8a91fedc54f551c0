// Command probe tries one thing that a guest must not be able to do, and says
// what came of it. It runs nothing outside a guest: there it exits with 97.
//
//	probe TOKEN ID[,ID...] [key=value...]
//
// It begins when its standard input, a pipe, has ended. A line "RESULT id word" on
// standard output is what came of it: "ok", the name of an error, or another word
// of the probe's own.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitRefused says that this is no guest, and that nothing was done.
const exitRefused = 97

type args map[string]string

type probe func(a args) string

// Probes ask on the first thread of the process: the signal of a parent's death is of
// a thread, and the guest was started with it on that one.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: probe TOKEN ID [key=value...]")
		os.Exit(exitRefused)
	}
	a := args{}
	for _, kv := range os.Args[3:] {
		k, v, _ := strings.Cut(kv, "=")
		a[k] = v
	}
	if why := elsewhere(os.Args[1], a["lab"]); why != "" {
		fmt.Fprintln(os.Stderr, "probe: not in a guest:", why)
		os.Exit(exitRefused)
	}
	ids := strings.Split(os.Args[2], ",")
	for _, id := range ids {
		if !harmless(id, a["lab"]) {
			os.Exit(exitRefused)
		}
	}
	var st unix.Stat_t
	if unix.Fstat(0, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO && !stays(ids[0]) {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	all := probes()
	for _, id := range ids {
		p := all[id]
		if id == "list" {
			p = func(args) string { return strings.Join(slices.Sorted(maps.Keys(all)), " ") }
		}
		if p == nil {
			p = func(args) string { return "unknown" }
		}
		fmt.Println("RESULT " + id + " " + p(a))
	}
}

// stays reports whether a probe uses its standard input itself.
func stays(id string) bool {
	return id == "wait" || id == "i_sleep" || id == "i_inflight" || id == "l_doublefork"
}

// elsewhere says why this is no guest; "" when it is. lab names what a guest of
// the tests was left with on purpose: "caps".
func elsewhere(token, lab string) string {
	if len(token) < 16 {
		return "no token"
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err.Error()
	}
	if got := unix.ByteSliceToString(u.Nodename[:]); got != "guest-"+token {
		return "this host has another name"
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/", &fs); err != nil {
		return err.Error()
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return "/ is not a guest's"
	}
	if strings.Contains(lab, "caps") {
		return ownUsers()
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err.Error()
	}
	if data != [2]unix.CapUserData{} {
		return "there are capabilities"
	}
	return ""
}

// harmless refuses what a guest that was left in a namespace of the host must not
// try there: anything but the few probes that look for one object of the test.
func harmless(id, lab string) bool {
	for _, ns := range []string{"pid", "net", "ipc"} {
		if strings.Contains(lab, ns) && !strings.HasSuffix(id, "_host") && !strings.HasSuffix(id, "_hostlo") &&
			id != "ex_ran" {
			return false
		}
	}
	return true
}

// ownUsers makes sure that capabilities are those of a user namespace of ours.
func ownUsers() string {
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err.Error()
	}
	if f := strings.Fields(string(b)); len(f) < 3 || f[2] == "4294967295" {
		return "the capabilities are the host's"
	}
	return ""
}

// is is the word for an error.
func is(err error) string {
	var e unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		if n := unix.ErrnoName(e); n != "" {
			return n
		}
		return fmt.Sprintf("errno%d", int(e))
	case errors.Is(err, os.ErrNotExist):
		return "ENOENT"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// sys makes a system call.
func sys(nr uintptr, a ...uintptr) string {
	var v [6]uintptr
	copy(v[:], a)
	_, _, e := unix.RawSyscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
	if e != 0 {
		return is(e)
	}
	return "ok"
}

// open opens a file and closes it again.
func open(path string, flags int) string {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		unix.Close(fd)
	}
	return is(err)
}

// become replaces this process: what is started says the rest.
func become(path string, argv ...string) string {
	return is(syscall.Exec(path, append([]string{path}, argv...), []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}))
}

// first is the first result that is not "ok".
func first(results ...string) string {
	for _, r := range results {
		if r != "ok" {
			return r
		}
	}
	return "ok"
}

// child forks a process that waits, for probes of children. It is killed by end.
func child() (pid int, end func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	argv := append([]string{"probe", os.Args[1], "wait"}, os.Args[3:]...)
	p, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{
		Env: []string{}, Files: []*os.File{r, os.Stderr, os.Stderr}})
	r.Close()
	if err != nil {
		w.Close()
		return 0, nil, err
	}
	return p.Pid, func() { w.Close(); _ = p.Kill(); _, _ = p.Wait() }, nil
}

// wait is the child of child.
func wait(args) string {
	_, _ = os.Stdin.Read(make([]byte, 1))
	return "ok"
}

func probes() map[string]probe {
	all := map[string]probe{}
	for _, m := range []map[string]probe{files(), programs(), memory(), kernel(), numbers(), sockets(), egress(),
		neighbours(), races(), hogs(), holds(), devices(), identity()} {
		maps.Copy(all, m)
	}
	return all
}
