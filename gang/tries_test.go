package gang

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// idle has the scheduler ask about a pod a number of times, every five seconds, and never bind it. It returns
// how often the pod had a place.
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

// rested is how long it takes until the group of a pod is planned again.
func (p *process) rested(pod *corev1.Pod) time.Duration {
	p.Helper()
	since := time.Now()
	for p.Observer.Report()[0].Planned.IsZero() && time.Since(since) < 2*time.Hour {
		p.idle(pod, 1)
	}
	return time.Since(since)
}

func TestAGangThatTheSchedulerDoesNotBindHoldsItsPlacesForASmallShareOfTheTime(t *testing.T) {
	if testing.Short() {
		t.Skip("14 hours pass in it: make test-long runs this")
	}
	for name, timeout := range map[string]int64{"by default": 60, "when it may take long": 600} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), podGroup("g", 2, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = timeout }))
				p.set(objects(pods)...)
				p.idle(pods[0], 2000)
				try := time.Duration(timeout) * time.Second
				rest := max(10*time.Minute, 9*try)
				const later = 3000
				if placed := p.idle(pods[0], later); placed*int(try+rest) > later*int(try)*5/4 {
					t.Errorf("it has its places %d of %d times, and tries for %s and rests for %s", placed, later, try, rest)
				}
				for p.Observer.Report()[0].Planned.IsZero() {
					p.idle(pods[0], 1)
				}
				for !p.Observer.Report()[0].Planned.IsZero() {
					p.idle(pods[0], 1)
				}
				if rested := p.rested(pods[0]); rested < rest-20*time.Second || rested > rest+20*time.Second {
					t.Errorf("it rests for %s, want %s", rested, rest)
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
		{
			"not when a node comes before it has rested for as long as it tried",
			func(p *process, _ []*corev1.Pod) { p.set(node("b", "8")) }, false,
		},
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
				for p.Observer.Report()[0].Denied.IsZero() || !strings.Contains(p.why("g"), "tried 4 times, next try at 20") {
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

func TestANodeThatJoinsEndsARestAsLongAsTheTry(t *testing.T) {
	for _, test := range []struct {
		name string
		at   time.Duration // since the rest began
		then func(p *process)
		rest time.Duration
	}{
		{"soon", 10 * time.Second, func(p *process) { p.set(node("b", "8")) }, time.Minute},
		{"later", 90 * time.Second, func(p *process) { p.set(node("b", "8")) }, 90 * time.Second},
		{"but not when one goes", 90 * time.Second, func(p *process) { _ = p.cluster.Delete(node("idle", "1")) }, 192 * time.Second},
		{
			"or room becomes free", 90 * time.Second, func(p *process) { p.delete(members("idle", 1, "1", alone, on("idle"))...) },
			192 * time.Second,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), node("idle", "1"), members("idle", 1, "1", alone, on("idle"))[0], podGroup("g", 2))
				p.set(objects(pods)...)
				for !strings.Contains(p.why("g"), "tried 7 times") {
					p.idle(pods[0], 1)
				}
				since := time.Now()
				p.after(test.at)
				test.then(p)
				p.rested(pods[0])
				if got := time.Since(since); got < test.rest-10*time.Second || got > test.rest+10*time.Second {
					t.Errorf("it rested for %s, want %s", got, test.rest)
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
		for p.Observer.Report()[0].Planned.IsZero() == p.Observer.Report()[0].Denied.IsZero() { // until it rests
			p.after(time.Second)
		}
		for _, call := range p.start(pods...) {
			p.wantHeld("when the scheduler is back", false, call)
		}
	})
}

func annotated(group *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	group.SetAnnotations(map[string]string{key: value})
	return group
}
