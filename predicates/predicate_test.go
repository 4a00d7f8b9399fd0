package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

func TestEveryPluginOfTheConfigurationIsRegisteredWhereItExists(t *testing.T) {
	type plugin struct {
		Name            string
		Filters, Scores bool
	}
	var known, registered []plugin
	for _, p := range v1alpha2.KnownPlugins() {
		if p.Name == v1alpha2.LoadAware {
			continue // the package loadaware has it
		}
		known = append(known, plugin{p.Name, p.Filter != v1alpha2.Never, p.Score != v1alpha2.Never})
	}
	for _, r := range registrations() {
		registered = append(registered, plugin{r.name, r.filter != nil, r.score != nil})
	}
	if diff := cmp.Diff(known, registered); diff != "" {
		t.Errorf("(-configuration +registrations):\n%s", diff)
	}
}

func TestPredicatesAndScoresDeclareWhatTheyRead(t *testing.T) {
	resources := cluster.AspectAllocatable | cluster.AspectRequested
	spread := cluster.AspectLabels | cluster.AspectTaints | cluster.AspectPods
	volumes := cluster.AspectPersistentVolume | cluster.AspectPersistentVolumeClaim | cluster.AspectStorageClass
	want := map[string]cluster.Aspect{
		v1alpha2.NodeUnschedulable + " filter":              cluster.AspectUnschedulable,
		v1alpha2.NodeName + " filter":                       0,
		v1alpha2.TaintToleration + " filter":                cluster.AspectTaints,
		v1alpha2.TaintToleration + " score":                 cluster.AspectTaints,
		v1alpha2.NodeAffinity + " filter":                   cluster.AspectLabels,
		v1alpha2.NodeAffinity + " score":                    cluster.AspectLabels,
		v1alpha2.NodePorts + " filter":                      cluster.AspectPorts,
		v1alpha2.NodeResourcesFit + " filter":               resources,
		v1alpha2.NodeResourcesFit + " score":                resources,
		v1alpha2.VolumeRestrictions + " filter":             cluster.AspectPods | cluster.AspectPersistentVolumeClaim,
		v1alpha2.NodeVolumeLimits + " filter":               cluster.AspectCSI | cluster.AspectPods | volumes | cluster.AspectVolumeAttachment,
		v1alpha2.VolumeZone + " filter":                     cluster.AspectLabels | volumes,
		v1alpha2.PodTopologySpread + " filter":              spread,
		v1alpha2.PodTopologySpread + " score":               spread | cluster.AspectService | cluster.AspectSelector,
		v1alpha2.InterPodAffinity + " filter":               cluster.AspectLabels | cluster.AspectPods | cluster.AspectNamespace,
		v1alpha2.InterPodAffinity + " score":                cluster.AspectLabels | cluster.AspectPods | cluster.AspectNamespace,
		v1alpha2.NodeResourcesBalancedAllocation + " score": resources,
		v1alpha2.ImageLocality + " score":                   cluster.AspectImages,
		v1alpha2.NodeConditions + " filter":                 cluster.AspectConditions,
		v1alpha2.ServiceAffinity + " filter":                cluster.AspectService | cluster.AspectPods | cluster.AspectLabels,
	}
	got := map[string]cluster.Aspect{}
	profile, err := NewProfile(withEveryPlugin(&v1alpha2.Profile{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profile.predicates {
		got[p.Name()+" filter"] = p.Aspects()
	}
	for _, s := range profile.scores {
		got[s.Name()+" score"] = s.Aspects()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
