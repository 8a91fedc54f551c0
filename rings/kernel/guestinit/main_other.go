//go:build !linux

package guestinit

// Main refuses: there are guests on Linux only.
func Main() int { return 125 }
