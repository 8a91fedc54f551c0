package api

import (
	"net"
	"syscall"
)

// peerOf asks the kernel who connected. The credentials are those at the time of
// connect, and cannot be forged.
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
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || failed != nil || cred == nil {
		return peer{}
	}
	return peer{uid: cred.Uid, gid: cred.Gid, pid: cred.Pid, known: true}
}
