package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
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
const listens = "0A"

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
