package predicates

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

func volumePlugins() []string {
	return []string{config.VolumeRestrictions, config.NodeVolumeLimits, config.VolumeZone}
}

// newVolumeBench has a store whose profile runs nothing but some of the plugins about
// volumes.
func newVolumeBench(t interface{ Fatal(...any) }, plugins ...string) *storeBench {
	filter := config.PluginSet{Disabled: []config.Plugin{{Name: config.AllPlugins}}}
	for _, name := range plugins {
		filter.Enabled = append(filter.Enabled, config.Plugin{Name: name})
	}
	profile, err := NewProfile(&config.Profile{
		SchedulerName: corev1.DefaultSchedulerName, Equivalence: config.EquivalenceTemplate,
		Plugins: config.Plugins{Filter: filter, Score: config.ScoreSet{Disabled: []config.Plugin{{Name: config.AllPlugins}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &storeBench{cluster: newCluster(), metrics: NewStoreMetrics(prometheus.NewRegistry())}
	b.store = NewVerdictStore(profile, b.cluster, 1<<30, b.metrics, clock.RealClock{})
	return b
}

// podWithVolumes draws a pod that may be asked about or placed.
func podWithVolumes(t *rapid.T, name string) *corev1.Pod {
	all := []corev1.VolumeSource{
		claimed("claim-0"), claimed("claim-1"), claimed("claim-2"), ephemeralVolume(),
		ebs("vol-0"), ebs("aws://zone/vol-1"), gcePD("pd", false), gcePD("pd", true),
	}
	drawn := pod(mounting(rapid.SliceOfN(rapid.SampledFrom(all), 0, 3).Draw(t, "volumes of "+name)...))
	drawn.Name, drawn.UID = name, types.UID(name)
	return drawn
}

// TestWhatIsRememberedOfVolumesIsNeverStale changes nodes, pods and the objects about
// volumes at random, in ways that no controller would, and compares after every step what
// is remembered with a fresh judgement; and what is supposed of a node without a pod with
// what becomes of it.
func TestWhatIsRememberedOfVolumesIsNeverStale(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		b := newVolumeBench(t, rapid.SampledFrom(append(volumePlugins(), config.NodeVolumeLimits)).Draw(t, "plugin"))
		var asked, placed []*corev1.Pod // the volumes of a pod never change
		for i := range 4 {
			asked = append(asked, podWithVolumes(t, fmt.Sprint("asked-", i)))
		}
		for i := range 4 {
			placed = append(placed, podWithVolumes(t, fmt.Sprint("pod-", i)))
		}
		draw := func(what string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, what) }
		numbered := func(what string, most int) string {
			return fmt.Sprint(what, "-", rapid.IntRange(0, most).Draw(t, what))
		}
		apply := func(object runtime.Object) {
			change := b.cluster.Set
			if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
				change = b.cluster.Delete
			}
			if err := change(object); err != nil {
				t.Fatal(err)
			}
		}
		driver := func() string { return draw("driver", ebsDriver, ebsDriver, otherDriver) }
		t.Repeat(map[string]func(*rapid.T){
			"node": func(*rapid.T) {
				object := node(called(numbered("node", 1)))
				if zone := draw("zone", "", "a", "b"); zone != "" {
					labelled(corev1.LabelTopologyZone, zone)(object)
				}
				apply(object)
			},
			"CSI node": func(*rapid.T) {
				apply(csiNode(numbered("node", 1), driver(), rapid.Int32Range(-1, 2).Draw(t, "limit")))
			},
			"pod": func(t *rapid.T) {
				object := rapid.SampledFrom(placed).Draw(t, "pod").DeepCopy()
				object.Spec.NodeName = numbered("node", 1)
				apply(object)
			},
			"claim": func(*rapid.T) {
				object := claim(
					draw("claim", "claim-0", "claim-1", "claim-2", "asked-0-volume-0", "asked-1-volume-0", "pod-0-volume-0", "pod-1-volume-0"),
				)
				boundTo(draw("bound to", "", "pv-0", "pv-1", "pv-2"))(object)
				ofClass(draw("class of a claim", "", "class-0", "class-1"))(object)
				accessedBy(rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}).Draw(t, "access"))(
					object,
				)
				madeFor(types.UID(draw("owner", "asked-0", "asked-1", "pod-0", "pod-1")))(object)
				apply(object)
			},
			"volume": func(*rapid.T) {
				source := []func(*corev1.PersistentVolume){
					attachedBy(driver(), numbered("vol", 2)), onEBS(numbered("vol", 2)), onEBS("aws://zone/what"), inHostPath,
				}
				object := persistentVolume(numbered("pv", 2), rapid.SampledFrom(source).Draw(t, "source"))
				if zones := draw("zones", "", "a", "b", "a__b"); zones != "" {
					marked(corev1.LabelTopologyZone, zones)(object)
				}
				apply(object)
			},
			"class": func(*rapid.T) {
				mode := rapid.SampledFrom([]storagev1.VolumeBindingMode{
					"", storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer,
				}).
					Draw(t, "mode")
				apply(storageClass(numbered("class", 1), draw("provisioner", ebsDriver, otherDriver, "kubernetes.io/aws-ebs"), mode))
			},
			"attachment": func(*rapid.T) {
				apply(attachment(numbered("va", 2), numbered("node", 1), driver(), numbered("pv", 2)))
			},
			"eviction": func(t *rapid.T) {
				snap := b.cluster.Snapshot()
				node := snap.NodeByName(numbered("node", 1))
				if node == nil || len(node.Pods) == 0 {
					t.Skip("no pod")
				}
				evicted := node.Pods[0]
				pod := cluster.NewPod(rapid.SampledFrom(asked).Draw(t, "preemptor"))
				supposed, without := b.store.Profile.Judge(pod, snap), node.WithoutPod(evicted.UID)
				supposed.Suppose(without)
				got := supposed.Verdict(without)
				if err := b.cluster.Delete(evicted.Pod); err != nil {
					t.Fatal(err)
				}
				after := b.cluster.Snapshot()
				if want := b.store.Profile.Judge(pod, after).Verdict(after.Node(node.Index)); got != want {
					t.Fatalf("on %s: supposed %q, became %q", node.Name, new(Profile).Reason(got, nil), new(Profile).Reason(want, nil))
				}
			},
			"": func(t *rapid.T) {
				// Not every class is asked every time, so that some lag behind.
				for _, pod := range asked {
					if rapid.Bool().Draw(t, "ask") {
						compareWithFresh(t, b, pod)
					}
				}
			},
		})
	})
}

// TestOnlyVolumesThatMatterAreJudgedAnew asks about a pod with a disk of EBS, the claim
// "own" of it and the inline disk "vol-inline", in a cluster of ten nodes.
func TestOnlyVolumesThatMatterAreJudgedAnew(t *testing.T) {
	const restrictions, limits, zones = config.VolumeRestrictions, config.NodeVolumeLimits, config.VolumeZone
	b := newVolumeBench(t, volumePlugins()...)
	apply := func(change func(runtime.Object) error, objects ...runtime.Object) func() {
		return func() {
			for _, object := range objects {
				if err := change(object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	set := func(objects ...runtime.Object) func() { return apply(b.cluster.Set, objects...) }
	gone := func(objects ...runtime.Object) func() { return apply(b.cluster.Delete, objects...) }
	inZone := func(zone string) *corev1.Node {
		return node(called("node-3"), labelled(corev1.LabelTopologyZone, zone))
	}
	for i := range 10 {
		name := fmt.Sprint("node-", i)
		set(node(called(name), labelled(corev1.LabelTopologyZone, "a")), csiNode(name, ebsDriver, 5))()
	}
	set(disks(ebsDriver, "own")...)()
	set(persistentVolume("pv-own", attachedBy(ebsDriver, "vol-own"), marked(corev1.LabelTopologyZone, "a")))()
	asked := pod(claiming("own"), mounting(ebs("vol-inline")))
	on := func(name string, change ...func(*corev1.Pod)) *corev1.Pod {
		placed := pod(change...)
		placed.Name, placed.UID, placed.Spec.NodeName = "placed", "placed", name
		return placed
	}
	// judged is how often a plugin was asked about a node, by the cause.
	judged := func() map[string]float64 {
		counts := map[string]float64{}
		for _, plugin := range volumePlugins() {
			for _, cause := range []string{
				"node", "labels", "csi", "pods", "others", "persistentvolumes", "persistentvolumeclaims", "storageclasses", "volumeattachments",
			} {
				if n := testutil.ToFloat64(b.metrics.evaluated.WithLabelValues(corev1.DefaultSchedulerName, plugin, cause)); n != 0 {
					counts[plugin+" by "+cause] = n
				}
			}
		}
		b.metrics.evaluated.Reset()
		return counts
	}
	type counts = map[string]float64
	everywhere := func(plugin, cause string) counts { return counts{plugin + " by " + cause: 10} }
	onTheNode := counts{restrictions + " by pods": 1, limits + " by pods": 1}
	for _, step := range []struct {
		name   string
		change func()
		want   counts
	}{
		{"the class is new", func() {}, counts{restrictions + " by node": 10, limits + " by node": 10, zones + " by node": 10}},
		{"nothing changed", func() {}, counts{}},

		{"a volume of EBS came", set(persistentVolume("new", attachedBy(ebsDriver, "new"))), everywhere(limits, "persistentvolumes")},
		{
			"a volume that was of the in-tree plugin of EBS came", set(persistentVolume("old", onEBS("vol-old"))),
			everywhere(limits, "persistentvolumes"),
		},
		{"a volume of another driver came", set(persistentVolume("other", attachedBy(otherDriver, "other"))), counts{}},
		{"a volume that nothing attaches came", set(persistentVolume("local", inHostPath)), counts{}},
		{
			"a volume of EBS was labelled", set(persistentVolume("new", attachedBy(ebsDriver, "new"), marked(corev1.LabelTopologyZone, "b"))),
			counts{},
		},
		{"a claim of a volume of EBS came", set(claim("new", boundTo("new"))), everywhere(limits, "persistentvolumeclaims")},
		{"a claim of a volume of another driver came", set(claim("other", boundTo("other"))), counts{}},
		{"a claim without a volume came", set(claim("empty")), counts{}},
		{"a claim without a volume went", gone(claim("empty")), counts{}},
		{"a claim of a volume of another driver went", gone(claim("other")), counts{}},
		{"a claim of a volume of EBS went", gone(claim("new")), everywhere(limits, "persistentvolumeclaims")},
		{"a volume of EBS went", gone(persistentVolume("new")), everywhere(limits, "persistentvolumes")},
		{"a volume of another driver went", gone(persistentVolume("other")), counts{}},
		{"a class of EBS came", set(storageClass("ebs", ebsDriver, "")), everywhere(limits, "storageclasses")},
		{"a class of another driver came", set(storageClass("other", otherDriver, "")), counts{}},
		{"a volume of EBS was attached", set(attachment("va", "node-2", ebsDriver, "pv-own")), everywhere(limits, "volumeattachments")},
		{"a volume of another driver was attached", set(attachment("other", "node-2", otherDriver, "other")), counts{}},
		{"a node may have fewer volumes", set(csiNode("node-3", ebsDriver, 1)), counts{limits + " by csi": 1}},

		{"a node changed its zone", set(inZone("b")), counts{zones + " by labels": 1}},
		{
			"the pod's own volume changed its zone",
			set(persistentVolume("pv-own", attachedBy(ebsDriver, "vol-own"), marked(corev1.LabelTopologyZone, "b"))),
			everywhere(zones, "persistentvolumes"),
		},
		{
			"the pod's own volume got another label",
			set(persistentVolume("pv-own", attachedBy(ebsDriver, "vol-own"), marked(corev1.LabelTopologyZone, "b"), marked("k", "v"))),
			counts{},
		},

		{"a pod came with the same disk", set(on("node-5", mounting(ebs("vol-inline")))), onTheNode},
		{"and went", gone(on("node-5")), onTheNode},
		{
			"the pod's own claim became one for one pod", set(claim("own", boundTo("pv-own"), accessedBy(corev1.ReadWriteOncePod))),
			everywhere(restrictions, "persistentvolumeclaims"),
		},
		{"another pod's claim became one for one pod", set(claim("empty", accessedBy(corev1.ReadWriteOncePod))), counts{}},
		{
			"a pod came with the claim for one pod", set(on("node-5", claiming("own"))),
			counts{restrictions + " by pods": 1, restrictions + " by others": 10, limits + " by pods": 1},
		},
		{"another one came", set(func() *corev1.Pod { p := on("node-6", claiming("own")); p.UID = "more"; return p }()), onTheNode},
		{"and went again", gone(&corev1.Pod{ObjectMeta: pod(func(p *corev1.Pod) { p.UID = "more" }).ObjectMeta}), onTheNode},
		{
			"the first one went, too", gone(on("node-5")),
			counts{restrictions + " by pods": 1, restrictions + " by others": 10, limits + " by pods": 1},
		},
		{"the pod's own claim went", gone(claim("own")), counts{
			restrictions + " by persistentvolumeclaims": 10, limits + " by persistentvolumeclaims": 10, zones + " by persistentvolumeclaims": 10,
		}},
		{"a volume of EBS came while there is nothing to count", set(persistentVolume("new", attachedBy(ebsDriver, "new"))), counts{}},
	} {
		step.change()
		b.askAll(asked)
		if diff := cmp.Diff(step.want, judged()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// A volume that nothing attaches went while no pod used its claim, so that no pod was judged again. The pod
// that comes with the claim has a volume that the claim's class will make.
func TestAPodThatComesIsCountedByTheObjectsOfItsTime(t *testing.T) {
	b := newVolumeBench(t, config.NodeVolumeLimits)
	verdict := func() Verdict {
		view := b.store.View(cluster.NewPod(pod(claiming("own"))))
		defer view.Close()
		return view.Verdict(view.Snapshot.NodeByName("node").Index)
	}
	change := func(change func(runtime.Object) error, objects ...runtime.Object) {
		for _, object := range objects {
			if err := change(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	change(b.cluster.Set, append(disks(ebsDriver, "own"), node(), csiNode("node", ebsDriver, 1), storageClass("ebs", ebsDriver, ""),
		claim("late", ofClass("ebs"), boundTo("local")), persistentVolume("local", inHostPath))...)
	if got := verdict(); got != Fits {
		t.Fatalf("verdict %d", got)
	}
	change(b.cluster.Delete, persistentVolume("local"))
	if got := verdict(); got != Fits {
		t.Fatalf("verdict %d", got)
	}
	change(b.cluster.Set, pod(claiming("late"), func(p *corev1.Pod) { p.UID, p.Spec.NodeName = "late", "node" }))
	if got := verdict(); got != tooManyVolumes {
		t.Errorf("verdict %d, want that there are too many volumes", got)
	}
}

// TestANodeThatIsAskedAboutLateIsJudgedByTheObjectsAsTheyAre changes an object that matters on no node that was asked about.
func TestANodeThatIsAskedAboutLateIsJudgedByTheObjectsAsTheyAre(t *testing.T) {
	b := newVolumeBench(t, config.NodeVolumeLimits)
	verdict := func(on string) Verdict {
		view := b.store.View(cluster.NewPod(pod(claiming("own"))))
		defer view.Close()
		return view.Verdict(view.Snapshot.NodeByName(on).Index)
	}
	full := func(p *corev1.Pod) { p.UID, p.Spec.NodeName = "there", "late" }
	for _, object := range append(disks(ebsDriver, "own"), node(called("early")), node(called("late")), csiNode("late", ebsDriver, 1),
		storageClass("ebs", ebsDriver, ""), claim("there", ofClass("ebs"), boundTo("local")), persistentVolume("local", inHostPath),
		pod(claiming("there"), full)) {
		if err := b.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	if got := verdict("early"); got != Fits {
		t.Fatalf("verdict %d", got)
	}
	if err := b.cluster.Delete(persistentVolume("local")); err != nil {
		t.Fatal(err)
	}
	if got := verdict("late"); got != tooManyVolumes {
		t.Errorf("verdict %d, want that there are too many volumes", got)
	}
}
