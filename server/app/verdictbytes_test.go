package app

import (
	"math"
	"testing"
)

func TestVerdictsTakeAQuarterOfTheMemoryOfTheProcess(t *testing.T) {
	for _, test := range []struct {
		limit    int64
		profiles int
		want     int64
	}{
		{math.MaxInt64, 3, 256 << 20}, // nobody set a limit
		{2 << 30, 1, 512 << 20},
		{2 << 30, 4, 128 << 20},
		{400, 0, 100},
	} {
		if got := verdictBytes(test.limit, test.profiles); got != test.want {
			t.Errorf("of %d bytes each of %d profiles has %d, want %d", test.limit, test.profiles, got, test.want)
		}
	}
}
