package rescheduler

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
	"muster.dev/muster/rescheduler/scaleup"
)

// newClusterOfDevices is a lab where two pods of small, of 2 cores, hold the devices of n1 and of n3. The pod big, of 4 cores,
// would fit n1 without the one there. That fits n0, which has no device, and n2, which has one.
func newClusterOfDevices(t *testing.T, options muster.Options) *cluster {
	t.Helper()
	l := newEmptyCluster(t, v1alpha1.Auto, options)
	l.configure(map[string]any{"evictable": map[string]any{"minReplicas": 1}})
	l.Must(devices.Define(t.Context(), l.Client, 1))
	for _, node := range []string{"n1", "n2", "n3"} {
		l.Must(devices.Offer(t.Context(), l.Client, node, 1))
	}
	l.Create(workload.NewNode("n0", "2"))
	l.Create(workload.NewNode("n1", "4"))
	l.Create(workload.NewNode("n3", "2"))
	l.createSet("small", "2", 2, func(pod *corev1.PodTemplateSpec) { devices.Claim(&pod.Spec, 1) })
	l.allOn("small", "n1", "n3")
	l.Create(workload.NewNode("n2", "2"))
	return l
}

func TestAPodMovesToWhereADeviceIsFreeForItsNewClaim(t *testing.T) {
	t.Parallel()
	for name, way := range muster.Ways() {
		t.Run(name, func(t *testing.T) {
			if way.Selection != muster.Scheduler {
				lab.Long(t)
			}
			l := newClusterOfDevices(t, way)
			before, stays := l.onNode("small", "n1"), l.onNode("small", "n3")
			l.createPod("big", "4")
			l.reschedule()
			l.hasMovedToTheDevice(before, stays)
		})
	}
}

func TestAPodStaysWhileAnotherClaimHoldsTheDeviceThatItsOwnWouldNeed(t *testing.T) {
	lab.Long(t)
	l := newClusterOfDevices(t, muster.Options{})
	l.createPod("holder", "0", func(pod *corev1.Pod) { devices.Claim(&pod.Spec, 1) })
	l.Eventually("holder runs", func() error { return l.isOn(l.Pod("holder"), "n2") })
	before, stays := l.onNode("small", "n1"), l.onNode("small", "n3")
	l.createPod("big", "4")
	l.reschedule()
	l.Eventually("big says that it needs nodes", func() error { return l.needs("big", scaleup.ReasonNoOtherPlace) })
	l.Eventually("it has searched again and again", func() error { return l.searched(v1alpha1.MakeRoom, 8) })
	l.neverBound("big")
	for _, pod := range []*corev1.Pod{before, stays} {
		if now := l.onNode("small", pod.Spec.NodeName); now == nil || now.UID != pod.UID {
			t.Fatalf("%s was evicted though its replacement would have no device", pod.Name)
		}
	}
	if plan, err := l.plan(); err == nil {
		t.Fatalf("there is a plan: %+v", plan.Spec)
	}

	// It was for the device alone.
	l.RemovePod("holder")
	l.hasMovedToTheDevice(before, stays)
}

// hasMovedToTheDevice waits until the one plan has made room for big at n1: the pod there was moved to n2, and its device is free.
func (l *cluster) hasMovedToTheDevice(before, stays *corev1.Pod) {
	l.Helper()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	if step := plan.Spec.Steps[0]; len(plan.Spec.Steps) != 1 || step.Pod.UID != before.UID || step.From != "n1" || step.To != "n2" {
		l.Fatalf("the plan is %+v", plan.Spec)
	}
	replacement := l.onNode("small", "n2")
	l.Must(l.isOn(replacement, "n2"))
	if got := plan.Status.Steps[0]; got.Node != "n2" || got.Replacement == nil || got.Replacement.UID != replacement.UID {
		l.Errorf("the plan ended as %+v", plan.Status)
	}
	l.Eventually("big runs", func() error { return l.isOn(l.Pod("big"), "n1") })
	want := map[string]string{"n2/gpu-0": replacement.Name, "n3/gpu-0": stays.Name}
	l.Eventually("the device of n1 is free", func() error {
		if got := l.holders(); !maps.Equal(got, want) {
			return fmt.Errorf("devices are held by %v, want %v", got, want)
		}
		return nil
	})
}

// searched says whether the rescheduler has searched for a plan of a policy a number of times. It does so once a
// second.
func (l *cluster) searched(policy v1alpha1.Policy, times int) error {
	metrics, err := l.rescheduler.Page(l.Context(), "/metrics")
	if err != nil {
		return err
	}
	const format = "muster_rescheduling_planning_seconds_count{policy=%q} "
	_, after, _ := strings.Cut(metrics, fmt.Sprintf(format, policy))
	count, _, _ := strings.Cut(after, "\n")
	if got, err := strconv.Atoi(count); err != nil || got < times {
		return fmt.Errorf("it has searched %q times", count)
	}
	return nil
}

// holders are the pods that devices are reserved for, by pool and device.
func (l *cluster) holders() map[string]string {
	l.Helper()
	held, err := devices.Held(l.Context(), l.Client)
	l.Must(err)
	holders := map[string]string{}
	for i := range held {
		for _, result := range held[i].Status.Allocation.Devices.Results {
			for _, pod := range held[i].Status.ReservedFor {
				holders[result.Pool+"/"+result.Device] += pod.Name
			}
		}
	}
	return holders
}

// onNode is the pod of a ReplicaSet on a node that is not ending, nil when there is none.
func (l *cluster) onNode(set, node string) *corev1.Pod {
	l.Helper()
	for _, pod := range l.podsOf(set) {
		if pod.Spec.NodeName == node {
			return pod
		}
	}
	return nil
}
