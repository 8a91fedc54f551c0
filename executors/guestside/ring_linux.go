package guestside

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// SealInRing is SealAlone for a guest of the kernel ring. It seals the rest, and installs the filter that comes
// on control on all threads. The listener of the filter goes back on control. Then it tries the calls that it
// gave up, on a thread that existed before and on its own, and closes control. From then on the ring ends the
// process at the first call that the filter denies. After an error nothing may run here.
func SealInRing(control int) error {
	startPoller()
	filter, err := takeFilter(control)
	if err != nil {
		return sendFailure(control, fmt.Errorf("seal: %w", err))
	}
	// The filter denies new descriptors, so their limit stays: if it were lower than the number of descriptors
	// in transit of all guests of this user, the listener could not be sent.
	if err := sealRest(); err != nil {
		return sendFailure(control, err)
	}
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return sendFailure(control, fmt.Errorf("seal: memory for the canaries: %w", err))
	}
	if err := memoryCanary(page); err != nil {
		return sendFailure(control, fmt.Errorf("seal: %w", err))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := newWitness(page)
	defer other.wait()
	listener, err := installFilter(filter)
	if err != nil {
		return sendFailure(control, fmt.Errorf("seal: %w", err))
	}
	if err := answer(control, Sealed{Version: controlVersion}, listener); err != nil {
		return err
	}
	if err := errors.Join(other.try(), canaries(page)); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if err := unix.Close(control); err != nil {
		return fmt.Errorf("seal: close control: %w", err)
	}
	return nil
}

// maxSeal limits a Seal: a program has at most 4096 instructions.
const maxSeal = 64 << 10

// takeFilter reads the filter from control.
func takeFilter(control int) ([]unix.SockFilter, error) {
	buf := make([]byte, maxSeal)
	n, flags := 0, 0
	for {
		var err error
		n, _, flags, _, err = unix.Recvmsg(control, buf, nil, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("receive the filter: %w", err)
		}
		break
	}
	if flags&unix.MSG_TRUNC != 0 {
		return nil, fmt.Errorf("the message with the filter has over %d bytes", maxSeal)
	}
	var s Seal
	if err := decode(buf[:n], &s); err != nil {
		return nil, fmt.Errorf("receive the filter: %w", err)
	}
	return decodeFilter(s)
}

const instructionBytes = 8

// decodeFilter rejects bytes that are no program.
func decodeFilter(s Seal) ([]unix.SockFilter, error) {
	n := len(s.Filter) / instructionBytes
	switch {
	case s.Version != controlVersion:
		return nil, fmt.Errorf("version %d of the message with the filter, want %d", s.Version, controlVersion)
	case n == 0, len(s.Filter)%instructionBytes != 0, n > 4096:
		return nil, fmt.Errorf("%d bytes are no filter", len(s.Filter))
	}
	out := make([]unix.SockFilter, n)
	for i := range out {
		b := s.Filter[i*instructionBytes:]
		out[i] = unix.SockFilter{
			Code: binary.BigEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.BigEndian.Uint32(b[4:]),
		}
	}
	return out, nil
}

// sendFailure sends the reason on control and returns it.
func sendFailure(control int, why error) error {
	return errors.Join(why, answer(control, Sealed{Version: controlVersion, Failed: why.Error()}, -1))
}

// answer sends s with the listener, and then closes the listener.
func answer(control int, s Sealed, listener int) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	var rights []byte
	if listener >= 0 {
		rights = unix.UnixRights(listener)
	}
	if err := unix.Sendmsg(control, b, rights, nil, 0); err != nil {
		return fmt.Errorf("seal: hand over the listener: %w", err)
	}
	if listener < 0 {
		return nil
	}
	if err := unix.Close(listener); err != nil {
		return fmt.Errorf("seal: close the listener: %w", err)
	}
	return nil
}

// memoryCanary tries a call that PR_SET_MDWE denies. The filter is not installed yet.
func memoryCanary(page []byte) error {
	if _, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0); errors.Is(err, unix.EINVAL) {
		return nil // before Linux 6.3 only the filter denies it
	}
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("memory became executable: mprotect said %w", orNothing(err))
	}
	return nil
}

// canaries tries, on this thread, calls that the filter denies. Without the filter each would succeed or return
// another error.
func canaries(page []byte) error {
	for _, c := range []struct {
		call string
		try  func() error
	}{
		{"openat", func() error { return descriptorOf(unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)) }},
		{"socket", func() error { return descriptorOf(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)) }},
		{
			"memfd_create",
			func() error { return descriptorOf(unix.MemfdCreate("canary", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)) },
		},
		{"pipe2", func() error { return unix.Pipe2(make([]int, 2), unix.O_CLOEXEC) }},
		{"execve", func() error { return call(unix.SYS_EXECVE, 0) }}, // without a name: EFAULT
		{"mprotect", func() error { return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC) }},
		{"mmap", func() error {
			p, err := unix.Mmap(-1, 0, len(page), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err == nil {
				err = errors.Join(unix.Munmap(p), errWorked)
			}
			return err
		}},
		// A process, with contradictory flags so that none is ever made.
		{"clone", func() error { return call(unix.SYS_CLONE, unix.CLONE_SIGHAND|uintptr(syscall.SIGCHLD)) }},
	} {
		if err := c.try(); !errors.Is(err, unix.EPERM) || errors.Is(err, errWorked) {
			return fmt.Errorf("the filter does not hold: %s said %w", c.call, orNothing(err))
		}
	}
	return nil
}

var errWorked = errors.New("it worked")

func orNothing(err error) error {
	if err == nil {
		return errWorked
	}
	return err
}

func descriptorOf(fd int, err error) error {
	if err == nil {
		return errors.Join(unix.Close(fd), errWorked)
	}
	return err
}

// call makes a system call with zero for the other arguments.
func call(number, first uintptr) error {
	if _, _, e := unix.Syscall6(number, first, 0, 0, 0, 0, 0); e != 0 {
		return e
	}
	return errWorked
}

// witness is a thread that existed before the filter.
type witness struct {
	work  sync.WaitGroup
	begin chan struct{}
	found chan error
	once  sync.Once
}

func newWitness(page []byte) *witness {
	w := &witness{begin: make(chan struct{}), found: make(chan error, 1)}
	ready := make(chan struct{})
	w.work.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(ready)
		<-w.begin
		w.found <- canaries(page)
	})
	<-ready
	return w
}

// try runs the canaries on the thread.
func (w *witness) try() error {
	w.once.Do(func() { close(w.begin) })
	if err := <-w.found; err != nil {
		return fmt.Errorf("on another thread: %w", err)
	}
	return nil
}

// wait ends the thread, even if it was not used.
func (w *witness) wait() {
	w.once.Do(func() { close(w.begin) })
	w.work.Wait()
}
