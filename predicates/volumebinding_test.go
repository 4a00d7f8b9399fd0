package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// fullyBoundTo is boundTo, and the controller of volumes has finished.
func fullyBoundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		boundTo(volume)(c)
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
	}
}

// reachableFrom gives the volume a required node affinity of these terms.
func reachableFrom(terms ...corev1.NodeSelectorTerm) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
}

func TestVolumeBinding(t *testing.T) {
	const differs = "node(s) didn't match PersistentVolume's node affinity"
	inA, rackB := node(labelled("rack", "a")), reachableFrom(label("rack", corev1.NodeSelectorOpIn, "b"))
	on := func(change ...func(*corev1.PersistentVolume)) scene {
		return scene{
			node:    inA,
			objects: []runtime.Object{claim("data", fullyBoundTo("disk")), persistentVolume("disk", change...)},
			pod:     pod(claiming("data")),
		}
	}
	checkVerdicts(t, config.VolumeBinding, []verdictCase{
		{name: "a pod without volumes fits everywhere", everywhere: true},
		{name: "a volume without affinity is everywhere", everywhere: true, scene: on()},
		{name: "an affinity that requires nothing is none", everywhere: true, scene: on(func(v *corev1.PersistentVolume) {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{}
		})},
		{name: "a node that the volume is reachable from", scene: on(reachableFrom(label("rack", corev1.NodeSelectorOpIn, "a", "b")))},
		{name: "another node, which eviction does not change", scene: on(rackB), reason: differs},
		{name: "one term of two is enough", scene: on(reachableFrom(
			label("rack", corev1.NodeSelectorOpIn, "b"), label("rack", corev1.NodeSelectorOpExists),
		))},
		{name: "an affinity that cannot be parsed matches nothing", scene: on(reachableFrom(label("rack", "Near", "a"))), reason: differs},
		{name: "the name of the node is not looked at", scene: on(reachableFrom(named(corev1.NodeSelectorOpIn, "another")))},
		{name: "the claim of an ephemeral volume", reason: differs, scene: scene{
			node: inA,
			objects: []runtime.Object{
				claim("pod-volume-0", fullyBoundTo("disk"), madeFor("pod-uid")), persistentVolume("disk", rackB),
			},
			pod: pod(mounting(ephemeralVolume()), func(p *corev1.Pod) { p.Name, p.UID = "pod", "pod-uid" }),
		}},
		{name: "the second of two volumes is elsewhere", reason: differs, scene: scene{
			node: inA, pod: pod(claiming("data", "logs")), objects: []runtime.Object{
				claim("data", fullyBoundTo("disk")), persistentVolume("disk", reachableFrom(label("rack", corev1.NodeSelectorOpExists))),
				claim("logs", fullyBoundTo("other")), persistentVolume("other", rackB),
			},
		}},

		{name: "a claim that is not bound is left to kube-scheduler", everywhere: true, scene: scene{
			objects: []runtime.Object{claim("data")}, pod: pod(claiming("data")),
		}},
		{name: "so is one whose binding has not ended", everywhere: true, scene: scene{
			objects: []runtime.Object{claim("data", boundTo("disk")), persistentVolume("disk", rackB)}, pod: pod(claiming("data")),
		}},
		{name: "so is one that is missing", everywhere: true, scene: scene{pod: pod(claiming("data"))}},
		{name: "so is one whose volume is missing", everywhere: true, scene: scene{
			objects: []runtime.Object{claim("data", fullyBoundTo("disk"))}, pod: pod(claiming("data")),
		}},
		{name: "so is a volume whose in-tree plugin was replaced", everywhere: true, scene: on(rackB, func(v *corev1.PersistentVolume) {
			v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}
		})},
	})
}

// TestVolumesAreReachableAsKubeSchedulerHasIt holds verdicts against the function that kube-scheduler's plugin calls.
func TestVolumesAreReachableAsKubeSchedulerHasIt(t *testing.T) {
	predicate, err := newVolumeBinding(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Verdict]int{}
	seeded.Until(t, func() bool { return len(seen) > 1 }, func(t *rapid.T) {
		values := rapid.SampledFrom([]string{"a", "b", "7", "12", "-3"})
		var terms []corev1.NodeSelectorTerm
		for range rapid.IntRange(0, 3).Draw(t, "terms") {
			operator := rapid.SampledFrom([]corev1.NodeSelectorOperator{
				corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
				corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, "Near",
			}).Draw(t, "operator")
			term := label(rapid.SampledFrom([]string{"rack", "row", "!"}).Draw(t, "key"), operator,
				rapid.SliceOfN(values, 0, 2).Draw(t, "values")...)
			if rapid.IntRange(0, 3).Draw(t, "a term with a field") == 0 {
				term.MatchFields = named(corev1.NodeSelectorOpIn, "another").MatchFields
			}
			terms = append(terms, term)
		}
		volume := persistentVolume("disk", reachableFrom(terms...))
		c := newCluster()
		for _, object := range []runtime.Object{
			node(labelled("rack", values.Draw(t, "rack")), labelled("row", values.Draw(t, "row"))),
			claim("data", fullyBoundTo("disk")), volume,
		} {
			if err := c.Set(object); err != nil {
				t.Fatal(err)
			}
		}
		snap := c.Snapshot()
		on := snap.NodeByName("node")
		want := Fits
		if storagehelpers.CheckNodeAffinity(volume, on.Labels) != nil {
			want = volumeOutOfReach | hopeless
		}
		if got := predicate.For(cluster.NewPod(pod(claiming("data"))), snap).Verdict(on); got != want {
			t.Fatalf("verdict %d, want %d, of %v on %v", got, want, terms, on.Labels)
		}
		seen[want]++
	})
	if len(seen) < 2 {
		t.Errorf("it always said the same: %v", seen)
	}
}
