package campaign

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want Options
		err  string
	}{
		"nothing is set": {want: Options{Rounds: 3, Seed: 1, Length: 90 * time.Second, Nodes: 120}},
		"everything is set": {
			env:  map[string]string{roundsEnv: "5", seedEnv: "0", lengthEnv: "90s", nodesEnv: "100", musterEnv: "bin/muster"},
			want: Options{Rounds: 5, Length: 90 * time.Second, Nodes: 100, Muster: "bin/muster"},
		},
		"no round":                {env: map[string]string{roundsEnv: "0"}, err: "CAMPAIGN_ROUNDS=0"},
		"a seed below 0":          {env: map[string]string{seedEnv: "-1"}, err: "CAMPAIGN_SEED=-1"},
		"a length without a unit": {env: map[string]string{lengthEnv: "60"}, err: "CAMPAIGN_LENGTH=60"},
		"a length of nothing":     {env: map[string]string{lengthEnv: "1s"}, err: "10s at least"},
		"few nodes":               {env: map[string]string{nodesEnv: "9"}, err: "from 10 on"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OptionsFromEnv(func(key string) string { return test.env[key] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want it to contain %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}
