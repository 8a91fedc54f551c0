//go:build !race

package child

// What the race detector would cost; see race_on.go.
const (
	shadow   = 1
	mapped   = false
	slowdown = 1
)
