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
	// GangKindKubernetesPodGroup is Kubernetes' own PodGroups, which pods name in spec.schedulingGroup. Where the feature gates
	// of kube-scheduler are on, it starts these itself, at the places that muster shows it.
	GangKindKubernetesPodGroup GangKind = "KubernetesPodGroup"

	// GangKindIndexedJob is each Job whose pods have an index and all run at once.
	GangKindIndexedJob GangKind = "IndexedJob"
	// GangKindSpark is the executors of SparkApplications, which run with fewer of them, too.
	GangKindSpark GangKind = "Spark"
)

// defaultGangKinds returns the kinds whose whole purpose it is to start pods together.
func defaultGangKinds() []GangKind {
	return []GangKind{
		GangKindJob, GangKindJobSet, GangKindLeaderWorkerSet, GangKindKubeflow, GangKindMPIJob, GangKindRayCluster, GangKindVolcano,
		GangKindYuniKorn, GangKindKueue, GangKindGrove, GangKindKubernetesPodGroup,
	}
}

// GangKinds returns all kinds.
func GangKinds() []GangKind {
	return append(defaultGangKinds(), GangKindIndexedJob, GangKindSpark)
}

func validateGangKinds(path *field.Path, kinds []GangKind) (errs field.ErrorList) {
	seen := map[GangKind]bool{}
	for i, kind := range kinds {
		errs = append(errs, validateOneOf(path.Index(i), kind, GangKinds()...)...)
		if seen[kind] {
			errs = append(errs, field.Duplicate(path.Index(i), kind))
		}
		seen[kind] = true
	}
	return errs
}
