package seccomp

import "github.com/ringd/ringd/rings/kernel/initproto"

// any allows a call whatever its arguments.
func any(b *builder) *node { return b.allow }

// absent denies a call like a kernel that does not have it.
func absent(b *builder) *node { return b.lack(enosys) }

// quiet denies a call with an errno that programs expect.
func quiet(e errno) rule {
	return func(b *builder) *node { return b.lack(e) }
}

// without denies some bits of an argument.
func without(n int, mask uint32, e errno) rule {
	return func(b *builder) *node { return hasBits(n, mask, b.lack(e), b.allow) }
}

// canary denies unshare. Without flags it would do nothing, so init can try it.
func canary(b *builder) *node {
	return arg(0, equal(0, b.prove(eperm), b.deny(eperm)))
}

// The bits of a mode and of the flags of open, the same on both architectures.
const (
	setIDBits  = 0o6000
	openCreate = 0o100
	openTemp   = 0o20000000 // __O_TMPFILE, without O_DIRECTORY
	modeKind   = 0o170000
	modeFile   = 0o100000
	modePipe   = 0o010000
)

// plainMode denies set-id bits: on the host the file would be a program that runs as its owner, and there the
// folder is not mounted nosuid.
func plainMode(mode int) rule {
	return func(b *builder) *node { return hasBits(mode, setIDBits, b.deny(eperm), b.allow) }
}

// creating is plainMode for a call that has a mode only if it creates a file.
func creating(flags, mode int) rule {
	return func(b *builder) *node {
		return hasBits(flags, openCreate|openTemp, plainMode(mode)(b), b.allow)
	}
}

// plainNode allows files and named pipes. 0 is a file too.
func plainNode(mode int) rule {
	return func(b *builder) *node {
		kinds := among([]uint32{0, modeFile, modePipe}, plainMode(mode)(b), b.deny(eperm))
		return arg(mode, and(modeKind, kinds))
	}
}

// control is fcntl.
func control(b *builder) *node {
	ok := []uint32{
		0, 1, 2, 3, 4, // DUPFD, GETFD, SETFD, GETFL, SETFL
		5, 6, 7, // locks
		9, 11, // GETOWN, GETSIG
		1025,       // GETLEASE
		1027, 1028, // DUPFD_QUERY, CREATED_QUERY
		1030,       // DUPFD_CLOEXEC
		1032,       // GETPIPE_SZ
		1033, 1034, // ADD_SEALS, GET_SEALS
	}
	// Locks of an open file belong to no process, so it is not possible to count them for a guest. The kernel
	// returns EINVAL for a command that it does not know.
	ofFile := among([]uint32{36, 37, 38}, b.lack(einval), b.deny(eperm))
	// A larger pipe uses an allowance that all processes of a user share.
	return oneOf(1, ok, b.allow, arg(1, equal(1031, b.lack(eperm), ofFile)))
}

// request is ioctl: the type of a descriptor and the number of bytes in it. A guest has no terminal, so for the
// rest the answer is that of a descriptor which is none. TIOCSTI and TIOCLINUX write into the terminal of
// another process.
func request(b *builder) *node {
	ok := []uint32{
		0x5401, 0x802c542a, // TCGETS, TCGETS2: isatty
		0x5413,                 // TIOCGWINSZ
		0x540f, 0x5410, 0x5429, // TIOCGPGRP, TIOCSPGRP, TIOCGSID: a shell's job control
		0x541b, 0x5411, // FIONREAD, TIOCOUTQ
		0x5421, 0x5450, 0x5451, // FIONBIO, FIONCLEX, FIOCLEX
	}
	if b.own() {
		ok = append(ok,
			// SIOCGIF NAME CONF FLAGS ADDR DSTADDR BRDADDR NETMASK
			0x8910, 0x8912, 0x8913, 0x8915, 0x8917, 0x8919, 0x891b,
			0x8921, 0x8927, 0x8933, // SIOCGIF MTU HWADDR INDEX
		)
	}
	return oneOf(1, ok, b.allow, arg(1, among([]uint32{0x5412, 0x541c}, b.deny(eperm), b.lack(enotty))))
}

// sealedMemory is memfd_create. Such a file, once written and mapped executable, is code of the program's own
// that no rule for memory sees: no memory of it became executable, and no mount forbids it. So only programs
// that generate code anyway may use it, and only with MFD_NOEXEC_SEAL, which makes it impossible to start the
// file. MFD_EXEC, huge pages and unknown flags are denied.
func sealedMemory(b *builder) *node {
	const closeOnExec, allowSealing, noExecSeal = 1, 2, 8
	if !b.spec.JIT {
		return b.lack(enosys)
	}
	known := anyBit(^uint32(closeOnExec|allowSealing|noExecSeal), b.deny(eperm), b.allow)
	return arg(1, anyBit(noExecSeal, known, b.deny(eperm)))
}

// Bits of mmap and mprotect.
const (
	protWrite    = 2
	protExec     = 4
	mapAnonymous = 0x20
	mapHuge      = 0x40000
)

// mapping is mmap. Huge pages come from a pool that all users of the host share, and a program continues
// without them.
//
// Executable memory comes from files, whose mounts decide, unless code is generated anyway. Shared memory
// without a file that is executable from the start can be mapped at a second place, by mremap or a child, and
// be made writable there. PR_SET_MDWE does not notice that, since nothing became executable. With WX this rule
// denies what MDWE denies. No denial is reported, as the kernel's rule makes no report: pattern matchers try
// it, and continue without it.
func mapping(b *builder) *node {
	plain := hasBits(3, mapHuge, b.lack(enomem), b.allow)
	if b.spec.JIT {
		return plain
	}
	exec := hasBits(3, mapAnonymous|mapHuge, b.lack(eacces), b.allow)
	if b.spec.WX {
		return arg(2, anyBit(protExec, anyBit(protWrite, b.lack(eacces), exec), plain))
	}
	return arg(2, anyBit(protExec, exec, plain))
}

// protecting is mprotect, like the kernel's own rule: memory does not become executable later.
func protecting(b *builder) *node {
	if !b.spec.WX {
		return b.allow
	}
	return hasBits(2, protExec, b.lack(eacces), b.allow)
}

// guarding is pkey_mprotect.
func guarding(b *builder) *node {
	if !b.spec.JIT {
		return b.lack(enosys)
	}
	return protecting(b)
}

// advising is madvise. With MADV_MERGEABLE the time of a write shows what is in the memory of others. The other
// two break pages.
func advising(b *builder) *node {
	return oneOf(2, []uint32{12, 100, 101}, b.lack(einval), b.allow)
}

func whenJIT(e errno) rule {
	return func(b *builder) *node {
		if b.spec.JIT {
			return b.allow
		}
		return b.lack(e)
	}
}

func whenProcesses(b *builder) *node {
	if b.spec.Processes {
		return b.allow
	}
	return b.deny(eperm)
}

func whenSessions(b *builder) *node {
	if b.spec.Sessions {
		return b.allow
	}
	return b.deny(eperm)
}

// whenSeals is seccomp: a second filter can only deny more.
func whenSeals(b *builder) *node {
	if b.spec.Seals {
		return b.allow
	}
	return b.deny(eperm)
}

func whenNetwork(b *builder) *node {
	if b.own() {
		return b.allow
	}
	return b.deny(eperm)
}

// firstUnused is the first argument of a call that execve does not have.
const firstUnused = 3

// starting is execve.
func starting(b *builder) *node {
	if b.spec.Key != (initproto.Key{}) {
		steps, refused := b.allow, isNull(0, b.prove(eperm), b.deny(eperm))
		for i, word := range b.spec.Key {
			n := firstUnused + i
			steps = arg(n, equal(uint32(word), high(n, equal(uint32(word>>32), steps, refused)), refused))
		}
		return steps
	}
	if b.spec.Exec {
		return b.loud
	}
	return b.allow
}

// Flags of clone(2). The lowest byte is the signal at the end of the process. The kernel reads the low 32 bits
// only.
const (
	cloneFiles   = 0x400
	cloneThread  = 0x10000
	cloneThreads = 0x100 | 0x200 | cloneFiles | 0x800 | cloneThread | // VM FS SIGHAND
		// SYSVSEM SETTLS PARENT_SETTID CHILD_CLEARTID DETACHED CHILD_SETTID
		0x40000 | 0x80000 | 0x100000 | 0x200000 | 0x400000 | 0x1000000
	cloneProcesses = cloneThreads | 0xff | 0x1000 | 0x4000 // signal, PIDFD, VFORK
)

// cloning is clone. It allows threads, and processes if granted. New namespaces, a child of one's parent, and a
// child that is traced or cannot be traced are denied, as are all unknown flags. So is a thread with its own
// table of descriptors, which no C library makes: the limit of descriptors, and the ring's count of them, is
// that of a process.
func cloning(b *builder) *node {
	shares := hasBits(0, cloneFiles, b.allow, b.deny(eperm))
	threads := hasBits(0, ^uint32(cloneThreads), b.deny(eperm), shares)
	process := b.deny(eperm)
	if b.spec.Processes {
		process = hasBits(0, ^uint32(cloneProcesses), b.deny(eperm), b.allow)
	}
	return hasBits(0, cloneThread, threads, process)
}

// closing is close_range. CLOSE_RANGE_UNSHARE gives a thread its own table of descriptors, see cloning.
func closing(b *builder) *node {
	const unshare = 0x2
	return hasBits(2, unshare, b.lack(einval), b.allow)
}

// option is prctl.
func option(b *builder) *node {
	ok := []uint32{
		1, 2, 3, // SET_PDEATHSIG, GET_PDEATHSIG, GET_DUMPABLE
		7,      // GET_KEEPCAPS
		13,     // GET_TIMING
		15, 16, // SET_NAME, GET_NAME
		21, 23, 27, // GET_SECCOMP, CAPBSET_READ, GET_SECUREBITS
		29, 30, // SET_TIMERSLACK, GET_TIMERSLACK
		36, 37, 38, 39, // CHILD_SUBREAPER, NO_NEW_PRIVS
		40, 41, 42, // GET_TID_ADDRESS, THP_DISABLE
		52,     // GET_SPECULATION_CTRL
		65, 66, // MDWE
		0x53564d41, // SET_VMA: names of memory
		0x41555856, // GET_AUXV
	}
	if b.arch == ARM64 {
		ok = append(ok, 50, 51, 54, 55, 56, 60, 61, 63, 64) // vectors, keys of pointers, tags
	}
	ambient := arg(1, equal(1, b.allow, b.lack(einval))) // PR_CAP_AMBIENT_IS_SET
	dumpable := arg(1, equal(0, b.allow, b.lack(einval)))
	return oneOf(
		0, ok, b.allow, arg(0, equal(47, ambient, equal(4, dumpable, equal(22, b.deny(eperm), b.lack(einval))))),
	)
}

// plainPersonality allows PER_LINUX and the query, which is all ones. Other values make memory executable, or
// its addresses predictable.
func plainPersonality(b *builder) *node {
	return oneOf(0, []uint32{0, 0xffffffff}, b.allow, b.deny(eperm))
}

const limitCore = 4 // RLIMIT_CORE

// limiting is prlimit64, for the calling process only, with number 0. The limit of core dumps is one byte,
// which the kernel treats as none. With zero it makes no file but still starts the host's program for dumps, as
// root, which reads the guest's memory. So the limit stays, and the call reports success.
func limiting(b *builder) *node {
	core := isNull(2, b.allow, b.prove(0))
	return arg(0, equal(0, arg(1, equal(limitCore, core, b.allow)), b.deny(eperm)))
}

// limitingOld is setrlimit, in the same way.
func limitingOld(b *builder) *node { return arg(0, equal(limitCore, b.prove(0), b.allow)) }

// registers is arch_prctl, of amd64.
func registers(b *builder) *node {
	ok := []uint32{
		0x1001, 0x1002, 0x1003, 0x1004, // the segments
		0x1011,                         // GET_CPUID
		0x1021, 0x1022, 0x1023, 0x1024, // the large registers
		0x3001,                                 // CET_STATUS, of older C libraries
		0x5001, 0x5002, 0x5003, 0x5004, 0x5005, // a shadow stack
	}
	return oneOf(0, ok, b.allow, b.lack(einval))
}

// others denies a call on another process, without a report. Init has the guest's user, so the kernel would
// allow it.
func others(n int) rule {
	return func(b *builder) *node { return arg(n, equal(0, b.allow, b.lack(eperm))) }
}

// ordinary is sched_setscheduler: SCHED_OTHER, BATCH and IDLE need no privilege.
func ordinary(b *builder) *node {
	return oneOf(1, []uint32{0, 3, 5}, others(0)(b), b.deny(eperm))
}
