package rescheduler

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/rescheduler/scaleup"
)

// newLabOfDevices is a lab where two pods of small, of 2 cores, hold the devices of n1 and of n3. The pod big, of 4 cores,
// would fit n1 without the one there. That fits n0, which has no device, and n2, which has one.
func newLabOfDevices(t *testing.T, selection muster.Selection) *lab {
	t.Helper()
	l := newEmptyLab(t, v1alpha1.Auto, selection)
	l.configure(map[string]any{"evictable": map[string]any{"allowSingleReplica": false}})
	l.must(devices.Define(t.Context(), l.client, 1))
	for _, node := range []string{"n1", "n2", "n3"} {
		l.must(devices.Offer(t.Context(), l.client, node, 1))
	}
	l.createNode("n0", "2")
	l.createNode("n1", "4")
	l.createNode("n3", "2")
	l.createSet("small", "2", 2, func(pod *corev1.PodTemplateSpec) { devices.Claim(&pod.Spec, 1) })
	l.allOn("small", "n1", "n3")
	l.createNode("n2", "2")
	return l
}

func TestAPodMovesToWhereADeviceIsFreeForItsNewClaim(t *testing.T) {
	for _, selection := range []muster.Selection{muster.Scheduler, muster.Extender, muster.Nominate, muster.Ahead} {
		t.Run(string(selection), func(t *testing.T) {
			l := newLabOfDevices(t, selection)
			before, stays := l.onNode("small", "n1"), l.onNode("small", "n3")
			l.createPod("big", "4")
			l.reschedule()
			l.hasMovedToTheDevice(before, stays)
		})
	}
}

func TestAPodStaysWhileAnotherClaimHoldsTheDeviceThatItsOwnWouldNeed(t *testing.T) {
	l := newLabOfDevices(t, muster.Scheduler)
	holder := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "holder"}, Spec: podSpec("0")}
	devices.Claim(&holder.Spec, 1)
	l.create(holder)
	l.eventually("holder runs", func() error { return isOn(l.pod("holder"), "n2") })
	before, stays := l.onNode("small", "n1"), l.onNode("small", "n3")
	l.createPod("big", "4")
	l.reschedule()
	l.eventually("big says that it needs nodes", func() error { return l.needs("big", scaleup.ReasonNoOtherPlace) })
	l.eventually("it has searched again and again", func() error { return l.searched(v1alpha1.MakeRoom, 8) })
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
	l.must(l.client.CoreV1().Pods(namespace).Delete(t.Context(), "holder", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	l.hasMovedToTheDevice(before, stays)
}

// hasMovedToTheDevice waits until the one plan has made room for big at n1: the pod there was moved to n2, and its device is free.
func (l *lab) hasMovedToTheDevice(before, stays *corev1.Pod) {
	l.Helper()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	if step := plan.Spec.Steps[0]; len(plan.Spec.Steps) != 1 || step.Pod.UID != before.UID || step.From != "n1" || step.To != "n2" {
		l.Fatalf("the plan is %+v", plan.Spec)
	}
	replacement := l.onNode("small", "n2")
	l.must(isOn(replacement, "n2"))
	if got := plan.Status.Steps[0]; got.Node != "n2" || got.Replacement == nil || got.Replacement.UID != replacement.UID {
		l.Errorf("the plan ended as %+v", plan.Status)
	}
	l.eventually("big runs", func() error { return isOn(l.pod("big"), "n1") })
	want := map[string]string{"n2/gpu-0": replacement.Name, "n3/gpu-0": stays.Name}
	l.eventually("the device of n1 is free", func() error {
		if got := l.holders(); !maps.Equal(got, want) {
			return fmt.Errorf("devices are held by %v, want %v", got, want)
		}
		return nil
	})
}

// searched says whether the rescheduler has searched for a plan of a policy so many times. It does so once a second.
func (l *lab) searched(policy v1alpha1.Policy, times int) error {
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
func (l *lab) holders() map[string]string {
	l.Helper()
	held, err := devices.Held(l.Context(), l.client)
	l.must(err)
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
func (l *lab) onNode(set, node string) *corev1.Pod {
	l.Helper()
	for _, pod := range l.podsOf(set) {
		if pod.Spec.NodeName == node {
			return pod
		}
	}
	return nil
}
