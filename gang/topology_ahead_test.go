package gang

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// A scheduler that counts pods still that have just left would send a member elsewhere, and asks nobody about it.
func TestAGangThatIsBoundToARackIsLetGoOnceTheSchedulerHasSeenItsRoom(t *testing.T) {
	for _, test := range []struct {
		annotation string
		waits      bool
	}{
		{v1alpha1.AnnotationRequiredTopology, true},
		{v1alpha1.AnnotationPreferredTopology, false},
	} {
		t.Run(test.annotation, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.limit(func(l *Limits) { l.Margin = 1500 * time.Millisecond })
				p.racks(map[string]int{"a/r": 2})
				before := members("before", 1, "2", alone, on("a-r-0"))[0]
				group, pods := podGroup("g", 2), members("g", 2, "2", gated)
				group.SetAnnotations(map[string]string{test.annotation: rackKey})
				p.set(before, group, pods[0], pods[1])
				p.after(time.Second)
				p.delete(before)
				p.after(time.Second)
				if waits := gatedStill(p, pods); waits != test.waits {
					t.Errorf("room has been there for a second; the gang is gated: %t, want %t", waits, test.waits)
				}
				p.after(time.Second)
				if gatedStill(p, pods) {
					t.Error("it is gated after the margin")
				}
			})
		})
	}
}

func gatedStill(p *process, pods []*corev1.Pod) bool {
	for _, pod := range pods {
		if len(p.latest(pod).Spec.SchedulingGates) > 0 {
			return true
		}
	}
	return false
}
