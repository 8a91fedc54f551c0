package seccomp

// Of socket(2).
const (
	familyUnix    = 1
	familyIPv4    = 2
	familyIPv6    = 10
	familyNetlink = 16
	kindMask      = 0xf // of a type, without SOCK_CLOEXEC and SOCK_NONBLOCK
	kindStream    = 1
	kindDatagram  = 2
	kindRaw       = 3
	kindPackets   = 5
	kindNone      = 15 // no kernel has it
	notBlocking   = 0o4000
	closeOnExec   = 0o2000000
	fastOpen      = 0x20000000
)

// opening is socket. A guest's own network has TCP and UDP, nothing below and nothing else: what watches
// connections does not see MPTCP and raw packets. Routes may be read, since programs find their addresses by
// them.
func opening(b *builder) *node {
	refused := b.deny(eafnosupport)
	families := refused
	if b.own() {
		protocols := oneOf(2, []uint32{0, 6, 17}, b.allow, b.deny(eprotonosupport))
		internet := arg(1, and(kindMask, among([]uint32{kindStream, kindDatagram}, protocols, b.deny(eprotonosupport))))
		routes := arg(
			2, equal(0, arg(1, and(kindMask, among([]uint32{kindDatagram, kindRaw}, b.allow, refused))), refused),
		)
		families = oneOf(0, []uint32{familyIPv4, familyIPv6}, internet, arg(0, equal(familyNetlink, routes, refused)))
	}
	if b.spec.Notify {
		// Every program of the GNU C library that looks up a user asks nscd first, through a socket of exactly
		// this type. Other uses of this type are then not reported either.
		unseen := arg(1, equal(kindStream|closeOnExec|notBlocking, b.prove(eafnosupport), families))
		families = arg(0, equal(familyUnix, unseen, families))
	}
	// The kernel knows no such type, and returns EINVAL. Init proves by it that this filter is installed, and
	// nothing is opened if it is not.
	proof := arg(0, equal(familyNetlink, b.prove(eafnosupport), families))
	return arg(1, and(kindMask, equal(kindNone, proof, families)))
}

// pairing is socketpair: streams and packets between two ends. An end of datagrams could be connected again, or
// send, to any socket that has a name in a folder of the guest.
func pairing(b *builder) *node {
	kinds := arg(1, and(kindMask, among([]uint32{kindStream, kindPackets}, b.allow, b.deny(eafnosupport))))
	return arg(0, equal(familyUnix, kinds, b.deny(eafnosupport)))
}

// Levels of setsockopt.
const (
	levelIP     = 0
	levelSocket = 1
	levelTCP    = 6
	levelUDP    = 17
	levelIPv6   = 41
)

// setting is setsockopt: no programs that the kernel runs for packets, no other protocol on top of a socket or
// below it, no tables of a firewall. Buffers keep their size, since the kernel has one allowance for the whole
// host. The call then reports success, as the kernel also does when it gives less than requested.
func setting(b *builder) *node {
	refuse := b.lack(enoprotoopt)
	// ATTACH_FILTER, ATTACH_BPF, ATTACH_REUSEPORT_{C,E}BPF
	others := oneOf(2, []uint32{26, 50, 51, 52}, refuse, b.allow)
	socket := oneOf(2, []uint32{7, 8}, b.prove(0), others) // SNDBUF, RCVBUF
	if !b.own() {
		return arg(1, equal(levelSocket, socket, refuse))
	}
	ip := arg(2, atLeast(64, refuse, b.allow))             // tables
	tcp := oneOf(2, []uint32{19, 31, 38}, refuse, b.allow) // REPAIR, ULP, AO_ADD_KEY
	udp := arg(2, equal(100, refuse, b.allow))             // ENCAP
	ipv6 := oneOf(2, []uint32{1, 64, 65}, refuse, b.allow) // ADDRFORM, tables
	inner := arg(1, equal(levelUDP, udp, equal(levelIPv6, ipv6, refuse)))
	return arg(1, equal(levelSocket, socket, equal(levelTCP, tcp, equal(levelIP, ip, inner))))
}
