package guestinit

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// backlog of a listener: connections that wait to be accepted.
const backlog = 128

// Listen listens on a TCP port of every address, including those of IPv6 if v6 is set.
func Listen(v6 bool, port uint16) (fd int, err error) {
	return bound(v6, unix.SOCK_STREAM, [4]byte{}, port)
}

// proxy listens on a TCP port of 127.0.0.1 alone.
func proxy(port uint16) (fd int, err error) {
	return bound(false, unix.SOCK_STREAM, [4]byte{127, 0, 0, 1}, port)
}

// packets receives on a UDP port of every address.
func packets(v6 bool, port uint16) (fd int, err error) {
	return bound(v6, unix.SOCK_DGRAM, [4]byte{}, port)
}

func bound(v6 bool, kind int, host [4]byte, port uint16) (fd int, err error) {
	family, to := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(port), Addr: host})
	if v6 {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: int(port)}
	}
	fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if v6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	if err == nil {
		err = unix.Bind(fd, to)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on port %d: %w", port, err)
	}
	return fd, nil
}
