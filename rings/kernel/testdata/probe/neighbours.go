package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// neighbours are probes of what belongs to the host or to another guest.
// Arguments: pid, a process of the host; shm, msg, sem, keys of System V; mq, a
// POSIX queue; key, a key's number; tmp, a file of another's /tmp.
func neighbours() map[string]probe {
	return map[string]probe{
		"i_kill_host":   func(a args) string { return is(unix.Kill(num(a["pid"]), 0)) },
		"i_kill_group":  func(a args) string { return is(unix.Kill(-num(a["pid"]), 0)) },
		"i_tgkill_host": func(a args) string { return is(unix.Tgkill(num(a["pid"]), num(a["pid"]), 0)) },
		"i_sigqueue_host": func(a args) string {
			return sys(unix.SYS_RT_SIGQUEUEINFO, uintptr(num(a["pid"])), 0, slice(make([]uintptr, 16)))
		},
		"i_pidfd_host": func(a args) string {
			fd, err := unix.PidfdOpen(num(a["pid"]), 0)
			unix.Close(fd)
			return is(err)
		},
		"i_setown_host": setOwn,
		"i_sched_host": func(a args) string {
			var s unix.CPUSet
			return is(
				unix.SchedGetaffinity(num(a["pid"]), &s),
			)
		},
		"i_getpgid_host": func(a args) string { _, err := unix.Getpgid(num(a["pid"])); return is(err) },
		"i_getsid_host":  func(a args) string { _, err := unix.Getsid(num(a["pid"])); return is(err) },
		"i_prlimit_host": func(a args) string {
			var l unix.Rlimit
			return is(unix.Prlimit(num(a["pid"]), unix.RLIMIT_NOFILE, nil, &l))
		},
		"i_proc_host": func(a args) string { return open("/proc/"+a["pid"]+"/cmdline", unix.O_RDONLY) },
		"i_mem_host":  func(a args) string { return open("/proc/"+a["pid"]+"/mem", unix.O_RDONLY) },
		"i_root_host": func(a args) string { return open("/proc/"+a["pid"]+"/root/etc/hostname", unix.O_RDONLY) },
		"i_vm_host":   func(a args) string { return vm(unix.SYS_PROCESS_VM_READV, num(a["pid"])) },
		"i_ptrace_host": func(a args) string {
			return sys(
				unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(num(a["pid"])), 0, 0,
			)
		},
		"i_kill_1":      func(args) string { return is(unix.Kill(1, unix.SIGKILL)) },
		"i_kill_1_term": func(args) string { return is(unix.Kill(1, unix.SIGTERM)) },
		"i_kill_1_stop": func(args) string { return is(unix.Kill(1, unix.SIGSTOP)) },
		"i_shm_host":    func(a args) string { _, err := unix.SysvShmGet(num(a["shm"]), 0, 0); return is(err) },
		"i_msg_host":    func(a args) string { return sys(unix.SYS_MSGGET, uintptr(num(a["msg"])), 0) },
		"i_sem_host":    func(a args) string { return sys(unix.SYS_SEMGET, uintptr(num(a["sem"])), 0, 0) },
		"i_shm_stat": func(a args) string {
			return sys(unix.SYS_SHMCTL, uintptr(num(a["shmid"])), 2, slice(make([]uintptr, 32)))
		},
		"i_mq_host":        func(a args) string { return mq(a["mq"], unix.O_RDONLY) },
		"i_mq_make":        func(a args) string { return mq("probe", unix.O_RDWR|unix.O_CREAT) },
		"i_posix_shm_host": func(a args) string { return open("/dev/shm/"+a["mq"], unix.O_RDONLY) },
		"i_posix_shm_make": func(args) string { return create("/dev/shm/probe", 0o600) },
		"i_shm_own":        shmOwn,
		"i_key_host":       func(a args) string { return sys(unix.SYS_KEYCTL, 11, uintptr(num(a["key"])), 0, 0) },
		"i_key_session":    func(args) string { return sys(unix.SYS_KEYCTL, 0, ^uintptr(2), 0) },
		"i_key_add": func(args) string {
			return sys(unix.SYS_ADD_KEY, text("user"), text("probe"), text("x"), 1, ^uintptr(1))
		},
		"i_key_request": func(args) string { return sys(unix.SYS_REQUEST_KEY, text("user"), text("probe"), 0, 0) },
		"i_tmp_other":   func(a args) string { return open(a["tmp"], unix.O_RDONLY) },
		"i_sleep":       func(a args) string { return sleep(a) },
		"i_peer_pidfd":  peer,
		"i_inflight":    inFlight,
		"i_sends":       sends,
		"i_pids":        pids,
		"i_sees":        sees,
		"i_shares":      shares,
	}
}

func num(s string) int { n, _ := strconv.Atoi(s); return n }

// setOwn has the kernel signal a process of the host when a pipe is ready.
func setOwn(a args) string {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return is(err)
	}
	_, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, num(a["pid"]))
	return is(err)
}

func mq(name string, flags int) string {
	fd, _, e := unix.RawSyscall6(unix.SYS_MQ_OPEN, text(name), uintptr(flags), 0o600, 0, 0, 0)
	if e != 0 {
		return is(e)
	}
	unix.Close(int(fd))
	if flags&unix.O_CREAT != 0 {
		return sys(unix.SYS_MQ_UNLINK, text(name))
	}
	return "ok"
}

// shmOwn is memory between a guest's own processes.
func shmOwn(args) string {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o600)
	if err != nil {
		return is(err)
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return is(err)
}

// sleep keeps this guest alive until its standard input ends, with things that a
// neighbour would look for.
func sleep(a args) string {
	made := []string{}
	note := func(what, r string) { made = append(made, what+"="+r) }
	note("file", is(os.WriteFile("/tmp/neighbour", []byte("secret"), 0o644)))
	_, err := unix.SysvShmGet(num(a["shm"]), page, unix.IPC_CREAT|0o666)
	note("shm", is(err))
	note("msg", sys(unix.SYS_MSGGET, uintptr(num(a["msg"])), unix.IPC_CREAT|0o666))
	note("sem", sys(unix.SYS_SEMGET, uintptr(num(a["sem"])), 1, unix.IPC_CREAT|0o666))
	note("mq", func() string {
		_, _, e := unix.RawSyscall6(unix.SYS_MQ_OPEN, text(a["mq"]), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
		if e != 0 {
			return is(e)
		}
		return "ok"
	}())
	note("tcp", func() string {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return is(err)
		}
		return first(
			is(unix.Bind(fd, &unix.SockaddrInet4{Port: num(a["tcp"]), Addr: [4]byte{127, 0, 0, 1}})),
			is(unix.Listen(fd, 5)),
		)
	}())
	fmt.Println("READY " + strings.Join(made, " "))
	_, _ = os.Stdin.Read(make([]byte, 1))
	return "ok"
}

// inFlight sends descriptors that are not received, until the kernel takes no more: it counts them for the
// user, in all guests together.
func inFlight(args) string {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return is(err)
	}
	n, many := 0, make([]int, 60)
	for err == nil && n < 10_000 {
		if err = unix.Sendmsg(fds[0], []byte{1}, unix.UnixRights(many...), nil, unix.MSG_DONTWAIT); err == nil {
			n += len(many)
		}
	}
	fmt.Println("READY", n, is(err))
	_, _ = os.Stdin.Read(make([]byte, 1))
	return "ok"
}

// sends sends one descriptor, as a guest that seals itself does.
func sends(args) string {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return is(err)
	}
	return is(unix.Sendmsg(fds[0], []byte{1}, unix.UnixRights(0), nil, unix.MSG_DONTWAIT))
}

func pids(args) string {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return is(err)
	}
	var n []string
	for _, e := range list {
		if c := e.Name()[0]; c >= '0' && c <= '9' {
			n = append(n, e.Name())
		}
	}
	return strings.Join(n, " ")
}

// sees looks for what sleep made in another guest.
func sees(a args) string {
	_, shm := unix.SysvShmGet(num(a["shm"]), 0, 0)
	return fmt.Sprintf("file=%s shm=%s msg=%s sem=%s mq=%s tcp=%s", open("/tmp/neighbour", unix.O_RDONLY), is(shm),
		sys(unix.SYS_MSGGET, uintptr(num(a["msg"])), 0), sys(unix.SYS_SEMGET, uintptr(num(a["sem"])), 0, 0),
		mq(a["mq"], unix.O_RDONLY), dial(unix.SOCK_STREAM, 0, a["tcp"], 0))
}

// shares tries every number of a process up to a bound, with every signal but
// the ones that this process would not outlive.
func shares(args) string {
	me, deadline := os.Getpid(), time.Now().Add(2*time.Second)
	for p := 2; p < 70000 && time.Now().Before(deadline); p++ {
		if p == me {
			continue
		}
		if err := unix.Kill(p, 0); err != unix.ESRCH && !thread(p) {
			return fmt.Sprintf("process %d: %s", p, is(err))
		}
	}
	return "alone"
}

// thread reports whether a number is that of a thread of this process or of init.
func thread(p int) bool {
	_, own := os.Stat(fmt.Sprintf("/proc/self/task/%d", p))
	_, first := os.Stat(fmt.Sprintf("/proc/1/task/%d", p))
	return own == nil || first == nil
}

// peer asks the connection for the process at its other end, and signals it.
func peer(args) string {
	c, err := unix.GetsockoptUcred(3, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return "credentials " + is(err)
	}
	if c.Pid != 0 {
		return fmt.Sprintf("process %d", c.Pid)
	}
	fd, err := unix.GetsockoptInt(3, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err != nil {
		return "descriptor " + is(err)
	}
	return "signal " + is(unix.PidfdSendSignal(fd, 0, nil, 0))
}
