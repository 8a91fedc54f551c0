package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const newAll = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// kernel are probes of what the kernel does for processes.
func kernel() map[string]probe {
	m := map[string]probe{
		"k_unshare_user": func(args) string {
			return forked(
				func() uintptr { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
			)
		},
		"k_unshare_time": func(args) string { return forked(func() uintptr { return raw(unix.SYS_UNSHARE, 0x80) }) },
		"k_unshare_fs": func(args) string {
			return forked(
				func() uintptr { return raw(unix.SYS_UNSHARE, newAll) },
			)
		},
		"k_unshare_hi":     func(args) string { return sys(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|1<<40) },
		"k_clone_user":     func(args) string { return clone(unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)) },
		"k_clone_user_hi":  func(args) string { return clone(unix.CLONE_NEWUSER | 1<<40 | uintptr(unix.SIGCHLD)) },
		"k_clone_ns":       func(args) string { return clone(unix.CLONE_NEWNS | uintptr(unix.SIGCHLD)) },
		"k_clone_pid":      func(args) string { return clone(unix.CLONE_NEWPID | uintptr(unix.SIGCHLD)) },
		"k_clone_net":      func(args) string { return clone(unix.CLONE_NEWNET | uintptr(unix.SIGCHLD)) },
		"k_clone_ipc":      func(args) string { return clone(unix.CLONE_NEWIPC | uintptr(unix.SIGCHLD)) },
		"k_clone_uts":      func(args) string { return clone(unix.CLONE_NEWUTS | uintptr(unix.SIGCHLD)) },
		"k_clone_cgroup":   func(args) string { return clone(unix.CLONE_NEWCGROUP | uintptr(unix.SIGCHLD)) },
		"k_clone_ptrace":   func(args) string { return clone(unix.CLONE_PTRACE | uintptr(unix.SIGCHLD)) },
		"k_clone_untraced": func(args) string { return clone(unix.CLONE_UNTRACED | uintptr(unix.SIGCHLD)) },
		"k_clone_parent":   func(args) string { return clone(unix.CLONE_PARENT | uintptr(unix.SIGCHLD)) },
		"k_fork":           func(args) string { return clone(uintptr(unix.SIGCHLD)) },
		"k_clone3_user":    func(args) string { return clone3(unix.CLONE_NEWUSER, 0) },
		"k_clone3_ns":      func(args) string { return clone3(newAll|unix.CLONE_NEWUSER, 0) },
		"k_clone3_cgroup":  func(args) string { return clone3(unix.CLONE_INTO_CGROUP, 0) },
		"k_clone3_time":    func(args) string { return clone3(0x80|unix.CLONE_NEWUSER, 0) },
		"k_clone3_plain":   func(args) string { return clone3(0, 0) },
		"k_clone3_settid":  func(args) string { return clone3(0, 1) },
		"k_setns":          setns,
		"k_setns_pidfd":    setnsPidfd,
		"k_chroot":         func(args) string { return sys(unix.SYS_CHROOT, text("/")) },
		"k_pivot":          func(args) string { return sys(unix.SYS_PIVOT_ROOT, text("/tmp"), text("/tmp")) },
		"k_ptrace_child":   func(args) string { return onChild(ptraceChild) },
		"k_ptrace_seize": func(args) string {
			return onChild(func(p int) string { return sys(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(p), 0, 0) })
		},
		"k_ptrace_1": func(args) string { return sys(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 1, 0, 0) },
		"k_ptrace_traceme": func(args) string {
			return forked(
				func() uintptr { return raw(unix.SYS_PTRACE, unix.PTRACE_TRACEME) },
			)
		},
		"k_childmem": func(args) string {
			return onChild(func(p int) string { return open(fmt.Sprintf("/proc/%d/mem", p), unix.O_RDWR) })
		},
		"k_childmem_read": func(args) string {
			return onChild(func(p int) string { return open(fmt.Sprintf("/proc/%d/mem", p), unix.O_RDONLY) })
		},
		"k_vm_writev": func(args) string {
			return onChild(
				func(p int) string { return vm(unix.SYS_PROCESS_VM_WRITEV, p) },
			)
		},
		"k_vm_readv": func(args) string {
			return onChild(
				func(p int) string { return vm(unix.SYS_PROCESS_VM_READV, p) },
			)
		},
		"k_vm_readv_1": func(args) string { return vm(unix.SYS_PROCESS_VM_READV, 1) },
		"k_kcmp": func(args) string {
			return onChild(func(p int) string { return sys(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(p), 0, 0, 0) })
		},
		"k_pidfd_getfd":      func(args) string { return onChild(getfd) },
		"k_pidfd_getfd_1":    func(args) string { return getfd(1) },
		"k_process_madvise":  func(args) string { return onChild(madvise) },
		"k_process_mrelease": func(args) string { return sys(448, ^uintptr(0), 0) },
		"k_child_affinity": func(args) string {
			return onChild(
				func(p int) string { return sys(unix.SYS_SCHED_SETAFFINITY, uintptr(p), 8, slice([]uintptr{1})) },
			)
		},
		"k_affinity": func(args) string {
			return sys(unix.SYS_SCHED_SETAFFINITY, 0, 8, slice([]uintptr{1}))
		},
		"k_processors":       func(args) string { return strconv.Itoa(runtime.NumCPU()) },
		"k_kill_child":       func(args) string { return onChild(func(p int) string { return is(unix.Kill(p, 0)) }) },
		"k_tiocsti":          func(args) string { return sys(unix.SYS_IOCTL, 0, unix.TIOCSTI, text("x")) },
		"k_tiocsti_hi":       func(args) string { return sys(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, text("x")) },
		"k_tioclinux":        func(args) string { return sys(unix.SYS_IOCTL, 0, 0x541C, text("\x02")) },
		"k_tioclinux_hi":     func(args) string { return sys(unix.SYS_IOCTL, 0, 0x541C|1<<40, text("\x02")) },
		"k_tiocsctty":        func(args) string { return sys(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 1) },
		"k_tiocsetd":         func(args) string { return sys(unix.SYS_IOCTL, 0, unix.TIOCSETD, slice([]uintptr{0})) },
		"k_tiocgwinsz":       func(args) string { return sys(unix.SYS_IOCTL, 0, unix.TIOCGWINSZ, slice([]uintptr{0})) },
		"k_seccomp_listener": func(args) string { return secondFilter(1 << 3) },
		"k_seccomp_more":     func(args) string { return secondFilter(0) },
		"k_seccomp_strict":   func(args) string { return sys(unix.SYS_SECCOMP, 0, 7, 0) },
		"k_prctl_seccomp":    func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 9, 0, 0, 0) },
		"k_rlimit_raise":     func(args) string { return raise(unix.RLIMIT_NOFILE) },
		"k_rlimit_core":      coreLimit,
		"k_rlimit_nproc":     func(args) string { return raise(unix.RLIMIT_NPROC) },
		"k_rlimit_as":        func(args) string { return raise(unix.RLIMIT_AS) },
		"k_rlimit_child": func(args) string {
			return onChild(func(p int) string {
				l := unix.Rlimit{}
				return is(unix.Prlimit(p, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, &l))
			})
		},
		"k_rlimit_1": func(args) string {
			l := unix.Rlimit{}
			return is(unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, &l))
		},
		"k_sethostname":   func(args) string { return sys(unix.SYS_SETHOSTNAME, text("x"), 1) },
		"k_setdomainname": func(args) string { return sys(unix.SYS_SETDOMAINNAME, text("x"), 1) },
		"k_nice":          func(args) string { return is(unix.Setpriority(unix.PRIO_PROCESS, 0, -5)) },
		"k_sched_fifo":    func(args) string { return sys(unix.SYS_SCHED_SETSCHEDULER, 0, 1, slice([]uintptr{1})) },
		"k_sched_setattr": schedAttr,
		"k_ioprio_rt":     func(args) string { return sys(unix.SYS_IOPRIO_SET, 1, 0, 1<<13) },
		"k_setsid":        func(args) string { return forked(func() uintptr { return raw(unix.SYS_SETSID) }) },
		"k_iouring":       iouring,
		"k_bpf_map": func(args) string {
			return sys(
				unix.SYS_BPF, 0, slice([]uintptr{4 | 4<<32, 4 | 1<<32, 0, 0}), 32,
			)
		},
		"k_perf": func(args) string {
			return sys(
				unix.SYS_PERF_EVENT_OPEN, slice(perf()), 0, ^uintptr(0), ^uintptr(0), 0,
			)
		},
		"k_uffd":         func(args) string { return sys(unix.SYS_USERFAULTFD, 1) },
		"k_uffd_kernel":  func(args) string { return sys(unix.SYS_USERFAULTFD, 0) },
		"k_uffd_dev":     func(args) string { return open("/dev/userfaultfd", unix.O_RDWR) },
		"k_nnp":          func(args) string { return statusField("NoNewPrivs") },
		"k_nnp_off":      func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) },
		"k_capbnd":       func(args) string { return statusField("CapBnd") },
		"k_capeff":       func(args) string { return statusField("CapEff") },
		"k_seccomp_mode": func(args) string { return statusField("Seccomp") },
		"k_groups":       func(args) string { return "[" + otherGroups() + "]" },
		"k_dumpable_set": func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 2, 0, 0, 0) },
		"k_set_ptracer":  func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) },
		"k_subreaper":    func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) },
		"k_pdeathsig_off": func(args) string {
			return forked(func() uintptr { return raw(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0) })
		},
		"k_securebits": func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, 0, 0, 0, 0) },
		"k_keepcaps":   func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1, 0, 0, 0) },
		"k_ambient": func(args) string {
			return sys(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, 21, 0, 0)
		},
		"k_core_sched":    func(args) string { return sys(unix.SYS_PRCTL, 62, 1, 0, 0, 0) },
		"k_prctl_tsc":     func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_TSC, 1, 0, 0, 0) },
		"k_landlock_more": func(args) string { return sys(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1) },
		"k_kill_all":      func(args) string { return is(unix.Kill(-1, unix.SIGKILL)) },
		"k_ns_parent":     namespaceParent,
		"k_landlock_17":   landlocks,
	}
	return m
}

func raw(nr uintptr, a ...uintptr) uintptr {
	var v [3]uintptr
	copy(v[:], a)
	_, _, e := unix.RawSyscall(nr, v[0], v[1], v[2])
	return uintptr(e)
}

// forked runs a call on this very thread of a process with many: the kernel
// refuses some of them there with EINVAL, which says that it was let through.
func forked(f func() uintptr) string {
	if e := f(); e != 0 {
		return is(unix.Errno(e))
	}
	return "ok"
}

// clone makes a process that ends at once.
func clone(flags uintptr) string {
	pid, e := rawClone(flags)
	if e != 0 {
		return is(unix.Errno(e))
	}
	_, _ = unix.Wait4(int(pid), nil, 0, nil)
	return "ok"
}

//go:norace
//go:nosplit
func rawClone(flags uintptr) (pid, e uintptr) {
	r, _, e1 := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if e1 == 0 && r == 0 {
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return r, uintptr(e1)
}

type cloneArgs struct {
	Flags, Pidfd, ChildTid, ParentTid, Exit, Stack, StackSize, TLS, SetTid, SetTidSize, Cgroup uint64
}

//go:norace
//go:nosplit
func clone3(flags uint64, tids uint64) string {
	a := cloneArgs{Flags: flags, Exit: uint64(unix.SIGCHLD), SetTidSize: tids}
	r, _, e := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if e == 0 && r == 0 {
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	if e != 0 {
		return is(e)
	}
	_, _ = unix.Wait4(int(r), nil, 0, nil)
	return "ok"
}

func setns(args) string {
	fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return sys(unix.SYS_SETNS, uintptr(fd), 0)
}

func setnsPidfd(args) string {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		fd = -1
	}
	return sys(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWUTS)
}

// namespaceParent asks for the namespace around one's own.
func namespaceParent(args) string {
	fd, err := unix.Open("/proc/self/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "open " + is(err)
	}
	defer unix.Close(fd)
	return sys(unix.SYS_IOCTL, uintptr(fd), 0xb702)
}

// onChild calls f with a child that waits.
func onChild(f func(pid int) string) string {
	pid, end, err := child()
	if err != nil {
		return "start " + is(err)
	}
	defer end()
	return f(pid)
}

func ptraceChild(pid int) string {
	if err := unix.PtraceAttach(pid); err != nil {
		return is(err)
	}
	_, _ = unix.Wait4(pid, nil, 0, nil)
	return is(unix.PtraceDetach(pid))
}

func vm(nr uintptr, pid int) string {
	var b [8]byte
	local := []uintptr{uintptr(unsafe.Pointer(&b)), 8}
	remote := []uintptr{0x400000, 8}
	got := ""
	for range 200 {
		got = sys(nr, uintptr(pid), slice(local), 1, slice(remote), 1, 0)
		if got != "EFAULT" {
			break
		}
		// A child that has just started has its descriptors before its memory.
		time.Sleep(time.Millisecond)
	}
	return got
}

func getfd(pid int) string {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "open " + is(err)
	}
	defer unix.Close(fd)
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return is(err)
}

func madvise(pid int) string {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "open " + is(err)
	}
	defer unix.Close(fd)
	return sys(unix.SYS_PROCESS_MADVISE, uintptr(fd), slice([]uintptr{0x400000, page}), 1, unix.MADV_COLD, 0)
}

// secondFilter puts on a filter that allows everything.
func secondFilter(flags uintptr) string {
	prog := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000}}
	f := unix.SockFprog{Len: 1, Filter: &prog[0]}
	return sys(unix.SYS_SECCOMP, 1, flags, uintptr(unsafe.Pointer(&f)))
}

func raise(what int) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(what, &l); err != nil {
		return "get " + is(err)
	}
	if l.Max == unix.RLIM_INFINITY {
		return "unlimited"
	}
	l.Max++
	return is(unix.Setrlimit(what, &l))
}

// coreLimit tries to raise the limit of core dumps, and to lower it to none, with
// which the host's program for dumps would be started. What it is then is the word.
func coreLimit(args) string {
	for _, v := range []uint64{1 << 20, 0} {
		_ = syscall.Setrlimit(unix.RLIMIT_CORE, &syscall.Rlimit{Cur: v, Max: v})
		_ = unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{Cur: v, Max: v}, nil)
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
		return is(err)
	}
	return fmt.Sprint(l.Cur)
}

func schedAttr(args) string {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 6, Runtime: 1e7, Deadline: 1e8, Period: 1e8}
	return is(unix.SchedSetAttr(0, &a, 0))
}

func iouring(args) string {
	p := make([]uintptr, 15)
	return sys(unix.SYS_IO_URING_SETUP, 1, slice(p))
}

func perf() []uintptr {
	a := make([]uintptr, 16)
	a[0] = 1 | 128<<32 // software, size
	a[5] = 1 | 1<<5 | 1<<6
	return a
}

// otherGroups are the groups of this process beside its own: "unmapped" where its
// namespace has no name for any of them, as for those that an ordinary user cannot
// give up.
func otherGroups() string {
	own := fmt.Sprint(os.Getgid())
	others := slices.DeleteFunc(strings.Fields(statusField("Groups")), func(g string) bool { return g == own })
	if len(others) > 0 && !slices.ContainsFunc(others, func(g string) bool { return g != "65534" }) {
		return "unmapped"
	}
	return strings.Join(others, " ")
}

func statusField(name string) string {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return is(err)
	}
	for l := range strings.SplitSeq(string(b), "\n") {
		if k, v, _ := strings.Cut(l, ":"); k == name {
			return strings.TrimSpace(v)
		}
	}
	return "absent"
}

// landlocks adds layers of its own until the kernel has enough of them.
func landlocks(args) string {
	for i := range 20 {
		attr := []uintptr{1, 0, 0}
		fd, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, slice(attr), 8, 0)
		if e != 0 {
			return fmt.Sprintf("create %s", is(e))
		}
		r := sys(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0)
		unix.Close(int(fd))
		if r != "ok" {
			return r
		}
		_ = i
	}
	return "ok"
}
