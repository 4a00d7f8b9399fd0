package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// GangKind is a controller of others whose pods start together.
type GangKind string

// The kinds that there are by default, and on request.
const (
	GangKindJob             GangKind = "Job" // one that asks for it
	GangKindJobSet          GangKind = "JobSet"
	GangKindLeaderWorkerSet GangKind = "LeaderWorkerSet"
	GangKindKubeflow        GangKind = "Kubeflow" // PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob
	GangKindMPIJob          GangKind = "MPIJob"
	GangKindRayCluster      GangKind = "RayCluster"
	GangKindVolcano         GangKind = "Volcano"  // pods that name a PodGroup of it
	GangKindYuniKorn        GangKind = "YuniKorn" // task groups
	GangKindKueue           GangKind = "Kueue"    // plain groups of pods
	GangKindGrove           GangKind = "Grove"    // PodGangs

	// GangKindIndexedJob is each Job whose pods have an index and all run at once.
	GangKindIndexedJob GangKind = "IndexedJob"
	// GangKindSpark is the executors of SparkApplications, which run with fewer of them, too.
	GangKindSpark GangKind = "Spark"
	// GangKindKubernetesPodGroup is Kubernetes' own PodGroups, which pods name in spec.schedulingGroup. A kube-scheduler whose
	// feature gates are on starts these itself.
	GangKindKubernetesPodGroup GangKind = "KubernetesPodGroup"
)

// defaultGangKinds returns the kinds whose whole purpose it is to start pods together.
func defaultGangKinds() []GangKind {
	return []GangKind{
		GangKindJob, GangKindJobSet, GangKindLeaderWorkerSet, GangKindKubeflow, GangKindMPIJob, GangKindRayCluster, GangKindVolcano,
		GangKindYuniKorn, GangKindKueue, GangKindGrove,
	}
}

// GangKinds returns all kinds.
func GangKinds() []GangKind {
	return append(defaultGangKinds(), GangKindIndexedJob, GangKindSpark, GangKindKubernetesPodGroup)
}

func validateGangKinds(path *field.Path, kinds []GangKind) (errs field.ErrorList) {
	seen := map[GangKind]bool{}
	for i, kind := range kinds {
		errs = append(errs, validateListed(path.Index(i), kind)...)
		if seen[kind] {
			errs = append(errs, field.Duplicate(path.Index(i), kind))
		}
		seen[kind] = true
	}
	return errs
}
