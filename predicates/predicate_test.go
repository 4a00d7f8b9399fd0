package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

func TestEveryPluginOfTheConfigurationIsRegisteredWhereItExists(t *testing.T) {
	type plugin struct {
		Name            string
		Filters, Scores bool
	}
	var known, registered []plugin
	for _, p := range config.KnownPlugins() {
		if p.Name == config.LoadAware {
			continue // the package loadaware has it
		}
		known = append(known, plugin{p.Name, p.Filter != config.Never, p.Score != config.Never})
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
		config.NodeUnschedulable + " filter": cluster.AspectUnschedulable,
		config.NodeName + " filter":          0,
		config.TaintToleration + " filter":   cluster.AspectTaints,
		config.TaintToleration + " score":    cluster.AspectTaints,
		config.NodeAffinity + " filter":      cluster.AspectLabels,
		config.NodeAffinity + " score":       cluster.AspectLabels,
		config.NodePorts + " filter":         cluster.AspectPorts,
		config.NodeResourcesFit + " filter":  resources | cluster.AspectDeviceClass,
		config.DynamicResources + " filter": cluster.AspectDevices | cluster.AspectPods | cluster.AspectAllocatable |
			cluster.AspectLabels | cluster.AspectDeviceClass | cluster.AspectSharedDevices,
		config.NodeResourcesFit + " score":    resources,
		config.VolumeRestrictions + " filter": cluster.AspectPods | cluster.AspectPersistentVolumeClaim,
		config.NodeVolumeLimits + " filter": cluster.AspectCSI | cluster.AspectPods | volumes |
			cluster.AspectVolumeAttachment | cluster.AspectCSIDriver,
		config.VolumeBinding + " filter":                  cluster.AspectLabels | volumes&^cluster.AspectStorageClass,
		config.VolumeZone + " filter":                     cluster.AspectLabels | volumes,
		config.PodTopologySpread + " filter":              spread,
		config.PodTopologySpread + " score":               spread | cluster.AspectService | cluster.AspectSelector,
		config.InterPodAffinity + " filter":               cluster.AspectLabels | cluster.AspectPods | cluster.AspectNamespace,
		config.InterPodAffinity + " score":                cluster.AspectLabels | cluster.AspectPods | cluster.AspectNamespace,
		config.NodeResourcesBalancedAllocation + " score": resources,
		config.ImageLocality + " score":                   cluster.AspectImages,
		config.NodeDeclaredFeatures + " filter":           cluster.AspectFeatures,
		config.NodeConditions + " filter":                 cluster.AspectConditions,
		config.ServiceAffinity + " filter":                cluster.AspectService | cluster.AspectPods | cluster.AspectLabels,
		config.WholeDomains + " score":                    cluster.AspectPods | cluster.AspectLabels,
	}
	got := map[string]cluster.Aspect{}
	profile, err := NewProfile(withEveryPlugin(&config.Profile{}))
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
