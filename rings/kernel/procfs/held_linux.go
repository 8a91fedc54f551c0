package procfs

import (
	"strconv"
	"strings"
)

// Held is the memory of a process by the text of its status: pages without a file of the host, private or
// shared, in memory or swapped out, and their page tables. A process that ends has none.
func Held(status string) (bytes int64) {
	return Sum(status, "RssAnon", "RssShmem", "VmPTE", "VmSwap")
}

// Sum adds up the fields with these names in a text whose lines are names and kilobytes, as in status and
// smaps.
func Sum(text string, names ...string) (bytes int64) {
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		for _, want := range names {
			if name == want {
				bytes += kilobytes(rest)
			}
		}
	}
	return bytes
}

// kilobytes parses a figure. An invalid one is 0.
func kilobytes(text string) int64 {
	f := strings.Fields(text)
	if len(f) != 2 || f[1] != "kB" {
		return 0
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, 0), 1<<40) << 10
}
