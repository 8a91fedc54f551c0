package procfs

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Memory holds the figures about memory in the status of a process, in bytes. The kernel keeps these figures:
// the cost of reading them does not grow with the number of mappings or pages.
type Memory struct {
	Anon   int64 // pages in memory without a file
	Shmem  int64 // pages of shared memory, and of files in memory
	Swap   int64 // pages that are swapped out
	Tables int64 // page tables
	Size   int64 // mapped address space
	Other  int64 // part of Size that is neither data, stack nor code; it includes shared memory
}

// MemoryOf parses a status. It is zero for a process that has ended.
func MemoryOf(status string) (m Memory) {
	var known int64
	for line := range strings.Lines(status) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch name {
		case "RssAnon":
			m.Anon = kilobytes(rest)
		case "RssShmem":
			m.Shmem = kilobytes(rest)
		case "VmSwap":
			m.Swap = kilobytes(rest)
		case "VmPTE":
			m.Tables = kilobytes(rest)
		case "VmSize":
			m.Size = kilobytes(rest)
		case "VmData", "VmStk", "VmExe", "VmLib":
			known += kilobytes(rest)
		}
	}
	m.Other = max(m.Size-known, 0)
	return m
}

// Held is the memory of the process, as in [Held].
func (m Memory) Held() int64 { return m.Anon + m.Shmem + m.Swap + m.Tables }

const (
	// Mapping is the approximate kernel memory of a mapping, in bytes. Measured: 213.
	Mapping = 213
	// mostMappings is the kernel's default limit of mappings of a process (vm.max_map_count).
	mostMappings = 65_530
)

// Unseen is the upper limit of the process's memory that is not in Held. A mapping has at least a page, and
// shared memory without a name stays as long as a page of it is mapped.
func (m Memory) Unseen() int64 {
	return min(m.Size/int64(unix.Getpagesize()), mostMappings)*Mapping + m.Other
}

// Walk calls each for the lines of a file of the kernel, of any length, until it returns false. The line is
// valid until each returns.
func Walk(name string, each func(line []byte) bool) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 64<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)] // a line that is longer than the buffer
		}
		n, err := initproto.Again(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if n == 0 {
			return nil
		}
		b = b[:len(b)+n]
		rest := b
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if !each(rest[:i]) {
				return nil
			}
			rest = rest[i+1:]
		}
		b = b[:copy(b, rest)]
	}
}
