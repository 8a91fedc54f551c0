package main

import (
	"net"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockets are probes of the network. Arguments: tcp and udp, ports of the host's
// loopback; abstract and path, sockets of the host. No address but loopback is
// tried where there is any interface but loopback.
func sockets() map[string]probe {
	m := map[string]probe{
		"s_netlink_audit_hi": func(args) string {
			return socket(
				unix.AF_NETLINK|1<<32, unix.SOCK_RAW, unix.NETLINK_AUDIT)
		},
		"s_type_hi":         func(args) string { return socket(unix.AF_INET, unix.SOCK_RAW|1<<32, unix.IPPROTO_ICMP) },
		"s_socketpair":      func(args) string { return pair(unix.AF_UNIX) },
		"s_pair_vsock":      func(args) string { return pair(unix.AF_VSOCK) },
		"s_pair_tipc":       func(args) string { return pair(unix.AF_TIPC) },
		"s_pass_fd":         passFD,
		"s_netlink_newlink": newLink,
		"s_ifflags":         ifFlags,
		"s_bind_low":        func(args) string { return listen("127.0.0.1:53") },
		"s_bind_any":        func(args) string { return listen("0.0.0.0:0") },
		"s_bind_loopback":   func(args) string { return listen("127.0.0.1:0") },
		"s_mark":            func(args) string { return option(unix.SOL_SOCKET, unix.SO_MARK) },
		"s_transparent":     func(args) string { return option(unix.SOL_IP, unix.IP_TRANSPARENT) },
		"s_interfaces":      func(args) string { return interfaces() },
		"s_own_loopback":    ownLoopback,
		"n_tcp_hostlo":      func(a args) string { return dial(unix.SOCK_STREAM, 0, a["tcp"], 0) },
		"n_mptcp_hostlo":    func(a args) string { return dial(unix.SOCK_STREAM, unix.IPPROTO_MPTCP, a["tcp"], 0) },
		"n_udp_hostlo":      func(a args) string { return dial(unix.SOCK_DGRAM, 0, a["udp"], 0) },
		"n_tfo_hostlo":      func(a args) string { return dial(unix.SOCK_STREAM, 0, a["tcp"], unix.MSG_FASTOPEN) },
		"n_tcp_public":      func(args) string { return away([4]byte{93, 184, 216, 34}, 80, unix.SOCK_STREAM) },
		"n_tcp_meta":        func(args) string { return away([4]byte{169, 254, 169, 254}, 80, unix.SOCK_STREAM) },
		"n_udp_dns":         func(args) string { return away([4]byte{8, 8, 8, 8}, 53, unix.SOCK_DGRAM) },
		"n_ipv6":            away6,
		"u_abstract_host":   func(a args) string { return unixConnect("\x00" + a["abstract"]) },
		"u_path_host":       func(a args) string { return unixConnect(a["path"]) },
		"u_path_dgram":      func(a args) string { return unixSend(a["path"]) },
	}
	for id, s := range map[string][3]uintptr{
		"s_netlink_route":   {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
		"s_netlink_diag":    {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG},
		"s_netlink_hi":      {unix.AF_NETLINK | 1<<32, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG},
		"s_netlink_audit":   {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
		"s_netlink_uevent":  {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		"s_netlink_nf":      {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
		"s_netlink_xfrm":    {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_XFRM},
		"s_netlink_generic": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
		"s_packet":          {unix.AF_PACKET, unix.SOCK_RAW, 0x300},
		"s_packet_dgram":    {unix.AF_PACKET, unix.SOCK_DGRAM, 0x300},
		"s_sock_packet":     {unix.AF_INET, 10, 0x300},
		"s_vsock":           {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"s_vsock_dgram":     {unix.AF_VSOCK, unix.SOCK_DGRAM, 0},
		"s_vsock_hi":        {unix.AF_VSOCK | 1<<33, unix.SOCK_STREAM, 0},
		"s_vsock_seqpacket": {unix.AF_VSOCK, unix.SOCK_SEQPACKET, 0},
		"s_alg":             {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		"s_xdp":             {unix.AF_XDP, unix.SOCK_RAW, 0},
		"s_key":             {unix.AF_KEY, unix.SOCK_RAW, 2},
		"s_can":             {unix.AF_CAN, unix.SOCK_RAW, 1},
		"s_bluetooth":       {unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
		"s_tipc":            {unix.AF_TIPC, unix.SOCK_STREAM, 0},
		"s_rds":             {unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
		"s_smc":             {unix.AF_SMC, unix.SOCK_STREAM, 0},
		"s_qipcrtr":         {unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0},
		"s_pppox":           {unix.AF_PPPOX, unix.SOCK_STREAM, 0},
		"s_rawicmp":         {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		"s_rawicmp6":        {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
		"s_rawraw":          {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
		"s_pingsock":        {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		"s_pingsock6":       {unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6},
		"s_mptcp":           {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"s_sctp":            {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		"s_udplite":         {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE},
		"s_dccp":            {unix.AF_INET, unix.SOCK_DCCP, unix.IPPROTO_DCCP},
		"s_inet_tcp":        {unix.AF_INET, unix.SOCK_STREAM, 0},
		"s_inet_udp":        {unix.AF_INET, unix.SOCK_DGRAM, 0},
		"s_inet6_tcp":       {unix.AF_INET6, unix.SOCK_STREAM, 0},
		"s_unix":            {unix.AF_UNIX, unix.SOCK_STREAM, 0},
		"s_unix_dgram":      {unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		"s_unix_hi":         {unix.AF_UNIX | 1<<32, unix.SOCK_STREAM, 0},
	} {
		m[id] = func(args) string { return socket(s[0], s[1], s[2]) }
	}
	return m
}

func socket(family, kind, proto uintptr) string {
	fd, _, e := unix.RawSyscall(unix.SYS_SOCKET, family, kind|unix.SOCK_CLOEXEC, proto)
	if e != 0 {
		return is(e)
	}
	unix.Close(int(fd))
	return "ok"
}

func pair(family uintptr) string {
	var fds [2]int32
	r := sys(unix.SYS_SOCKETPAIR, family, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&fds)))
	return r
}

// passFD gives a descriptor to itself, which is a guest's own affair.
func passFD(args) string {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	if err := unix.Sendmsg(fds[0], []byte("x"), unix.UnixRights(0), nil, 0); err != nil {
		return is(err)
	}
	oob := make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(fds[1], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err == nil && n == 0 {
		return "nothing"
	}
	return is(err)
}

func newLink(args) string {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	// RTM_NEWLINK of a dummy interface, with an acknowledgement.
	info := append([]byte{20, 0, 18, 0 /* IFLA_LINKINFO */, 9, 0, 1, 0}, "dummy\x00\x00\x00\x00\x00\x00\x00"...)
	info = info[:20]
	msg := make([]byte, 32, 64)
	msg[4], msg[6], msg[7], msg[8] = unix.RTM_NEWLINK, 5, 4|2, 1
	msg = append(msg, info...)
	msg[0] = byte(len(msg))
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return "send " + is(err)
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil || n < 20 {
		return "receive " + is(err)
	}
	e := *(*int32)(unsafe.Pointer(&b[16]))
	if e == 0 {
		return "ok"
	}
	return is(unix.Errno(-e))
}

func ifFlags(args) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return is(err)
	}
	r.SetUint16(unix.IFF_UP)
	return sys(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(r)))
}

func listen(addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	n, _ := strconv.Atoi(port)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	sa := &unix.SockaddrInet4{Port: n}
	copy(sa.Addr[:], net.ParseIP(host).To4())
	return first(is(unix.Bind(fd, sa)), is(unix.Listen(fd, 1)))
}

func option(level, opt int) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	return is(unix.SetsockoptInt(fd, level, opt, 1))
}

func interfaces() string {
	b, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return is(err)
	}
	var names []string
	for l := range strings.SplitSeq(string(b), "\n") {
		if n, _, ok := strings.Cut(l, ":"); ok {
			names = append(names, strings.TrimSpace(n))
		}
	}
	return strings.Join(names, " ")
}

// loopbackOnly says whether this network has nothing but loopback. Only the
// kernel's table counts, and none means no.
func loopbackOnly() bool { return interfaces() == "lo" }

// dial tries a port of loopback; with flags it sends without a connection.
func dial(kind, proto int, port string, flags int) string {
	n, _ := strconv.Atoi(port)
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	sa := &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}
	if flags != 0 {
		return is(unix.Sendto(fd, []byte("x"), flags, sa))
	}
	if err := unix.Connect(fd, sa); err != nil {
		return is(err)
	}
	if kind == unix.SOCK_STREAM {
		return "ok"
	}
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		return is(err)
	}
	return answered(fd)
}

// answered waits a little for what the host would say.
func answered(fd int) string {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 500); n == 0 || err != nil {
		return "silence"
	}
	_, err := unix.Read(fd, make([]byte, 8))
	return is(err)
}

func away(addr [4]byte, port, kind int) string {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	if !loopbackOnly() {
		return "untried"
	}
	return is(unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: addr}))
}

func away6(args) string {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	if !loopbackOnly() {
		return "untried"
	}
	return is(unix.Connect(fd, &unix.SockaddrInet6{Port: 80, Addr: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}}))
}

func unixConnect(name string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	return is(unix.Connect(fd, &unix.SockaddrUnix{Name: name}))
}

// unixSend reaches for a socket of the host from one end of a pair.
func unixSend(name string) string {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	return is(unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: name}))
}

// ownLoopback is what a network of its own is for.
func ownLoopback(args) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return is(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return dial(unix.SOCK_STREAM, 0, port, 0)
}
