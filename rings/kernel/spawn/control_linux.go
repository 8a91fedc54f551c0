package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Control is the ring's end of the socket to an init: one JSON message a packet, with descriptors. One
// goroutine may send while another receives.
type Control struct{ f *os.File }

const (
	maxMessage = 64 << 10 // that the other side may send
	maxFiles   = 253      // with one message, a limit of the kernel
	sendBuffer = 4 << 20  // the kernel gives as much of it as this host allows
)

// packets returns the two ends of a control socket; theirs blocks.
func packets() (ours *Control, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a control socket: %w", err)
	}
	err = unix.SetNonblock(fds[0], true)
	if err == nil {
		err = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
	if err != nil {
		return nil, nil, errors.Join(
			fmt.Errorf("make a control socket: %w", err), unix.Close(fds[0]), unix.Close(fds[1]),
		)
	}
	return &Control{os.NewFile(uintptr(fds[0]), "control")}, os.NewFile(uintptr(fds[1]), "init"), nil
}

// Send sends one message with descriptors. The caller still owns them.
func (c *Control) Send(message any, files ...*os.File) error {
	b, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("send %T: %w", message, err)
	}
	return c.SendBytes(b, files...)
}

// SendBytes sends one message that is JSON already.
func (c *Control) SendBytes(b []byte, files ...*os.File) error {
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	raw, err := c.f.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Write(func(fd uintptr) bool {
		for {
			err = unix.Sendmsg(int(fd), b, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if failed != nil {
		return failed
	}
	if errors.Is(err, unix.EMSGSIZE) {
		return fmt.Errorf(
			"a message of %d bytes is more than the control socket takes: fewer grants, or raise net.core.wmem_max: %w",
			len(b), err,
		)
	}
	return err
}

// Receive waits for one message. The caller owns the descriptors that came with it, also if it returns an
// error. It returns io.EOF if the other side is gone.
func (c *Control) Receive(message any) (files []*os.File, err error) {
	b := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	var n, nOOB, flags int
	raw, err := c.f.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Read(func(fd uintptr) bool {
		for {
			n, nOOB, flags, _, err = unix.Recvmsg(int(fd), b, oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
			// An init that ends with an unread message of the ring resets the connection. The kernel reports
			// that once, before it delivers the messages of init.
			if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNRESET) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if failed != nil {
		return nil, failed
	}
	if err == nil && n == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	files, err = rights(oob[:nOOB])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = decode(b[:n], message)
	}
	if err != nil {
		err = fmt.Errorf("receive %T: %w", message, err)
	}
	return files, err
}

func rights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range list {
		fds, failed := unix.ParseUnixRights(&list[i])
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, err
}

// decode decodes exactly one value of known fields.
func decode(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text behind the message")
	}
	return nil
}

// Ready reports whether there is anything to receive: a message, or the end.
func (c *Control) Ready() bool {
	raw, err := c.f.SyscallConn()
	if err != nil {
		return true
	}
	n := 0
	failed := raw.Control(func(fd uintptr) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n != 0 || err != nil || failed != nil
}

// Interrupt ends the Receive and the Send under way, and all later ones.
func (c *Control) Interrupt() error { return c.f.SetDeadline(time.Unix(1, 0)) }

// Close closes the socket. Init then ends. It may be called more than once.
func (c *Control) Close() error {
	if err := c.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// CloseFiles closes received descriptors that are not wanted.
func CloseFiles(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
