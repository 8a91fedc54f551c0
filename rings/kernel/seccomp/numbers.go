package seccomp

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// numbers.txt lists the system calls of Linux: the name, and the numbers on amd64 and arm64. "-" stands for no number.
// TestNumbers writes it.
//
//go:embed numbers.txt
var numbersText string // go:embed needs a variable; never written

// numbers returns the calls of numbers.txt, which is parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var numbers = sync.OnceValue(func() []call {
	var calls []call
	for line := range strings.Lines(numbersText) {
		if words := strings.Fields(line); len(words) == 3 {
			calls = append(calls, call{name: words[0], amd64: number(words[1]), arm64: number(words[2])})
		}
	}
	return calls
})

// number returns -1 for a text that is no number: the call does not exist then, and is refused.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
