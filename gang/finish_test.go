package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// ended is the report of a finished pod by the watch.
func ended(pod *corev1.Pod, phase corev1.PodPhase) finished.Pod {
	key, _ := membership.Marked(pod)
	return finished.Pod{UID: pod.UID, Label: key.Label, Group: key.NamespacedName, Created: pod.CreationTimestamp.Time, Phase: phase}
}

// finish has pods finish. The watch of finished pods may be ahead of the cluster's.
func (p *process) finish(phase corev1.PodPhase, pods ...*corev1.Pod) {
	p.Helper()
	for _, pod := range pods {
		p.Finished(ended(pod, phase))
	}
	p.delete(pods...)
}

func TestReplacementsJoinThoseThatHaveSucceeded(t *testing.T) {
	for _, test := range []struct {
		name   string
		phase  corev1.PodPhase
		policy v1alpha1.MatchPolicy
		want   string
	}{
		{"one that has succeeded was started", corev1.PodSucceeded, v1alpha1.MatchWaitingAndBound, "a"},
		{"one that has failed has to be replaced", corev1.PodFailed, v1alpha1.MatchWaitingAndBound, core.ReasonSiblings},
		{"each batch is one of its own", corev1.PodSucceeded, v1alpha1.MatchOnlyWaiting, core.ReasonSiblings},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				group := podGroup("g", 3)
				annotate(group, v1alpha1.AnnotationMatchPolicy, string(test.policy))
				pods := members("g", 4, "1")
				p.set(node("a", "3"), group)
				p.set(objects(pods[:3])...)
				p.after(time.Second)
				p.start(pods[:3]...)
				p.finish(test.phase, pods[0])
				p.delete(pods[1])
				p.set(pods[3])
				p.after(time.Second)
				if got := p.filter(pods[3]); got != test.want {
					t.Fatalf("the new one is told %q, want %q", got, test.want)
				}
				if test.want != "a" {
					return
				}
				if call := p.bind(pods[3], "a"); call.held() || call.err != nil {
					t.Errorf("its binding is held, or fails: %v", call.err)
				}
			})
		})
	}
}

func TestAPodCountsOnceWhicheverWatchIsAhead(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "8"), podGroup("g", 4))
		for _, pod := range pods[:2] {
			pod.Spec.NodeName, pod.Status.Phase = "a", corev1.PodRunning
		}
		p.set(objects(pods)...)
		expect := func(when string, want status.Counts) {
			t.Helper()
			p.after(time.Second)
			if o, _ := p.Publisher.Observe(named("g")); cmp.Diff(want, o.Counts) != "" {
				t.Errorf("%s (-want +got):\n%s", when, cmp.Diff(want, o.Counts))
			}
		}
		expect("at first", status.Counts{Pending: 1, Running: 2})
		p.Finished(ended(pods[0], corev1.PodSucceeded))
		expect("before the cluster knows", status.Counts{Pending: 1, Running: 1, Succeeded: 1})
		p.set(pods[0])
		expect("when the cluster shows it running, late", status.Counts{Pending: 1, Running: 1, Succeeded: 1})
		p.delete(pods[0])
		expect("when both know", status.Counts{Pending: 1, Running: 1, Succeeded: 1})
		p.delete(pods[1])
		p.Finished(ended(pods[1], corev1.PodFailed))
		expect("when the cluster was faster", status.Counts{Pending: 1, Succeeded: 1, Failed: 1})
		p.delete(pods[2])
		expect("when all are done", status.Counts{Succeeded: 1, Failed: 1})
		for pod, phase := range map[*corev1.Pod]corev1.PodPhase{pods[0]: corev1.PodSucceeded, pods[1]: corev1.PodFailed} {
			gone := ended(pod, phase)
			gone.Gone = true
			p.Finished(gone)
		}
		expect("when they are cleaned up", status.Counts{})
		if about := p.Observer.Report(); len(about) > 0 {
			t.Errorf("there are gangs: %+v", about)
		}
	})
}

func TestARoleWhosePodsHaveAllSucceededDoesNotKeepTheOthersWaiting(t *testing.T) {
	run(t, func(p *process) {
		masters, workers := podGroup("masters", 1), podGroup("workers", 2)
		annotate(workers, v1alpha1.AnnotationGroups, `["default/masters"]`)
		annotate(masters, v1alpha1.AnnotationGroups, `["default/workers"]`)
		p.set(node("a", "2"), masters, workers)
		master, worker := members("masters", 1, "1")[0], members("workers", 2, "1")
		p.Finished(ended(master, corev1.PodSucceeded))
		p.set(objects(worker)...)
		p.after(time.Second)
		for _, call := range p.start(worker...) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}
