//go:build !linux

package guestinit

// Main fails: guests need Linux.
func Main() int { return 125 }
