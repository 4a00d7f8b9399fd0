package kubescheduler

import (
	"slices"

	"muster.dev/muster/api/config"
)

// What a document must say that it is.
const (
	// Group is the API group of kube-scheduler's configuration.
	Group = "kubescheduler.config.k8s.io"
	// Kind is the kind of a document.
	Kind = "KubeSchedulerConfiguration"
)

// version says what documents of an apiVersion may hold, and what it means where they say nothing.
type version struct {
	name string
	// shape returns a value to decode a document into.
	shape func() any
	// single says that there is one profile, with its fields at the top, and that preScore is called postFilter.
	single bool
	// old says that the plugins that v1beta2 removed are there.
	old bool
	// selectorSpread says that SelectorSpread runs by default.
	selectorSpread bool
	// multiPoint says that kube-scheduler goes by multiPoint.
	multiPoint bool
	// wholeQueue says that kube-scheduler compares the sets of queueSort with the default in them.
	wholeQueue bool
	// weights holds the default weights of score plugins that are other ones today.
	weights map[string]int32
}

// versions lists the versions that are read, the newest first. Their defaults are in pkg/scheduler/apis/config and
// pkg/scheduler/algorithmprovider of the last release in which they were new: 1.18 for v1alpha1 and v1alpha2, 1.21 for
// v1beta1, 1.22 for v1beta2.
func versions() []version {
	before := map[string]int32{config.InterPodAffinity: 1, config.NodeAffinity: 1, config.TaintToleration: 1}
	first := map[string]int32{config.InterPodAffinity: 1, config.NodeAffinity: 1, config.TaintToleration: 1, config.PodTopologySpread: 1}
	return []version{
		{name: "v1", shape: shapeOfV1, multiPoint: true},
		{name: "v1beta3", shape: shapeOfV1beta3, multiPoint: true},
		{name: "v1beta2", shape: shapeOfV1beta2, wholeQueue: true, weights: before},
		{name: "v1beta1", shape: shapeOfV1beta1, wholeQueue: true, weights: before, old: true},
		{name: "v1alpha2", shape: shapeOfV1alpha2, weights: first, old: true, selectorSpread: true},
		{name: "v1alpha1", shape: shapeOfV1alpha1, weights: first, old: true, selectorSpread: true, single: true},
	}
}

func (v *version) apiVersion() string { return Group + "/" + v.name }

// apiVersions lists the apiVersions that are read.
func apiVersions() []string {
	var all []string
	for _, v := range versions() {
		all = append(all, v.apiVersion())
	}
	return all
}

// versionOf returns the version with an apiVersion that is read.
func versionOf(apiVersion string) *version {
	all := versions()
	return &all[slices.IndexFunc(all, func(v version) bool { return v.apiVersion() == apiVersion })]
}
