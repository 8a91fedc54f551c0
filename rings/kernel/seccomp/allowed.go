package seccomp

import "slices"

// allowed is the list of calls for a program that reads and writes its granted files, starts granted programs,
// and communicates with nothing else.
func allowed() []row {
	return slices.Concat(
		content(), folders(), attributes(), waiting(), memory(), processes(), threads(), signals(), clocks(), sockets(),
		facts())
}

// content lists calls on descriptors, and on files by their names: the mounts and Landlock control which files
// there are.
func content() []row {
	return []row{
		{
			"read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek", any,
			"the bytes of a descriptor",
		},
		{"close dup dup2 dup3", any, "descriptors come and go; their number is a limit"},
		{"close_range", closing, "as close"},
		{"pipe pipe2", any, "bytes to a child, or between threads"},
		{"sendfile splice tee copy_file_range", any, "cat, cp and git copy in the kernel"},
		{"open", creating(1, 2), "files by name, without set-id bits"},
		{"openat", creating(2, 3), "files by name, without set-id bits"},
		{"creat", plainMode(1), "as open"},
		{"truncate ftruncate", any, "the size of a file, under its limit"},
		{"fsync fdatasync sync_file_range", any, "a database waits for its own file"},
		{"flock", any, "locks of whole files: git, sqlite"},
		{"fadvise64 readahead", any, "hints about a file"},
		{"fcntl", control, "flags, locks and seals of a descriptor; no signals to others, no leases"},
		{"ioctl", request, "a few harmless questions to a descriptor"},
		{"memfd_create", sealedMemory, "memory as a file, which can never be started, where code is made anyway"},
	}
}

func folders() []row {
	return []row{
		{"getdents getdents64", any, "listing a folder"},
		{"getcwd chdir fchdir", any, "where relative names begin"},
		{"mkdir", plainMode(1), "a folder, without set-id bits"},
		{"mkdirat", plainMode(2), "a folder, without set-id bits"},
		{"mknod", plainNode(1), "a file or a pipe with a name; no device, no socket"},
		{"mknodat", plainNode(2), "a file or a pipe with a name; no device, no socket"},
		{"rmdir unlink unlinkat", any, "removing names"},
		{"rename renameat renameat2", any, "git and editors write aside and rename"},
		{"link linkat symlink symlinkat readlink readlinkat", any, "links; where they lead is decided at the opening"},
		{"access faccessat faccessat2", any, "looking before opening"},
		{"stat lstat fstat newfstatat statx statfs fstatfs", any, "what a file is"},
		{"umask", any, "bits that new files do not get"},
	}
}

func attributes() []row {
	return []row{
		{"chmod fchmod", plainMode(1), "modes, without set-id bits: the host sees them in the workspace"},
		{"fchmodat fchmodat2", plainMode(2), "modes, without set-id bits"},
		{"chown fchown lchown fchownat", any, "cp and tar keep owners; the kernel lets no file be given away"},
		{"utime utimes futimesat utimensat", any, "times of a file"},
		{"getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr", any, "ls and cp look at them"},
		{
			"setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", any,
			"cp keeps them; those that give power need a capability",
		},
	}
}

func waiting() []row {
	return []row{
		{"poll ppoll select pselect6", any, "waiting for descriptors"},
		{"epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2", any, "the same, for many"},
		{
			"eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime signalfd signalfd4", any,
			"events as descriptors: loops of node, Go and asyncio",
		},
	}
}

func memory() []row {
	return []row{
		{"brk munmap mremap msync mincore", any, "memory of one's own"},
		{"mmap", mapping, "memory and mapped files, none of the host's huge pages; code from files; see WX"},
		{"mprotect", protecting, "protection of memory; see WX"},
		{"madvise", advising, "hints about memory; never sharing equal pages with others"},
		{"mlock mlock2 munlock", any, "a few locked pages, under their limit"},
		{"get_mempolicy", any, "allocators ask for the nodes of the memory"},
		{"mseal map_shadow_stack", any, "a loader hardens itself"},
		{"pkey_alloc pkey_free", whenJIT(enosys), "an engine guards the code that it makes"},
		{"pkey_mprotect", guarding, "an engine guards the code that it makes"},
	}
}

func processes() []row {
	return []row{
		{"execve", starting, "which programs is the mounts' and Landlock's to say; init itself needs one"},
		{"clone", cloning, "threads, and processes where granted; no namespaces, no siblings"},
		{"fork vfork", whenProcesses, "processes where granted"},
		{"wait4 waitid exit exit_group", any, "the end of a process"},
		{"setpgid", any, "job control of a shell"},
		{"setsid", whenSessions, "a group of the scheduler's, so a share of the processor"},
		{"pidfd_open", any, "Go and python wait for a child by a descriptor"},
		{"seccomp", whenSeals, "a guest that seals itself adds a filter; others have no use for it"},
		{"prctl", option, "names of threads and a few settings of a process"},
		{"personality", plainPersonality, "asking, and the ordinary one"},
		{"prlimit64", limiting, "limits of oneself; the kernel lets none be raised"},
		{"setrlimit", limitingOld, "limits of oneself; the kernel lets none be raised"},
		{"getrlimit getrusage", any, "limits of oneself, and what it has used"},
		{"getpriority", any, "how one is scheduled"},
		{"setpriority", others(1), "only down, and not init, which counts what a guest uses"},
	}
}

func threads() []row {
	return []row{
		{"futex futex_waitv futex_wake futex_wait futex_requeue", any, "locks between threads"},
		{"set_tid_address set_robust_list rseq membarrier", any, "what a C library sets up for each thread"},
		{"arch_prctl", registers, "the register of thread-local memory, and a shadow stack"},
		{"sched_yield sched_getaffinity getcpu", any, "which processors it has, which the ring says"},
		{"sched_getscheduler sched_getparam sched_getattr", any, "how one is scheduled"},
		{"sched_get_priority_max sched_get_priority_min sched_rr_get_interval", any, "constants of the scheduler"},
		{"sched_setscheduler", ordinary, "the ordinary policies only, and not for init"},
		{"ioprio_get", any, "how one's input is scheduled"},
	}
}

func signals() []row {
	return []row{
		{
			"rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigreturn sigaltstack", any,
			"signals of one's own",
		},
		{
			"kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal", any,
			"to processes of the same guest: there are no others",
		},
		{"pause restart_syscall", any, "what a signal interrupts"},
	}
}

func clocks() []row {
	return []row{
		{"clock_gettime clock_getres gettimeofday time times", any, "what time it is"},
		{"nanosleep clock_nanosleep alarm getitimer setitimer", any, "waiting for a time"},
		{
			"timer_create timer_settime timer_gettime timer_getoverrun timer_delete", any,
			"the same, as signals: Go's profiler, python",
		},
	}
}

func sockets() []row {
	return []row{
		{"socket", opening, "none, or streams and datagrams of a network of one's own"},
		{"socketpair", pairing, "a pipe of both directions, which can reach nothing else"},
		{"connect bind listen accept accept4", whenNetwork, "a network of one's own"},
		{"sendto", without(3, fastOpen, eopnotsupp), "bytes of a socket it was given"},
		{"sendmsg", without(2, fastOpen, eopnotsupp), "bytes of a socket it was given"},
		{"sendmmsg", without(3, fastOpen, eopnotsupp), "bytes of a socket it was given"},
		{"recvfrom recvmsg recvmmsg shutdown", any, "bytes of a socket it was given"},
		{"getsockname getpeername getsockopt", any, "what a socket is"},
		{"setsockopt", setting, "settings of a socket; no programs in the kernel"},
	}
}

func facts() []row {
	return []row{
		{"getpid getppid gettid getpgid getpgrp getsid", any, "who one is, inside"},
		{
			"getuid geteuid getgid getegid getgroups getresuid getresgid capget", any,
			"which user; capabilities are none",
		},
		{"uname sysinfo getrandom", any, "the kernel's name, the size of memory, chance"},
	}
}
