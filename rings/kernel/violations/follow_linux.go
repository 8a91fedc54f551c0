package violations

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Follower reads the denials of Landlock from the kernel's audit log.
type Follower struct {
	goes   func(func())
	file   *os.File
	done   chan struct{} // closed when the goroutine has ended
	guests guests

	once sync.Once
	err  error // of closing; under once
}

// Of the audit log: linux/audit.h.
const (
	groupReadLog = 1    // AUDIT_NLGRP_READLOG
	askStatus    = 1000 // AUDIT_GET
	headerBytes  = 16   // of a netlink message
	largest      = 16 << 10
	readBuffer   = 1 << 20
)

// Follow starts to read the kernel's audit log. It reads all of it and uses only the records of Landlock. goes
// starts its goroutine. It needs CAP_AUDIT_READ, and a kernel whose audit log is on. Otherwise the error wraps
// ErrUnseen. The caller closes it.
func Follow(goes func(func())) (*Follower, error) {
	if goes == nil {
		return nil, errors.New("follow the audit log: no way to start a goroutine")
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, fmt.Errorf("%w: this kernel has no audit log: %w", ErrUnseen, err)
	}
	file := os.NewFile(uintptr(fd), "audit log")
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groupReadLog}); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: ringd may not read the kernel's audit log: %w; "+
			"give it CAP_AUDIT_READ (systemd: AmbientCapabilities=CAP_AUDIT_READ)", ErrUnseen, err), file.Close())
	}
	if enabled() == auditOff {
		return nil, errors.Join(fmt.Errorf("%w: the kernel's audit log is off; turn it on with `auditctl -e 1`, "+
			"or audit=1 on the kernel's command line", ErrUnseen), file.Close())
	}
	// More room than a burst needs, if the kernel allows it.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, readBuffer)
	f := &Follower{goes: goes, file: file, done: make(chan struct{})}
	goes(f.follow)
	return f, nil
}

// Guest registers the guest whose first process is pid, as the host sees it. It is called after the guest has
// enforced Landlock on itself, and before its program begins: the log names the thread that did so. stop says
// that the guest has ended. Its earlier denials may still be reported, since the log is behind.
func (f *Follower) Guest(pid int, t Told) (stop func()) {
	return f.guests.add(pid, threadsOf(pid), t)
}

// maxThreads is more than a guest has before its program begins.
const maxThreads = 256

// threadsOf returns the threads of a process and of its descendants, as far as the kernel reports them, and at
// least the process itself.
func threadsOf(pid int) []int {
	all := []int{pid}
	for next := []int{pid}; len(next) > 0 && len(all) < maxThreads; next = next[1:] {
		proc := "/proc/" + strconv.Itoa(next[0]) + "/task"
		list, err := os.ReadDir(proc)
		if err != nil {
			continue // it has ended
		}
		for _, e := range list {
			if id, err := strconv.Atoi(e.Name()); err == nil && id != next[0] {
				all = append(all, id)
			}
			children, err := os.ReadFile(proc + "/" + e.Name() + "/children")
			if err != nil {
				continue
			}
			for _, word := range strings.Fields(string(children)) {
				if id, err := strconv.Atoi(word); err == nil {
					all, next = append(all, id), append(next, id)
				}
			}
		}
	}
	return all
}

// Close ends the Follower and waits for it. It may be called more than once.
func (f *Follower) Close() error {
	f.once.Do(func() { f.err = f.file.Close() })
	<-f.done
	return f.err
}

func (f *Follower) follow() {
	defer close(f.done)
	buf := make([]byte, largest)
	var known book
	for {
		n, err := f.read(buf)
		if errors.Is(err, unix.ENOBUFS) {
			continue // records were lost: the log was never more than best effort
		}
		if err != nil {
			return // closed
		}
		kind, text, ok := message(buf[:n])
		if !ok {
			continue
		}
		r, ok := parse(kind, text)
		if !ok {
			continue
		}
		pid, refused := known.take(r)
		if r.ended {
			f.guests.gone(pid)
		}
		for _, r := range refused {
			if g := f.guests.of(pid); g != nil {
				g.tell(Violation{Layer: initproto.LayerLandlock, Call: clip(r.blockers), Detail: clip(r.path)}, f.goes)
			}
		}
	}
}

// read waits for a message of the kernel. It returns 0 for one of another process.
func (f *Follower) read(buf []byte) (n int, err error) {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read the audit log: %w", err)
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		var from unix.Sockaddr
		n, from, failed = unix.Recvfrom(int(fd), buf, 0)
		if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
			return false
		}
		if sender, ok := from.(*unix.SockaddrNetlink); failed == nil && (!ok || sender.Pid != 0) {
			n = 0
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return n, err
}

// message returns the kind and the text of a netlink message. The length in a record's header is either that of
// the text or of the whole message, so that of the datagram is used.
func message(b []byte) (kind uint16, text string, ok bool) {
	if len(b) < headerBytes {
		return 0, "", false
	}
	return binary.NativeEndian.Uint16(b[4:]), string(b[headerBytes:]), true
}

type auditState int

const (
	auditUnknown auditState = iota // only CAP_AUDIT_CONTROL may ask
	auditOff
	auditOn
)

// enabled asks the kernel whether it keeps an audit log.
func enabled() auditState {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return auditUnknown
	}
	defer func() { _ = unix.Close(fd) }()
	ask := make([]byte, headerBytes)
	binary.NativeEndian.PutUint32(ask, headerBytes)
	binary.NativeEndian.PutUint16(ask[4:], askStatus)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return auditUnknown
	}
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return auditUnknown
	}
	b := make([]byte, largest)
	for range 4 { // answers may come among other messages
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			return auditUnknown
		}
		// struct audit_status begins with a mask and the switch.
		if n < headerBytes+8 || binary.NativeEndian.Uint16(b[4:]) != askStatus {
			continue
		}
		if binary.NativeEndian.Uint32(b[headerBytes+4:]) == 0 {
			return auditOff
		}
		return auditOn
	}
	return auditUnknown
}
