//go:build !race

package childproc

// What the race detector would cost; see race_on.go.
const (
	shadow   = 1
	mapped   = false
	Slowdown = 1
)
