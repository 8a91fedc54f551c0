package guestinit

import (
	"encoding/binary"
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

// Route makes every address of a family (unix.AF_INET or AF_INET6) local: "ip route add local default dev lo
// table local".
func Route(family int) error {
	body := make([]byte, routeBytes+linkBytes) // struct rtmsg, and the device
	body[0] = byte(family)
	body[4], body[5] = unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT
	body[6], body[7] = unix.RT_SCOPE_HOST, unix.RTN_LOCAL
	link := body[routeBytes:]
	order := binary.NativeEndian
	order.PutUint16(link, linkBytes)
	order.PutUint16(link[2:], unix.RTA_OIF)
	order.PutUint32(link[4:], loopback)
	return change("RTM_NEWROUTE", unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body)
}

// down takes loopback down through the interface that also makes and removes devices. The init of a guest uses
// it to show that its program cannot do so.
func down() error {
	body := make([]byte, deviceBytes) // struct ifinfomsg
	order := binary.NativeEndian
	order.PutUint32(body[4:], loopback)
	order.PutUint32(body[12:], unix.IFF_UP) // of the flags to change, to 0
	return change("RTM_NEWLINK", unix.RTM_NEWLINK, 0, body)
}

// change sends one request about routes or devices, and waits for the answer.
func change(name string, kind, flags uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("socket of routes: %w", err)
	}
	defer unix.Close(fd)
	b := make([]byte, headerBytes, headerBytes+len(body)) // struct nlmsghdr
	order := binary.NativeEndian
	order.PutUint32(b, uint32(headerBytes+len(body)))
	order.PutUint16(b[4:], kind)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	order.PutUint32(b[8:], sequence)
	if err := unix.Sendto(fd, append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	answer := make([]byte, 4<<10)
	// The kernel answers before Sendto returns. If there is no answer, it did not handle the request.
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
	if err != nil {
		return fmt.Errorf("%s: no answer: %w", name, err)
	}
	// struct nlmsghdr again, then the error, which is 0 for success.
	if n < headerBytes+4 || order.Uint16(answer[4:]) != unix.NLMSG_ERROR || order.Uint32(answer[8:]) != sequence {
		return fmt.Errorf("%s: the kernel says something else", name)
	}
	if e := int32(order.Uint32(answer[headerBytes:])); e != 0 {
		return fmt.Errorf("%s: %w", name, unix.Errno(-e))
	}
	return nil
}

const (
	headerBytes = 16
	routeBytes  = 12
	linkBytes   = 8 // of an attribute with four bytes
	deviceBytes = 16
	sequence    = 1
)
