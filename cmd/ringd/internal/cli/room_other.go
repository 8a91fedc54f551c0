//go:build !linux

package cli

// Room is unknown on this system.
func Room(string) (bytes uint64, ok bool) { return 0, false }

func diskSize(string) (bytes uint64, ok bool) { return 0, false }

func sameDisk(string, string) bool { return true }

func outOfRoom(error) bool { return false }
