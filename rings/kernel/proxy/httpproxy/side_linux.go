package httpproxy

import (
	"errors"
	"syscall"
)

const readable = true

// attempt reads once. It takes a buffer for that and returns it if there is nothing to read yet.
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

// isIdle reports whether an idle connection has received neither bytes nor an end, so that it can be reused.
func (s *side) isIdle() bool {
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
