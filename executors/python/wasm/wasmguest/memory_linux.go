package wasmguest

import "syscall"

// reserve maps n bytes without access, which do not count for a limit of data.
func reserve(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

// open makes reserved pages usable. They are zero.
func open(b []byte) error { return syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE) }

func release(b []byte) {
	_ = syscall.Munmap(b) // fails only for a slice that reserve did not return
}
