package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity are probes of who this is.
func identity() map[string]probe {
	return map[string]probe{
		"id_setuid0":     func(args) string { return sys(unix.SYS_SETUID, 0) },
		"id_setresuid0":  func(args) string { return sys(unix.SYS_SETRESUID, 0, 0, 0) },
		"id_setreuid0":   func(args) string { return sys(unix.SYS_SETREUID, 0, 0) },
		"id_setgid0":     func(args) string { return sys(unix.SYS_SETGID, 0) },
		"id_setresgid0":  func(args) string { return sys(unix.SYS_SETRESGID, 0, 0, 0) },
		"id_setgroups":   func(args) string { return sys(unix.SYS_SETGROUPS, 1, slice([]uintptr{0})) },
		"id_setfsuid":    fsuid,
		"id_capset":      capset,
		"id_uid":         func(a args) string { return ids(a) },
		"id_pid":         func(args) string { return fmt.Sprint(unix.Getpid()) },
		"id_dumpable":    dumpable,
		"id_pdeathsig":   pdeathsig,
		"id_pdeath_more": func(args) string { return sys(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
	}
}

// fsuid asks what the first call left: the call itself never fails.
func fsuid(args) string {
	r, _, e := unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
	if e != 0 {
		return is(e)
	}
	r, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if r == 0 {
		return "ok"
	}
	return "kept"
}

func capset(args) string {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: 1 << 21, Permitted: 1 << 21}}
	return is(unix.Capset(&hdr, &data[0]))
}

func ids(a args) string {
	r, e, s := unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	want := num(a["uid"])
	for _, v := range []int{r, e, s} {
		if v != want {
			return fmt.Sprintf("uid %d %d %d", r, e, s)
		}
	}
	for _, v := range []int{rg, eg, sg} {
		if v != num(a["gid"]) {
			return fmt.Sprintf("gid %d %d %d", rg, eg, sg)
		}
	}
	return "ordered"
}

func dumpable(args) string {
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return is(err)
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
		return is(err)
	}
	if l.Cur != 1 || l.Max != 1 {
		return fmt.Sprintf("dumps core (%d)", n)
	}
	return "no core"
}

func pdeathsig(args) string {
	var sig int32
	r := sys(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(ptr(&sig)), 0, 0, 0)
	if r != "ok" {
		return r
	}
	return fmt.Sprint(sig)
}
