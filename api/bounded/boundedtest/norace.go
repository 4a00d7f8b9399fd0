//go:build !race

package boundedtest

// raceDetector is whether this is built with it.
const raceDetector = false
