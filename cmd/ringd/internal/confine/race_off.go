//go:build !race

package confine

// What the race detector would cost; see race_on.go.
const (
	shadow   = 1
	mapped   = false
	Slowdown = 1
)
