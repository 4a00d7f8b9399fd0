package gang

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/placement/nomination"
)

func nominatedBy(manager string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.NominatedNodeName = "a"
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`)}}
	}
}

func TestANominationWithoutAPlanIsTakenBackUnlessItIsOfSomebodyElse(t *testing.T) {
	group := podGroup("g", 2)
	for name, test := range map[string]struct {
		manager string
		objects []runtime.Object // besides a member that is nominated
		want    []string
	}{
		"muster's":         {nomination.FieldManager, []runtime.Object{group}, []string{"nominate g-0"}},
		"kube-scheduler's": {schedulerManager, []runtime.Object{group}, []string{"nominate g-0"}},
		"kube-scheduler's, after the PodGroup is gone":              {schedulerManager, nil, []string{"nominate g-0"}},
		"kube-scheduler's, for one more of a gang that has started": {schedulerManager, append(objects(members("g", 3, "1", on("a"))[1:]), group), nil},
		"that of somebody else":                                     {"an-autoscaler", []runtime.Object{group}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "2"))
				p.set(test.objects...)
				p.set(members("g", 1, "1", nominatedBy(test.manager))[0])
				p.after(time.Second)
				if diff := cmp.Diff(test.want, p.written()); diff != "" {
					t.Errorf("written (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestANominationOfASchedulerStandsWhileItsVictimsGo(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "2"), podGroup("g", 2))
		p.set(objects(members("low", 2, "1", alone, on("a")))...)
		pods := members("g", 2, "1", ofPriority(1), tried)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		answer, _ := p.Preempt(p.cluster.PendingPod(pods[0].UID))
		if answer.Node != "a" || len(answer.Victims) == 0 {
			t.Fatalf("the answer is %+v", answer)
		}
		nominatedBy(schedulerManager)(pods[0])
		p.set(pods[0])
		p.after(500 * time.Millisecond)
		if got := p.written(); slices.Contains(got, "nominate g-0") {
			t.Errorf("it is taken back while victims go: %v", got)
		}
		p.delete(pods[1]) // the plan ends before long
		p.after(5 * time.Minute)
		if got := p.written(); !slices.Contains(got, "nominate g-0") {
			t.Errorf("it stands when the plan has ended: %v", got)
		}
	})
}
