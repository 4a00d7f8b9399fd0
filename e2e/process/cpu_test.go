package process

import (
	"testing"
	"time"
)

func TestCPUTime(t *testing.T) {
	for name, test := range map[string]struct {
		stat string
		want time.Duration
		err  bool
	}{
		"of the user and the system": {stat: "42 (muster) S 1 42 42 0 -1 4194560 9 0 0 0 150 25 7 7 20 0 9 0 1\n", want: 1750 * time.Millisecond},
		"of a process with an awkward name": {
			stat: "42 (a) b c) S 1 42 42 0 -1 4194560 9 0 0 0 1 0 7 7 20 0 9 0 1\n", want: 10 * time.Millisecond,
		},
		"of a line that ends early": {stat: "42 (muster) S 1 42", err: true},
		"of letters":                {stat: "42 (muster) S 1 42 42 0 -1 4194560 9 0 0 0 x 25 7 7", err: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cpuTime(test.stat)
			if (err != nil) != test.err || got != test.want {
				t.Errorf("%s, error %v, want %s", got, err, test.want)
			}
		})
	}
}
