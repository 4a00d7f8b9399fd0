package boundedtest

import (
	"runtime"
	"testing"
	"time"
)

// Bound limits the memory for reading a text: a multiple of its length, and a constant number of
// bytes. The runtime's own memory does not count.
type Bound struct{ Times, Beside int64 }

// SkipWithRaceDetector skips a test that measures memory.
func SkipWithRaceDetector(t testing.TB) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector has pools forget what they keep: memory is not measured")
	}
}

// noise bounds the bytes that the runtime takes meanwhile for itself: stacks, and memory that pools hold.
const noise = 128 << 10

// Check has a text of a length be read, and the test fail when that takes more than the bound, or does
// not come to an end; under the race detector memory is not measured. Who takes too much is asked to
// read once more, as some things are made once.
func (b Bound) Check(t testing.TB, length int, read func()) {
	t.Helper()
	if raceDetector {
		Ends(read)
		return
	}
	most := b.Times*int64(length) + b.Beside + noise
	var taken int64
	Ends(func() {
		if taken = Taken(read); taken > most {
			taken = Taken(read)
		}
	})
	if taken > most {
		t.Errorf("to read %d bytes takes %d of memory, and may take %d", length, taken, most)
	}
}

// Taken returns the bytes that some work allocates in memory and takes of its stack. It counts
// garbage, so that the peak stays below it whenever the collector runs.
func Taken(work func()) (bytes int64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		grown := after.TotalAlloc - before.TotalAlloc + after.StackInuse - before.StackInuse
		bytes = int64(grown) //nolint:gosec // of memory that there is
	}()
	<-done
	return bytes
}

// longest is how long work may go on that is done within milliseconds: a net for what never ends, and
// no measure of speed.
const longest = 30 * time.Second

// Ends does some work. When that goes on for very long the process ends with the stacks of all
// goroutines: there is no way to stop one, and a fuzzer keeps the text with which that happens.
func Ends(work func()) {
	defer time.AfterFunc(longest, func() {
		panic("the work did not end within " + longest.String())
	}).Stop()
	work()
}
