package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// native has pods name one of Kubernetes' own PodGroups.
func native(pod *corev1.Pod) {
	name := pod.Labels["scheduling.x-k8s.io/pod-group"]
	pod.Labels, pod.Spec.SchedulingGroup = nil, &corev1.PodSchedulingGroup{PodGroupName: &name}
}

// asks has the watch show what a group of Kubernetes' own asks for.
func (p *process) asks(group string, asks cluster.Asks) {
	kind := schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}
	meta := &metav1.ObjectMeta{Namespace: "default", Name: group, UID: "podgroup"}
	p.cluster.Owners.Handler(kind).Set(cluster.NewOwner(kind, meta, asks))
	p.after(time.Second)
}

func three(assisted bool) cluster.Asks {
	return cluster.Asks{Roles: []cluster.Role{{Min: 3, All: 3}}, Assisted: assisted}
}

func TestBindCallsAreNotHeldForAGroupThatKubeSchedulerStarts(t *testing.T) {
	for name, test := range map[string]struct {
		asks cluster.Asks
		held bool
	}{
		"nobody else starts it":  {three(false), true},
		"kube-scheduler does so": {three(true), false},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "1", native)
				p.set(node("a", "8"))
				p.set(objects(pods)...)
				p.asks("g", test.asks)
				p.filter(pods[0])
				if call := p.bind(pods[0], "a"); call.held() != test.held || call.err != nil {
					t.Errorf("the call of one of three is held: %t, want %t, and ends with %v", call.held(), test.held, call.err)
				}
			})
		})
	}
}

func TestCallsThatAreHeldGoOnWhenKubeSchedulerSaysThatItStartsTheGroup(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1", native)
		p.set(node("a", "8"))
		p.set(objects(pods)...)
		p.asks("g", three(false))
		calls := p.start(pods[:2]...)
		if !calls[0].held() {
			t.Fatal("a call is not held before")
		}
		p.asks("g", three(true))
		for _, call := range calls {
			if call.held() || call.err != nil {
				t.Errorf("the call of %s is held: %t, and ends with %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

// A group that asks for a topology is left to kube-scheduler as soon as that is seen to start it.
func TestCallsThatAreHeldGoOnWhenTheGroupIsLeftToKubeScheduler(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1", native)
		p.set(inRack(node("a", "8"), "b", "r"))
		p.set(objects(pods)...)
		near := three(false)
		near.Network = map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}
		p.asks("g", near)
		calls := p.start(pods[:2]...)
		if !calls[0].held() {
			t.Fatal("a call is not held before")
		}
		p.asks("g", cluster.Asks{Left: "it starts it"})
		for _, call := range calls {
			if call.held() || call.err != nil {
				t.Errorf("the call of %s is held: %t, and ends with %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestAGroupOfKubernetesOwnIsPlacedInOneDomain(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 2})
		pods := members("g", 4, "1", native)
		p.set(objects(pods)...)
		p.asks("g", cluster.Asks{
			Roles: []cluster.Role{{Min: 4, All: 4}}, Network: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey},
		})
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"a-s": 4})
	})
}

func TestAGroupThatKubeSchedulerStartsIsPlannedWhole(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "2", native)
		p.set(node("a", "4"))
		p.set(objects(pods)...)
		p.asks("g", three(true))
		if told := p.filter(pods[0]); told != core.ReasonNoPlace {
			t.Errorf("the first of three is told %q", told)
		}
		p.set(node("b", "4"))
		p.after(10 * time.Second)
		for _, pod := range pods {
			if told := p.filter(pod); told != "a" && told != "b" {
				t.Errorf("%s is told %q", pod.Name, told)
			}
		}
	})
}

// Until one of them is bound, all of them are refused when their plan has ended since kube-scheduler's cycle.
func TestAGroupThatKubeSchedulerStartsIsNotBoundInPartWhenItsPlanHasEnded(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1", native)
		p.set(node("a", "8"))
		p.set(objects(pods)...)
		p.asks("g", three(true))
		for _, pod := range pods {
			p.filter(pod)
		}
		p.after(time.Hour)
		p.set(cordoned("a", "8"))
		for _, call := range []*call{p.bind(pods[0], "a"), p.bind(pods[1], "a")} {
			if call.held() || call.err == nil {
				t.Errorf("%s is bound without a plan: held %t", call.pod.Name, call.held())
			}
		}
	})
}

// kube-scheduler's own search for victims asks filter, which sees them where they are. So muster makes the room.
func TestPodsAreEvictedForAGroupThatKubeSchedulerStarts(t *testing.T) {
	run(t, func(p *process) {
		p.running(3)
		gang := members("g", 3, "3", native, ofPriority(10))
		p.set(objects(gang)...)
		p.asks("g", three(true))
		p.filter(gang[0])
		p.after(time.Minute)
		if writes := p.written(); !slices.ContainsFunc(writes, func(write string) bool { return strings.HasPrefix(write, "evict ") }) {
			t.Errorf("nobody is evicted: %q", writes)
		}
	})
}
