package kueue_test

import (
	"testing"

	"muster.dev/muster/gang/operators/kueue"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestPodsOfAPlainGroupStartTogether(t *testing.T) {
	operatorstest.Expect(t, kueue.Kind(), "testdata/plaingroups.yaml", map[string]string{
		"bad":     "single: its annotation kueue.x-k8s.io/pod-group-total-count is no number from 1 on",
		"lead":    "plain: 3",
		"parent":  "single: ",
		"serving": "single: ",
	})
}
