//go:build race

package kernel

// RaceDetector is true in a test build, whose guests cannot start under a
// memory limit. Such a build never attests that the limit holds.
const RaceDetector = true
