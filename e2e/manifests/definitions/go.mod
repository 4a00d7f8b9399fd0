// The projects whose CustomResourceDefinitions the documentation's manifests are held against, as
// `go mod download` gets them. No package is imported, so `go mod tidy` would empty this file.
module muster.dev/muster/e2e/manifests/definitions

go 1.26.0

require (
	github.com/NVIDIA/KAI-scheduler v0.12.0
	github.com/kubeflow/mpi-operator v0.8.0
	github.com/kubeflow/spark-operator/v2 v2.5.0
	github.com/kubeflow/trainer/v2 v2.2.0
	github.com/ray-project/kuberay/ray-operator v1.6.0
	sigs.k8s.io/jobset v0.11.1
	sigs.k8s.io/kueue v0.17.0
	sigs.k8s.io/lws v0.8.0
)
