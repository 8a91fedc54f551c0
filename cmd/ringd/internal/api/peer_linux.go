package api

import (
	"errors"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerOf returns the credentials of a peer from the kernel. They are those at the time of connect and cannot
// be forged.
func peerOf(c net.Conn) peer {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return peer{}
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}
	}
	var cred *syscall.Ucred
	var failed error
	var groups []uint32
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if failed == nil {
			groups, failed = groupsOf(fd)
		}
	})
	if err != nil || failed != nil || cred == nil {
		return peer{}
	}
	return peer{uid: cred.Uid, gid: cred.Gid, groups: groups, pid: cred.Pid, known: true}
}

// refuseRights makes the kernel refuse descriptors that peers send on connections of l. They are never
// needed. The reading thread would have to close them, which takes as long as the sender wants. Before Linux
// 6.16 they can be sent.
func refuseRights(l *net.UnixListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0)
	})
	if errors.Is(failed, unix.ENOPROTOOPT) {
		failed = nil
	}
	return errors.Join(err, failed)
}

// groupsOf returns all groups of the peer at the time of connect.
func groupsOf(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups)) * 4
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case e == 0:
			return groups[:size/4], nil
		case e == unix.ERANGE && int(size/4) > len(groups): // size is the needed length; the groups do not change
			groups = make([]uint32, size/4)
		default:
			return nil, e
		}
	}
}
