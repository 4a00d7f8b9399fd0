package config

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
		errs = append(errs, validateListed(path.Index(i), kind)...)
		if seen[kind] {
			errs = append(errs, field.Duplicate(path.Index(i), kind))
		}
		seen[kind] = true
	}
	return errs
}

// shown reports whether pods show that they are of a kind when they are created. Pods of Jobs do not say whether their Job asks
// for a gang, and signs leave Kubernetes' own groups out.
func (k GangKind) shown() bool { return k != GangKindJob && k != GangKindKubernetesPodGroup }

// validateDefaultFor checks to which profiles the pods of kinds go that name no scheduler.
func validateDefaultFor(path *field.Path, profiles []Profile, gangs []GangKind) (errs field.ErrorList) {
	taken := map[GangKind]string{}
	for i := range profiles {
		name, at := profiles[i].SchedulerName, path.Index(i).Child("defaultFor")
		if name == corev1.DefaultSchedulerName && len(profiles[i].DefaultFor) > 0 {
			errs = append(errs, field.Forbidden(at, "pods that name no scheduler are those of default-scheduler already"))
			continue
		}
		for j, kind := range profiles[i].DefaultFor {
			at := at.Index(j)
			switch by, is := taken[kind]; {
			case !slices.Contains(GangKinds(), kind):
				errs = append(errs, field.NotSupported(at, kind, slices.DeleteFunc(GangKinds(), func(k GangKind) bool { return !k.shown() })))
			case !kind.shown():
				errs = append(errs, field.Invalid(at, kind, "pods do not show it when they are created: label namespaces muster.dev/scheduler"))
			case is:
				errs = append(errs, field.Invalid(at, kind, fmt.Sprintf("its pods go to profile %q already", by)))
			case !slices.Contains(gangs, kind):
				errs = append(errs, field.Invalid(at, kind, "is not in gangs.kinds: its pods would start one by one"))
			}
			taken[kind] = name
		}
	}
	return errs
}
