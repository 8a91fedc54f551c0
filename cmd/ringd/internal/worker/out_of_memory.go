package worker

import "strings"

// outOfMemory reports whether stderr of a child says that the Go runtime got no memory, or was asked
// for more than any host has. The collector of Go 1.26 does not check the allocation of its queue
// of spans, and faults at address 0 there.
func outOfMemory(words string) bool {
	if _, trace, ok := strings.Cut(words, "addr=0x0\n"); ok && strings.HasPrefix(words, "SIGSEGV") {
		_, frames, _ := strings.Cut(trace, "]:\n")
		return strings.HasPrefix(frames, "runtime.(*spanQueue)")
	}
	for _, sign := range []string{"out of memory", "cannot allocate memory", "cannot map pages",
		"failed to create new OS thread",
		"pthread_create failed",
		"makeslice: len out of range", "makeslice: cap out of range"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// ownLimit reports whether a text of outOfMemory is about the work alone: it reached a limit that
// the child checks itself, or asked for more than any host has. The other texts also come from a
// host that is short of memory.
func ownLimit(words string) bool {
	return strings.Contains(words, errMemory.Error()) || strings.Contains(words, "makeslice: ")
}
