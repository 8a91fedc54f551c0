package seccomp

import "github.com/ringd/ringd/rings/kernel/initproto"

// Seal returns the filter that a guest of the JavaScript executor installs on all its threads once its code is
// compiled and loaded. It allows what the Go runtime and a running program need, with the descriptors that are
// open. It allows opening no file, starting nothing, mapping no code and asking nothing about the host. The
// poller of the Go runtime, which opens with the first timer or socket, must be open before. If notify is set,
// a denied call is reported to the listener. Otherwise it ends the process: after the seal there is no honest
// reason for one.
//
// Two calls return EPERM in either case, and do nothing without a seal, so that the guest can prove that it is
// installed: dup(-1) is otherwise EBADF, and mprotect(0, 0, PROT_EXEC) is otherwise 0. Below it is a filter of
// Build. Calls that this one denies are reported to the listener too, if it was built with Seals.
func Seal(arch string, notify bool) ([]initproto.Instruction, error) {
	b, err := newBuilder(arch)
	if err != nil {
		return nil, err
	}
	b.loud, b.hush, b.strict = give(RetKill), true, true
	if notify {
		b.loud = give(RetNotify)
	}
	return b.build(sealed())
}

// sealed is the list of a sealed guest.
func sealed() []row {
	return []row{
		{"read write pread64 recvfrom close", any, "the connection, and what was open before"},
		{"sendmsg", onlyControl, "the listener goes to the ring by the control socket, which is closed then"},
		{"epoll_pwait epoll_ctl", any, "Go waits for the connection"},
		{"ioctl", terminal, "the translator of TypeScript asks whether its error output is a terminal"},
		{"mmap", plainMapping, "heap, and the image of a snapshot; never code"},
		{"mprotect", plainProtection, "guard pages; never code"},
		{"munmap madvise", any, "the collector gives memory back"},
		{"clone", thread, "the Go runtime starts threads"},
		{"clone3", absent, "a C library under the race detector goes on with clone"},
		{"set_robust_list rseq", any, "what a C library sets up for each thread"},
		{"futex sched_yield nanosleep clock_nanosleep sched_getaffinity", any, "the scheduler of Go"},
		{
			"rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack tgkill", any,
			"Go interrupts its own threads; there is no other process",
		},
		{"getpid gettid restart_syscall", any, "the same"},
		{"clock_gettime gettimeofday getrandom", any, "time, where the vDSO has none, and chance for hash tables"},
		{"prctl", sealedOption, "Go names its memory; a canary asks whether the seal stands"},
		{"dup", canaryDup, "never; of no descriptor, a canary"},
		{"exit exit_group", any, "the end"},
	}
}

// onlyControl allows the control socket as the first argument. Nothing makes a new descriptor after the seal,
// so once it is closed its number is not used again.
func onlyControl(b *builder) *node { return arg(0, equal(initproto.Control, b.allow, b.deny(eperm))) }

// terminal allows TCGETS.
func terminal(b *builder) *node { return arg(1, equal(0x5401, b.allow, b.deny(eperm))) }

func plainMapping(b *builder) *node {
	return hasBits(2, protExec, b.deny(eperm), hasBits(3, mapHuge, b.deny(eperm), b.allow))
}

// plainProtection denies code. For a length of 0 it is a canary.
func plainProtection(b *builder) *node {
	return hasBits(2, protExec, isNull(1, b.prove(eperm), b.deny(eperm)), b.allow)
}

// thread is cloning without processes.
func thread(b *builder) *node {
	allowed := hasBits(0, ^uint32(cloneThreads), b.deny(eperm), b.allow)
	return hasBits(0, cloneThread, allowed, b.deny(eperm))
}

// sealedOption allows naming memory, and reading GET_DUMPABLE, GET_SECCOMP, GET_NO_NEW_PRIVS and GET_MDWE.
func sealedOption(b *builder) *node {
	return oneOf(0, []uint32{0x53564d41, 3, 21, 39, 66}, b.allow, b.deny(eperm))
}

func canaryDup(b *builder) *node {
	return arg(0, equal(0xffffffff, b.prove(eperm), b.deny(eperm)))
}
