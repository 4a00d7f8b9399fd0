package executor

import (
	"testing"
	"time"
)

func TestAWindowIsByTheClocksOfItsZone(t *testing.T) {
	const evening, morning = 22 * time.Hour, 6 * time.Hour
	saturday := []time.Weekday{time.Saturday}
	for name, test := range map[string]struct {
		from, to time.Duration
		days     []time.Weekday
		zone     string
		at       map[string]bool
	}{
		"on one day": {9 * time.Hour, 17*time.Hour + 30*time.Minute, nil, "UTC", map[string]bool{
			"2030-01-05T08:59:59Z": false, "2030-01-05T09:00:00Z": true, "2030-01-05T17:29:59Z": true, "2030-01-05T17:30:00Z": false,
		}},
		"from Saturday to Sunday": {evening, morning, saturday, "UTC", map[string]bool{
			"2030-01-05T21:59:59Z": false, "2030-01-05T22:00:00Z": true, "2030-01-06T05:59:59Z": true,
			"2030-01-06T06:00:00Z": false, "2030-01-06T23:00:00Z": false, "2030-01-05T03:00:00Z": false,
		}},
		"for all of a day": {morning, morning, saturday, "UTC", map[string]bool{
			"2030-01-05T05:59:59Z": false, "2030-01-05T06:00:00Z": true, "2030-01-06T05:59:59Z": true, "2030-01-06T06:00:00Z": false,
		}},
		"in a night in which clocks go on by an hour": {evening, morning, saturday, "Europe/Berlin", map[string]bool{
			"2026-03-28T21:59:59+01:00": false, "2026-03-28T22:00:00+01:00": true, "2026-03-29T05:59:59+02:00": true, "2026-03-29T06:00:00+02:00": false,
		}},
		"in the night after it": {evening, morning, nil, "Europe/Berlin", map[string]bool{
			"2026-03-29T21:59:59+02:00": false, "2026-03-29T22:00:00+02:00": true, "2026-03-30T05:59:59+02:00": true, "2026-03-30T06:00:00+02:00": false,
		}},
		"in a night in which clocks go back by an hour": {evening, morning, saturday, "Europe/Berlin", map[string]bool{
			"2026-10-24T21:59:59+02:00": false, "2026-10-24T22:00:00+02:00": true, "2026-10-25T05:59:59+01:00": true, "2026-10-25T06:00:00+01:00": false,
		}},
		"in the night after that": {evening, morning, nil, "Europe/Berlin", map[string]bool{
			"2026-10-25T21:59:59+01:00": false, "2026-10-25T22:00:00+01:00": true, "2026-10-26T05:59:59+01:00": true, "2026-10-26T06:00:00+01:00": false,
		}},
		"on a day that begins at one o'clock": {2 * time.Hour, morning, []time.Weekday{time.Sunday}, "America/Asuncion", map[string]bool{
			"2023-10-01T01:59:59-03:00": false, "2023-10-01T02:00:00-03:00": true, "2023-10-01T05:59:59-03:00": true, "2023-10-01T06:00:00-03:00": false,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			window := Window{From: test.from, To: test.to, Days: test.days, Zone: zone}
			for text, want := range test.at {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				if got := window.contains(at); got != want {
					t.Errorf("%s is in the window: %t", text, got)
				}
			}
		})
	}
}
