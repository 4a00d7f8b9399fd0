package extender

import (
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

func TestBindIsForPodsThatWaitOnNodesThatWereOfferedAndFitStill(t *testing.T) {
	overcommitted := func(b *bench) {
		other := servertest.Pod("other", "3")
		other.Spec.NodeName = "a"
		b.Pending(other)
	}
	for name, test := range map[string]struct {
		prepare func(b *bench, pod *corev1.Pod) // before filter is asked about a and b
		since   func(b *bench, pod *corev1.Pod) // then
		args    func(*extenderv1.ExtenderBindingArgs)
		want    string
	}{
		"a pod that filter was not asked about": {
			since: func(b *bench, pod *corev1.Pod) { b.extender.picker.offers.end(pod.UID) }, want: errNotAsked.Error(),
		},
		"a node that was not asked about": {
			since: func(b *bench, _ *corev1.Pod) { b.Node("c", "4") },
			args:  func(args *extenderv1.ExtenderBindingArgs) { args.Node = "c" }, want: errNotAsked.Error(),
		},
		"a node that does not fit": {
			prepare: func(b *bench, _ *corev1.Pod) { b.Node("a", "1") }, want: errNotAsked.Error(),
		},
		"a node that has come again under its name": {
			since: func(b *bench, _ *corev1.Pod) {
				if err := b.Cluster.Delete(&corev1.Node{ObjectMeta: servertest.Pod("a", "1").ObjectMeta}); err != nil {
					b.Fatal(err)
				}
				b.Node("a", "4")
			}, want: errNotAsked.Error(),
		},
		"a node that there is not": {
			args: func(args *extenderv1.ExtenderBindingArgs) { args.Node = "ghost" }, want: errNodeGone.Error(),
		},
		"a node that is full by now": {
			since: func(b *bench, _ *corev1.Pod) { overcommitted(b) }, want: "the pod does not fit on node a any more: Insufficient cpu",
		},
		"a node that is servertest.Cordoned by now": {
			since: func(b *bench, _ *corev1.Pod) { b.Node("a", "4", servertest.Cordoned) },
			want:  "the pod does not fit on node a any more: node(s) were unschedulable",
		},
		"a pod of another scheduler": {
			since: func(b *bench, pod *corev1.Pod) {
				pod.Spec.SchedulerName, pod.ResourceVersion = "somebody-else", "2"
				b.Pending(pod)
			}, want: errNoProfile.Error(),
		},
		"a pod of the same name": {
			args: func(args *extenderv1.ExtenderBindingArgs) { args.PodUID = "uid-of-another" }, want: errNotThere.Error(),
		},
		"a pod of the same UID": {
			args: func(args *extenderv1.ExtenderBindingArgs) { args.PodName = "q" }, want: errNotThere.Error(),
		},
		"a pod that is on that node already": {
			since: func(b *bench, pod *corev1.Pod) {
				pod.Spec.NodeName = "a"
				b.Pending(pod)
			}, want: "",
		},
		"a pod that is on another node already": {
			since: func(b *bench, pod *corev1.Pod) {
				pod.Spec.NodeName = "b"
				b.Pending(pod)
			}, want: errElsewhere.Error(),
		},
		"a pod that fits": {want: ""},
	} {
		for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
			t.Run(name+", "+string(selection), func(t *testing.T) {
				var asked atomic.Int32
				b := newBench(t, benchOptions{selection: selection, client: bindings(func(*corev1.Binding) error {
					asked.Add(1)
					return nil
				})})
				b.Node("a", "8")
				b.Node("b", "1")
				pod := b.Pending(servertest.Pod("p", "2"))
				if test.prepare != nil {
					test.prepare(b, pod)
				}
				b.Filter(pod, "a", "b")
				b.Node("a", "4")
				if test.since != nil {
					test.since(b, pod)
				}
				args := bindingOf(pod, "a")
				if test.args != nil {
					test.args(&args)
				}
				if got := servertest.Ask[extenderv1.ExtenderBindingResult](b.Bench, "bind", args).Error; got != test.want {
					t.Errorf("bind answered %q, want %q", got, test.want)
				}
				if asked.Load() > 0 && test.want != "" {
					t.Error("the API server was asked to bind it")
				}
			})
		}
	}
}

func TestOfTwoPodsInFlightThatCannotShareANodeOneIsBound(t *testing.T) {
	b := newBench(t, benchOptions{client: bindings(accept)})
	b.Node("a", "8")
	withPort := func(name string) *corev1.Pod {
		pod := servertest.Pod(name, "1")
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		return b.Pending(pod)
	}
	first, second := withPort("first"), withPort("second")
	for _, pod := range []*corev1.Pod{first, second} {
		if got := *b.Filter(pod, "a").NodeNames; len(got) != 1 {
			t.Fatalf("%s fits %v", pod.Name, got)
		}
	}
	if got := b.bindAsIs(first, "a"); got != "" {
		t.Errorf("the first one: %q", got)
	}
	if got, want := b.bindAsIs(
		second, "a",
	), "the pod does not fit on node a any more: node(s) didn't have free ports for the requested pod ports"; got != want {
		t.Errorf("the second one: %q, want %q", got, want)
	}
}

// The binding whose answer was lost may not have been made: to ask for it once more may make it only now.
func TestAPodThatMayBeBoundIsOfferedItsNodeOnlyWhileItFits(t *testing.T) {
	for name, since := range map[string]func(*bench){
		"the node is cordoned": func(b *bench) { b.Node("a", "4", servertest.Cordoned) },
		"somebody else has filled it": func(b *bench) {
			foreign := servertest.Pod("foreign", "4")
			foreign.Spec.NodeName = "a"
			b.Pending(foreign)
		},
	} {
		for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
			t.Run(name+", "+string(selection), func(t *testing.T) {
				b := newBench(t, benchOptions{selection: selection, client: unanswering(lose)})
				b.Node("a", "4")
				b.Node("b", "4")
				pod := b.Pending(servertest.Pod("p", "1"))
				b.bind(pod, "a")
				if got := *b.Filter(pod, "a", "b").NodeNames; !slices.Equal(got, []string{"a"}) {
					t.Errorf("while it fits it is offered %v", got)
				}
				since(b)
				if got := b.Filter(pod, "a", "b"); len(*got.NodeNames) != 0 || got.FailedAndUnresolvableNodes["a"] != reasonBinding {
					t.Errorf("then it is offered %v, and refused because of %v", *got.NodeNames, got.FailedAndUnresolvableNodes)
				}
				if got := b.bindAsIs(pod, "a"); got != errNotAsked.Error() {
					t.Errorf("bind answered %q", got)
				}
				if got := b.Cluster.Assumed(pod.UID); got != "a" {
					t.Errorf("it counts on %q, and may be bound to a", got)
				}
			})
		}
	}
}

func TestAPodThatCountsWhereItWasOfferedIsNotJudgedAgainForOthersThatCame(t *testing.T) {
	b, i := interrupted(t, benchOptions{selection: config.NodeSelectionMuster, client: bindings(accept)})
	b.Node("a", "8")
	pod := b.Pending(servertest.Pod("p", "1"))
	b.Filter(pod, "a")
	b.Filter(servertest.Pod("next", "1"), "a")
	judged := 0
	i.during["p"] = func() { judged++ }
	if got := b.bindAsIs(pod, "a"); got != "" || judged != 0 {
		t.Errorf("bind answered %q, and judged it %d times", got, judged)
	}
	q := b.Pending(servertest.Pod("q", "1"))
	b.Filter(q, "a")
	foreign := servertest.Pod("foreign", "1")
	foreign.Spec.NodeName = "a"
	b.Pending(foreign)
	i.during["q"] = func() { judged++ }
	if got := b.bindAsIs(q, "a"); got != "" || judged != 1 {
		t.Errorf("after a pod came that muster did not place, bind answered %q, and judged it %d times", got, judged)
	}
}

func TestAPodIsNotBoundNextToOneThatIsNotThereAnyMore(t *testing.T) {
	zoned := func(node *corev1.Node) { node.Labels = map[string]string{corev1.LabelTopologyZone: "z"} }
	for name, goes := range map[string]func(b *bench, first *corev1.Pod){
		"its binding has failed": func(b *bench, first *corev1.Pod) { b.Cluster.Release(first.UID) },
		"it is deleted": func(b *bench, first *corev1.Pod) {
			if err := b.Cluster.Delete(first); err != nil {
				t.Fatal(err)
			}
		},
		"its node is": func(b *bench, _ *corev1.Pod) {
			if err := b.Cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{selection: config.NodeSelectionMuster, client: bindings(accept)})
			b.Node("a", "8", zoned)
			b.Node("b", "8", zoned)
			near := servertest.Pod("near", "1")
			near.Spec.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "first"}}, TopologyKey: corev1.LabelTopologyZone,
				}}},
			}
			first := servertest.Pod("first", "1")
			first.Labels = map[string]string{"app": "first"}
			first, near = b.Pending(first), b.Pending(near)
			if got := *b.Filter(first, "b").NodeNames; len(got) != 1 {
				t.Fatalf("the first one fits %v", got)
			}
			if got := *b.Filter(near, "a").NodeNames; len(got) != 1 {
				t.Fatalf("near the first one, it fits %v", got)
			}
			goes(b, first)
			want := "the pod does not fit on node a any more: node(s) didn't match pod affinity rules"
			if got := b.bindAsIs(near, "a"); got != want {
				t.Errorf("bind answered %q, want %q", got, want)
			}
		})
	}
}

func TestOffers(t *testing.T) {
	o := newOffers()
	at := func(index int32, joined uint64) bool {
		offered, known := o.of("p")
		return known && offered.includes(&cluster.Node{Index: index, Joined: joined})
	}
	if at(3, 1) {
		t.Error("nothing was offered")
	}
	var many []int32
	for i := int32(199); i >= 0; i -= 2 {
		many = append(many, i)
	}
	for _, nodes := range [][]int32{many, {199, 3, 65}} {
		o.put(types.UID("p"), 7, nodes)
		if !at(3, 1) || !at(199, 7) || !at(65, 7) || at(4, 1) || at(3, 8) || at(201, 1) {
			t.Errorf("of %d nodes others are taken for offered", len(nodes))
		}
	}
	o.end("p")
	if at(3, 1) {
		t.Error("it is offered still")
	}
}
