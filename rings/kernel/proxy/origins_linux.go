package proxy

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// tellOrigins enables control messages with the destination address of each packet.
func tellOrigins(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("serve names: %w", err)
	}
	failed := raw.Control(func(fd uintptr) {
		var family int
		if family, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
			return
		}
		if family == unix.AF_INET6 {
			// For IPv6, answering from a local address needs more than the local route.
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1))
		} else {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		}
	})
	if err = errors.Join(failed, err); err != nil {
		return fmt.Errorf("serve names: %w", err)
	}
	return nil
}
