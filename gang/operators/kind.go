package operators

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Kind is how a controller has its pods belong together. What it does not do is nil.
type Kind struct {
	// Name is its name in gangs.kinds.
	Name config.GangKind
	// Owners are the resources whose objects own the pods, or own their owners, and ask for something.
	Owners []Resource
	// Through are kinds that stand between the owners and the pods.
	Through []schema.GroupKind
	// Groups are resources whose objects ask for something, and that pods name without being owned by them. Names
	// returns the name of a pod's, "" for none.
	Groups []Resource
	Names  func(pod *corev1.Pod) string
	// Native says that pods name their groups in spec.schedulingGroup: one that has it is of no other kind.
	Native bool
	// Asks reads what an object of either asks for.
	Asks func(object Object) cluster.Asks
	// Place says which instance of its owner, or of its group, a pod belongs to, and which part it plays there.
	Place func(pod *corev1.Pod) (instance, role string)
	// Says reads what a pod says of its group by itself: the name of that, and what is asked for. Its controller is nil
	// where that is of a kind that nobody follows. It reports false for a pod that is not of this kind.
	Says func(pod *corev1.Pod, controller *cluster.Owner) (Said, bool)
	// Dress returns the labels that the controller of an object adds to a pod of one of its templates. Pods of a template number from 0.
	// It is nil where nothing depends on such labels.
	Dress func(object Object, of *Template, number int32) map[string]string
	// Copies returns how many times a part of an object asks for what is in one of its fields, nil where [Copies] does.
	Copies func(part Object, field string) int32
	// Makers are kinds of objects that make an owner at once, and return it as far as they do.
	Makers map[schema.GroupKind]func(object Object) (owner Object)
	// Label is on all of the pods, so that those are found that have finished; "" where none finishes before others start.
	Label string
	// Marks are on pods beside Label, where neither that nor their controller tells that they are of this kind.
	Marks Marks
	// Alone says why a pod starts by itself though no owner says anything, "" for one that is not of this kind.
	Alone func(pod *corev1.Pod) string
	// Steps are kinds of controllers of pods that start one by one, whatever else is asked for, and Why says so.
	Steps []schema.GroupKind
	Why   string
}

// Marks are keys of labels and annotations.
type Marks struct{ Labels, Annotations []string }

// Resource is a resource whose objects are read.
type Resource struct {
	schema.GroupVersionResource
	Kind string
	// Older are other versions of it, tried where the cluster does not serve this one.
	Older []string
	// BuiltIn says that it is no custom resource, though a cluster may lack it.
	BuiltIn bool
	// Core says that the view of the cluster follows it in any case.
	Core bool
}

// The kinds of the core API that stand between owners and pods.
var (
	Job         = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}        //nolint:gochecknoglobals // it never changes
	StatefulSet = schema.GroupKind{Group: appsv1.GroupName, Kind: "StatefulSet"} //nolint:gochecknoglobals // it never changes
	Pod         = schema.GroupKind{Kind: "Pod"}                                  //nolint:gochecknoglobals // it never changes
)

// GroupKind returns the kind of the objects.
func (r Resource) GroupKind() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind} }

// Said has what a pod says by itself.
type Said struct {
	Name string
	Role string
	Asks cluster.Asks
}

// Whole returns what is asked for by an owner whose pods all start together.
func Whole(pods int32) cluster.Asks {
	return cluster.Asks{Roles: []cluster.Role{{Min: pods, All: pods}}}
}

// Alone returns what is asked for by an owner whose pods start one by one.
func Alone(why string) cluster.Asks { return cluster.Asks{Alone: why} }

// Labelled returns a Place that takes the role of a pod from a label.
func Labelled(label string) func(*corev1.Pod) (instance, role string) {
	return func(pod *corev1.Pod) (instance, role string) { return "", pod.Labels[label] }
}
