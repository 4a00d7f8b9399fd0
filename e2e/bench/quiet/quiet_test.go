package quiet

import "testing"

func TestTheShareOfBusyTime(t *testing.T) {
	for name, test := range map[string]struct {
		before, now string
		want        float64
	}{
		"nobody is at work":     {"cpu 10 0 10 100 0 0 0 0 0 0", "cpu 10 0 10 300 0 0 0 0 0 0", 0},
		"half of it":            {"cpu 10 0 10 100 0 0 0 0 0 0", "cpu 60 0 60 200 0 0 0 0 0 0", 0.5},
		"waiting is idle":       {"cpu 10 0 10 100 0 0 0 0 0 0", "cpu 60 0 10 200 50 0 0 0 0 0", 0.25},
		"guests count once":     {"cpu 10 0 10 100 0 0 0 0 0 0", "cpu 60 0 10 150 0 0 0 0 50 0", 0.5},
		"interrupts and stolen": {"cpu 0 0 0 0 0 0 0 0 0 0", "cpu 0 10 0 70 0 5 5 10 0 0", 0.3},
		"no time has gone by":   {"cpu 1 1 1 1 1 1 1 1 0 0", "cpu 1 1 1 1 1 1 1 1 0 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := parse(test.before)
			if err != nil {
				t.Fatal(err)
			}
			now, err := parse(test.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := now.share(before); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	for _, line := range []string{"", "cpu 1 2 3", "cpu0 1 1 1 1 1 1 1 1 0 0", "cpu 1 1 x 1 1 1 1 1 0 0"} {
		if _, err := parse(line); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
