package predicates

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

// asked is by predicate the nodes about which it was asked, as in "a1 a2".
type asked map[string]string

func askedOn(nodes string, predicates ...string) asked {
	a := asked{}
	for _, predicate := range predicates {
		a[predicate] = nodes
	}
	return a
}

// and is a, but b of the predicates that are in b.
func (a asked) and(b asked) asked {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// TestEveryRuleOfTheInvalidationMatrix walks section 3 of the proposal "Equivalence class based scheduling in
// Kubernetes": which predicates are asked again about which nodes when something changes, and that no others
// are.
//
// A row says so where muster does "better", because the proposal was wrong or asked too
// many, where it is "coarser", at the cost of a verdict or two, and where the proposal is
// "silent".
func TestEveryRuleOfTheInvalidationMatrix(t *testing.T) {
	const (
		everywhere = "a1 a2 b1 b2"

		affinity = config.InterPodAffinity
		disks    = config.VolumeRestrictions
		fit      = config.NodeResourcesFit
		limits   = config.NodeVolumeLimits
		ports    = config.NodePorts
		services = config.ServiceAffinity
		spread   = config.PodTopologySpread
		zones    = config.VolumeZone
	)
	readPods := []string{disks, limits, spread, affinity, services}
	readLabels := []string{config.NodeAffinity, zones, spread, affinity, services}
	all := append(
		[]string{fit, ports, disks, limits, config.NodeUnschedulable, config.TaintToleration, config.NodeConditions},
		readLabels...)
	nothing := asked{}
	// comesOrGoes is for a pod on that node that matters to no other one.
	comesOrGoes := func(node string) asked { return askedOn(node, append(readPods, fit)...) }

	ebs := func(name string) *corev1.PersistentVolume {
		return persistentVolume(name, attachedBy(ebsDriver, name))
	}
	bound, unbound := claim("new", boundTo("old")), claim("new")
	front, back := map[string]string{"tier": "front"}, map[string]string{"tier": "back"}
	plain := func(change ...func(*corev1.Pod)) *corev1.Pod { return placedPod("plain", "b1", change...) }
	hog, db := wearing("app", "hog"), wearing("app", "db")

	for _, row := range []struct {
		name string
		// before is done before the class is asked for, change is done after.
		before, change []event
		want           asked
	}{
		{name: "3.1 a PersistentVolume is added, of a kind that is limited", change: set(ebs("new")), want: askedOn(everywhere, limits)},
		{name: "3.1 one is deleted", before: set(ebs("old")), change: remove(ebs("old")), want: askedOn(everywhere, limits)},
		{name: "3.1 not one of another kind", change: set(persistentVolume("new", inHostPath)), want: nothing},
		{name: "3.1 silent: the pod's own volume moves to another zone", change: set(dataIn("a")), want: askedOn(everywhere, zones)},

		{
			name: "3.2 a PersistentVolumeClaim is added that has such a volume", before: set(ebs("old")), change: set(bound),
			want: askedOn(everywhere, limits),
		},
		{name: "3.2 one is deleted", before: set(ebs("old"), bound), change: remove(bound), want: askedOn(everywhere, limits)},
		{name: "3.2 not one that has no volume", change: set(unbound), want: nothing},
		{name: "3.2 silent: the pod's own claim is deleted", change: remove(claim("data")), want: askedOn(everywhere, disks, limits, zones)},
		{
			name: "3.2 silent: such a volume is attached to a node", change: set(attachment("new", "a1", ebsDriver, "data")),
			want: askedOn(everywhere, limits),
		},
		{
			name: "3.2 silent: the driver of such a volume is demanded of nodes", change: set(csiDriver(ebsDriver, true)),
			want: askedOn(everywhere, limits),
		},
		{name: "3.2 not when one is that the pod does not need", change: set(csiDriver(otherDriver, true)), want: nothing},

		{name: "3.3 a Service is added", change: set(service("new", front)), want: askedOn(everywhere, services)},
		{
			name: "3.3 one is deleted", before: set(service("new", front)), change: remove(service("new", front)),
			want: askedOn(everywhere, services),
		},
		{name: "3.3 its selector is updated", change: set(service("web", front)), want: askedOn(everywhere, services)},
		{name: "3.3 not when anything else of it is", change: set(recreated(service("web", map[string]string{"app": "web"}))), want: nothing},
		{name: "3.3 better: not for a Service that the pod is not in", change: set(service("new", back)), want: nothing},
		{
			name: "3.3 silent: the labels of the pod's Namespace are updated", change: set(namespaced("team", "red")),
			want: askedOn(everywhere, affinity),
		},

		{name: "3.4 a pod is added, which is when it is assumed", change: assume(plain()), want: comesOrGoes("b1")},
		{name: "3.4 it is added with a host port", change: assume(plain(taking("", "", 80))), want: comesOrGoes("b1").and(askedOn("b1", ports))},
		{name: "3.4 it is bound as it was assumed", before: assume(plain()), change: set(plain()), want: nothing},
		{name: "3.4 it fails to be bound", before: assume(plain()), change: release(plain()), want: comesOrGoes("b1")},
		{name: "3.4 it is bound by somebody else", change: set(plain()), want: comesOrGoes("b1")},
		{
			name: "3.4 it is bound to another node than it was assumed on", before: assume(plain()), change: set(placedPod("plain", "a2")),
			want: comesOrGoes("a2 b1"),
		},
		{
			name:   "3.4 better: one is added that the pod must not be near",
			change: assume(plain(hog)), want: comesOrGoes("b1").and(askedOn("b1 b2", affinity)),
		},
		{
			name:   "3.4 better: one is added that must not be near the pod",
			change: assume(plain(avoiding("web"))), want: comesOrGoes("b1").and(askedOn("b1 b2", affinity)),
		},
		{
			name:   "3.4 better: one of the same class is added, with the same disk, as the first of its Service",
			change: assume(demandingPod("first", "b1")),
			want: comesOrGoes("b1").and(askedOn("b1", ports)).and(askedOn("b1 b2", spread)).
				and(askedOn(everywhere, services)),
		},

		{name: "3.4 the requests of a pod are updated", before: set(plain()), change: set(plain(asking("cpu", "2"))), want: askedOn("b1", fit)},
		{name: "3.4 its labels are updated", before: set(plain()), change: set(plain(db)), want: askedOn("b1", readPods...)},
		{
			name: "3.4 they are updated so that the pod must not be near it", before: set(plain()),
			change: set(plain(hog)), want: askedOn("b1", readPods...).and(askedOn("b1 b2", affinity)),
		},
		{name: "3.4 not when anything else of it is updated", before: set(plain()), change: set(plain(started)), want: nothing},
		{name: "3.4 silent: it is being deleted", before: set(plain()), change: set(plain(terminating)), want: askedOn("b1", readPods...)},

		{name: "3.4 silent about room: a pod is deleted", before: set(plain()), change: remove(plain()), want: comesOrGoes("b1")},
		{name: "3.4 one is deleted that had the same disk", before: set(plain(sameDisk)), change: remove(plain()), want: comesOrGoes("b1")},
		{
			name: "3.4 one is deleted that the pod must not be near", before: set(plain(hog)),
			change: remove(plain()), want: comesOrGoes("b1").and(askedOn("b1 b2", affinity)),
		},
		{
			name: "3.4 the last one is deleted that the pod must be near", change: remove(cacheOn("b2")),
			want: comesOrGoes("b2").and(askedOn("b1 b2", affinity)),
		},

		{name: "3.5 what a node can allocate is updated", change: update("b1", offering("cpu", "9", "pods", "110")), want: askedOn("b1", fit)},
		{
			name: "3.5 coarser: its labels are updated, whichever a predicate reads", change: update("b1", labelled("disk", "hdd")),
			want: askedOn("b1", readLabels...),
		},
		{
			name:   "3.5 the zone of a node is updated, and so that of its pods",
			change: update("b2", labelled(corev1.LabelTopologyZone, "c")), want: askedOn("b2", readLabels...).and(askedOn("b1 b2", affinity)),
		},
		{
			name: "3.5 better: a node is given a topology label that it did not have", before: set(nodeIn("", "b1")),
			change: set(nodeIn("b", "b1")), want: askedOn("b1", readLabels...),
		},
		{
			name:   "3.5 coarser: its taints are updated, by which some pods leave nodes out of their spread",
			change: update("b1", tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule)), want: askedOn("b1", config.TaintToleration, spread),
		},
		{
			name: "3.5 its conditions are updated", change: update("b1", reporting(corev1.NodeDiskPressure)),
			want: askedOn("b1", config.NodeConditions),
		},
		{
			name: "3.5 not when it says them again", before: update("b1", reporting(corev1.NodeReady)), change: update("b1", heartbeat),
			want: nothing,
		},
		{name: "3.5 better: a node is cordoned", change: update("b1", cordoned), want: askedOn("b1", config.NodeUnschedulable)},
		{name: "3.5 silent: its limit of volumes is updated", change: set(csiNode("b1", ebsDriver, 3)), want: askedOn("b1", limits)},
		{name: "3.5 not when images are, since only scores read them", change: update("b1", holding(500, "web:v1")), want: nothing},

		{name: "3.5 a node is deleted", change: remove(nodeIn("a", "a2")), want: nothing},
		{
			name: "3.5 better: one is deleted with the last pod that the pod must be near", change: remove(nodeIn("b", "b2")),
			want: askedOn("b1", affinity),
		},
		{
			name: "3.5 better: one comes back under the name of a deleted one", before: remove(nodeIn("a", "a2")),
			change: set(nodeIn("a", "a2")), want: askedOn("a2", all...),
		},
		{name: "3.5 silent: one is added", change: set(nodeIn("b", "b3")), want: askedOn("b3", all...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newInvalidationBench(t)
			b.do(row.before)
			if got := b.ask(); len(got) != len(all) {
				t.Fatalf("predicates that concern the pod: %v, want %v", got, all)
			}
			b.do(row.change)
			if diff := cmp.Diff(row.want, b.ask()); diff != "" {
				t.Errorf("asked again (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(nothing, b.ask()); diff != "" {
				t.Errorf("asked once more, though nothing had changed (-want +got):\n%s", diff)
			}
		})
	}
}
