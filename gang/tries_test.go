package gang

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// idle has the scheduler ask about a pod so many times, every five seconds, and never bind it. It
// returns how often the pod had a place.
func (p *process) idle(pod *corev1.Pod, times int) (placed int) {
	p.Helper()
	for range times {
		p.filter(pod)
		if p.cluster.Assumed(pod.UID) != "" {
			placed++
		}
		p.after(5 * time.Second)
	}
	return placed
}

func TestAGangThatTheSchedulerDoesNotBindHoldsItsPlacesForASmallShareOfTheTime(t *testing.T) {
	for name, timeout := range map[string]int64{"by default": 60, "when it may take long": 300} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), podGroup("g", 2, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = timeout }))
				p.set(objects(pods)...)
				p.idle(pods[0], 3000)
				const later = 7000
				if placed := p.idle(pods[0], later); placed == 0 || placed*restShare > later {
					t.Errorf("it has its places %d of %d times", placed, later)
				}
			})
		})
	}
}

func TestTheRestOfAGangEnds(t *testing.T) {
	long := func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(120) }
	running := podGroup("g", 2)
	running.Object["status"] = map[string]any{"phase": string(v1alpha1.PodGroupPreScheduling)}
	for _, test := range []struct {
		name string
		then func(p *process, pods []*corev1.Pod)
		ends bool
	}{
		{"not by itself, within a second", func(*process, []*corev1.Pod) {}, false},
		{"not when a node comes", func(p *process, _ []*corev1.Pod) { p.set(node("b", "8")) }, false},
		{"not when the status of its PodGroup changes", func(p *process, _ []*corev1.Pod) { p.set(running) }, false},
		{"when a member comes", func(p *process, _ []*corev1.Pod) { p.set(members("g", 4, "1")[3]) }, true},
		{"when a member goes", func(p *process, pods []*corev1.Pod) { p.delete(pods[2]) }, true},
		{"when another minMember is asked for", func(p *process, _ []*corev1.Pod) { p.set(podGroup("g", 3)) }, true},
		{"when it may take longer", func(p *process, _ []*corev1.Pod) { p.set(podGroup("g", 2, long)) }, true},
		{"when other resources are asked for", func(p *process, _ []*corev1.Pod) {
			p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "2"} }))
		}, true},
		{"when another policy is asked for", func(p *process, _ []*corev1.Pod) {
			p.set(annotated(podGroup("g", 2), v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnceSatisfied)))
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "1")
				p.set(node("a", "8"), podGroup("g", 2))
				p.set(objects(pods)...)
				for p.Report()[0].Denied.IsZero() || !strings.Contains(p.why("g"), "tried 4 times, next try at 20") {
					p.idle(pods[0], 1)
				}
				p.after(4 * time.Second) // a denial is over
				test.then(p, pods)
				p.after(time.Second)
				if got := p.cluster.Assumed(pods[0].UID) != ""; got != test.ends {
					t.Errorf("it has places: %t; it waits because: %s", got, p.why("g"))
				}
				if got := p.filter(pods[0]); (got == "a") != test.ends {
					t.Errorf("the scheduler is told %q", got)
				}
			})
		})
	}
}

func TestASchedulerThatDoesNotAskHasRefusedNobody(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Hour)
		if got := p.why("g"); strings.Contains(got, "tried") {
			t.Errorf("it waits because: %s", got)
		}
		p.after(4 * time.Second)
		for _, call := range p.start(pods...) {
			p.wantHeld("when the scheduler is back", false, call)
		}
	})
}

func annotated(group *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	group.SetAnnotations(map[string]string{key: value})
	return group
}
