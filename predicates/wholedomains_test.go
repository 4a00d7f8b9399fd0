package predicates

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// hall has nodes that are listed as "name block rack pods", where a dash is for a label that a node lacks.
func hall(t *testing.T, nodes ...string) *cluster.Cluster {
	t.Helper()
	c := newCluster()
	for _, line := range nodes {
		var name, block, rack string
		var pods int
		if _, err := fmt.Sscan(line, &name, &block, &rack, &pods); err != nil {
			t.Fatal(err)
		}
		object := node(called(name))
		for key, value := range map[string]string{"block": block, "rack": rack} {
			if value != "-" {
				labelled(key, value)(object)
			}
		}
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
		for i := range pods {
			placed := pod(func(p *corev1.Pod) {
				p.Name, p.UID, p.Spec.NodeName = fmt.Sprint(name, "-", i), types.UID(fmt.Sprint(name, i)), name
			})
			if err := c.Set(placed); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func TestWholeDomains(t *testing.T) {
	for _, test := range []struct {
		name   string
		levels []string
		nodes  []string
		want   map[string]int64
	}{
		{
			name: "the rack with more pods is better, whatever the node has", levels: []string{"rack"},
			nodes: []string{"a1 x a 2", "a2 x a 0", "b1 x b 1", "c1 x c 0"},
			want:  map[string]int64{"a1": 100, "a2": 100, "b1": 90, "c1": 80},
		},
		{
			name: "racks as full are as good", levels: []string{"rack"},
			nodes: []string{"a1 x a 1", "a2 x a 1", "b1 x b 2"}, want: map[string]int64{"a1": 100, "a2": 100, "b1": 100},
		},
		{
			name: "the block comes before the rack", levels: []string{"block", "rack"},
			nodes: []string{"a1 x a 2", "b1 x b 1", "c1 y c 2", "d1 x d 0"},
			want:  map[string]int64{"a1": 100, "b1": 90, "d1": 80, "c1": 70},
		},
		{
			name: "racks of one name in two blocks are two", levels: []string{"block", "rack"},
			nodes: []string{"a1 x a 1", "a2 x a 0", "b1 x b 2", "c1 y a 2", "d1 y d 0"},
			want:  map[string]int64{"b1": 100, "a1": 90, "a2": 90, "c1": 80, "d1": 70},
		},
		{
			name: "a node without the label of the block is in no rack of it", levels: []string{"block", "rack"},
			nodes: []string{"a1 x a 1", "n1 - a 5", "c1 y c 0"}, want: map[string]int64{"a1": 100, "n1": 90, "c1": 90},
		},
		{
			name: "a node without the label is in no rack", levels: []string{"rack"},
			nodes: []string{"a1 x a 1", "n1 x - 5", "c1 x c 0"}, want: map[string]int64{"a1": 100, "n1": 90, "c1": 90},
		},
		{
			name: "ten are told apart", levels: []string{"rack"},
			nodes: []string{
				"a x a 11", "b x b 10", "c x c 9", "d x d 8", "e x e 7", "f x f 6", "g x g 5", "h x h 4", "i x i 3", "j x j 2", "k x k 1", "l x l 0",
			},
			want: map[string]int64{
				"a": 100, "b": 90, "c": 80, "d": 70, "e": 60, "f": 50, "g": 40, "h": 30, "i": 20, "j": 10, "k": 0, "l": 0,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			score := wholeDomains{test.levels}
			snap := hall(t, test.nodes...).Snapshot()
			if diff := cmp.Diff(test.want, rateAmongAll(score.For(cluster.NewPod(pod()), snap), snap)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeInTheOnlyDomainIsTheBest(t *testing.T) {
	checkRates(t, config.WholeDomains, []rateCase{{
		name: "there is one rack", args: &config.WholeDomainsArgs{Levels: []string{"rack"}}, want: MaxScore,
		scene: scene{node: node(labelled("rack", "a")), pod: pod()},
	}})
}

// Each node has a pod of each DaemonSet: a rack with these alone is whole.
func TestPodsOfADaemonSetKeepNoDomainFromBeingWhole(t *testing.T) {
	c := hall(t, "a1 x a 1", "b1 x b 0")
	daemon := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "agent"}}
	for i := range 3 {
		if err := c.Set(pod(func(p *corev1.Pod) {
			p.Name, p.UID, p.Spec.NodeName = fmt.Sprint("agent-", i), types.UID(fmt.Sprint("agent-", i)), "b1"
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(daemon, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		})); err != nil {
			t.Fatal(err)
		}
	}
	snap := c.Snapshot()
	want := map[string]int64{"a1": 100, "b1": 90}
	if diff := cmp.Diff(want, rateAmongAll(wholeDomains{[]string{"rack"}}.For(cluster.NewPod(pod()), snap), snap)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRatingsFollowTheOrderOfWhatIsOccupied draws how many pods domains have.
func TestRatingsFollowTheOrderOfWhatIsOccupied(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		domains := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) occupied {
			return occupied{rapid.Int32Range(0, 3).Draw(t, "block"), rapid.Int32Range(0, 9).Draw(t, "rack")}
		}), 1, 40).Draw(t, "domains")
		ratings := make([]int64, len(domains))
		rateOccupied(ratings, func(i int) occupied { return domains[i] })
		if slices.Max(ratings) != MaxScore || slices.Min(ratings) < 0 {
			t.Fatalf("%v rate %d", domains, ratings)
		}
		for i, a := range domains {
			for j, b := range domains {
				order := slices.Compare(a[:], b[:])
				if order == 0 && ratings[i] != ratings[j] || order > 0 && (ratings[i] < ratings[j] || ratings[i] > 0 && ratings[i] == ratings[j]) {
					t.Fatalf("%v rates %d, and %v %d", a, ratings[i], b, ratings[j])
				}
			}
		}
	})
}

// TestAScoreForWholeDomainsRefusesNoNode draws pods, and asks two profiles about them that differ in the plugin alone.
func TestAScoreForWholeDomainsRefusesNoNode(t *testing.T) {
	plain, err := NewProfile(&config.Profile{NodeSelection: config.NodeSelectionMuster})
	if err != nil {
		t.Fatal(err)
	}
	packed := profileWith(config.WholeDomains, &config.WholeDomainsArgs{Levels: []string{"zone"}})
	packed.NodeSelection = config.NodeSelectionMuster
	packed.Plugins.Score.Enabled = []config.WeightedPlugin{{Name: config.WholeDomains}}
	whole, err := NewProfile(packed)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.scores) != len(plain.scores)+1 {
		t.Fatalf("%d scores, want one more than %d", len(whole.scores), len(plain.scores))
	}
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster()
		for _, name := range []string{"a", "b", "c"} {
			setNode(t, c, name)
		}
		snap, asked := c.Snapshot(), cluster.NewPod(drawPod(t))
		for node := range snap.Nodes() {
			if with, without := whole.Judge(asked, snap).Verdict(node), plain.Judge(asked, snap).Verdict(node); with != without {
				t.Fatalf("on %s the verdict is %d with the plugin, and %d without", node.Name, with, without)
			}
		}
	})
}
