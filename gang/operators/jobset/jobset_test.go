package jobset_test

import (
	"testing"

	"muster.dev/muster/gang/operators/jobset"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestAPodStartsWithTheOthersOfItsJobSet(t *testing.T) {
	operatorstest.Expect(t, jobset.Kind(), "testdata/jobsets.yaml", map[string]string{
		"declined-workers-0-0-abcde": "single: its JobSet declined: says muster.dev/gang-scope: none",
		"each-workers-0-0-abcde":     "each/0: 3",
		"each-workers-1-0-abcde":     "each/1: 3",
		"ordered-first-0-0-abcde":    "ordered/first: 2",
		"ordered-second-0-0-abcde":   "ordered/second: 2",
		"racks-workers-0-0-abcde": "single: its JobSet racks: places each Job exclusively by affinity " +
			"(alpha.jobset.sigs.k8s.io/exclusive-topology): its other pods are made once the first has a node",
		"train-driver-0-0-abcde":  "train: 7",
		"train-workers-0-0-abcde": "train: 7",
		"train-workers-1-0-abcde": "train: 7",
	})
}

func TestATrainJobIsItsJobSet(t *testing.T) {
	operatorstest.Expect(t, jobset.Kind(), "testdata/trainjobs.yaml", map[string]string{
		"plain-node-0-0-abcde":               "plain: 4",
		"tune-dataset-initializer-0-0-abcde": "single: its JobSet tune: one pod is all that it has to start with",
		"tune-node-0-0-abcde":                "tune/node: 4",
	})
}
