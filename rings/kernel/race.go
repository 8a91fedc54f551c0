//go:build race

package kernel

// raceDetector is true in a test build, whose guests cannot start under a
// memory limit. Such a build never attests that the limit holds.
const raceDetector = true
