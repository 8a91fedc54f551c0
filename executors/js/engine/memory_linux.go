package engine

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// backing is the image in an anonymous file, from which every VM maps its own private, copy-on-write view.
type backing struct {
	file *os.File
	size int
}

// newBacking returns nil if the system has no such file. VMs then copy.
func newBacking(im *image) *backing {
	number := map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]
	if number == 0 {
		return nil
	}
	const closeOnExec, neverExec = 1, 8
	name := []byte("ringd-js-image\x00")
	fd, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), closeOnExec|neverExec, 0)
	if errno == syscall.EINVAL { // before Linux 6.3
		fd, _, errno = syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), closeOnExec, 0)
	}
	if errno != 0 {
		return nil
	}
	b := &backing{file: os.NewFile(fd, "ringd-js-image"), size: int(im.size)}
	if err := b.fill(im); err != nil {
		b.file.Close()
		return nil
	}
	return b
}

// fill fails if the process may have no file of that size: Go's runtime takes the SIGXFSZ and does nothing.
func (b *backing) fill(im *image) error {
	if err := b.file.Truncate(int64(im.size)); err != nil {
		return fmt.Errorf("size the image: %w", err)
	}
	if _, err := b.file.WriteAt(im.memory, int64(im.from)); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	return nil
}

func (b *backing) close() error { return b.file.Close() }

// overlay maps the image over the start of a reservation.
func (b *backing) overlay(reserved []byte) error {
	if len(reserved) < b.size {
		return fmt.Errorf("the image is larger than the memory")
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&reserved[0])), uintptr(b.size),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED, b.file.Fd(), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// reserve maps n zero bytes that use memory only when they are written.
func reserve(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

func release(b []byte) {
	_ = syscall.Munmap(b) // fails only for a slice that reserve did not return
}
