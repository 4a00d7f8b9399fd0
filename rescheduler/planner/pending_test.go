package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func TestPodsWaitThatSomebodyIsToPlace(t *testing.T) {
	gated := func(gates ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, gate := range gates {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
			}
		}
	}
	s := newScene()
	for _, object := range []runtime.Object{
		node("a", "4"), pod("bound", "a", "1"), pod("waits", "", "1"), pod("of-us", "", "1", gated(v1alpha1.SchedulingGate)),
		pod("of-others", "", "1", gated("example.com/quota")), pod("of-both", "", "1", gated(v1alpha1.SchedulingGate, "example.com/quota")),
		pod("ends", "", "1", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now())) }),
	} {
		if err := s.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, pod := range Waiting(s.cluster) {
		got = append(got, pod.Name)
	}
	if diff := cmp.Diff([]string{"of-us", "waits"}, got); diff != "" {
		t.Errorf("pods that wait (-want +got):\n%s", diff)
	}
}

func podGroup(name string, spec map[string]any, says ...string) *unstructured.Unstructured {
	annotations := map[string]any{}
	for i := 0; i < len(says); i += 2 {
		annotations[says[i]] = says[i+1]
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name, "namespace": "default", "annotations": annotations}, "spec": spec,
	}}
}

func ofGroup(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[v1alpha1.LabelX] = name }
}

// lined is a group of a test.
type lined struct {
	Name          string
	Pods, AtLeast int
	Why           string
}

func (s *scene) lined() (groups []lined) {
	for _, g := range s.groups() {
		l := lined{g.Name, len(g.Pods), g.AtLeast, g.Hindrance}
		if g.Why != "" {
			l.Why += ": " + g.Why
		}
		if g.Hindrance != "" {
			l.AtLeast = 0 // more than there are
		}
		groups = append(groups, l)
	}
	return groups
}

func TestPendingPodsOfAGangAreOneGroup(t *testing.T) {
	s := newScene()
	two := map[string]any{"minMember": int64(2)}
	satisfied := podGroup("k", two, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnceSatisfied))
	satisfied.Object["status"] = map[string]any{"phase": string(v1alpha1.PodGroupRunning)}
	for _, object := range []*unstructured.Unstructured{
		podGroup("h", two), satisfied, podGroup("l", two, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnlyWaiting)),
	} {
		s.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), object)
	}
	s.set(
		t, node("a", "4"), pod("g-9", "a", "1", inGang("g", 3)), pod("l-9", "a", "1", ofGroup("l")),
		pod("x-1", "", "1"), pod("g-1", "", "1", inGang("g", 3)), pod("g-2", "", "1", inGang("g", 3)), pod("g-3", "", "1", inGang("g", 3)),
		pod("h-1", "", "1", ofGroup("h")), pod("h-2", "", "1", ofGroup("h")), pod("h-3", "", "1", ofGroup("h")),
		pod("k-1", "", "1", ofGroup("k")), pod("l-1", "", "1", ofGroup("l")), pod("l-2", "", "1", ofGroup("l")),
	)
	want := []lined{
		{"default/g", 3, 2, ""},   // of three, one is there
		{"default/h", 3, 2, ""},   // as its PodGroup says
		{"default/k", 1, 1, ""},   // it has started once, which is enough
		{"default/l", 2, 2, ""},   // each batch is one of its own
		{"default/x-1", 1, 1, ""}, // a pod for itself
	}
	if diff := cmp.Diff(want, s.lined()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestWhoWillNotStartGetsNoRoom(t *testing.T) {
	two := map[string]any{"minMember": int64(2)}
	claims := func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }
	for name, test := range map[string]struct {
		objects []*unstructured.Unstructured
		pods    []runtime.Object
		want    []lined
	}{
		"there is no PodGroup": {
			pods: []runtime.Object{pod("g-1", "", "4", ofGroup("g"))},
			want: []lined{{"default/g", 1, 0, "the gang cannot start: there is no PodGroup g in namespace default, and no member says " +
				v1alpha1.AnnotationMinMember}},
		},
		"what its members say is not valid": {
			pods: []runtime.Object{pod("g-1", "", "4", inGang("g", 1_000_000))},
			want: []lined{{"default/g", 1, 0, "the gang cannot start: " + v1alpha1.AnnotationMinMember +
				": 1000000 is more than a gang may have here, which is 10000"}},
		},
		"its PodGroup is not valid": {
			objects: []*unstructured.Unstructured{podGroup("g", two, v1alpha1.AnnotationMatchPolicy, "maybe")},
			pods:    []runtime.Object{pod("g-1", "", "4", ofGroup("g")), pod("g-2", "", "4", ofGroup("g"))},
			want:    []lined{{"default/g", 2, 0, "the gang cannot start: "}},
		},
		"it asks for slices": {
			objects: []*unstructured.Unstructured{podGroup("g", two, v1alpha1.AnnotationTopologySlices, "2@example.com/rack")},
			pods:    []runtime.Object{pod("g-1", "", "4", ofGroup("g")), pod("g-2", "", "4", ofGroup("g"))},
			want:    []lined{{"default/g", 2, 0, ReasonTopology}},
		},
		"it starts with another one, and has to be near each other": {
			objects: []*unstructured.Unstructured{
				podGroup("g", map[string]any{"minMember": int64(1)}, v1alpha1.AnnotationGroups, `["default/g", "default/h"]`,
					v1alpha1.AnnotationRequiredTopology, "example.com/rack"),
				podGroup("h", map[string]any{"minMember": int64(1)}, v1alpha1.AnnotationGroups, `["default/g", "default/h"]`),
			},
			pods: []runtime.Object{pod("g-1", "", "4", ofGroup("g")), pod("h-1", "", "4", ofGroup("h"))},
			want: []lined{{"default/g and default/h", 2, 0, ReasonTopology}},
		},
		"less is free than its minResources": {
			objects: []*unstructured.Unstructured{
				podGroup("g", map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "100"}}),
			},
			pods: []runtime.Object{pod("g-1", "", "4", ofGroup("g"))},
			want: []lined{{"default/g", 1, 0, "the gang cannot start before all nodes together have more free: " +
				"minResources asks for 100 of cpu, and the nodes have less free"}},
		},
		"kube-scheduler plans its group": {
			pods: []runtime.Object{pod("n-1", "", "4", ofKubernetesOwnGroup("native"))},
			want: []lined{{"default/n-1", 1, 0, "kube-scheduler itself plans the group of the pod"}},
		},
		"its claim is not there": {
			pods: []runtime.Object{pod("d-1", "", "4", claims)},
			want: []lined{{"default/d-1", 1, 0, "a ResourceClaim that it names is not there, is being deleted or is not its own"}},
		},
		"the claim of a member is not there": {
			pods: []runtime.Object{pod("g-1", "", "4", inGang("g", 2)), pod("g-2", "", "4", inGang("g", 2), claims)},
			want: []lined{{"default/g", 2, 0, "a ResourceClaim that it names is not there, is being deleted or is not its own"}},
		},
		"the other half of its bundle is not there": {
			objects: []*unstructured.Unstructured{podGroup("g", two, v1alpha1.AnnotationGroups, `["default/g", "default/h"]`)},
			pods:    []runtime.Object{pod("g-1", "", "4", ofGroup("g")), pod("g-2", "", "4", ofGroup("g"))},
			want: []lined{{
				"default/g", 2, 0,
				"the gang cannot start: waiting for members of default/h, with which it starts together, to be created",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Without a hindrance, s-1 would make room by moving to b.
			s := newScene()
			for _, object := range test.objects {
				s.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), object)
			}
			s.set(t, node("a", "4"), node("b", "1"), pod("s-1", "a", "1"), claimMadeFor("another", ""))
			s.set(t, test.pods...)
			got := s.lined()
			for i := range got {
				if name == "its PodGroup is not valid" { // package v1alpha1 writes the text
					got[i].Why, _, _ = strings.Cut(got[i].Why, "metadata")
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			plan := s.problem(t).MakeRoom(s.groups())
			if len(plan.Steps)+len(plan.Placements) > 0 || len(plan.Unplaced) != 1 {
				t.Fatalf("%d steps, %d placements, not placed: %v", len(plan.Steps), len(plan.Placements), plan.Unplaced)
			}
			if got := plan.Unplaced[0].String(); name != "its PodGroup is not valid" && got != test.want[0].Why {
				t.Errorf("it is said %q, want %q", got, test.want[0].Why)
			}
		})
	}
}

func TestHalfOfABundleGetsNoRoomWithoutTheOther(t *testing.T) {
	for name, test := range map[string]struct {
		b     string // how much the other node has
		steps int
	}{
		"the other half fits":    {"5", 1},
		"it fits nowhere at all": {"2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			one := map[string]any{"minMember": int64(1)}
			for _, name := range []string{"g", "h"} {
				s.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), podGroup(name, one, v1alpha1.AnnotationGroups, `["default/g", "default/h"]`))
			}
			s.set(
				t, node("a", "4"), node("b", test.b), pod("s-1", "a", "1"),
				pod("g-1", "", "4", ofGroup("g")), pod("h-1", "", "4", ofGroup("h")), pod("h-2", "", "1", ofGroup("h")),
			)
			if diff := cmp.Diff([]lined{{"default/g and default/h", 2, 2, ""}}, s.lined()); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if plan := s.problem(t).MakeRoom(s.groups()); len(plan.Steps) != test.steps || len(plan.Placements) != 2*test.steps {
				t.Errorf("%d steps, %d placements", len(plan.Steps), len(plan.Placements))
			}
		})
	}
}

// A tree gets room for the gangs that start together, and no gang is counted twice.
func TestGangsOfATreeAreGroupsAsTheyStart(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "4"))
	for name, above := range map[string][]cluster.GroupOfGroups{
		"a": {{Name: "root", AtLeast: 2}}, "b": {{Name: "root", AtLeast: 2}}, "c": {{Name: "root", AtLeast: 2}},
		"d": {{Name: "other", AtLeast: 2}},
	} {
		waits := cluster.NewPod(pod(name+"-1", "", "1"))
		waits.Affiliation = cluster.Affiliation{Kind: "Group", Gang: name, MinMember: 1, Above: above}
		s.waiting = append(s.waiting, waits)
	}
	want := []lined{
		{"default/a and default/b", 2, 2, ""},
		{"default/c", 1, 0, "the gang cannot start: other gangs of its tree of groups start before it"},
		{"default/d", 1, 0, "the gang cannot start: waiting for members of 1 more of the groups of other to be created"},
	}
	if diff := cmp.Diff(want, s.lined()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
