package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
)

func TestInterPodAffinityScore(t *testing.T) {
	hard := func(weight int32) *config.InterPodAffinityArgs {
		return &config.InterPodAffinityArgs{HardPodAffinityWeight: &weight}
	}
	ignoring := &config.InterPodAffinityArgs{HardPodAffinityWeight: new(int32(1)), IgnorePreferredTermsOfExistingPods: true}
	web, db := wearing("app", "web"), wearing("app", "db")
	aboutWeb, aboutDB := aboutPods("zone", "app", "web"), aboutPods("zone", "app", "db")
	type rates = map[string]int64
	for _, test := range []struct {
		name   string
		args   config.PluginArgs // nil stands for the default
		asking *corev1.Pod
		placed []*corev1.Pod
		want   rates
	}{
		{
			name: "nodes that nothing speaks for are alike", asking: pod(web), placed: []*corev1.Pod{pod(db, onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 0, "bare": 0},
		},
		{
			name: "a pod that it likes attracts to the failure " +
				"domain", asking: pod(liking(1, aboutWeb)), placed: []*corev1.Pod{pod(web, onNode("a"))},
			want: rates{"a": 100, "a2": 100, "b": 0, "bare": 0},
		},
		{
			name: "a pod that it shuns repels from the failure " +
				"domain", asking: pod(shunning(1, aboutWeb)), placed: []*corev1.Pod{pod(web, onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 100, "bare": 100},
		},
		{
			name: "every pod counts", asking: pod(liking(1, aboutWeb)), placed: []*corev1.Pod{
				pod(web, onNode("a")), pod(web, onNode("a2")), pod(web, onNode("a")), pod(web, onNode("b")),
			},
			want: rates{"a": 100, "a2": 100, "b": 33, "bare": 0},
		},
		{
			name: "weights count", asking: pod(liking(1, aboutDB), liking(10, aboutWeb)), placed: []*corev1.Pod{
				pod(web, onNode("a")), pod(db, onNode("b")),
			},
			want: rates{"a": 100, "a2": 100, "b": 10, "bare": 0},
		},
		{
			name: "keys add up", asking: pod(
				liking(1, aboutWeb), liking(1, aboutPods("host", "app", "web")),
			), placed: []*corev1.Pod{pod(web, onNode("a"))},
			want: rates{"a": 100, "a2": 50, "b": 0, "bare": 0},
		},
		{
			name: "likes and dislikes of one key may cancel out", asking: pod(
				liking(5, aboutWeb), shunning(5, aboutWeb),
			), placed: []*corev1.Pod{pod(web, onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 0, "bare": 0},
		},
		// 100·(29/100) is 28.999…
		{
			name: "a rate is rounded down like kube-scheduler's", asking: pod(liking(29, aboutDB), liking(100, aboutWeb)), placed: []*corev1.Pod{
				pod(web, onNode("a")), pod(db, onNode("b")),
			},
			want: rates{"a": 100, "a2": 100, "b": 28, "bare": 0},
		},
		{
			name: "a pod that likes it attracts", asking: pod(web), placed: []*corev1.Pod{pod(liking(1, aboutWeb), onNode("a"))},
			want: rates{"a": 100, "a2": 100, "b": 0, "bare": 0},
		},
		{
			name: "a pod that shuns it repels", asking: pod(web), placed: []*corev1.Pod{pod(shunning(1, aboutWeb), onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 100, "bare": 100},
		},
		{
			name: "a pod that requires it attracts by the hard weight", args: hard(5), asking: pod(web),
			placed: []*corev1.Pod{pod(keepingTo(aboutWeb), onNode("a")), pod(liking(10, aboutWeb), onNode("b"))},
			want:   rates{"a": 50, "a2": 50, "b": 100, "bare": 0},
		},
		{
			name: "a hard weight of 0 leaves it out", args: hard(0), asking: pod(web), placed: []*corev1.Pod{pod(keepingTo(aboutWeb), onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 0, "bare": 0},
		},
		{
			name: "a pod that may not be near it says nothing", asking: pod(web), placed: []*corev1.Pod{pod(keepingOff(aboutWeb), onNode("a"))},
			want: rates{"a": 0, "a2": 0, "b": 0, "bare": 0},
		},
		{name: "likes of others may be ignored", args: ignoring, asking: pod(web), placed: []*corev1.Pod{pod(liking(1, aboutWeb), onNode("a"))}},
		{
			name: "but not where it has likes " +
				"itself", args: ignoring, asking: pod(web, liking(1, aboutDB)), placed: []*corev1.Pod{pod(liking(1, aboutWeb), onNode("a"))},
			want: rates{"a": 100, "a2": 100, "b": 0, "bare": 0},
		},
		{
			name: "the namespace must be the right one", asking: pod(web, liking(1, inNamespacesThat(aboutWeb, aboutWeb.LabelSelector))),
			placed: []*corev1.Pod{
				pod(web, onNode("a")), pod(web, within("labelled"), onNode("b")), pod(db, within("labelled"), liking(1, aboutWeb), onNode("b")),
			},
			want: rates{"a": 0, "a2": 0, "b": 100, "bare": 0},
		},
		{name: "a pod that fits nowhere, as a selector does not parse, is not rated", asking: pod(liking(1, misspelt(aboutWeb)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			score, err := newInterPodAffinityScore(profileWith(config.InterPodAffinity, test.args))
			if err != nil {
				t.Fatal(err)
			}
			snap, _, pod := scene{
				node: node(called("a"), labelled("zone", "a"), labelled("host", "a")),
				others: []*corev1.Node{
					node(called("a2"), labelled("zone", "a"), labelled("host", "a2")),
					node(called("b"), labelled("zone", "b"), labelled("host", "b")),
					node(called("bare")),
				},
				placed: test.placed, pod: test.asking, objects: []runtime.Object{namespace("labelled", "app", "web")},
			}.raise(t)
			rating := score.For(pod, snap)
			if rating.Among == nil {
				if test.want != nil {
					t.Errorf("all nodes are alike, want %v", test.want)
				}
				return
			}
			if diff := cmp.Diff(test.want, rateAmongAll(rating, snap)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterPodAffinityRatesALoneNodeNothing(t *testing.T) {
	web := wearing("app", "web")
	checkRates(t, config.InterPodAffinity, []rateCase{
		{name: "there is no other that it is better than", scene: scene{
			node: node(labelled("zone", "a")), placed: []*corev1.Pod{pod(web)}, pod: pod(liking(1, aboutPods("zone", "app", "web"))),
		}},
	})
}
