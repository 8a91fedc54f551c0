//go:build !race

package kernel

// raceDetector is false.
const raceDetector = false
