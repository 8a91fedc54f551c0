package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// holds are probes that take memory of one kind, "mib" of it, and keep it for "ms".
func holds() map[string]probe {
	return map[string]probe{
		"m_private":   func(a args) string { return held(a, pages(a, private, -1)) },
		"m_shared":    func(a args) string { return held(a, pages(a, shared, -1)) },
		"m_devzero":   func(a args) string { return held(a, devZero(a)) },
		"m_growsdown": func(a args) string { return held(a, pages(a, private|unix.MAP_GROWSDOWN, -1)) },
		"m_stack":     taller,
		"m_tmp":       func(a args) string { return held(a, written("/tmp", a.mib())) },
		"m_both": func(a args) string {
			return held(a, first(written("/tmp", a.mib()/2), pages(args{"mib": strconv.Itoa(a.mib() / 2)}, shared, -1)))
		},
		"m_tables": func(a args) string { return several(a, "m_tables_one", 16) },
		"m_many":   func(a args) string { return several(a, "m_private", 8) },
		"m_fork":   family,
		"m_queue":  func(a args) string { return held(a, unaccepted(a.mib())) },

		"m_cpu_waited":  func(args) string { return burnt(0, 0, true) },
		"m_cpu_ignored": func(args) string { return burnt(1, 0, false) },
		"m_cpu_nowait":  func(args) string { return burnt(0, 2, false) }, // SA_NOCLDWAIT
		"m_short":       func(args) string { return short(1) },
		"m_short_wait":  func(args) string { return short(0) },

		"m_stack_one":  func(a args) string { return held(a, mainStack(a)) },
		"m_tables_one": func(a args) string { return held(a, tables(a.mib())) },

		"m_mappings":     func(a args) string { return several(a, "m_mappings_one", a.mib()/mappingsMiB) },
		"m_mappings_one": func(a args) string { return held(a, mappings()) },
		"m_given_up":     func(a args) string { return several(a, "m_given_up_one", 8) },
		"m_given_up_one": func(a args) string { return held(a, givenUp(a.mib()<<20)) },
		"m_reserved":     func(a args) string { return held(a, reserved(a.mib()<<20)) },
	}
}

func (a args) mib() int { n, _ := strconv.Atoi(a["mib"]); return n }

// held keeps what was taken.
func held(a args, came string) string {
	if a["child"] != "" && came != "ok" {
		os.Stderr.WriteString(came + "\n")
		os.Exit(3)
	}
	if came == "ok" {
		n, _ := strconv.Atoi(a["ms"])
		time.Sleep(time.Duration(n) * time.Millisecond)
	}
	return came
}

func taken(bytes int, flags, fd int) (uintptr, string) {
	p, _, e := unix.RawSyscall6(
		unix.SYS_MMAP, 0, uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, uintptr(flags), uintptr(fd), 0,
	)
	if e != 0 {
		return 0, is(e)
	}
	return p, "ok"
}

func pages(a args, flags, fd int) string {
	n := a.mib() << 20
	p, came := taken(n, flags, fd)
	for i := 0; came == "ok" && i < n; i += page {
		*(*byte)(byteAt(p + uintptr(i))) = 1
	}
	return came
}

//go:nosplit
func byteAt(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func devZero(a args) string {
	fd, err := unix.Open("/dev/zero", unix.O_RDWR, 0)
	if err != nil {
		return is(err)
	}
	return pages(a, unix.MAP_SHARED, fd)
}

// taller raises the limit of the stack, for which the kernel leaves room at an exec.
func taller(a args) string {
	l := unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}
	if err := unix.Setrlimit(unix.RLIMIT_STACK, &l); err != nil {
		return is(err)
	}
	return several(a, "m_stack_one", 1)
}

// mainStack lets the stack of the first thread grow.
func mainStack(a args) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return is(err)
	}
	for line := range strings.Lines(string(maps)) {
		if from, _, ok := strings.Cut(line, "-"); ok && strings.Contains(line, "[stack]") {
			start, err := strconv.ParseUint(from, 16, 64)
			if err != nil {
				return is(err)
			}
			for i := page; i < a.mib()<<20; i += page {
				*(*byte)(byteAt(uintptr(start) - uintptr(i))) = 1
			}
			return "ok"
		}
	}
	return "none"
}

func written(dir string, mib int) string {
	b := bytes.Repeat([]byte("x"), 1<<20)
	for i := range mib {
		if err := os.WriteFile(filepath.Join(dir, "held-"+strconv.Itoa(i)), b, 0o600); err != nil {
			return is(err)
		}
	}
	return "ok"
}

// unaccepted fills connections that nobody accepts, and keeps no descriptor of them.
func unaccepted(mib int) string {
	const stream = unix.SOCK_STREAM | unix.SOCK_CLOEXEC
	l, err := unix.Socket(unix.AF_INET, stream, 0)
	if err != nil {
		return is(err)
	}
	to := &unix.SockaddrInet4{Port: 4040, Addr: [4]byte{127, 0, 0, 1}}
	if err := cmp.Or(unix.Bind(l, to), unix.Listen(l, 4096)); err != nil {
		return is(err)
	}
	b := make([]byte, 64<<10)
	for sent := 0; sent < mib<<20; {
		c, err := unix.Socket(unix.AF_INET, stream, 0)
		if err != nil {
			return is(err)
		}
		if err := cmp.Or(unix.Connect(c, to), unix.SetNonblock(c, true)); err != nil {
			return is(err)
		}
		for sent < mib<<20 {
			n, err := unix.Write(c, b)
			if err != nil {
				break
			}
			sent += n
		}
		unix.Close(c)
	}
	return "ok"
}

// tables maps much, and reads one byte of what each page of a page table leads to.
func tables(mib int) string {
	n := mib << 20 / page * (2 << 20)
	p, _, e := unix.RawSyscall6(
		unix.SYS_MMAP, 0, uintptr(n), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE,
		^uintptr(0), 0,
	)
	if e != 0 {
		return is(e)
	}
	var sum byte
	for i := 0; i < n; i += 2 << 20 {
		sum += *(*byte)(byteAt(p + uintptr(i)))
	}
	return first("ok", map[bool]string{true: "ok"}[sum == 0])
}

// Memory of no file.
const private, shared = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, unix.MAP_SHARED | unix.MAP_ANONYMOUS

// mappingsMiB is what the mappings of one process take of the kernel.
const mappingsMiB = 12

// mappings makes 60,000: every second page has other rights.
func mappings() string {
	const n = 60_000
	p, _, e := unix.RawSyscall6(unix.SYS_MMAP, 0, n*page, unix.PROT_READ, private|unix.MAP_NORESERVE, ^uintptr(0), 0)
	for i := uintptr(0); e == 0 && i < n; i += 2 {
		_, _, e = unix.RawSyscall(unix.SYS_MPROTECT, p+i*page, page, unix.PROT_NONE)
	}
	if e != 0 {
		return is(e)
	}
	return "ok"
}

// givenUp touches shared memory, and gives up each part of it but does not unmap it.
func givenUp(bytes int) string {
	p, came := taken(bytes, shared, -1)
	for i := 0; came == "ok" && i < bytes; i += page {
		*(*byte)(byteAt(p + uintptr(i))) = 1
		if i+page == bytes || (i+page)%(1<<20) == 0 {
			part := uintptr(i) &^ (1<<20 - 1)
			if _, _, e := unix.RawSyscall(unix.SYS_MADVISE, p+part, 1<<20, unix.MADV_DONTNEED); e != 0 {
				return is(e)
			}
		}
	}
	return came
}

// reserved maps 64 times as much shared memory as it touches, and has no page of what
// it gave back.
func reserved(bytes int) string {
	p, came := taken(64*bytes, shared, -1)
	for i := 0; came == "ok" && i < 4*bytes; i += page {
		*(*byte)(byteAt(p + uintptr(i))) = 1
		if (i+page)%(1<<20) == 0 {
			part := uintptr(i) &^ (1<<20 - 1)
			if _, _, e := unix.RawSyscall(unix.SYS_MADVISE, p+part, 1<<20, unix.MADV_REMOVE); e != 0 {
				return is(e)
			}
		}
	}
	return came
}

// several has children take a part each.
func several(a args, id string, children int) string {
	argv := append([]string{"probe", os.Args[1], id}, os.Args[3:]...)
	argv = append(argv, "child=yes", "mib="+strconv.Itoa(a.mib()/children))
	var all []*os.Process
	for range children {
		p, err := os.StartProcess(
			"/proc/self/exe", argv, &os.ProcAttr{Env: []string{}, Files: []*os.File{nil, nil, os.Stderr}},
		)
		if err != nil {
			return is(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		s, err := p.Wait()
		if err != nil {
			return is(err)
		}
		if s.ExitCode() != 0 {
			return s.String()
		}
	}
	return "ok"
}

// family takes memory of its own and has four children that share it all.
func family(a args) string {
	came := pages(a, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
	if came != "ok" {
		return came
	}
	p := make([]int, 2)
	if err := unix.Pipe2(p, 0); err != nil {
		return is(err)
	}
	var pids []int
	for range 4 {
		pid, e := rawWaiter(p[0], p[1])
		if e != 0 {
			return is(unix.Errno(e))
		}
		pids = append(pids, int(pid))
	}
	came = held(a, came)
	unix.Close(p[1])
	for _, c := range pids {
		_, _ = unix.Wait4(c, nil, 0, nil)
	}
	return came
}

// ends sets what becomes of children that end: handler 1 ignores them.
func ends(handler, flags uintptr) string {
	act := [4]uintptr{handler, flags}
	return sys(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), ptr(&act), 0, 8)
}

// burnt has a thousand children burn 12 ms of processor time each, one after another.
func burnt(handler, flags uintptr, waits bool) string {
	return children(1000, handler, flags, waits, 12_000_000)
}

// short has 300 children that end at once.
func short(handler uintptr) string { return children(300, handler, 0, handler == 0, 0) }

func children(n int, handler, flags uintptr, waits bool, nanos int64) string {
	if came := ends(handler, flags); came != "ok" {
		return came
	}
	for range n {
		p := make([]int, 2)
		if err := unix.Pipe2(p, 0); err != nil {
			return is(err)
		}
		pid, e := burner(nanos)
		unix.Close(p[1])
		if e != 0 {
			return is(unix.Errno(e))
		}
		_, _ = unix.Read(p[0], make([]byte, 1)) // until the child has gone
		unix.Close(p[0])
		if waits {
			_, _ = unix.Wait4(int(pid), nil, 0, nil)
		}
	}
	return "ok"
}

//go:norace
//go:nosplit
func burner(nanos int64) (pid, e uintptr) {
	p, _, e1 := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e1 == 0 && p == 0 {
		var t unix.Timespec
		for t.Sec == 0 && t.Nsec < nanos {
			unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_PROCESS_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
		}
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return p, uintptr(e1)
}
