//go:build race

package childproc

// The race detector keeps notes about every byte, some of them before main,
// and slows everything down.
const (
	shadow   = 12
	mapped   = true // count what is mapped at the start
	Slowdown = 10
)
