//go:build !race

package worker

// The cost of the race detector, which is off; see race_on.go.
const (
	raceMemoryFactor = 1
	countMapped      = false
	RaceSlowdown     = 1
)
