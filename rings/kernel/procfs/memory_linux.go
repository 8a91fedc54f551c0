package procfs

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Memory is what the status of a process says of its memory, in bytes. The kernel has
// these figures at hand: reading them takes no longer when mappings or pages are many.
type Memory struct {
	Anon   int64 // pages of no file in memory
	Shmem  int64 // pages of shared memory, and of files in memory
	Swap   int64 // pages that are swapped out
	Tables int64 // page tables
	Size   int64 // addresses that are mapped
	Other  int64 // of Size: neither data, stack nor code; shared memory is among it
}

// MemoryOf reads a status. The one of a process that has ended is zero.
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

// Held is what the process holds, as [Held] has it.
func (m Memory) Held() int64 { return m.Anon + m.Shmem + m.Swap + m.Tables }

const (
	// Mapping is about what a mapping takes of the kernel, in bytes. Measured: 213.
	Mapping = 213
	// mostMappings is how many the kernel lets a process have (vm.max_map_count), where
	// nobody has changed it.
	mostMappings = 65_530
)

// Unseen is the most that the process may hold beside Held: a mapping has a page at
// least, and shared memory that was given up stays as long as a page of it is mapped.
func (m Memory) Unseen() int64 {
	return min(m.Size/int64(unix.Getpagesize()), mostMappings)*Mapping + m.Other
}

// Walk calls each for the lines of a file of the kernel's, of any length, until it
// returns false. The line is valid until each returns.
func Walk(name string, each func(line []byte) bool) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 64<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)] // a line longer than that
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
