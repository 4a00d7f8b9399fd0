package extender

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/server/servertest"
)

// shortlisting is a profile that answers with two nodes, and one that answers with all.
const shortlisting = `
profiles:
  - schedulerName: default-scheduler
    shortlist: 2
  - schedulerName: all
    shortlist: 0
  - schedulerName: muster
    nodeSelection: Muster
  - schedulerName: packs
    shortlist: 2
    plugins: {score: {enabled: [{name: NodeResourcesFit}], disabled: [{name: '*'}]}}
    pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
  - schedulerName: by-load
    shortlist: 2
    plugins: {filter: {enabled: [{name: LoadAware}]}}
`

func TestFilterAnswersWithTheBestNodesOfAShortlist(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	of := func(profile string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.SchedulerName = profile }
	}
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		nodes  []string // that kube-scheduler asks about
		pick   int
		want   []string
	}{
		"those with the most room":             {nodes: all, want: []string{"b", "d"}},
		"in the order of the request":          {nodes: []string{"d", "a", "b"}, want: []string{"d", "b"}},
		"all if there are no more":             {nodes: []string{"a", "c"}, want: []string{"a", "c"}},
		"nodes that are full are none of them": {nodes: []string{"f", "a", "b", "c"}, want: []string{"b", "c"}},
		"of equals, the first":                 {nodes: []string{"a", "e", "d", "b"}, pick: 0, want: []string{"d", "b"}},
		"or others another time":               {nodes: []string{"c", "c2", "c3"}, pick: 2, want: []string{"c", "c3"}},
		"0 is all":                             {change: of("all"), nodes: all, want: all},
		"by the profile's own scores":          {change: of("packs"), nodes: all, want: []string{"a", "e"}},
		"not by load":                          {change: of("by-load"), nodes: all, want: all},
		"not for devices": {change: func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}, nodes: all, want: all},
		"not for volumes": {change: volume(corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "late"},
		}), nodes: all, want: all},
		"for volumes that every node has": {
			change: volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nodes: all, want: []string{"b", "d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{profiles: shortlisting, pick: func(int) int { return test.pick }})
			for node, cpu := range map[string]string{"a": "2", "b": "16", "c": "4", "c2": "4", "c3": "4", "d": "8", "e": "2", "f": "0"} {
				b.Node(node, cpu)
			}
			for _, object := range unboundClaim() {
				if err := b.Cluster.Set(object); err != nil {
					t.Fatal(err)
				}
			}
			pod := servertest.Pod("p", "1")
			if test.change != nil {
				test.change(pod)
			}
			got := b.Filter(pod, test.nodes...)
			if got.Error != "" || got.NodeNames == nil {
				t.Fatalf("answer %+v", got)
			}
			if diff := cmp.Diff(test.want, *got.NodeNames); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// unboundClaim is a claim called late, whose volume is made where the pod goes.
func unboundClaim() []runtime.Object {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "late",
		},
		Provisioner:       "example.com/disks",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: servertest.Pod("p", "1").Namespace},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class.Name},
	}
	return []runtime.Object{class, claim}
}

// kube-scheduler gives the scores itself by which the shortlist was made.
func TestPrioritizeSaysNothingWhereThereIsAShortlist(t *testing.T) {
	b := newBench(t, benchOptions{profiles: shortlisting})
	b.Node("a", "2", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	b.Node("b", "16")
	for profile, want := range map[string]int{"default-scheduler": 0, "packs": 0, "muster": 1} {
		pod := servertest.Pod("p", "1")
		pod.Spec.SchedulerName = profile
		if scores := b.prioritize(pod, []string{"a", "b"}); len(scores) != want {
			t.Errorf("%s: scores %v, want %d", profile, scores, want)
		}
	}
}

// Without nodeCacheCapable kube-scheduler sends whole nodes, and takes whole nodes.
func TestAShortlistOfWholeNodes(t *testing.T) {
	b := newBench(t, benchOptions{profiles: shortlisting})
	nodes := &corev1.NodeList{}
	for _, node := range []struct{ name, cpu string }{{"a", "2"}, {"b", "16"}, {"c", "4"}, {"d", "8"}} {
		b.Node(node.name, node.cpu)
		nodes.Items = append(nodes.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.name}})
	}
	args := extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "1"), Nodes: nodes}
	answer := servertest.Ask[extenderv1.ExtenderFilterResult](b.Bench, "filter", args)
	if answer.Nodes == nil {
		t.Fatalf("answer %+v", answer)
	}
	var got []string
	for i := range answer.Nodes.Items {
		got = append(got, answer.Nodes.Items[i].Name)
	}
	if diff := cmp.Diff([]string{"b", "d"}, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// A pod is bound to a node that it was offered, and to no other one.
func TestAPodIsNotBoundToANodeThatIsNotOnItsShortlist(t *testing.T) {
	b := newBench(t, benchOptions{profiles: shortlisting})
	for node, cpu := range map[string]string{"a": "2", "b": "16", "d": "8"} {
		b.Node(node, cpu)
	}
	pod := servertest.Pod("p", "1")
	if err := b.Cluster.Set(pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	b.Filter(pod, "a", "b", "d")
	offered, asked := b.extender.picker.offers.of(pod.UID)
	if !asked {
		t.Fatal("nothing is offered")
	}
	snap := b.Cluster.Snapshot()
	for node, want := range map[string]bool{"a": false, "b": true, "d": true} {
		if _, err := offered.node(node, snap); (err == nil) != want {
			t.Errorf("node %s: %v", node, err)
		}
	}
}

func TestTheBestOfTotals(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		totals := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 30).Draw(t, "totals")
		size := rapid.IntRange(1, 10).Draw(t, "size")
		var best []int
		for i := range totals {
			best = addToBest(best, i, totals, size)
		}
		want := make([]int, len(totals))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(totals[b] - totals[a]) })
		if want = want[:min(size, len(want))]; !slices.Equal(want, best) {
			t.Errorf("best %v, want %v", best, want)
		}
	})
}
