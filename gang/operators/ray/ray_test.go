package ray_test

import (
	"testing"

	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/ray"
)

func TestAHeadStartsWithItsWorkers(t *testing.T) {
	operatorstest.Expect(t, ray.Kind(), "testdata/rayclusters.yaml", map[string]string{
		"batch-abcde":                  "single: ",
		"batch-abcde-gpu-worker-abcde": "batch-abcde: 4",
		"batch-abcde-head-abcde":       "batch-abcde: 4",
		"fixed-gpu-worker-abcde":       "fixed: 12",
		"fixed-head-abcde":             "fixed: 12",
		"fixed-tpu-worker-abcde":       "fixed: 12",
		"scaled-gpu-worker-abcde":      "scaled/gpu: 2 with scaled/headgroup",
		"scaled-head-abcde":            "scaled/headgroup: 1 with scaled/gpu",
		"scaled-spare-worker-abcde":    "single: its RayCluster scaled: none of role spare has to be there at the start",
		"serve-abcde-gpu-worker-abcde": "serve-abcde: 2",
		"serve-abcde-head-abcde":       "serve-abcde: 2",
	})
}
