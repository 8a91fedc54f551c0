package main

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lackingMain is ringd on a host that refuses user namespaces, or with
// LACKING=memfd_create programs in memory: a filter around it does what a
// container's profile does.
func lackingMain() {
	if err := withoutNamespaces(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	main()
}

func withoutNamespaces() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const load, equal, set, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	const number, flags = 0, 16 // of struct seccomp_data; the low half of the first argument
	program := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equal, Jt: 5, K: unix.SYS_CLONE3},
		{Code: equal, Jt: 1, K: unix.SYS_CLONE},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: load, K: flags},
		{Code: set, Jt: 2, Jf: 0, K: unix.CLONE_NEWUSER},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
	if os.Getenv("LACKING") == "memfd_create" {
		program = []unix.SockFilter{
			{Code: load, K: number},
			{Code: equal, Jf: 1, K: unix.SYS_MEMFD_CREATE},
			{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
			{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		}
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&f)))
	if e != 0 {
		return fmt.Errorf("install the filter: %w", e)
	}
	return nil
}
