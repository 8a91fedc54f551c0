package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// hogs are probes of limits. Each has a bound of its own as well.
func hogs() map[string]probe {
	return map[string]probe{
		"l_forkbomb":   forkBomb,
		"l_threadbomb": threadBomb,
		"l_memory":     memoryHog,
		"l_files":      fileHog,
		"l_tmp":        func(args) string { return fill("/tmp", 256) },
		"l_shm":        func(args) string { return fill("/dev/shm", 256) },
		"l_inodes":     inodeHog,
		"l_cpu":        cpuHog,
		"l_output":     outputHog,
		"l_doublefork": doubleFork,
		"l_orphans":    orphans,
		"l_pipe_size":  pipeSize,
		"l_locked":     locked,
		"l_msgqueue":   func(args) string { return mq("big", unix.O_RDWR|unix.O_CREAT) },
		"l_sigpending": func(args) string { return limit(unix.RLIMIT_SIGPENDING) },
		"l_rtprio":     func(args) string { return limit(unix.RLIMIT_RTPRIO) },
		"l_nice":       func(args) string { return limit(unix.RLIMIT_NICE) },
		"l_memlock":    func(args) string { return limit(unix.RLIMIT_MEMLOCK) },
	}
}

func limit(what int) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(what, &l); err != nil {
		return is(err)
	}
	if l.Max == unix.RLIM_INFINITY {
		return "unlimited"
	}
	if l.Max == 0 {
		return "0"
	}
	return "limited"
}

// forkBomb makes up to 300 children that wait; they end with it. As long as they are
// there it makes raw calls alone: in others the Go runtime may want a thread to go on
// with, which it does not get, and then ends the process.
func forkBomb(args) string {
	var r, w [1]int
	p := make([]int, 2)
	if err := unix.Pipe2(p, 0); err != nil {
		return is(err)
	}
	r[0], w[0] = p[0], p[1]
	var pids []int
	defer func() {
		unix.RawSyscall(unix.SYS_CLOSE, uintptr(w[0]), 0, 0)
		for _, c := range pids {
			unix.RawSyscall(unix.SYS_KILL, uintptr(c), uintptr(unix.SIGKILL), 0)
			unix.RawSyscall6(unix.SYS_WAIT4, uintptr(c), 0, 0, 0, 0, 0)
		}
	}()
	for range 300 {
		pid, e := rawWaiter(r[0], w[0])
		if e != 0 {
			return is(unix.Errno(e))
		}
		pids = append(pids, int(pid))
	}
	return "ok"
}

//go:norace
//go:nosplit
func rawWaiter(r, w int) (pid, e uintptr) {
	p, _, e1 := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e1 == 0 && p == 0 {
		var b [1]byte
		unix.RawSyscall(unix.SYS_CLOSE, uintptr(w), 0, 0)
		unix.RawSyscall(unix.SYS_READ, uintptr(r), ptr(&b), 1)
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return p, uintptr(e1)
}

// threadBomb makes up to 300 threads that wait. The Go runtime ends the process
// with code 2 when it gets none.
func threadBomb(args) string {
	p := make([]int, 2)
	if err := unix.Pipe2(p, unix.O_CLOEXEC); err != nil {
		return is(err)
	}
	started := make(chan struct{})
	for range 300 {
		go func() {
			runtime.LockOSThread()
			started <- struct{}{}
			_, _ = unix.Read(p[0], make([]byte, 1))
		}()
		<-started
	}
	return "ok"
}

func memoryHog(args) string {
	const step = 8 << 20
	for i := range 256 { // 2 GiB
		p, _, e := unix.RawSyscall6(
			unix.SYS_MMAP, 0, step, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0,
		)
		if e != 0 {
			return is(e)
		}
		_ = p
		_ = i
	}
	return "ok"
}

func fileHog(args) string {
	for range 4096 {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return is(err)
		}
	}
	return "ok"
}

// fill writes up to this many files of one MiB.
func fill(dir string, files int) string {
	b := make([]byte, 1<<20)
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("fill-%d", i)), b, 0o600); err != nil {
			return is(err)
		}
	}
	return "ok"
}

func inodeHog(args) string {
	for i := range 200000 {
		fd, err := unix.Open(fmt.Sprintf("/tmp/i%d", i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return is(err)
		}
		unix.Close(fd)
	}
	return "ok"
}

// cpuHog spins for 20 s of processor time at most.
func cpuHog(args) string {
	var t unix.Timespec
	for {
		for range 1 << 20 {
			_ = t
		}
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil || t.Sec >= 20 {
			return "ok"
		}
	}
}

// outputHog writes up to 64 MiB to standard output.
func outputHog(args) string {
	b := make([]byte, 1<<20)
	for range 64 {
		if _, err := os.Stdout.Write(b); err != nil {
			return is(err)
		}
	}
	fmt.Println()
	return "ok"
}

// doubleFork leaves five orphans in sessions of their own, says so, and waits.
func doubleFork(args) string {
	for range 5 {
		if e := orphan(); e != 0 {
			return is(unix.Errno(e))
		}
	}
	fmt.Println("READY")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return "ok"
}

// orphans leaves as many and ends: what is left of them is init's.
func orphans(args) string {
	for range 5 {
		if e := orphan(); e != 0 {
			return is(unix.Errno(e))
		}
	}
	return "ok"
}

// orphan forks twice; the second child waits for a signal that ends it.
//
//go:norace
//go:nosplit
func orphan() uintptr {
	p, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return uintptr(e)
	}
	if p == 0 {
		unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		q, _, _ := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if q == 0 {
			unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	unix.RawSyscall6(unix.SYS_WAIT4, p, 0, 0, 0, 0, 0)
	return 0
}

func pipeSize(args) string {
	p := make([]int, 2)
	if err := unix.Pipe2(p, unix.O_CLOEXEC); err != nil {
		return is(err)
	}
	_, err := unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, 64<<20)
	return is(err)
}

func locked(args) string {
	p, err := mmap(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return is(err)
	}
	return sys(unix.SYS_MLOCK, p, page)
}
