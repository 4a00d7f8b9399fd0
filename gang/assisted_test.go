package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

func three(assisted, started bool) cluster.Asks {
	return cluster.Asks{Roles: []cluster.Role{{Min: 3, All: 3}}, Assisted: assisted, Started: started}
}

func TestBindCallsAreNotHeldForAGroupThatKubeSchedulerStarts(t *testing.T) {
	for name, test := range map[string]struct {
		asks cluster.Asks
		held bool
	}{
		"nobody else starts it":    {three(false, false), true},
		"kube-scheduler has tried": {three(true, false), false},
		"and has started it":       {three(true, true), false},
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

func TestCallsThatAreHeldGoOnWhenKubeSchedulerSaysThatItHasStartedTheGroup(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1", native)
		p.set(node("a", "8"))
		p.set(objects(pods)...)
		p.asks("g", three(false, false))
		calls := p.start(pods[:2]...)
		if !calls[0].held() {
			t.Fatal("a call is not held before")
		}
		p.asks("g", three(true, true))
		for _, call := range calls {
			if call.held() || call.err != nil {
				t.Errorf("the call of %s is held: %t, and ends with %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestAGroupThatKubeSchedulerStartsIsPlannedWhole(t *testing.T) {
	for name, test := range map[string]struct {
		asks cluster.Asks
		told string
	}{
		"three have to start together":   {three(true, false), core.ReasonNoPlace},
		"it has started, as room allows": {three(true, true), "any"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "2", native)
				p.set(node("a", "4"))
				p.set(objects(pods)...)
				p.asks("g", test.asks)
				if told := p.filter(pods[0]); told != test.told {
					t.Errorf("the first of three is told %q", told)
				}
			})
		})
	}
}

func TestNobodyIsEvictedForAGroupThatKubeSchedulerStarts(t *testing.T) {
	for name, assisted := range map[string]bool{"muster starts it": false, "kube-scheduler does": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.running(3)
				gang := members("g", 3, "3", native, ofPriority(10))
				p.set(objects(gang)...)
				p.asks("g", three(assisted, false))
				p.filter(gang[0])
				if asked := p.preempt(gang[0]) != ""; asked == assisted {
					t.Errorf("kube-scheduler is told to evict: %t", asked)
				}
				p.after(time.Minute)
				evicted := slices.ContainsFunc(p.written(), func(write string) bool { return strings.HasPrefix(write, "evict ") })
				if evicted == assisted {
					t.Errorf("muster evicts: %t", evicted)
				}
			})
		})
	}
}
