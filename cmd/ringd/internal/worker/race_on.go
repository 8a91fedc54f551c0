//go:build race

package worker

// The race detector keeps shadow memory for every byte, partly mapped before main starts, and
// slows everything down.
const (
	raceMemoryFactor = 12
	countMapped      = true // add the memory that is mapped at the start to the limit
	RaceSlowdown     = 10
)
