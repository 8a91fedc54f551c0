// Package seccomp builds the seccomp programs of guests: an allow-list of system
// calls, with rules for their arguments, as classic BPF. A call that is not on the
// list is refused, one that this package does not know does not exist, and one of
// another instruction set kills the process.
//
// The package is pure: programs for every architecture are built and run here on
// any host. The kernel ring builds the filter of a guest's init, and the second
// one that a guest puts upon itself when it seals itself.
//
// Arguments are compared by their low 32 bits where the kernel takes an int: what
// stands above is ignored there, and would be a way around a rule.
package seccomp

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// What a program returns. RetErrno has the errno in its low half.
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

// Spec says what the guest may do. The zero Spec with an Arch builds the tightest
// filter: one process of threads, no network.
type Spec struct {
	Arch string // AMD64 or ARM64

	// Network is initproto.NetworkOff or NetworkOwn; "" is off.
	Network string
	// Processes allows to start others. Without it there are threads, and one exec
	// after another: init becomes the program by one.
	Processes bool
	// JIT allows what only programs need that make code as they run. It cannot be
	// had with WX.
	JIT bool
	// WX refuses memory that becomes executable, where the kernel has no
	// PR_SET_MDWE. Libraries are still mapped, from files.
	WX bool
	// Sessions allows setsid. A session is a group of the scheduler's, so many of
	// them are many shares of the processor.
	Sessions bool

	// Notify asks a listener about each refused call, but for those that programs
	// make to find out what there is, which get their errno at once.
	Notify bool
	// Exec asks the listener about each execve too, which is to let it go on: only
	// with Notify. Without a listener nothing is started.
	Exec bool
	// Key is what each execve has to bring, see initproto.Key: without it, none goes on.
	// Not with Exec. An execve without a path and without the key is EPERM at once, so
	// that init can prove it.
	Key initproto.Key
	// Seals is for a guest that will seal itself. A kernel takes one listener for
	// all filters of a process, and that is the seal's: until it stands a refused
	// call is ENOSYS, and from then on it is the listener's, whichever filter
	// refuses it. Not with Notify; the filter is installed without a listener.
	Seals bool
}

// check refuses what has no meaning.
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

// Build returns the filter of a guest's init, which the program inherits. Two
// calls are answered with an errno of their own whatever Notify says, and do
// nothing where there is no filter, so that init can prove that it stands:
// unshare(0) is EPERM and not 0, and socket(AF_NETLINK, 15, 0) is EAFNOSUPPORT and
// not EINVAL.
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

// Name returns the name of a system call, "" when there is none of this number.
func Name(arch string, nr int) string {
	for _, c := range numbers() {
		if n, ok := c.number(arch); ok && n == nr {
			return c.name
		}
	}
	return ""
}

// AuditArch is the number of an architecture in Data; 0 when it is unknown.
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

// Number returns that of a system call, false when the architecture has none of
// this name.
func Number(arch, name string) (int, bool) {
	for _, c := range numbers() {
		if c.name == name {
			return c.number(arch)
		}
	}
	return 0, false
}

// call is a system call and its numbers; -1 where it does not exist.
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
