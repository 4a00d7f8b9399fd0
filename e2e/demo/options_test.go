package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/muster"
)

func TestOptionsFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want Options
		err  string
	}{
		"nothing is set": {want: Options{Nodes: 300, Pods: 3000, Selection: muster.Muster}},
		"everything is set": {
			env:  map[string]string{"DEMO_NODES": "10", "DEMO_PODS": "20", "DEMO_SELECTION": "Scheduler", "DEMO_KEEP": "1"},
			want: Options{Nodes: 10, Pods: 20, Selection: muster.Scheduler, Keep: true},
		},
		"data are relative": {
			env:  map[string]string{"DEMO_DATA": "../traces/openb"},
			want: Options{Nodes: 300, Pods: 3000, Data: "/src/traces/openb", Selection: muster.Muster},
		},
		"data are absolute": {
			env: map[string]string{"DEMO_DATA": "/data"}, want: Options{Nodes: 300, Pods: 3000, Data: "/data", Selection: muster.Muster},
		},
		"a number is a word":      {env: map[string]string{"DEMO_NODES": "many"}, err: "DEMO_NODES=many"},
		"a number is zero":        {env: map[string]string{"DEMO_PODS": "0"}, err: "DEMO_PODS=0"},
		"a number is too large":   {env: map[string]string{"DEMO_PODS": "9999999"}, err: "from 1 to 200000"},
		"data and a number clash": {env: map[string]string{"DEMO_DATA": "d", "DEMO_NODES": "3"}, err: "DEMO_NODES=3"},
		"nobody chooses": {
			env: map[string]string{"DEMO_SELECTION": "extender"}, err: "DEMO_SELECTION=extender: want Scheduler or Muster",
		},
		"the demo began before it was compiled": {
			env:  map[string]string{"DEMO_BEGAN": "1700000000"},
			want: Options{Nodes: 300, Pods: 3000, Selection: muster.Muster, Began: time.Unix(1700000000, 0)},
		},
		"the beginning is a word": {env: map[string]string{"DEMO_BEGAN": "now"}, err: "DEMO_BEGAN=now"},
		"keep is a word":          {env: map[string]string{"DEMO_KEEP": "yes"}, err: "DEMO_KEEP=yes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OptionsFromEnv(func(key string) string { return test.env[key] }, "/src/muster")
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
