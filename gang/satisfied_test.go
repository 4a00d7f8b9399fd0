package gang

import (
	"testing"
	"time"

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
		want  string
	}{
		{"it runs", v1alpha1.PodGroupRunning, time.Minute, "any"},
		{"members have failed", v1alpha1.PodGroupFailed, time.Minute, "any"},
		{"all have gone", v1alpha1.PodGroupPending, time.Minute, "any"},
		{"some have gone", v1alpha1.PodGroupScheduling, time.Minute, "any"},
		{"one of the start may have been left behind", v1alpha1.PodGroupScheduling, -time.Minute, core.ReasonSiblings},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				group := recorded(onceSatisfied(), record.Record{Members: 2, MinMember: 2, Time: time.Now().Add(-test.after)})
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
