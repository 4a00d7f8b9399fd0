package campaign

import (
	"strings"
	"testing"
	"time"

	"muster.dev/muster/e2e/campaigns/faultcampaign/faulttest"
)

func TestNominationOvercommitsNoNodeAndLeavesNothingBehind(t *testing.T) {
	faulttest.FindsNothing(t, ofScale(scale{nodes: 80, length: 12 * time.Second}, nil), 0, 2)
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
