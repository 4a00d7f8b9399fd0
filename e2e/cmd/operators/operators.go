package main

// operator is a controller of others, and a workload of it in a dump: pods of all of its roles.
type operator struct {
	name, dump string
	pods       []string
	// least is how many pods have to start together, as the manual of the controller has it: 0 for pods that start one by
	// one.
	least int
	// elastic are pods of a workload that can begin with elasticLeast of them; none where the controller has no such thing.
	elastic      []string
	elasticLeast int
}

func all() []operator {
	const kubeflow, ray = "kubeflow/testdata/jobs.yaml", "ray/testdata/rayclusters.yaml"
	return []operator{
		{name: "JobSet", dump: "jobset/testdata/jobsets.yaml", pods: []string{
			"train-driver-0-0-abcde", "train-workers-0-0-abcde", "train-workers-1-0-abcde",
		}, least: 7},
		{name: "Trainer v2 (TrainJob)", dump: "jobset/testdata/trainjobs.yaml", pods: []string{"plain-node-0-0-abcde"}, least: 4},
		{name: "LeaderWorkerSet", dump: "leaderworkerset/testdata/leaderworkersets.yaml", pods: []string{"vllm-0", "vllm-0-1"}, least: 4},
		{name: "PyTorchJob", dump: kubeflow, pods: []string{"torch-master-0", "torch-worker-0"}, least: 4, elastic: []string{
			"elastic-master-0", "elastic-worker-0",
		}, elasticLeast: 3},
		{name: "TFJob", dump: kubeflow, pods: []string{"tf-chief-0", "tf-ps-0", "tf-worker-0"}, least: 7},
		{name: "XGBoostJob", dump: kubeflow, pods: []string{"xgb-master-0", "xgb-worker-0"}, least: 3},
		{name: "PaddleJob", dump: kubeflow, pods: []string{"paddle-worker-0"}, least: 2},
		{name: "JAXJob", dump: kubeflow, pods: []string{"jax-worker-0"}, least: 2},
		{
			name: "MPIJob", dump: "kubeflow/testdata/mpijobs.yaml", pods: []string{"mpi-launcher-abcde", "mpi-worker-0"}, least: 4,
			elastic: []string{"few-launcher-abcde", "few-worker-0"}, elasticLeast: 3,
		},
		{name: "KubeRay (RayCluster)", dump: ray, pods: []string{
			"fixed-head-abcde", "fixed-gpu-worker-abcde", "fixed-tpu-worker-abcde",
		}, least: 12, elastic: []string{"scaled-head-abcde", "scaled-gpu-worker-abcde"}, elasticLeast: 3},
		{name: "KubeRay (RayJob)", dump: ray, pods: []string{"batch-abcde-head-abcde", "batch-abcde-gpu-worker-abcde"}, least: 4},
		{name: "KubeRay (RayService)", dump: ray, pods: []string{"serve-abcde-head-abcde", "serve-abcde-gpu-worker-abcde"}, least: 2},
		{name: "Volcano Job", dump: "volcano/testdata/podgroups.yaml", pods: []string{"vc-worker-0"}, least: 3},
		{name: "YuniKorn (Job)", dump: "yunikorn/testdata/taskgroups.yaml", pods: []string{"gang-abcde"}, least: 4},
		{name: "YuniKorn (Spark)", dump: "yunikorn/testdata/taskgroups.yaml", pods: []string{"yk-driver", "yk-exec-1"}, least: 4},
		{name: "Kueue plain group", dump: "kueue/testdata/plaingroups.yaml", pods: []string{"lead"}, least: 3},
		{
			name: "Grove (PodGang)", dump: "grove/testdata/podgangs.yaml", pods: []string{"inference-0-prefill-abcde", "inference-0-decode-abcde"},
			least: 5, elastic: []string{"elastic-0-prefill-abcde", "elastic-0-decode-abcde"}, elasticLeast: 3,
		},
		{name: "scheduler-plugins", dump: "testdata/marks.yaml", pods: []string{"plugins-0"}, least: 3},
		{name: "Koordinator", dump: "testdata/marks.yaml", pods: []string{"koordinator-0"}, least: 3},
		{name: "Kubernetes PodGroup", dump: "native/testdata/podgroups.yaml", pods: []string{"train-0"}, least: 3},
		{name: "Job (indexed)", dump: "batchjob/testdata/jobs.yaml", pods: []string{"indexed-0-abcde"}, least: 4},
		{name: "Job (queue)", dump: "batchjob/testdata/jobs.yaml", pods: []string{"queue-abcde"}},
		{name: "Spark operator", dump: "spark/testdata/sparkapplications.yaml", pods: []string{"pi-driver", "pi-exec-1"}, least: 4},
		{name: "spark-submit", dump: "spark/testdata/submitted.yaml", pods: []string{"plain-driver", "plain-exec-1"}},
		{name: "Argo Workflows", dump: "steps/testdata/steps.yaml", pods: []string{"flow-main-123"}},
		{name: "Tekton", dump: "steps/testdata/steps.yaml", pods: []string{"build-pod"}},
	}
}
