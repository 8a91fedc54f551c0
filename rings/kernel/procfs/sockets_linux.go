package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Listening returns the ports of a protocol that have listeners.
func Listening(protocol string) (ports []uint16, err error) {
	for _, table := range []string{protocol, protocol + "6"} {
		text, err := Read("/proc/thread-self/net/" + table)
		if errors.Is(err, fs.ErrNotExist) && table != protocol {
			continue // a host without IPv6
		}
		if err != nil {
			return nil, err
		}
		got, err := listeners(text, protocol == "tcp")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		ports = append(ports, got...)
	}
	slices.Sort(ports)
	return ports, nil
}

// States of a socket in the tables.
const (
	closed   = "05" // closed by this end; its rest is small
	remnant  = "06" // TIME_WAIT: no socket any more
	listens  = "0A"
	noQueues = "00000000:00000000"
)

// The minimum, initial and maximum size of the buffers of a connection in a guest. On its loopback they are
// enough for all that a processor can copy.
const (
	ReadSizes  = "4096 65536 262144"
	WriteSizes = "4096 16384 262144"
)

// Remnants is how many connections of a guest's network may be in TIME_WAIT, or closed by one end. Their memory
// is counted nowhere, and above this number the kernel keeps none.
const Remnants = "4096"

const (
	// eachSocket is the approximate kernel memory of a socket without its bytes.
	eachSocket = 8 << 10
	// leastSocket is the minimum for a socket, whatever became of it.
	leastSocket = 4 << 10
	// withBytes is the minimum for a direction that has any bytes: pages are larger than the bytes.
	withBytes = 64 << 10
	// fullSocket is the maximum memory of a socket, see ReadSizes.
	fullSocket = 768 << 10
)

// Buffered adds up the kernel memory of the sockets of this network, including those without a descriptor:
// connections that were not accepted, and closed ones with bytes in transit. It reads the tables only if the
// number of sockets does not answer whether they hold enough: reading them takes longer than making the
// sockets.
func Buffered(enough int64) (bytes int64, err error) {
	var all string
	for _, table := range []string{"sockstat", "sockstat6"} {
		text, err := read(table)
		if err != nil {
			return 0, err
		}
		all += text
	}
	least, known := bounds(all, enough)
	if known {
		return least, nil
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := read(table)
		if err != nil {
			return 0, err
		}
		bytes += buffered(text)
	}
	return max(bytes, least), nil
}

// bounds is the minimum memory of that many sockets. known is true if that is more than enough, or if all of
// them together could not hold that much.
func bounds(sockstat string, enough int64) (least int64, known bool) {
	open := inUse(sockstat)
	least = max(open*eachSocket, int64(made(sockstat))*leastSocket)
	return least, least > enough || open*fullSocket <= enough
}

// Sockets counts the sockets in the network of a process: with a descriptor or without, accepted or not, reset
// or not.
func Sockets(pid int) (int, error) {
	text, err := Read("/proc/" + strconv.Itoa(pid) + "/net/sockstat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, nil // it has ended
	}
	return made(text), err
}

// made is how many sockets of a network exist. The other figures either count sockets that can be found by an
// address (inuse), which a reset connection in a queue cannot, or count for the whole host (orphan, alloc,
// mem).
func made(sockstat string) int {
	for line := range strings.Lines(sockstat) {
		if rest, ok := strings.CutPrefix(line, "sockets: used "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(rest), 10, 31) // no number: 0, then the tables are read
			return int(n)
		}
	}
	return 0
}

// read returns a table of this network. A table of IPv6 is empty on a host without IPv6.
func read(table string) (string, error) {
	text, err := Read("/proc/thread-self/net/" + table)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(table, "6") {
		return "", nil
	}
	return text, err
}

// inUse is the number of sockets of TCP and UDP.
func inUse(sockstat string) (n int64) {
	for line := range strings.Lines(sockstat) {
		f := strings.Fields(line)
		if len(f) > 2 && f[1] == "inuse" && (strings.HasPrefix(f[0], "TCP") || strings.HasPrefix(f[0], "UDP")) {
			some, err := strconv.ParseInt(f[2], 10, 32)
			if err == nil {
				n += max(some, 0)
			}
		}
	}
	return n
}

// buffered adds up the queues of a table.
func buffered(table string) (bytes int64) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 5 || f[0] == "sl" || f[3] == listens || f[3] == remnant || f[3] == closed && f[4] == noQueues {
			continue
		}
		bytes += eachSocket
		for queue := range strings.SplitSeq(f[4], ":") {
			if n, err := strconv.ParseUint(queue, 16, 32); err == nil && n > 0 {
				bytes += max(int64(n), withBytes)
			}
		}
	}
	return bytes
}

// listeners returns the local ports of a table, and for streams only those that listen.
func listeners(table string, streams bool) (ports []uint16, err error) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 {
			return nil, fmt.Errorf("the line %q", line)
		}
		if f[0] == "sl" || streams && f[3] != listens {
			continue
		}
		_, text, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(text, 16, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("the line %q", line)
		}
		ports = append(ports, uint16(port))
	}
	return ports, nil
}
