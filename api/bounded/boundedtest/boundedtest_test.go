package boundedtest

import (
	"testing"
)

// sink keeps what is allocated from being left out.
var sink []byte

// complaint is a test that notes whether it failed.
type complaint struct {
	testing.TB
	failed bool
}

func (c *complaint) Helper() {}

func (c *complaint) Errorf(string, ...any) { c.failed = true }

func TestWhoTakesMoreThanTheBoundFails(t *testing.T) {
	SkipWithRaceDetector(t)
	for bytes, fails := range map[int]bool{1 << 20: false, 3 << 20: true} {
		c := &complaint{TB: t}
		Bound{Times: 1 << 10, Beside: 1 << 20}.Check(c, 1<<10, func() { sink = make([]byte, bytes) })
		if c.failed != fails {
			t.Errorf("with %d bytes the test fails: %t, want %t", bytes, c.failed, fails)
		}
	}
}

func TestStacksCount(t *testing.T) {
	var down func(depth int) int
	down = func(depth int) int {
		var frame [1 << 10]byte
		if depth > 0 {
			frame[depth%len(frame)] = byte(down(depth - 1))
		}
		return int(frame[depth%len(frame)])
	}
	if taken := Taken(func() { down(4 << 10) }); taken < 4<<20 {
		t.Errorf("it takes %d bytes", taken)
	}
}
