package guestinit

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// setFilter installs the filter on this thread, with a listener if one is ordered.
func (g *guest) setFilter() error {
	var flags uintptr
	if g.Notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	fd, err := seccomp(g.Filter, flags)
	if err != nil {
		return missing(initproto.LayerSeccomp, "seccomp", err)
	}
	if g.Notify {
		g.listener = fd
	}
	return nil
}

// seccomp returns a descriptor of the listener if the flags ask for one.
func seccomp(p initproto.Program, flags uintptr) (fd int, err error) {
	code := make([]unix.SockFilter, len(p))
	for i, in := range p {
		code[i] = unix.SockFilter{Code: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	n, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// dropEverywhere drops the capabilities of all threads.
func dropEverywhere() error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := syscall.AllThreadsSyscall(
		unix.SYS_CAPSET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&none[0])), 0,
	)
	return asError(e)
}

// parentDeath is the signal for the death of the parent, or 0 if none is set.
func parentDeath() (signal int32, err error) {
	_, _, e := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0)
	if e != 0 {
		return 0, e
	}
	return signal, nil
}

// program is the program to execute, prepared with all possible messages: once the late limits are set, init
// may not be able to allocate memory.
type program struct {
	path      *byte
	argv, env []*byte
	limits    []lateLimit
	key       initproto.Key
	refusal   []byte // a failed exec, as JSON
	room      []byte // buffer for a message
}

type lateLimit struct {
	resource     int
	want, have   syscall.Rlimit
	failed, lies []byte // the failures of setting the limit, as JSON
}

// newProgram prepares everything.
func newProgram(path string, start initproto.Go, limits []initproto.Limit, key initproto.Key) (*program, error) {
	p := &program{key: key}
	var err error
	if p.path, err = syscall.BytePtrFromString(path); err != nil {
		return nil, err
	}
	if p.argv, err = syscall.SlicePtrFromStrings(start.Argv); err != nil {
		return nil, err
	}
	if p.env, err = syscall.SlicePtrFromStrings(start.Env); err != nil {
		return nil, err
	}
	longest := 0
	quote := func(format string, a ...any) (text []byte) {
		if err == nil {
			text, err = json.Marshal(fmt.Sprintf(format, a...))
		}
		longest = max(longest, len(text))
		return text
	}
	for _, l := range limits {
		if !late(l.Resource) {
			continue
		}
		p.limits = append(p.limits, lateLimit{
			resource: l.Resource, want: syscall.Rlimit{Cur: l.Value, Max: l.Value},
			failed: quote("set the limit %s to %d", l.Name, l.Value),
			lies:   quote("the limit %s was set to %d and is not that", l.Name, l.Value),
		})
	}
	p.refusal = quote("execute %s", start.Argv[0])
	p.room = make([]byte, 0, longest+len(`{"Failed":,"Errno":12345}`))
	return p, err
}

// execute sets the late limits, checks them, and executes the program. It returns an encoded initproto.Told for
// the ring.
func (p *program) execute() (message []byte) {
	for i := range p.limits {
		l := &p.limits[i]
		if err := syscall.Setrlimit(l.resource, &l.want); err != nil {
			e, _ := err.(syscall.Errno) //nolint:errorlint // errors.As allocates
			return p.failure(l.failed, e)
		}
		if syscall.Getrlimit(l.resource, &l.have) != nil || l.have != l.want {
			return p.failure(l.lies, 0)
		}
		// The limit of files is tested by reaching it.
		if l.resource == unix.RLIMIT_NOFILE && l.want.Cur <= math.MaxInt32 {
			_, _, e := unix.RawSyscall(unix.SYS_FCNTL, initproto.Control, unix.F_DUPFD_CLOEXEC, uintptr(l.want.Cur))
			if e != unix.EINVAL {
				return l.lies
			}
		}
	}
	_, _, e := unix.RawSyscall6(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.path)),
		uintptr(unsafe.Pointer(&p.argv[0])), uintptr(unsafe.Pointer(&p.env[0])),
		// the kernel reads only the first three arguments; see initproto.Key
		uintptr(p.key[0]), uintptr(p.key[1]), uintptr(p.key[2]))
	runtime.KeepAlive(p)
	return p.failure(p.refusal, e)
}

// failure is the message of a failure. It allocates nothing.
func (p *program) failure(what []byte, e syscall.Errno) []byte {
	b := append(p.room[:0], `{"Failed":`...)
	b = append(b, what...)
	b = append(b, `,"Errno":`...)
	b = strconv.AppendUint(b, uint64(e), 10)
	return append(b, '}')
}

// tell writes a message without allocating.
func tell(fd int, message []byte) {
	_, _, _ = unix.RawSyscall(
		unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(message))), uintptr(len(message)),
	)
}
