package nomination

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

func TestProfilesCanChangeWhetherTheirPodsAreNominated(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		metrics := predicates.NewStoreMetrics(prometheus.NewRegistry())
		change := func(to config.NodeSelection) {
			p.profiles.Replace(newStore(p, p.cluster, bounds{selection: to}, metrics, clock.RealClock{}))
			p.after(time.Second)
		}
		set(p, p.cluster, newNode("a", "8"), newPod("before", "1"), newPod("never", "100"))
		p.after(time.Second)
		change(config.NodeSelectionScheduler)
		set(p, p.cluster, newPod("between", "1"))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"before → a"}, p.written()); diff != "" {
			t.Errorf("when pods are not nominated any more, writes (-want +got):\n%s", diff)
		}
		if got := p.Take("before"); got != "a" {
			t.Errorf("a pod that was nominated before is planned for %q, want a as before", got)
		}
		change(config.NodeSelectionMuster)
		set(p, p.cluster, newPod("after", "1"))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"before → a", "between → a", "after → a"}, p.written()); diff != "" {
			t.Errorf("when pods are nominated again, writes (-want +got):\n%s", diff)
		}
	})
}

// As with a pod that gets the label of a gang.
func TestAPodThatBecomesSomebodyElsesHasItsNominationTakenBack(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "8"), newPod("before", "1"))
		p.after(time.Second)
		changed := p.cluster.PendingPod("before").DeepCopy()
		changed.Labels, changed.ResourceVersion = map[string]string{"skip": "yes"}, "10"
		set(p, p.cluster, changed)
		p.after(10 * time.Second)
		if diff := cmp.Diff([]string{"before → a", "before → "}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if on := p.cluster.Assumed("before"); on != "" {
			t.Errorf("it counts on %q still", on)
		}
	})
}

// Somebody else's pod counts where that somebody has it count.
func TestAPodThatBecomesSomebodyElsesKeepsThePlaceThatItHasThen(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "8"), newPod("before", "1"))
		p.after(time.Second)
		set(p, p.cluster, newNode("b", "8"))
		p.cluster.Release("before")
		if err := p.cluster.AssumeAll([]*cluster.Pod{p.cluster.PendingPod("before")}, p.cluster.Snapshot().NodeByName("b")); err != nil {
			t.Fatal(err)
		}
		changed := p.cluster.PendingPod("before").DeepCopy()
		changed.Labels, changed.ResourceVersion = map[string]string{"skip": "yes"}, "10"
		set(p, p.cluster, changed)
		p.after(10 * time.Second)
		if on := p.cluster.Assumed("before"); on != "b" {
			t.Errorf("it counts on %q, want b", on)
		}
	})
}

func TestAPodStandsOnceInTheQueueOfWrites(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "64"))
		set(p, p.cluster, newPods(40, "1")...)
		p.after(time.Second)
		p.answers(func(*corev1.Pod, string) error { <-time.After(5 * time.Minute); return nil })
		for i := range 40 {
			changed := p.cluster.PendingPod(types.UID(fmt.Sprintf("p%03d", i))).DeepCopy()
			changed.Labels, changed.ResourceVersion = map[string]string{"skip": "yes"}, "100"
			set(p, p.cluster, changed)
		}
		p.after(time.Minute)
		if waiting := len(p.writer.posts); waiting > 40 {
			t.Errorf("%d writes wait to 40 pods", waiting)
		}
	})
}
