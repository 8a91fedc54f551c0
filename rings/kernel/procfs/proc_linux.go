package procfs

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Read returns a small file of the kernel.
func Read(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := initproto.Again(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		if n == 0 {
			return string(b), nil
		}
		b = b[:len(b)+n]
	}
}

// List returns the names in a small folder of the kernel.
func List(name string) (names []string, err error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(fd)
	return entries(fd)
}

// entries lists an open folder from its current position.
func entries(fd int) (names []string, err error) {
	b := make([]byte, 4096)
	for {
		n, err := unix.Getdents(fd, b)
		if err != nil {
			return nil, fmt.Errorf("list a folder: %w", err)
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
}
