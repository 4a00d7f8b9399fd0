package predicates

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// spreadBy gives a pod a constraint about the pods of app web.
func spreadBy(
	key string, maxSkew int32, action corev1.UnsatisfiableConstraintAction, change ...func(*corev1.TopologySpreadConstraint),
) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: maxSkew, WhenUnsatisfiable: action,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}
		for _, f := range change {
			f(&c)
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func selectingBy(selector *metav1.LabelSelector) func(*corev1.TopologySpreadConstraint) {
	return func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = selector }
}

// about makes a constraint one about the pods of another app.
func about(app string) func(*corev1.TopologySpreadConstraint) {
	return func(c *corev1.TopologySpreadConstraint) { c.LabelSelector.MatchLabels["app"] = app }
}

func atLeastDomains(n int32) func(*corev1.TopologySpreadConstraint) {
	return func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &n }
}

func includingNodes(affinity, taints corev1.NodeInclusionPolicy) func(*corev1.TopologySpreadConstraint) {
	return func(c *corev1.TopologySpreadConstraint) {
		c.NodeAffinityPolicy, c.NodeTaintsPolicy = &affinity, &taints
	}
}

// web is a pod of app web, placed on a node unless that is "".
func web(on string, change ...func(*corev1.Pod)) *corev1.Pod {
	return pod(append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.Spec.NodeName, p.Labels = on, map[string]string{"app": "web"}
	}}, change...)...)
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }

func within(namespace string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = namespace }
}

func wearing(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
}

func controlled(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(kind + name), Controller: &yes},
		}
	}
}

func service(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec:       corev1.ServiceSpec{Selector: selector},
	}
}

func inZone(zone, name string, change ...func(*corev1.Node)) *corev1.Node {
	return node(append([]func(*corev1.Node){labelled("zone", zone), called(name)}, change...)...)
}

func TestPodTopologySpread(t *testing.T) {
	const reason = "node(s) didn't match pod topology spread constraints"
	const missing = "node(s) didn't match pod topology spread constraints (missing required label)"
	const hard, honor, ignore = corev1.DoNotSchedule, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	byZone := func(maxSkew int32, change ...func(*corev1.TopologySpreadConstraint)) *corev1.Pod {
		return web("", spreadBy("zone", maxSkew, hard, change...))
	}
	zoneA := inZone("a", "node")
	// beside is zone a with the node that is asked about, and zone b, with pods on them.
	beside := func(pod *corev1.Pod, placed ...*corev1.Pod) scene {
		return scene{node: zoneA, others: []*corev1.Node{inZone("b", "other")}, placed: placed, pod: pod}
	}
	with := func(s scene, others ...*corev1.Node) scene {
		s.others = append(s.others, others...)
		return s
	}
	ssd := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	inA := func() *corev1.Pod { return web("node") }
	noExecute := tainted("dedicated", "gpu", corev1.TaintEffectNoExecute)
	preferNot := tainted("dedicated", "gpu", corev1.TaintEffectPreferNoSchedule)
	tolerant := tolerating(corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})
	list := &config.PodTopologySpreadArgs{
		DefaultingType:     config.ListDefaulting,
		DefaultConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: hard}},
	}
	served := func(pod *corev1.Pod, service *corev1.Service) scene {
		s := beside(pod, inA())
		s.objects = []runtime.Object{service}
		return s
	}
	ofWeb := map[string]string{"app": "web"}

	checkVerdicts(t, config.PodTopologySpread, []verdictCase{
		{name: "a pod without constraints fits everywhere", everywhere: true, scene: beside(web(""), inA())},
		{
			name:       "a constraint to schedule anyway rejects nothing",
			everywhere: true,
			scene:      beside(web("", spreadBy("zone", 1, corev1.ScheduleAnyway)), inA()),
		},
		{name: "the first pod fits", scene: beside(byZone(1))},
		{name: "a zone that is one ahead takes no more", scene: beside(byZone(1), inA()), reason: reason, resolvable: true},
		{name: "a zone that is behind takes more", scene: beside(byZone(1), web("other"))},
		{name: "a zone that the others caught up with takes more", scene: beside(byZone(1), inA(), web("other"))},
		{name: "a greater skew may be reached", scene: beside(byZone(2), inA())},
		{name: "a greater skew may not be passed", scene: beside(byZone(2), inA(), inA()), reason: reason, resolvable: true},
		{
			name:       "pods on other nodes of the zone count",
			scene:      with(beside(byZone(1), web("third")), inZone("a", "third")),
			reason:     reason,
			resolvable: true,
		},
		{name: "a pod that its constraint is not about adds nothing", scene: beside(pod(spreadBy("zone", 1, hard)), inA())},
		{name: "pods that the selector leaves out do not count", scene: beside(byZone(1), pod())},
		{name: "pods of other namespaces do not count", scene: beside(byZone(1), web("node", within("other")))},
		{name: "pods that are on their way out do not count", scene: beside(byZone(1), web("node", terminating))},
		{name: "a selector of everything counts no pods", scene: beside(byZone(1, selectingBy(&metav1.LabelSelector{})), inA())},
		{name: "no selector counts no pods", scene: beside(byZone(1, selectingBy(nil)), inA())},
		{name: "pods that differ under a label key to match do not count", scene: beside(
			web(
				"", wearing("version", "2"),
				spreadBy("zone", 1, hard, func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"version"} }),
			),
			web("node", wearing("version", "1")),
		)},
		{name: "pods that agree under the label keys to match count", reason: reason, resolvable: true, scene: beside(
			web(
				"", wearing("version", "2"),
				spreadBy("zone", 1, hard, func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"version", "absent"} }),
			),
			web("node", wearing("version", "2")),
		)},

		{
			name:   "a node without the label takes none, which eviction does not change",
			scene:  scene{node: node(), pod: byZone(1)},
			reason: missing,
		},
		{
			name:       "an empty label is a zone",
			scene:      with(scene{node: inZone("", "node"), placed: []*corev1.Pod{inA()}, pod: byZone(1)}, inZone("b", "other")),
			reason:     reason,
			resolvable: true,
		},
		{name: "the only zone is never ahead", scene: scene{node: zoneA, placed: []*corev1.Pod{inA(), inA()}, pod: byZone(1)}},
		{
			name:       "a constraint comes after another one",
			scene:      beside(web("", spreadBy("zone", 5, hard), spreadBy("zone", 1, hard)), inA()),
			reason:     reason,
			resolvable: true,
		},
		{
			name:   "a label is missing for the second constraint",
			scene:  beside(web("", spreadBy("zone", 5, hard), spreadBy("rack", 1, hard))),
			reason: missing,
		},
		{
			name:   "the first constraint that is broken counts",
			scene:  beside(web("", spreadBy("zone", 1, hard), spreadBy("rack", 1, hard)), inA()),
			reason: missing,
		},
		{
			name: "a node that lacks the label of another constraint makes no zone", scene: with(scene{
				node:   inZone("a", "node", labelled("rack", "1")),
				placed: []*corev1.Pod{inA()},
				pod:    web("", spreadBy("zone", 1, hard), spreadBy("rack", 5, hard)),
			}, inZone("b", "other")),
		},

		{name: "a zone that the selector of nodes leaves out is not behind", scene: scene{
			node: inZone("a", "node", labelled("disk", "ssd")), others: []*corev1.Node{inZone("b", "other")}, placed: []*corev1.Pod{inA()},
			pod: web("", ssd, spreadBy("zone", 1, hard)),
		}},
		{name: "it is when the policy ignores affinity", reason: reason, resolvable: true, scene: scene{
			node: inZone("a", "node", labelled("disk", "ssd")), others: []*corev1.Node{inZone("b", "other")}, placed: []*corev1.Pod{inA()},
			pod: web("", ssd, spreadBy("zone", 1, hard, includingNodes(ignore, ignore))),
		}},
		{name: "pods on nodes that are left out do not count", scene: scene{
			node:   inZone("a", "node", labelled("disk", "ssd")),
			others: []*corev1.Node{inZone("a", "third"), inZone("b", "other", labelled("disk", "ssd"))},
			placed: []*corev1.Pod{web("third"), web("third")},
			pod:    web("", ssd, spreadBy("zone", 1, hard)),
		}},
		{
			name:       "a tainted zone is behind by default",
			reason:     reason,
			resolvable: true,
			scene:      with(scene{node: zoneA, placed: []*corev1.Pod{inA()}, pod: byZone(1)}, inZone("b", "other", noExecute)),
		},
		{
			name: "it is not when the policy honors taints",
			scene: with(
				scene{node: zoneA, placed: []*corev1.Pod{inA()}, pod: byZone(1, includingNodes(honor, honor))}, inZone("b", "other", noExecute),
			),
		},
		{name: "a taint that is tolerated does not matter then", reason: reason, resolvable: true, scene: with(scene{
			node: zoneA, placed: []*corev1.Pod{inA()}, pod: web("", tolerant, spreadBy("zone", 1, hard, includingNodes(honor, honor))),
		}, inZone("b", "other", noExecute))},
		{name: "nor does one that keeps no pods off", reason: reason, resolvable: true, scene: with(scene{
			node: zoneA, placed: []*corev1.Pod{inA()}, pod: byZone(1, includingNodes(honor, honor)),
		}, inZone("b", "other", preferNot))},

		{
			name:       "with too few zones the emptiest counts as empty",
			scene:      beside(byZone(1, atLeastDomains(3)), inA(), web("other")),
			reason:     reason,
			resolvable: true,
		},
		{name: "with enough of them it does not", scene: beside(byZone(1, atLeastDomains(2)), inA(), web("other"))},

		{
			name:   "more constraints than there may be reject everywhere",
			reason: "pod has more than 100 topology spread constraints, or requirements in one",
			scene: beside(pod(func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = slices.Repeat(
					[]corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 5, WhenUnsatisfiable: hard, LabelSelector: &metav1.LabelSelector{}}},
					101,
				)
			})),
		},
		{
			name:   "a selector that does not parse rejects everywhere",
			reason: "pod has a malformed topology spread constraint",
			scene:  beside(byZone(1, about("no value: of a label"))),
		},

		{
			name:       "a listed default constraint spreads the pods of a service",
			args:       list,
			scene:      served(web(""), service("web", ofWeb)),
			reason:     reason,
			resolvable: true,
		},
		{name: "pods that nothing selects are not spread", args: list, scene: served(web(""), service("db", map[string]string{"app": "db"}))},
		{
			name:  "a constraint of the pod's own replaces the default ones",
			args:  list,
			scene: served(web("", spreadBy("zone", 2, hard)), service("web", ofWeb)),
		},
		{
			name:       "so does one to schedule anyway",
			args:       list,
			everywhere: true,
			scene:      served(web("", spreadBy("zone", 2, corev1.ScheduleAnyway)), service("web", ofWeb)),
		},
		{name: "the system's default constraints reject nothing", everywhere: true, scene: served(web(""), service("web", ofWeb))},
	})
}

// TestOnlyWhatAnotherNodeTurnedIsVisited changes one of two zones with two nodes each.
func TestOnlyWhatAnotherNodeTurnedIsVisited(t *testing.T) {
	const hard = corev1.DoNotSchedule
	everywhere := []string{"a1", "a2", "b1", "b2"}
	for _, test := range []struct {
		name   string
		placed []*corev1.Pod
		pod    *corev1.Pod
		change runtime.Object
		want   []string
	}{
		{"a zone got all that it may have", nil, web("", spreadBy("zone", 1, hard)), web("a1"), []string{"a1", "a2"}},
		{"a zone got less than it may have", nil, web("", spreadBy("zone", 2, hard)), web("a1"), nil},
		{"a zone that had too much got more", []*corev1.Pod{web("a1"), web("a1")}, web("", spreadBy("zone", 1, hard)), web("a2"), nil},
		{"the emptiest zone got more", []*corev1.Pod{web("a1")}, web("", spreadBy("zone", 1, hard)), web("b1"), everywhere},
		{"one of two emptiest zones got more", []*corev1.Pod{web("a1"), web("b1")}, web("", spreadBy("zone", 5, hard)), web("b1"), nil},
		{
			"a zone came that is as empty as counted",
			[]*corev1.Pod{web("a1"), web("b1")},
			web("", spreadBy("zone", 1, hard, atLeastDomains(3))), inZone("c", "c1"), nil,
		},
		{
			"a zone came that is emptier",
			[]*corev1.Pod{web("a1"), web("b1")},
			web("", spreadBy("zone", 1, hard)), inZone("c", "c1"),
			append(everywhere, "c1"),
		},
		{"a node came to a zone", nil, web("", spreadBy("zone", 1, hard)), inZone("a", "a3"), nil},
		{
			"a full zone lost a node, and its pods do not count",
			[]*corev1.Pod{web("a1"), web("b1")},
			web("", spreadBy("zone", 2, hard, atLeastDomains(3))), node(called("a1")), nil,
		},
		{
			"a zone that was too full lost a node",
			[]*corev1.Pod{web("a1"), web("b1")},
			web("", spreadBy("zone", 1, hard, atLeastDomains(3))), node(called("a1")),
			[]string{"a2"},
		},
		{"a pod came that is not spread", nil, pod(spreadBy("zone", 1, hard, selectingBy(nil))), web("a1"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster()
			set := func(object runtime.Object) {
				if err := c.Set(object); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range everywhere {
				set(inZone(name[:1], name))
			}
			for i, placed := range test.placed {
				placed.UID = types.UID(fmt.Sprint("placed-", i))
				set(placed)
			}
			predicate, err := newPodTopologySpread(&config.Profile{})
			if err != nil {
				t.Fatal(err)
			}
			before := c.Snapshot()
			check, _ := predicate.For(cluster.NewPod(test.pod), before).(Spanning)
			check.Update(before, indexes(before))
			check.Turned(func(int32) {}) // all nodes are judged anyway
			set(test.change)
			after := c.Snapshot()
			changes, _ := after.Since(before.Generation)
			for _, change := range changes {
				check.Update(after, []int32{change.Node})
			}
			var got []string
			check.Turned(func(index int32) { got = append(got, after.Node(index).Name) })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("turned (-want +got):\n%s", diff)
			}
			check.Turned(func(index int32) { t.Errorf("node %d turned twice", index) })
		})
	}
}
