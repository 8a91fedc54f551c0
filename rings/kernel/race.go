//go:build race

package kernel

// raceDetector is true in a race build, whose guests cannot start under a memory limit. Such a build never
// attests that the limit is enforced.
const raceDetector = true
