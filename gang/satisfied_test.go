package gang

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

func onceSatisfied() *unstructured.Unstructured {
	group := podGroup("g", 2)
	annotate(group, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnceSatisfied))
	return group
}

func TestThatAGroupWasSatisfiedOnceIsNotForgottenWithItsStatus(t *testing.T) {
	for _, test := range []struct {
		name  string
		phase v1alpha1.PodGroupPhase
		after time.Duration // the record, that the one which waits was created
		bound bool          // as the record says
		want  string
	}{
		{"it runs", v1alpha1.PodGroupRunning, time.Minute, true, "any"},
		{"members have failed", v1alpha1.PodGroupFailed, time.Minute, true, "any"},
		{"all have gone", v1alpha1.PodGroupPending, time.Minute, true, "any"},
		{"some have gone", v1alpha1.PodGroupScheduling, time.Minute, true, "any"},
		{"nobody of it is known to have been bound", v1alpha1.PodGroupScheduling, time.Minute, false, core.ReasonSiblings},
		{"one of the start may have been left behind", v1alpha1.PodGroupScheduling, -time.Minute, false, core.ReasonSiblings},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				group := recorded(onceSatisfied(), record.Record{Members: 2, MinMember: 2, Time: time.Now().Add(-test.after), Bound: test.bound})
				group.Object["status"] = map[string]any{"phase": string(test.phase)}
				pod := members("g", 1, "1")[0]
				p.set(node("a", "8"), group, pod)
				p.after(time.Second)
				if got := p.filter(pod); got != test.want {
					t.Errorf("it is told %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestAGroupThatWasSatisfiedOnceStartsAgainOneByOneAfterAllPodsHaveGone(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), onceSatisfied())
		p.set(objects(pods)...)
		p.after(time.Second)
		p.wantHeld("the first time", false, p.start(pods...)...)
		p.delete(pods...)
		p.after(2 * time.Second)
		next := members("next", 1, "1")[0]
		next.Labels = pods[0].Labels
		p.set(next)
		p.after(time.Second)
		if got := p.filter(next); got != "any" {
			t.Errorf("it is told %q", got)
		}
	})
}

func TestThatAGroupWasSatisfiedIsWrittenOnceItsMembersAreBound(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), onceSatisfied())
		p.set(objects(pods)...)
		p.after(time.Second)
		p.permit(pods...)
		p.wantRecords(record.Record{Members: 2, MinMember: 2})
		p.bound(pods[0])
		p.after(time.Second)
		p.wantRecords(record.Record{Members: 2, MinMember: 2})
		p.bound(pods[1])
		p.after(time.Second)
		p.wantRecords(record.Record{Members: 2, MinMember: 2}, record.Record{Members: 2, MinMember: 2, Bound: true})
	})
}

func TestAGroupOfWhichNobodyWasBoundIsNotSatisfied(t *testing.T) {
	for name, end := range map[string]func(p *process, pod *corev1.Pod){
		"the API server bound none": func(p *process, pod *corev1.Pod) { p.notBound(pod) },
		"they went before":          func(p *process, pod *corev1.Pod) { p.delete(pod) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), onceSatisfied())
				p.set(objects(pods)...)
				p.after(time.Second)
				p.permit(pods...)
				for _, pod := range pods {
					end(p, pod)
				}
				p.delete(pods...)
				p.after(2 * time.Second)
				next := members("next", 1, "1")[0]
				next.Labels = pods[0].Labels
				p.set(next)
				p.after(time.Second)
				if got := p.filter(next); got != core.ReasonSiblings {
					t.Errorf("it is told %q", got)
				}
			})
		})
	}
}

func TestARecordIsBelievedOfAGroupOfWhichSomebodyIsBound(t *testing.T) {
	for name, is := range map[string]func(p *process, pod *corev1.Pod){
		"is bound": func(p *process, pod *corev1.Pod) { pod.Spec.NodeName = "a"; p.set(pod) },
		"failed":   func(p *process, pod *corev1.Pod) { p.Finished(ended(pod, corev1.PodFailed)) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), recorded(onceSatisfied(), record.Record{Members: 2, MinMember: 2, Time: time.Now()}))
				p.after(time.Minute)
				pods[1].CreationTimestamp = metav1.Now()
				is(p, pods[0])
				p.set(pods[1])
				p.after(time.Second)
				if got := p.filter(pods[1]); got != "any" {
					t.Errorf("it is told %q", got)
				}
			})
		})
	}
}

func TestAGroupWithoutAnObjectThatWasSatisfiedOnceGoesOnOneByOne(t *testing.T) {
	run(t, func(p *process) {
		once := func(pod *corev1.Pod) {
			withoutObject("g", "2")(pod)
			pod.Annotations[v1alpha1.AnnotationMatchPolicy] = string(v1alpha1.MatchOnceSatisfied)
		}
		pods := members("g", 3, "1", once)
		p.set(node("a", "8"), pods[0], pods[1])
		p.after(time.Second)
		p.wantHeld("the first time", false, p.start(pods[:2]...)...)
		p.delete(pods[0])
		p.after(time.Second)
		p.set(pods[2])
		p.after(time.Second)
		if got := p.filter(pods[2]); got != "any" {
			t.Errorf("beside one that runs, another one is told %q", got)
		}
	})
}
