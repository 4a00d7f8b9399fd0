package volcano_test

import (
	"testing"

	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/volcano"
)

func TestPodsStartTogetherThatNameAPodGroup(t *testing.T) {
	operatorstest.Expect(t, volcano.Kind(), "testdata/podgroups.yaml", map[string]string{
		"lonely":      "single: it names PodGroup absent, and the cluster has no PodGroup of scheduling.volcano.sh",
		"vc-worker-0": "vc-job-vc: 3",
	})
}
