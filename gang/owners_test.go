package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/status"
)

// job returns a Job whose pods start together.
func job(name string, pods int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("job-of-" + name),
			Annotations: map[string]string{v1alpha1.AnnotationGangScope: v1alpha1.ScopeAll},
		},
		Spec: batchv1.JobSpec{Parallelism: &pods},
	}
}

// ownedBy makes a pod one of a Job, without a mark of its own.
func ownedBy(job *batchv1.Job) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = nil
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true)},
		}
	}
}

// toldToOwners returns what owners are told of all groups that have changed.
func (p *process) toldToOwners() (all []string) {
	for _, key := range p.Publisher.Changed() {
		for _, event := range p.Publisher.toOwners(key) {
			of := event.About.GetObjectKind().GroupVersionKind()
			all = append(all, fmt.Sprintf("%s %s %s: %s %s", of.GroupVersion(), of.Kind, event.About.GetName(), event.Reason, event.Words))
		}
	}
	slices.Sort(all)
	return all
}

func TestAnOwnerIsToldWhyItsPodsWait(t *testing.T) {
	run(t, func(p *process) {
		train := job("train", 3)
		pods := members("train", 3, "1", ownedBy(train))
		wants := func(when string, want ...string) {
			t.Helper()
			p.after(time.Second)
			if diff := cmp.Diff(want, p.toldToOwners()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		p.set(node("a", "2"), train)
		p.set(objects(pods[:2])...)
		wants("with two of three", "batch/v1 Job train: MembersMissing waiting for 1 more of 3 members to be created")
		wants("while nothing changes")
		p.set(pods[2])
		p.after(time.Second)
		wants("without room", "batch/v1 Job train: Unschedulable "+p.why("train"))
		p.set(node("a", "3"))
		p.after(6 * time.Second)
		p.permit(pods...)
		for _, pod := range pods {
			p.bound(pod)
		}
		wants("when they have started", "batch/v1 Job train: Scheduled at least 3 pods are bound")
	})
}

func TestAnOwnerWhosePodsNeverWaitedIsToldNothing(t *testing.T) {
	for name, room := range map[string]string{"they start at once": "3", "they wait for room": "2"} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				recorder := events.NewFakeRecorder(10)
				told := status.NewEvents(func(string) events.EventRecorder { return recorder }, clock.RealClock{})
				tell := func() {
					p.after(time.Second)
					for _, key := range p.Publisher.Changed() {
						for _, event := range p.Publisher.toOwners(key) {
							told.Tell(event)
						}
					}
				}
				train := job("train", 3)
				pods := members("train", 3, "1", ownedBy(train))
				p.set(node("a", room), train)
				p.set(objects(pods)...)
				tell()
				if room == "2" {
					p.after(time.Minute)
					p.set(node("a", "3"))
					p.after(6 * time.Second)
				}
				p.permit(pods...)
				for _, pod := range pods {
					p.bound(pod)
				}
				tell()
				want := 0
				if room == "2" {
					want = 2 // why they wait, and that it is over
				}
				if got := len(recorder.Events); got != want {
					t.Errorf("%d events, want %d", got, want)
				}
			})
		})
	}
}

func TestControllersOfMarkedPodsAreToldOfTheirGang(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "1"), podGroup("g", 2))
		for i, pod := range members("g", 2, "1") {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: pod.Name, UID: pod.UID, Controller: new(true)}}
			if i == 1 {
				pod.Spec.SchedulerName = "another"
			}
			p.set(pod)
		}
		alien := members("alien", 2, "1", withoutObject("alien", "2"), func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "alien", UID: "alien", Controller: new(true)}}
			pod.Spec.SchedulerName = "another"
		})
		p.set(objects(alien)...)
		p.after(time.Second)
		why := p.why("g") + "; its members name several schedulers"
		got := p.toldToOwners()
		for i, told := range got {
			if want := fmt.Sprintf("batch/v1 Job g-%d: Unschedulable gang default/g: %s", i, why); !strings.HasPrefix(told, want) {
				t.Errorf("told: %q, want %q", told, want)
			}
		}
		if len(got) != 2 {
			t.Errorf("told: %q", got)
		}
	})
}

// The condition PodScheduled has what filter said last.
func TestAMemberThatWasToldOfMissingOnesIsToldOtherwiseOnceAllAreThere(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "2"), podGroup("g", 3))
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		wants := func(when, filter string, writes ...string) {
			t.Helper()
			if got := p.filter(pods[0]); got != filter {
				t.Errorf("%s it is told %q, want %q", when, got, filter)
			}
			p.after(20 * time.Second)
			if diff := cmp.Diff(writes, p.written()); diff != "" {
				t.Errorf("%s, written (-want +got):\n%s", when, diff)
			}
		}
		wants("with two", core.ReasonSiblings)
		p.set(pods[2])
		p.after(time.Second)
		wants("with all", core.ReasonNoPlace, "wake g-0")
		wants("again", core.ReasonNoPlace)
		p.set(podGroup("g", -1))
		p.after(time.Second)
		wants("when nonsense is asked for", core.ReasonInvalid)
		p.set(podGroup("g", 3))
		p.after(10 * time.Second)
		wants("when it is set right", core.ReasonNoPlace, "wake g-0")
	})
}

func TestWhatIsSaidOfAGroupIsTrueBeforeItIsPlannedAgain(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "1"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		without := p.why("g")
		p.delete(pods[1])
		if got, want := p.why("g"), "waiting for 1 more of 2 members to be created"; got != want {
			t.Errorf("once one is gone it waits because of %q, want %q", got, want)
		}
		p.after(time.Second)
		p.set(pods[1])
		if got, want := p.why("g"), "all 2 members are there, and are planned next"; got != want {
			t.Errorf("once it is back it waits because of %q, want %q", got, want)
		}
		p.after(10 * time.Second)
		if got := p.why("g"); got != without {
			t.Errorf("then it waits because of %q, want %q", got, without)
		}
	})
}
