package kubeflow_test

import (
	"testing"

	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kubeflow"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestAJobOfTheTrainingOperatorStartsWhole(t *testing.T) {
	operatorstest.Expect(t, kubeflow.Kind(), "testdata/jobs.yaml", map[string]string{
		"elastic-master-0": "elastic/master: 1 with elastic/worker",
		"elastic-worker-0": "elastic/worker: 2 with elastic/master",
		"fewer-master-0":   "fewer: 3",
		"fewer-worker-0":   "fewer: 3",
		"jax-worker-0":     "jax: 2",
		"paddle-worker-0":  "paddle: 2",
		"tf-chief-0":       "tf: 7",
		"tf-ps-0":          "tf: 7",
		"tf-worker-0":      "tf: 7",
		"torch-master-0":   "torch: 4",
		"torch-worker-0":   "torch: 4",
		"xgb-master-0":     "xgb: 3",
		"xgb-worker-0":     "xgb: 3",
	})
}

func TestAJobMayAskForATopologyOfKAI(t *testing.T) {
	operatorstest.Expect(t, kubeflow.Kind(), "testdata/nearjobs.yaml", map[string]string{
		"rigid-worker-0":   "rigid: 5, one zone, few hostname",
		"narrow-worker-0":  "narrow: 5, one rack, few hostname",
		"elastic-worker-0": "elastic/worker: 2 with elastic/master, one zone, few hostname of elastic",
		"wrong-worker-0": "waits: metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: \"no key\": " +
			"must be the key of a label of nodes, such as topology.kubernetes.io/zone",
	})
}

func TestNoWorkerWaitsForALauncherThatWaitsForIt(t *testing.T) {
	operatorstest.Expect(t, kubeflow.MPI(), "testdata/mpijobs.yaml", map[string]string{
		"few-launcher-abcde":     "few: 3",
		"few-worker-0":           "few: 3",
		"mpi-launcher-abcde":     "mpi: 4",
		"mpi-worker-0":           "mpi: 4",
		"patient-launcher-abcde": "patient: 3",
		"patient-worker-0":       "patient: 3",
	})
}

func TestALauncherThatIsMadeLateIsSaidToBe(t *testing.T) {
	for policy, late := range map[string]bool{"WaitForWorkersReady": true, "AtStartup": false, "": false} {
		asks := kubeflow.MPI().Asks(operators.Object{"spec": map[string]any{
			"launcherCreationPolicy": policy, "mpiReplicaSpecs": map[string]any{"Launcher": map[string]any{}, "Worker": map[string]any{}},
		}})
		if (asks.Late != "") != late {
			t.Errorf("with %q the launcher is late: %q", policy, asks.Late)
		}
	}
}
