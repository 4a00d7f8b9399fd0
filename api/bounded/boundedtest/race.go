//go:build race

package boundedtest

// raceDetector is whether this is built with it. Then pools forget what they keep, on purpose, so that
// much allocates at each use that does not otherwise, and memory is not measured.
const raceDetector = true
