package anyip

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// loopback is the index of lo, the first device of every network namespace.
const loopback = 1

// Up brings loopback up.
func Up() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name lo: %w", err)
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("SIOCSIFFLAGS lo: %w", err)
	}
	return nil
}

// Lengths of what a request consists of: struct nlmsghdr, rtmsg, and an attribute
// that holds four bytes.
const (
	headerBytes = 16
	routeBytes  = 12
	linkBytes   = 8
)

// Route makes every address of a family (unix.AF_INET or AF_INET6) local:
// "ip route add local default dev lo table local".
func Route(family int) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("socket of routes: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request(family), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("RTM_NEWROUTE: %w", err)
	}
	answer := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return fmt.Errorf("RTM_NEWROUTE: %w", err)
	}
	// struct nlmsghdr, then that of an error, which is 0 for success.
	order := binary.NativeEndian
	if n < headerBytes+4 || order.Uint16(answer[4:]) != unix.NLMSG_ERROR || order.Uint32(answer[8:]) != sequence {
		return errors.New("RTM_NEWROUTE: the kernel says something else")
	}
	if e := int32(order.Uint32(answer[headerBytes:])); e != 0 {
		return fmt.Errorf("RTM_NEWROUTE: %w", unix.Errno(-e))
	}
	return nil
}

const sequence = 1

func request(family int) []byte {
	b := make([]byte, headerBytes+routeBytes+linkBytes)
	order := binary.NativeEndian
	order.PutUint32(b, uint32(len(b)))
	order.PutUint16(b[4:], unix.RTM_NEWROUTE)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	order.PutUint32(b[8:], sequence)
	route := b[headerBytes:]
	route[0] = byte(family)
	route[4], route[5] = unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT
	route[6], route[7] = unix.RT_SCOPE_HOST, unix.RTN_LOCAL
	link := route[routeBytes:]
	order.PutUint16(link, linkBytes)
	order.PutUint16(link[2:], unix.RTA_OIF)
	order.PutUint32(link[4:], loopback)
	return b
}
