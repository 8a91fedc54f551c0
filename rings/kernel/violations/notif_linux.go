package violations

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The messages between the kernel and a listener: linux/seccomp.h.

type notif struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Data  callData
}

type callData struct {
	Nr   int32
	Arch uint32
	IP   uint64
	Args [6]uint64
}

type answer struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

const (
	ioReceive = 0xc0502100
	ioSend    = 0xc0182101
	ioValid   = 0x40082102

	flagContinue = 1 // let the call go on to the other layers

	opSizes = 3 // SECCOMP_GET_NOTIF_SIZES
)

// sizes is struct seccomp_notif_sizes.
type sizes struct{ Notif, Answer, Data uint16 }

// checkSizes rejects a kernel whose messages are larger than those known here: it would write beyond them.
func checkSizes() error {
	var s sizes
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, opSizes, 0, uintptr(unsafe.Pointer(&s))); e != 0 {
		return fmt.Errorf("ask for the sizes of seccomp notifications: %w", e)
	}
	if uintptr(s.Notif) != unsafe.Sizeof(notif{}) || uintptr(s.Answer) != unsafe.Sizeof(answer{}) {
		return fmt.Errorf("seccomp notifications of %d and %d bytes are not known", s.Notif, s.Answer)
	}
	return nil
}

// receive takes the next notification. ok is false if its caller is gone.
func receive(fd uintptr) (n notif, ok bool, err error) {
	for {
		n = notif{} // the kernel rejects one that is not zero
		_, _, e := unix.Syscall(unix.SYS_IOCTL, fd, ioReceive, uintptr(unsafe.Pointer(&n)))
		switch {
		case e == 0:
			return n, true, nil
		case errors.Is(e, unix.EINTR):
			continue
		case errors.Is(e, unix.ENOENT):
			return n, false, nil
		default:
			return n, false, fmt.Errorf("receive a seccomp notification: %w", e)
		}
	}
}

// valid reports whether the caller still waits, so that the memory which was read was its own.
func valid(fd uintptr, id uint64) bool {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, fd, ioValid, uintptr(unsafe.Pointer(&id)))
	return e == 0
}

// send answers. If the caller is gone, that is no error.
func send(fd uintptr, a answer) error {
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, fd, ioSend, uintptr(unsafe.Pointer(&a)))
		switch {
		case e == 0, errors.Is(e, unix.ENOENT):
			return nil
		case errors.Is(e, unix.EINTR):
			continue
		default:
			return fmt.Errorf("answer a seccomp notification: %w", e)
		}
	}
}

// text reads a string that ends with a zero byte from the memory of a thread, at most unix.PathMax bytes. It
// reads within one page at a time, since the next may not exist. ok is false if the string cannot be read.
func text(pid int, at uint64) (s string, ok bool) {
	const page = 4096
	var out []byte
	for at != 0 && len(out) < unix.PathMax {
		size := page - int(at%page)
		buf := make([]byte, size)
		local := []unix.Iovec{{Base: &buf[0], Len: uint64(size)}}
		remote := []unix.RemoteIovec{{Base: uintptr(at), Len: size}}
		n, err := unix.ProcessVMReadv(pid, local, remote, 0)
		if err != nil || n <= 0 {
			return "", false
		}
		for i, b := range buf[:n] {
			if b == 0 {
				return string(append(out, buf[:i]...)), true
			}
		}
		out = append(out, buf[:n]...)
		at += uint64(n)
	}
	return "", false
}
