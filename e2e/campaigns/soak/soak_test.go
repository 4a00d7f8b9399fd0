package soak

import (
	"testing"
	"time"
)

// A short soak is no proof that nothing grows. It shows that the churn goes through, and that all is read.
func TestAShortSoakReadsWhatMusterKeeps(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute on a control plane: make test-long runs this")
	}
	report, err := Run(t.Context(), Options{Time: 24 * time.Second, Every: 5 * time.Second, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	report.Print(t.Output())
	if report.Pods == 0 {
		t.Error("no pod came")
	}
	for _, reading := range report.warm {
		if reading.heap == 0 || reading.goroutines == 0 {
			t.Errorf("a reading of nothing: %+v", reading)
		}
	}
}
