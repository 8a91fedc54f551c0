//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loops runs a plain loop for each line, and says how long it took.
func loops(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		began := time.Now()
		x := uint64(1)
		for range 100_000_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		took := time.Since(began)
		if x != 0 {
			fmt.Fprintln(out, took.Nanoseconds())
		}
	}
}

func hogs() []string { return []string{"fork bomb", "processors", "memory", "disk", "descriptors"} }

// hog uses as much of one resource as it gets, until it is killed. It prints a line when it begins.
func hog(what, folder string, out io.Writer) {
	fmt.Fprintln(out, "begins")
	switch what {
	case "one":
		spin()
	case "fork bomb":
		for { // in every child as well
			fork()
			session()
		}
	case "processors":
		for range 1 << 10 {
			if fork() == 0 {
				session()
				spin()
			}
		}
		spin()
	case "memory":
		for range 3 {
			fork()
		}
		touch()
	case "disk":
		fill([]string{os.TempDir(), folder})
	case "descriptors":
		for range 1 << 10 {
			if fork() == 0 {
				break
			}
		}
		open()
	}
}

// fork is without the Go runtime: a child has one thread and may only make system
// calls and count. It returns 0 in the child, and -1 when it is refused.
func fork() int {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return -1
	}
	return int(pid)
}

// session tries for a share of the processor of its own.
func session() { call(unix.SYS_SETSID, 0, 0, 0) }

// call is one whose failure changes nothing: the hog goes on.
func call(nr, a, b, c uintptr) { _, _, _ = unix.RawSyscall(nr, a, b, c) }

func spin() {
	for x := 1; x != 0; x += 2 {
	}
}

// touch takes memory until there is no more, and writes to all of it.
func touch() {
	const size = 8 << 20
	var all [64]uintptr
	n := 0
	for ; n < len(all); n++ {
		p, _, e := unix.RawSyscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE, ^uintptr(0), 0)
		if e != 0 {
			break
		}
		all[n] = p
	}
	for {
		for i := range n {
			call(unix.SYS_MADVISE, all[i], size, unix.MADV_DONTNEED)
			call(unix.SYS_MADVISE, all[i], size, unix.MADV_POPULATE_WRITE)
		}
	}
}

// fill writes files until nothing fits, 256 MiB at most in a folder, and again.
func fill(dirs []string) {
	block := make([]byte, 1<<20)
	for {
		for _, dir := range dirs {
			for n := range 8 {
				f, err := os.Create(filepath.Join(dir, "hog-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n)))
				if err != nil {
					break
				}
				for range 32 {
					if _, err := f.Write(block); err != nil {
						break
					}
				}
				_ = unix.Fdatasync(int(f.Fd())) // the disk has work either way
				_ = f.Close()
			}
		}
	}
}

// open opens as many descriptors as it gets, closes them, and begins again.
func open() {
	name := []byte("/\x00")
	for {
		for {
			at := unix.AT_FDCWD
			_, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&name[0])), unix.O_RDONLY,
				0, 0, 0)
			if e != 0 {
				break
			}
		}
		call(unix.SYS_CLOSE_RANGE, 3, 1<<20, 0)
	}
}
