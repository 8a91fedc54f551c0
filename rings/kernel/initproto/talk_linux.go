package initproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Limits of one message, in bytes and descriptors.
const (
	maxMessage     = 4 << 20
	maxDescriptors = 8
	kernelMost     = 253 // descriptors that the kernel takes
)

// Receive waits for one message on fd and decodes it into m, with its descriptors, all close-on-exec. io.EOF
// means that the other side is gone.
func Receive(fd int, m any) (fds []int, err error) {
	p, fds, err := take(fd, maxDescriptors)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(p, m); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	return fds, nil
}

// TakeAll is Receive without decoding, for a message that is passed on, with the largest possible number of
// descriptors.
func TakeAll(fd int) (p []byte, fds []int, err error) { return take(fd, kernelMost) }

func take(fd, most int) (p []byte, fds []int, err error) {
	n, err := Again(func() (int, error) {
		n, _, _, _, err := unix.Recvmsg(fd, nil, nil, unix.MSG_PEEK|unix.MSG_TRUNC)
		return n, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("wait for a message: %w", err)
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	if n > maxMessage {
		return nil, nil, fmt.Errorf("a message of %d bytes", n)
	}
	p, oob := make([]byte, n), make([]byte, unix.CmsgSpace(4*most))
	var got, flags int
	n, err = Again(func() (int, error) {
		n, g, f, _, err := unix.Recvmsg(fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		got, flags = g, f
		return n, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read a message: %w", err)
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || n != len(p) {
		return nil, nil, errors.New("a message was cut")
	}
	if got > 0 {
		if fds, err = descriptors(oob[:got]); err != nil {
			return nil, nil, err
		}
	}
	return p, fds, nil
}

func descriptors(oob []byte) (fds []int, err error) {
	ms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	for i := range ms {
		f, err := unix.ParseUnixRights(&ms[i])
		if err != nil {
			return nil, fmt.Errorf("read descriptors: %w", err)
		}
		fds = append(fds, f...)
	}
	return fds, nil
}

// Send writes m as one message, with descriptors if there are any.
func Send(fd int, m any, fds ...int) error {
	p, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return Pass(fd, p, fds...)
}

// Pass writes a message that is JSON already.
func Pass(fd int, p []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, err := Again(func() (int, error) { return unix.SendmsgN(fd, p, oob, nil, unix.MSG_NOSIGNAL) })
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// Again repeats a call that a signal interrupted.
func Again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
