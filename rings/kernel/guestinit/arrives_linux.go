package guestinit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// arriveMillis is the timeout of a connection that the kernel makes at once.
const arriveMillis = 2000

// arrives shows that a connection to a port of an address reaches this listener, and that the listener sees
// that address. An IPv4 address is in the form in which the kernel maps it into IPv6.
func arrives(listener int, to [16]byte, port int) error {
	family, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: to})
	if to[0] == 0 {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte(to[12:])}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); err != nil {
		return fmt.Errorf("a connection to %x: %w", to, err)
	}
	n, err := wait(listener)
	if err != nil {
		return fmt.Errorf("wait for a connection to %x: %w", to, err)
	}
	if n == 0 {
		return fmt.Errorf("a connection to %x does not arrive", to)
	}
	got, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	if err != nil {
		return fmt.Errorf("take a connection to %x: %w", to, err)
	}
	defer unix.Close(got)
	local, err := unix.Getsockname(got)
	if err != nil {
		return fmt.Errorf("ask where a connection went: %w", err)
	}
	if have := address(local); have != to {
		return fmt.Errorf("a connection to %x arrives as one to %x", to, have)
	}
	return nil
}

// wait waits until there is a connection to accept. If there is none, it returns 0.
func wait(listener int) (n int, err error) {
	for {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}, arriveMillis)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func address(sa unix.Sockaddr) (a [16]byte) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		a[10], a[11] = 0xff, 0xff
		copy(a[12:], sa.Addr[:])
	case *unix.SockaddrInet6:
		a = sa.Addr
	}
	return a
}
