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

// Listening reads on which ports of a protocol somebody listens.
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

// states of a socket in the tables.
const (
	closed   = "05" // by this end; what is left of it is small
	remnant  = "06" // TIME_WAIT: no socket any more
	listens  = "0A"
	noQueues = "00000000:00000000"
)

// The least, the first and the largest size of the buffers of a connection in a
// guest, which on its loopback are enough for all that a processor can copy.
const (
	ReadSizes  = "4096 65536 262144"
	WriteSizes = "4096 16384 262144"
)

// Remnants is how many connections of a guest's network may be in TIME_WAIT, or closed
// by one end. What they take is counted nowhere, and beyond it the kernel keeps none.
const Remnants = "4096"

const (
	// eachSocket is about what the kernel holds for a socket without its bytes.
	eachSocket = 8 << 10
	// leastSocket is the least that it holds for one, whatever became of it.
	leastSocket = 4 << 10
	// withBytes is the least for a direction that has any: pages are larger than they are.
	withBytes = 64 << 10
	// fullSocket is the most that a socket can hold, see ReadSizes.
	fullSocket = 768 << 10
)

// Buffered adds up what the sockets of this network hold in the kernel, also those
// that are no descriptor: connections that nobody has accepted, and closed ones with
// bytes under way. The tables are read where the number of sockets does not tell
// whether they hold enough: reading them takes longer than making the sockets.
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

// bounds is the least that so many sockets hold. It is known that way where that is
// more than enough, or where all of them could not hold it.
func bounds(sockstat string, enough int64) (least int64, known bool) {
	open := inUse(sockstat)
	least = max(open*eachSocket, int64(made(sockstat))*leastSocket)
	return least, least > enough || open*fullSocket <= enough
}

// Sockets is how many sockets there are in the network of a process: with a
// descriptor or without, accepted or not, reset or not.
func Sockets(pid int) (int, error) {
	text, err := Read("/proc/" + strconv.Itoa(pid) + "/net/sockstat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, nil // it has ended
	}
	return made(text), err
}

// made is how many sockets of a network exist. The other figures count what can be
// found by an address (inuse), which a reset connection in a queue cannot, or count
// for the whole host (orphan, alloc, mem).
func made(sockstat string) int {
	for line := range strings.Lines(sockstat) {
		if rest, ok := strings.CutPrefix(line, "sockets: used "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(rest), 10, 31) // none: the tables tell
			return int(n)
		}
	}
	return 0
}

// read returns a table of this network; one of IPv6 is empty on a host without.
func read(table string) (string, error) {
	text, err := Read("/proc/thread-self/net/" + table)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(table, "6") {
		return "", nil
	}
	return text, err
}

// inUse is how many sockets of TCP and UDP there are.
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

// listeners are the local ports of a table, of streams those that listen.
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
