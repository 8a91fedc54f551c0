// Package seccomp builds the seccomp programs of guests: an allow-list of system calls, with rules for their
// arguments, as classic BPF. A call that is not on the list is denied, a call that this package does not know
// does not exist, and a call of another instruction set kills the process.
//
// Programs for every architecture are built and run here on any host. The kernel ring builds the filter of a
// guest's init, and the second one that a guest installs on itself when it seals itself.
//
// Arguments are compared by their low 32 bits if the kernel takes an int: the kernel ignores the upper bits,
// which would be a way around a rule.
package seccomp

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Return values of a program. RetErrno has the errno in its low half.
const (
	RetKill   = 0x80000000 // the whole process ends, by SIGSYS
	RetErrno  = 0x00050000
	RetNotify = 0x7fc00000 // a listener answers; without one the call does not exist: ENOSYS
	RetAllow  = 0x7fff0000
)

// The architectures, as Go names them.
const (
	AMD64 = "amd64"
	ARM64 = "arm64"
)

// Spec says what the guest may do. The zero Spec with an Arch builds the tightest filter: one process with
// threads, no network.
type Spec struct {
	Arch string // AMD64 or ARM64

	// Network is initproto.NetworkOff or NetworkOwn. If empty, it is off.
	Network string
	// Processes allows starting other processes. Without it the guest has threads, and can exec one program
	// after another: init becomes the program by an exec.
	Processes bool
	// JIT allows the calls that only programs need which generate code at run time. It cannot be combined with
	// WX.
	JIT bool
	// WX denies memory that becomes executable, if the kernel has no PR_SET_MDWE. Libraries can still be mapped
	// from files.
	WX bool
	// Sessions allows setsid. A session is a group of the scheduler, so many of them get many shares of the
	// processor.
	Sessions bool

	// Notify reports each denied call to a listener, except those that programs make to find out what exists,
	// which get their errno at once.
	Notify bool
	// Exec reports each execve to the listener too, which has to allow it. It needs Notify. Without a listener
	// nothing is started.
	Exec bool
	// Key is the key that each execve must have, see initproto.Key. Without it, the call is denied. It cannot
	// be combined with Exec. An execve without a path and without the key is EPERM at once, so that init can
	// prove it.
	Key initproto.Key
	// Seals is for a guest that will seal itself. A kernel takes one listener for all filters of a process, and
	// that is the seal's. Until the seal is installed, a denied call is ENOSYS. From then on it is reported to
	// the listener, whichever filter denies it. It cannot be combined with Notify. The filter is installed
	// without a listener.
	Seals bool
}

// check rejects combinations without a meaning.
func (s Spec) check() error {
	switch {
	case s.Network != "" && s.Network != initproto.NetworkOff && s.Network != initproto.NetworkOwn:
		return fmt.Errorf("filter: unknown network %q", s.Network)
	case s.JIT && s.WX:
		return fmt.Errorf("filter: a program cannot make code and have no memory for it")
	case s.Exec && !s.Notify:
		return fmt.Errorf("filter: execs are shown to a listener, and there is none")
	case s.Key != (initproto.Key{}) && (s.Exec || slices.Contains(s.Key[:], 0)):
		return fmt.Errorf("filter: a key of three words lets one program start, which no listener is asked about")
	case s.Seals && s.Notify:
		return fmt.Errorf("filter: the listener of a guest that seals itself is the seal's")
	}
	return nil
}

// Build returns the filter of a guest's init, which the program inherits. Two calls have their own errno
// whatever Notify says, and do nothing without a filter, so that init can prove that the filter is installed:
// unshare(0) is EPERM and not 0, and socket(AF_NETLINK, 15, 0) is EAFNOSUPPORT and not EINVAL.
func Build(s Spec) ([]initproto.Instruction, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	b, err := newBuilder(s.Arch)
	if err != nil {
		return nil, err
	}
	b.spec = s
	if s.Notify || s.Seals {
		b.loud = give(RetNotify)
	}
	b.hush = !s.Seals
	return b.build(slices.Concat(allowed(), refused()))
}

// Name returns the name of a system call, or an empty text if there is none with this number.
func Name(arch string, nr int) string {
	for _, c := range numbers() {
		if n, ok := c.number(arch); ok && n == nr {
			return c.name
		}
	}
	return ""
}

// AuditArch is the number of an architecture in Data, or 0 if it is unknown.
func AuditArch(arch string) uint32 {
	switch arch {
	case AMD64:
		return 0xc000003e
	case ARM64:
		return 0xc00000b7
	default:
		return 0
	}
}

// call is a system call with its numbers. -1 means that it does not exist.
type call struct {
	name         string
	amd64, arm64 int
}

func (c call) number(arch string) (int, bool) {
	n := -1
	switch arch {
	case AMD64:
		n = c.amd64
	case ARM64:
		n = c.arm64
	}
	return n, n >= 0
}
