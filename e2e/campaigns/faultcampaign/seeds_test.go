package faultcampaign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want Options
		err  string
	}{
		"none":                        {want: Options{Seeds: 50, First: 1, Lanes: 4}},
		"many seeds":                  {env: map[string]string{seedsEnv: "1000", lanesEnv: "3"}, want: Options{Seeds: 1000, First: 1, Lanes: 3}},
		"one seed":                    {env: map[string]string{seedEnv: "7"}, want: Options{Seeds: 1, First: 7, Lanes: 1}},
		"seeds from one on":           {env: map[string]string{seedEnv: "7", seedsEnv: "9"}, want: Options{Seeds: 9, First: 7, Lanes: 4}},
		"a seed that is no number":    {env: map[string]string{seedEnv: "x"}, err: "SEED=x: want a number from 0 on"},
		"fewer than one":              {env: map[string]string{seedsEnv: "0"}, err: "SEEDS=0: want a number from 1 on"},
		"lanes that are not a number": {env: map[string]string{lanesEnv: "two"}, err: "LANES=two: want a number from 1 on"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OptionsFromEnv(func(key string) string { return test.env[key] }, 50, 4)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}
