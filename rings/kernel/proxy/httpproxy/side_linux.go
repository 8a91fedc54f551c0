package httpproxy

import (
	"errors"
	"syscall"
)

const readable = true

// attempt reads once, with a buffer that it takes for the attempt and gives back
// when there is nothing to read yet.
func (s *side) attempt(fd uintptr) bool {
	held := s.buf != nil
	s.hold()
	for {
		n, err := syscall.Read(int(fd), (*s.buf)[s.w:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			if !held {
				s.drop()
			}
			return false
		}
		s.got, s.fail = max(n, 0), err
		return true
	}
}

// quiet says that nothing has come that nobody asked for, and no end: a connection
// that was kept may be used again.
func (s *side) quiet() bool {
	if s.raw == nil {
		return true
	}
	ok := false
	var b [1]byte
	err := s.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ok = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && ok
}
