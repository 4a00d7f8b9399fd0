package campaign

import (
	"strings"
	"testing"
	"time"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

func TestNominationOvercommitsNoNodeAndLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("two runs on a control plane: make test-long runs this")
	}
	short := ofScale(scale{nodes: 80, length: 12 * time.Second}, nil)
	report, err := short.Perform(t.Context(), faultcampaign.Options{Seeds: 2, Lanes: 1}, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if report.Counts[bindingsFigure] == 0 || report.Counts[restartsFigure] == 0 {
		t.Errorf("nothing happened: %v", report.Counts)
	}
}

func TestTheScaleIsThatOfTheEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		length, nodes string
		want          scale
		err           string
	}{
		"nothing is set":          {want: scale{120, 90 * time.Second}},
		"everything is set":       {length: "35s", nodes: "100", want: scale{100, 35 * time.Second}},
		"a length without a unit": {length: "60", err: "CAMPAIGN_LENGTH=60"},
		"a length of nothing":     {length: "1s", err: "10s at least"},
		"few nodes":               {nodes: "9", err: "from 10 on"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scaleFromEnv(func(key string) string { return map[string]string{lengthEnv: test.length, nodesEnv: test.nodes}[key] })
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want it to contain %q", err, test.err)
				}
			case err != nil || got != test.want:
				t.Errorf("%v, error %v, want %v", got, err, test.want)
			}
		})
	}
}
