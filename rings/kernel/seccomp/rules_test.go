package seccomp_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// Outcomes of a call; an errno is by its number.
const (
	ok              = seccomp.RetAllow
	done            = seccomp.RetErrno // success, and nothing done
	eperm           = seccomp.RetErrno | 1
	enomem          = seccomp.RetErrno | 12
	eacces          = seccomp.RetErrno | 13
	einval          = seccomp.RetErrno | 22
	enotty          = seccomp.RetErrno | 25
	enosys          = seccomp.RetErrno | 38
	enoprotoopt     = seccomp.RetErrno | 92
	eprotonosupport = seccomp.RetErrno | 93
	eopnotsupp      = seccomp.RetErrno | 95
	eafnosupport    = seccomp.RetErrno | 97
)

func tight() seccomp.Spec { return seccomp.Spec{} }
func wide() seccomp.Spec {
	return seccomp.Spec{Network: initproto.NetworkOwn, Processes: true, Sessions: true, JIT: true}
}
func noCode() seccomp.Spec { return seccomp.Spec{WX: true} }
func network() seccomp.Spec {
	return seccomp.Spec{Network: initproto.NetworkOwn}
}
func forks() seccomp.Spec { return seccomp.Spec{Processes: true} }

// attack is a call and what becomes of it, on every architecture that has it.
type attack struct {
	spec func() seccomp.Spec
	call string
	args []uint64
	want uint32
}

const (
	o    = 0xffffffff // -1, as an int
	anon = 0x22       // MAP_PRIVATE|MAP_ANONYMOUS
)

func attacks() []attack {
	return []attack{
		// Namespaces and what makes processes.
		{wide, "unshare", []uint64{0x10000000}, eperm},
		{wide, "unshare", []uint64{0x80}, eperm},
		{wide, "unshare", []uint64{0}, eperm},
		{wide, "setns", []uint64{3, 0}, eperm},
		{wide, "clone3", []uint64{1, 88}, enosys},
		{wide, "clone", []uint64{0x10000000 | 17}, eperm}, // NEWUSER
		{wide, "clone", []uint64{0x00020000 | 17}, eperm}, // NEWNS
		{wide, "clone", []uint64{0x02000000 | 17}, eperm}, // NEWCGROUP
		{wide, "clone", []uint64{0x04000000 | 17}, eperm}, // NEWUTS
		{wide, "clone", []uint64{0x08000000 | 17}, eperm}, // NEWIPC
		{wide, "clone", []uint64{0x20000000 | 17}, eperm}, // NEWPID
		{wide, "clone", []uint64{0x40000000 | 17}, eperm}, // NEWNET
		{wide, "clone", []uint64{0x00008000 | 17}, eperm}, // PARENT
		{wide, "clone", []uint64{0x00002000 | 17}, eperm}, // PTRACE
		{wide, "clone", []uint64{0x00800000 | 17}, eperm}, // UNTRACED
		{wide, "clone", []uint64{0x80000000 | 17}, eperm}, // IO
		{wide, "clone", []uint64{0x10000000 | 0x3d0f00}, eperm},
		{tight, "clone", []uint64{0x3d0f00}, ok}, // a thread of a C library
		{tight, "clone", []uint64{0x50f00}, ok},  // of Go
		{tight, "clone", []uint64{0x7d0f00}, ok}, // of musl
		{tight, "clone", []uint64{17}, eperm},
		{tight, "clone", []uint64{0x4111}, eperm},
		{tight, "clone", []uint64{0x10000 | 0x1000}, eperm},
		{tight, "clone", []uint64{0x3d0b00}, eperm}, // without FILES: descriptors of its own
		{wide, "clone", []uint64{0x10900}, eperm},
		{wide, "close_range", []uint64{3, o, 2}, einval}, // UNSHARE
		{tight, "close_range", []uint64{3, o, 6}, einval},
		{tight, "close_range", []uint64{3, o, 4}, ok}, // CLOEXEC
		{tight, "close_range", []uint64{3, o, 0}, ok},
		{tight, "fork", nil, eperm},
		{tight, "vfork", nil, eperm},
		{forks, "fork", nil, ok},
		{forks, "clone", []uint64{17}, ok},
		{forks, "clone", []uint64{0x1200011}, ok}, // fork(3)
		{forks, "clone", []uint64{0x4111}, ok},    // posix_spawn
		{forks, "clone", []uint64{0x5111}, ok},    // Go, with a pidfd
		{forks, "setsid", nil, eperm},
		{wide, "setsid", nil, ok},
		{wide, "execveat", []uint64{3, 1, 0, 0, 0x1000}, eperm},
		{wide, "execveat", []uint64{3, 1, 0, 0, 0}, eperm},
		{tight, "execve", []uint64{1, 1, 1}, ok},

		// Sockets.
		{tight, "socket", []uint64{1, 1, 0}, eafnosupport},
		{tight, "socket", []uint64{2, 1, 0}, eafnosupport},
		{tight, "socket", []uint64{10, 2, 0}, eafnosupport},
		{tight, "socket", []uint64{16, 3, 0}, eafnosupport},
		{tight, "socket", []uint64{16, 15, 0}, eafnosupport},
		{tight, "connect", []uint64{3, 1, 16}, eperm},
		{tight, "bind", []uint64{3, 1, 16}, eperm},
		{tight, "listen", []uint64{3, 1}, eperm},
		{tight, "accept4", []uint64{3, 0, 0, 0}, eperm},
		{network, "socket", []uint64{2, 1, 0}, ok},
		{network, "socket", []uint64{2, 0x80801, 6}, ok},
		{network, "socket", []uint64{10, 2, 17}, ok},
		{network, "socket", []uint64{16, 0x80003, 0}, ok},            // routes
		{network, "socket", []uint64{16, 2, 0}, ok},                  //
		{network, "socket", []uint64{16, 15, 0}, eafnosupport},       // the canary
		{network, "socket", []uint64{16, 3, 4}, eafnosupport},        // SOCK_DIAG
		{network, "socket", []uint64{16, 3, 9}, eafnosupport},        // AUDIT
		{network, "socket", []uint64{16, 3, 12}, eafnosupport},       // NETFILTER
		{network, "socket", []uint64{16, 3, 15}, eafnosupport},       // KOBJECT_UEVENT
		{network, "socket", []uint64{2, 3, 1}, eprotonosupport},      // raw ICMP
		{network, "socket", []uint64{2, 2, 1}, eprotonosupport},      // ping
		{network, "socket", []uint64{2, 1, 262}, eprotonosupport},    // MPTCP
		{network, "socket", []uint64{2, 1, 132}, eprotonosupport},    // SCTP
		{network, "socket", []uint64{2, 5, 0}, eprotonosupport},      // SEQPACKET
		{network, "socket", []uint64{2, 10, 0}, eprotonosupport},     // SOCK_PACKET
		{network, "socket", []uint64{1, 1, 0}, eafnosupport},         // UNIX
		{network, "socket", []uint64{17, 3, 0x300}, eafnosupport},    // PACKET
		{network, "socket", []uint64{40, 1, 0}, eafnosupport},        // VSOCK
		{network, "socket", []uint64{38, 5, 0}, eafnosupport},        // ALG
		{network, "socket", []uint64{44, 3, 0}, eafnosupport},        // XDP
		{network, "socket", []uint64{31, 3, 1}, eafnosupport},        // BLUETOOTH
		{network, "socket", []uint64{29, 3, 1}, eafnosupport},        // CAN
		{network, "socket", []uint64{15, 3, 2}, eafnosupport},        // KEY
		{network, "socket", []uint64{30, 5, 0}, eafnosupport},        // TIPC
		{network, "socket", []uint64{43, 1, 0}, eafnosupport},        // SMC
		{network, "socketpair", []uint64{1, 2, 0, 1}, eafnosupport},  // datagrams reach any name
		{network, "socketpair", []uint64{16, 3, 0, 1}, eafnosupport}, //
		{network, "socketpair", []uint64{30, 1, 0, 1}, eafnosupport}, //
		{tight, "socketpair", []uint64{1, 0x80801, 0, 1}, ok},
		{tight, "socketpair", []uint64{1, 5, 0, 1}, ok},
		{network, "sendto", []uint64{3, 1, 1, 0x20000000, 1, 16}, eopnotsupp},
		{network, "sendto", []uint64{3, 1, 1, 0x4000, 1, 16}, ok},
		{network, "sendmsg", []uint64{3, 1, 0x20000000}, eopnotsupp},
		{network, "sendmmsg", []uint64{3, 1, 1, 0x20004000}, eopnotsupp},
		{network, "setsockopt", []uint64{3, 1, 26}, enoprotoopt}, // ATTACH_FILTER
		{network, "setsockopt", []uint64{3, 1, 50}, enoprotoopt}, // ATTACH_BPF
		{network, "setsockopt", []uint64{3, 6, 31}, enoprotoopt}, // TCP_ULP
		{network, "setsockopt", []uint64{3, 0, 64}, enoprotoopt}, // IPT_SO_SET_REPLACE
		{network, "setsockopt", []uint64{3, 41, 64}, enoprotoopt},
		{network, "setsockopt", []uint64{3, 17, 100}, enoprotoopt},
		{network, "setsockopt", []uint64{3, 255, 3}, enoprotoopt},
		{network, "setsockopt", []uint64{3, 270, 3}, enoprotoopt},
		{network, "setsockopt", []uint64{3, 6, 1}, ok},
		{network, "setsockopt", []uint64{3, 1, 2}, ok},
		{network, "setsockopt", []uint64{3, 41, 26}, ok},
		{network, "setsockopt", []uint64{3, 1, 7}, done}, // SO_SNDBUF, which stays
		{network, "setsockopt", []uint64{3, 1, 8}, done}, // SO_RCVBUF
		{tight, "setsockopt", []uint64{3, 1, 7}, done},
		{tight, "setsockopt", []uint64{3, 6, 1}, enoprotoopt},
		{tight, "setsockopt", []uint64{3, 1, 2}, ok},

		// Programs out of memory, set-id bits, devices.
		{wide, "memfd_create", []uint64{1, 0}, eperm},
		{wide, "memfd_create", []uint64{1, 1}, eperm},
		{wide, "memfd_create", []uint64{1, 0x10}, eperm},
		{wide, "memfd_create", []uint64{1, 0x18}, eperm},
		{wide, "memfd_create", []uint64{1, 0xc}, eperm}, // of huge pages
		{wide, "memfd_create", []uint64{1, 9}, ok},
		{wide, "memfd_create", []uint64{1, 11}, ok},
		{wide, "memfd_secret", []uint64{0}, eperm},
		{wide, "chmod", []uint64{1, 0o4755}, eperm},
		{wide, "chmod", []uint64{1, 0o2755}, eperm},
		{wide, "chmod", []uint64{1, 0o1777}, ok},
		{wide, "fchmod", []uint64{1, 0o6755}, eperm},
		{wide, "fchmodat", []uint64{1, 1, 0o4755}, eperm},
		{wide, "fchmodat2", []uint64{1, 1, 0o4755, 0}, eperm},
		{wide, "open", []uint64{1, 0o101, 0o4755}, eperm},
		{wide, "open", []uint64{1, 0, 0o4755}, ok},
		{wide, "openat", []uint64{o, 1, 0o101, 0o4755}, eperm},
		{wide, "openat", []uint64{o, 1, 0o20200002, 0o4755}, eperm}, // O_TMPFILE
		{wide, "openat", []uint64{o, 1, 0o101, 0o755}, ok},
		{wide, "openat2", []uint64{o, 1, 1, 24}, enosys},
		{wide, "creat", []uint64{1, 0o4755}, eperm},
		{wide, "mkdir", []uint64{1, 0o2755}, eperm},
		{wide, "mkdirat", []uint64{o, 1, 0o2755}, eperm},
		{wide, "mknod", []uint64{1, 0o020644, 0x101}, eperm},
		{wide, "mknod", []uint64{1, 0o060644, 0x101}, eperm},
		{wide, "mknod", []uint64{1, 0o140644, 0}, eperm},
		{wide, "mknodat", []uint64{o, 1, 0o020644, 0x101}, eperm},
		{wide, "mknodat", []uint64{o, 1, 0o104755, 0}, eperm},
		{wide, "mknodat", []uint64{o, 1, 0o010644, 0}, ok},
		{wide, "mknodat", []uint64{o, 1, 0o644, 0}, ok},

		// Room on the disk, which is asked for in one call: with its size, without, and as holes.
		{tight, "fallocate", []uint64{3, 0, 0, 1 << 30}, eopnotsupp},
		{wide, "fallocate", []uint64{3, 0, 0, 1 << 30}, eopnotsupp},
		{wide, "fallocate", []uint64{3, 1, 0, 1 << 30}, eopnotsupp},
		{wide, "fallocate", []uint64{3, 3, 0, 4096}, eopnotsupp},
		{tight, "ftruncate", []uint64{3, 1 << 30}, ok},

		// Memory.
		{tight, "mmap", []uint64{0, 4096, 5, anon}, eacces},
		{tight, "mmap", []uint64{0, 4096, 5, 0x21}, eacces}, // shared, so that it is written at a second place
		{tight, "mmap", []uint64{0, 4096, 7, anon}, eacces},
		{tight, "mmap", []uint64{0, 4096, 5, 2, 3}, ok},
		{tight, "mprotect", []uint64{4096, 4096, 5}, ok}, // the kernel's to refuse
		{noCode, "mmap", []uint64{0, 4096, 7, anon}, eacces},
		{noCode, "mmap", []uint64{0, 4096, 5, anon}, eacces},
		{noCode, "mmap", []uint64{0, 4096, 7, 2, 3}, eacces},
		{noCode, "mmap", []uint64{0, 4096, 5, 2, 3}, ok}, // a library
		{noCode, "mmap", []uint64{0, 4096, 3, anon}, ok},
		{noCode, "mmap", []uint64{0, 1 << 21, 3, anon | 0x40000}, enomem},
		{wide, "mmap", []uint64{0, 1 << 21, 3, anon | 0x40000}, enomem},
		{noCode, "mprotect", []uint64{4096, 4096, 5}, eacces},
		{noCode, "mprotect", []uint64{4096, 4096, 3}, ok},
		{noCode, "pkey_mprotect", []uint64{4096, 4096, 5, 0}, enosys},
		{wide, "mmap", []uint64{0, 4096, 7, anon}, ok},
		{wide, "mprotect", []uint64{4096, 4096, 5}, ok},
		{wide, "pkey_mprotect", []uint64{4096, 4096, 5, 0}, ok},
		{wide, "shmat", []uint64{0, 0, 0o100000}, enosys},
		{wide, "personality", []uint64{0x0400000}, eperm}, // READ_IMPLIES_EXEC
		{wide, "personality", []uint64{0x0040000}, eperm}, // ADDR_NO_RANDOMIZE
		{wide, "personality", []uint64{8}, eperm},         // PER_LINUX32
		{wide, "personality", []uint64{o}, ok},
		{wide, "personality", []uint64{0}, ok},
		{wide, "madvise", []uint64{4096, 4096, 12}, einval},
		{wide, "madvise", []uint64{4096, 4096, 4}, ok},
		{wide, "remap_file_pages", []uint64{4096, 4096, 0, 0, 0}, eperm},

		// Descriptors.
		{wide, "ioctl", []uint64{0, 0x5412}, eperm}, // TIOCSTI
		{wide, "ioctl", []uint64{0, 0x541c}, eperm}, // TIOCLINUX
		{wide, "ioctl", []uint64{0, 0x5401}, ok},
		{wide, "ioctl", []uint64{0, 0x5403}, enotty},     // TCSETSW
		{wide, "ioctl", []uint64{0, 0x540e}, enotty},     // TIOCSCTTY
		{wide, "ioctl", []uint64{0, 0x8902}, enotty},     // SIOCSPGRP
		{wide, "ioctl", []uint64{0, 0x8914}, enotty},     // SIOCSIFFLAGS
		{wide, "ioctl", []uint64{0, 0x8946}, enotty},     // SIOCETHTOOL
		{wide, "ioctl", []uint64{0, 0x40049409}, enotty}, // FICLONE
		{wide, "ioctl", []uint64{0, 0x8913}, ok},
		{tight, "ioctl", []uint64{0, 0x8913}, enotty},
		{wide, "fcntl", []uint64{3, 8, 1}, eperm},     // SETOWN
		{wide, "fcntl", []uint64{3, 15, 1}, eperm},    // SETOWN_EX
		{wide, "fcntl", []uint64{3, 10, 9}, eperm},    // SETSIG
		{wide, "fcntl", []uint64{3, 1024, 1}, eperm},  // SETLEASE
		{wide, "fcntl", []uint64{3, 1026, 1}, eperm},  // NOTIFY
		{wide, "fcntl", []uint64{3, 1031, o}, eperm},  // SETPIPE_SZ
		{wide, "fcntl", []uint64{3, 1036, 1}, eperm},  // SET_RW_HINT
		{wide, "fcntl", []uint64{3, 1030, 0}, ok},     // DUPFD_CLOEXEC
		{wide, "fcntl", []uint64{3, 6, 1}, ok},        // SETLK
		{wide, "fcntl", []uint64{3, 37, 1}, einval},   // OFD_SETLK
		{wide, "fcntl", []uint64{3, 38, 1}, einval},   // OFD_SETLKW
		{wide, "prlimit64", []uint64{1, 7, 1}, eperm}, // of pid 1
		{wide, "prlimit64", []uint64{0, 7, 1, 1}, ok}, //
		{wide, "prlimit64", []uint64{0, 4, 1}, done},  // sets it
		{wide, "prlimit64", []uint64{0, 4 | 1<<32, 1 << 32}, done},
		{wide, "prlimit64", []uint64{1, 4, 0}, eperm},
		{wide, "setrlimit", []uint64{4, 1}, done},
		{wide, "setrlimit", []uint64{7, 1}, ok},
		{wide, "prctl", []uint64{22, 2, 1}, eperm},       // SET_SECCOMP
		{wide, "prctl", []uint64{4, 1}, einval},          // SET_DUMPABLE
		{wide, "prctl", []uint64{4, 0}, ok},              //
		{wide, "prctl", []uint64{47, 2, 21}, einval},     // CAP_AMBIENT_RAISE
		{wide, "prctl", []uint64{47, 1, 21}, ok},         //
		{wide, "prctl", []uint64{35, 1}, einval},         // SET_MM
		{wide, "prctl", []uint64{59, 1}, einval},         // SYSCALL_USER_DISPATCH
		{wide, "prctl", []uint64{62, 1}, einval},         // SCHED_CORE
		{wide, "prctl", []uint64{67, 1}, einval},         // MEMORY_MERGE
		{wide, "prctl", []uint64{28, 0}, einval},         // SET_SECUREBITS
		{wide, "prctl", []uint64{0x59616d61, o}, einval}, // SET_PTRACER
		{wide, "prctl", []uint64{38, 1}, ok},
		{wide, "prctl", []uint64{15, 1}, ok},
		{wide, "arch_prctl", []uint64{0x1012, 0}, einval}, // SET_CPUID
		{wide, "arch_prctl", []uint64{0x2001, 0}, einval}, // MAP_VDSO_X32
		{wide, "arch_prctl", []uint64{0x1002, 1}, ok},
		{wide, "sched_setscheduler", []uint64{0, 1, 1}, eperm},
		{wide, "sched_setscheduler", []uint64{0, 3, 1}, ok},
		{wide, "sched_setscheduler", []uint64{1, 5, 1}, eperm}, // of init
		{wide, "setpriority", []uint64{0, 1, 19}, eperm},
		{wide, "setpriority", []uint64{0, 0, 19}, ok},
		{wide, "setpriority", []uint64{2, 0, 19}, ok}, // init makes all of a guest nicer
	}
}

// never are calls that no guest makes, whatever it is granted.
const never = `acct add_key adjtimex bpf capset chroot clock_adjtime clock_settime delete_module fanotify_init fanotify_mark
	finit_module fsconfig fsmount fsopen fspick get_robust_list init_module io_uring_enter io_uring_register
	io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lsm_set_self_attr migrate_pages modify_ldt mount
	mount_setattr move_mount move_pages name_to_handle_at open_by_handle_at open_tree open_tree_attr perf_event_open
	pidfd_getfd pivot_root process_madvise process_mrelease process_vm_readv process_vm_writev ptrace quotactl quotactl_fd
	reboot request_key sched_setattr sched_setparam seccomp set_thread_area setdomainname setfsgid setfsuid setgid setgroups
	sethostname setns setregid setresgid setresuid setreuid settimeofday setuid swapoff swapon syslog umount2 userfaultfd
	vhangup vmsplice uprobe uretprobe`

func TestAttacks(t *testing.T) {
	for _, a := range attacks() {
		for _, arch := range architectures() {
			s := a.spec()
			s.Arch = arch
			p := build(t, s)
			got, has := ask(t, p, arch, a.call, a.args...)
			if !has {
				continue
			}
			if got != a.want {
				t.Errorf("%s %s%#x: %#x, want %#x", arch, a.call, a.args, got, a.want)
			}
			// What stands above an int changes nothing.
			for _, above := range []uint64{1 << 32, 0xffffffff << 32} {
				high := make([]uint64, len(a.args))
				for i, v := range a.args {
					high[i] = v | above
				}
				if got, _ := ask(t, p, arch, a.call, high...); got != a.want {
					t.Errorf("%s %s%#x: %#x, want %#x", arch, a.call, high, got, a.want)
				}
			}
		}
	}
}

// To ask for the limit of core dumps is no setting of it; what is behind a pointer
// is asked for by all 64 bits.
func TestCoreLimitIsAskedFor(t *testing.T) {
	for _, arch := range architectures() {
		s := wide()
		s.Arch = arch
		p := build(t, s)
		for v, want := range map[uint64]uint32{0: ok, 1: done, 1 << 32: done} {
			if got, _ := ask(t, p, arch, "prlimit64", 0, 4, v, 1); got != want {
				t.Errorf("%s: new limits at %#x: %#x, want %#x", arch, v, got, want)
			}
		}
	}
}

func TestNever(t *testing.T) {
	seen := 0
	for name := range strings.FieldsSeq(never) {
		for _, arch := range architectures() {
			s := wide()
			s.Arch = arch
			got, has := ask(t, build(t, s), arch, name, 1, 2, 3, 4, 5, 6)
			if !has {
				continue
			}
			seen++
			s.Notify = true
			loud, _ := ask(t, build(t, s), arch, name, 1, 2, 3, 4, 5, 6)
			if got != eperm || loud != seccomp.RetNotify {
				t.Errorf("%s %s: %#x, with a listener %#x", arch, name, got, loud)
			}
		}
	}
	if seen < 120 {
		t.Errorf("%d calls", seen)
	}
}
