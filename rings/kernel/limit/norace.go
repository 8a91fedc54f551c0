//go:build !race

package limit

// RaceDetector is false.
const RaceDetector = false
