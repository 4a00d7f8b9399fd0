package controlplane

import (
	"maps"
	"slices"
	"strings"

	"muster.dev/muster/e2e/binaries"
)

// NativeGangs is how a release of Kubernetes knows gangs by itself.
type NativeGangs struct {
	// Version of the PodGroups of scheduling.k8s.io.
	Version string
	// Gates that are off by default and have to be on, in the API server and the scheduler.
	Gates map[string]bool
	// trees says that groups of groups are served, too.
	trees bool
}

// WithTrees has groups of groups (CompositePodGroups) served as well, which 1.37 has and 1.36 has not.
func (n NativeGangs) WithTrees() NativeGangs {
	gates := maps.Clone(n.Gates)
	gates["CompositePodGroup"], gates["TopologyAwareWorkloadScheduling"] = true, true
	return NativeGangs{Version: n.Version, Gates: gates, trees: true}
}

// NativeGangsOf returns how a release of Kubernetes serves native gangs.
func NativeGangsOf(release binaries.Release) NativeGangs {
	if release == binaries.Release136 {
		return NativeGangs{Version: "v1alpha2", Gates: map[string]bool{"GenericWorkload": true, "GangScheduling": true}}
	}
	return NativeGangs{Version: "v1beta1", Gates: map[string]bool{"GenericWorkload": true}}
}

// APIServerFlags have an API server serve the PodGroups.
func (n NativeGangs) APIServerFlags() []string {
	versions := "scheduling.k8s.io/" + n.Version + "=true"
	if n.trees {
		versions += ",scheduling.k8s.io/v1alpha3=true"
	}
	return []string{
		"--feature-gates=" + strings.Join(slices.Sorted(maps.Keys(n.Gates)), "=true,") + "=true",
		"--runtime-config=" + versions,
		"--disable-admission-plugins=PodGroupProtection", // nobody would remove the finalizer
	}
}
