//go:build !linux

package httpproxy

const readable = false

func (s *side) attempt(uintptr) bool { return true }

func (s *side) isIdle() bool { return true }
