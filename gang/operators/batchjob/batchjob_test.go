package batchjob_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/batchjob"
	"muster.dev/muster/gang/operators/operatorstest"
)

const unasked = "single: its Job queue: does not ask for it; it would with the annotation muster.dev/gang-scope: all"

func TestAJobIsAGangWhereItAsksForIt(t *testing.T) {
	always := map[string]string{
		"queue-abcde":      unasked,
		"marked-abcde":     "marked: 3",
		"nearly-abcde":     "nearly: 2",
		"declined-0-abcde": "single: its Job declined: says muster.dev/gang-scope: none",
	}
	for _, test := range []struct {
		on      config.GangKind
		indexed string
	}{
		{config.GangKindJob, "single: its Job indexed: does not ask for it; it would with the annotation muster.dev/gang-scope: all"},
		{config.GangKindIndexedJob, "indexed: 4"},
	} {
		t.Run(string(test.on), func(t *testing.T) {
			kinds := []operators.Kind{batchjob.Kind(), batchjob.Indexed()}
			c, err := operatorstest.Load(kinds, []config.GangKind{test.on}, "testdata/jobs.yaml")
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(always)
			want["indexed-0-abcde"] = test.indexed
			if diff := cmp.Diff(want, operatorstest.Members(c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
