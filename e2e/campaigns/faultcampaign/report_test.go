package faultcampaign

import (
	"strings"
	"testing"
	"time"
)

func TestARunWithViolationsIsTold(t *testing.T) {
	var out strings.Builder
	r := newReport(Campaign{Name: "gang", Counts: []string{"bindings"}}, 2, &out)
	r.begin(time.Now())
	r.add(
		7,
		&Outcome{
			Faults:  map[Fault]int{"node deleted": 2},
			Counts:  map[string]int{"bindings": 3},
			Longest: map[string]time.Duration{"settling": 2 * time.Second},
		},
	)
	if err := r.Err(); err != nil || out.Len() > 0 {
		t.Errorf("without violations: error %v, and told %q", err, out.String())
	}
	r.add(8, &Outcome{
		Faults: map[Fault]int{
			"node deleted": 1,
		},
		Counts:     map[string]int{"bindings": 4},
		Longest:    map[string]time.Duration{"settling": time.Second},
		Violations: []string{"overcommitted: node n"},
		Log:        []string{"0.1 delete node n"},
		Page:       "gang g\n",
	})
	r.print()
	for _, want := range []string{
		"make faults-gang SEED=8", "VIOLATION overcommitted: node n", "0.1 delete node n", "    gang g\n", "3 × node deleted", "2 of 2 runs",
		"figure gang_fault_runs=2\n", "figure gang_fault_faults=3\n", "figure gang_fault_bindings=7\n",
		"figure gang_fault_longest_settling_s=2.0\n", "figure gang_violations=1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "[8]") {
		t.Errorf("the error is %v", err)
	}
}
