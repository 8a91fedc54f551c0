package childproc

import "strings"

// RanOut reports whether the Go runtime says that it got no memory, or that nobody
// has as much as it was asked for. Its collector (Go 1.26) does not look whether it
// got any for its queue of spans: it meets address 0 there.
func RanOut(words string) bool {
	if _, trace, ok := strings.Cut(words, "addr=0x0\n"); ok && strings.HasPrefix(words, "SIGSEGV") {
		_, frames, _ := strings.Cut(trace, "]:\n")
		return strings.HasPrefix(frames, "runtime.(*spanQueue)")
	}
	for _, sign := range []string{"out of memory", "cannot allocate memory", "cannot map pages", "failed to create new OS thread", "pthread_create failed",
		"makeslice: len out of range", "makeslice: cap out of range"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// AskedTooMuch reports whether words for which RanOut holds are about the work alone: it
// reached a limit that the child keeps itself, or asked for what no host has. A host
// that is short of memory says all the others too.
func AskedTooMuch(words string) bool {
	return strings.Contains(words, ErrMemory.Error()) || strings.Contains(words, "makeslice: ")
}
