package leaderworkerset_test

import (
	"testing"

	"muster.dev/muster/gang/operators/leaderworkerset"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestAReplicaStartsWhole(t *testing.T) {
	operatorstest.Expect(t, leaderworkerset.Kind(), "testdata/leaderworkersets.yaml", map[string]string{
		"patient-0": "single: its LeaderWorkerSet patient: makes its workers once their leader is ready (startupPolicy: LeaderReady)",
		"racks-0": "single: its LeaderWorkerSet racks: places each replica exclusively " +
			"(leaderworkerset.sigs.k8s.io/exclusive-topology): its workers are made once their leader has a node",
		"small-0":  "single: its LeaderWorkerSet small: one pod is all that it has to start with",
		"vllm-0":   "vllm/0: 4",
		"vllm-0-1": "vllm/0: 4",
		"vllm-1":   "vllm/1: 4",
		"vllm-1-1": "vllm/1: 4",
	})
}
