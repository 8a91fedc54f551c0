package main

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

const page = 4096

// memory are probes of memory that becomes executable.
func memory() map[string]probe {
	const rw, rwx, rx = unix.PROT_READ | unix.PROT_WRITE, unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC,
		unix.PROT_READ | unix.PROT_EXEC
	const anon = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	return map[string]probe{
		"ex_mmap_rwx":         func(args) string { return mapped(rwx, anon, -1) },
		"ex_mmap_rwx_hi":      func(args) string { return mapped(rwx|1<<40, anon, -1) },
		"ex_mmap_anon_x":      func(args) string { return mapped(rx, anon, -1) },
		"ex_mmap_shared":      func(args) string { return mapped(rwx, unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1) },
		"ex_mmap_shared_x":    sharedCode,
		"ex_mmap_shared_fork": childsCode,
		"ex_mprotect_x": func(args) string {
			return protect(rw, anon, func(p uintptr) string { return sys(unix.SYS_MPROTECT, p, page, rx) })
		},
		"ex_mprotect_hi": func(args) string {
			return protect(rw, anon, func(p uintptr) string { return sys(unix.SYS_MPROTECT, p, page, rx|1<<33) })
		},
		"ex_pkey_mprotect": func(args) string {
			return protect(
				rw, anon, func(p uintptr) string { return sys(unix.SYS_PKEY_MPROTECT, p, page, rx, ^uintptr(0)) },
			)
		},
		"ex_mmap_file_x": func(a args) string {
			return mapFile(
				filepath.Join(a["ws"], "text"), rx, unix.MAP_PRIVATE,
			)
		},
		"ex_mmap_file_rw_then_x": fileThenX,
		"ex_mmap_tmp_x":          func(a args) string { return mapFile("/tmp/text", rx, unix.MAP_PRIVATE) },
		"ex_mmap_devzero_x":      func(a args) string { return mapDev("/dev/zero", rx, unix.MAP_PRIVATE) },
		"ex_mmap_proc_x":         func(a args) string { return mapDev("/proc/self/maps", rx, unix.MAP_PRIVATE) },
		"ex_mmap_memfd_x":        mapMemfd,
		"ex_mmap_memfd_sealed":   mapSealed,
		"ex_mmap_data_x":         func(a args) string { return mapDev(a["lib"], rx, unix.MAP_PRIVATE) },
		"ex_shm_exec":            shmExec,
		"ex_read_implies_exec":   func(args) string { return sys(unix.SYS_PERSONALITY, 0x0400000) },
		"ex_no_randomize":        func(args) string { return sys(unix.SYS_PERSONALITY, 0x0040000) },
		"ex_mmap_page_zero":      func(args) string { return sys(unix.SYS_PERSONALITY, 0x0100000) },
		"ex_personality_hi":      func(args) string { return sys(unix.SYS_PERSONALITY, 0x0400000|1<<32) },
		"ex_mdwe_off":            func(args) string { return sys(unix.SYS_PRCTL, 65, 0, 0, 0, 0) },
		"ex_mdwe_no_inherit":     func(args) string { return sys(unix.SYS_PRCTL, 65, 3, 0, 0, 0) },
		"ex_selfmem_open":        func(args) string { return open("/proc/self/mem", unix.O_RDWR) },
		"ex_selfmem_patch":       patch,
		"ex_threadmem_open":      func(args) string { return open("/proc/thread-self/mem", unix.O_RDWR) },
		"ex_map_files":           mapFiles,
		"ex_prctl_mm": func(args) string {
			return sys(
				unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_START_BRK, page, 0, 0,
			)
		},
		"ex_remap_file_pages": func(args) string { return sys(remapFilePages, page, page, 0, 0, 0) },
		"ex_map_low": func(args) string {
			return sys(
				unix.SYS_MMAP, 0, page, rw, anon|unix.MAP_FIXED, ^uintptr(0), 0,
			)
		},
		"ex_shadow_stack":     func(args) string { return sys(453, 0, page, 0) },
		"ex_arch_prctl_shstk": func(args) string { return sys(archPrctl, 0x5001, 1) },
		"ex_mlockall":         func(args) string { return sys(unix.SYS_MLOCKALL, unix.MCL_CURRENT|unix.MCL_FUTURE) },
		"ex_mremap":           remap,
		"ex_pkey_alloc":       func(args) string { return sys(unix.SYS_PKEY_ALLOC, 0, 0) },
		"ex_hwpoison": func(args) string {
			return protect(
				rw, anon, func(p uintptr) string { return sys(unix.SYS_MADVISE, p, page, unix.MADV_HWPOISON) },
			)
		},
	}
}

// sharedCode maps memory that is executable and shared, sees it at a second place,
// makes it writable there, and calls what it wrote: nothing became executable.
func sharedCode(args) string {
	at, err := mmap(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return is(err)
	}
	second, _, e := unix.RawSyscall6(unix.SYS_MREMAP, at, 0, page, unix.MREMAP_MAYMOVE, 0, 0)
	if e != 0 {
		return "remap " + is(e)
	}
	if got := sys(unix.SYS_MPROTECT, second, page, unix.PROT_READ|unix.PROT_WRITE); got != "ok" {
		return "protect " + got
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), second)), page), answer())
	return called(at)
}

// called runs the code at an address.
func called(at uintptr) string {
	code := &at
	if call := *(*func() int)(unsafe.Pointer(&code)); call() == 42 {
		return "ran"
	}
	return "ok"
}

// childsCode has a child of fork write what this process executes.
func childsCode(args) string {
	at, err := mmap(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return is(err)
	}
	code := answer()
	pid, e := forkWriter(at, &code[0], uintptr(len(code)))
	if e != 0 {
		return "start " + is(e)
	}
	var st unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &st, 0, nil); err != nil || st != 0 {
		return fmt.Sprintf("child %d %v", st, err)
	}
	return called(at)
}

// forkWriter forks. The child makes the page at an address writable, copies code
// to it and ends.
//
//go:norace
//go:nosplit
func forkWriter(at uintptr, code *byte, n uintptr) (uintptr, unix.Errno) {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || pid != 0 {
		return pid, e
	}
	_, _, e = unix.RawSyscall(unix.SYS_MPROTECT, at, page, unix.PROT_READ|unix.PROT_WRITE)
	for i := uintptr(0); e == 0 && i < n; i++ {
		*(*byte)(unsafe.Add(unsafe.Pointer(nil), at+i)) = *(*byte)(unsafe.Add(unsafe.Pointer(code), i))
	}
	unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
	return 0, e
}

func slice(v []uintptr) uintptr {
	pointers = append(pointers, v)
	return uintptr(unsafe.Pointer(&v[0]))
}

var pointers [][]uintptr

// mmap returns an address of the kernel's, or an error.
func mmap(prot, flags uintptr, fd int) (uintptr, error) {
	p, _, e := unix.RawSyscall6(unix.SYS_MMAP, 0, page, prot, flags, uintptr(fd), 0)
	if e != 0 {
		return 0, e
	}
	return p, nil
}

func mapped(prot, flags uintptr, fd int) string {
	_, err := mmap(prot, flags, fd)
	return is(err)
}

func protect(prot, flags uintptr, f func(p uintptr) string) string {
	p, err := mmap(prot, flags, -1)
	if err != nil {
		return "map " + is(err)
	}
	return f(p)
}

func mapFile(path string, prot, flags uintptr) string {
	if err := os.WriteFile(path, make([]byte, page), 0o755); err != nil {
		return "write " + is(err)
	}
	return mapDev(path, prot, flags)
}

func mapDev(path string, prot, flags uintptr) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "open " + is(err)
	}
	defer unix.Close(fd)
	return mapped(prot, flags, fd)
}

func fileThenX(a args) string {
	p := filepath.Join(a["ws"], "text2")
	if err := os.WriteFile(p, make([]byte, page), 0o755); err != nil {
		return "write " + is(err)
	}
	fd, err := unix.Open(p, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "open " + is(err)
	}
	m, err := mmap(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fd)
	if err != nil {
		return "map " + is(err)
	}
	return first(
		sys(unix.SYS_MPROTECT, m, page, unix.PROT_READ|unix.PROT_EXEC),
		mapped(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, fd),
	)
}

func mapMemfd(args) string {
	fd, err := unix.MemfdCreate("probe", 0)
	if err != nil {
		return "create " + is(err)
	}
	if err := unix.Ftruncate(fd, page); err != nil {
		return is(err)
	}
	return mapped(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, fd)
}

// mapSealed writes code into memory that no program can be started from, maps it,
// and calls it.
func mapSealed(args) string {
	fd, err := unix.MemfdCreate("probe", unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return "create " + is(err)
	}
	if _, err := unix.Write(fd, answer()); err != nil {
		return "write " + is(err)
	}
	at, err := mmap(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE, fd)
	if err != nil {
		return is(err)
	}
	return called(at)
}

func shmExec(args) string {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o700)
	if err != nil {
		return "get " + is(err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	return sys(unix.SYS_SHMAT, uintptr(id), 0, 0o100000)
}

// mapFiles opens its own text for writing.
func mapFiles(args) string {
	list, err := os.ReadDir("/proc/self/map_files")
	if err != nil || len(list) == 0 {
		return is(err)
	}
	return open("/proc/self/map_files/"+list[0].Name(), unix.O_RDWR)
}

// target is what patch would write over.
//
//go:noinline
func target() int { return 1 }

// patch writes over the program's own text.
func patch(args) string {
	fd, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	f := target
	at := **(**uintptr)(unsafe.Pointer(&f))
	b := make([]byte, 1)
	if _, err := unix.Pread(fd, b, int64(at)); err != nil {
		return "read " + is(err)
	}
	_, err = unix.Pwrite(fd, b, int64(at)) // the same byte: what counts is that it could
	return is(err)
}

// remap moves executable text over other pages: the rights go with it, the
// content does not change. It is no way to new code, and is allowed.
func remap(args) string {
	p, err := mmap(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return fmt.Sprint("map ", is(err))
	}
	return sys(unix.SYS_MREMAP, p, page, 2*page, unix.MREMAP_MAYMOVE)
}
