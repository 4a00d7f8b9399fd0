package gang

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// born makes an object one of its own, created at a time as the API server writes it.
func born(group *unstructured.Unstructured, uid types.UID, at time.Time) *unstructured.Unstructured {
	group = group.DeepCopy()
	group.SetUID(uid)
	group.SetCreationTimestamp(metav1.NewTime(at.Truncate(time.Second)))
	return group
}

func TestPodsOfAFormerLifeOfAGroupDoNotCount(t *testing.T) {
	life := time.Hour // of the group before
	if testing.Short() {
		life = time.Minute
	}
	of := func(since time.Time, uid types.UID) record.Record {
		return record.Record{Members: 4, MinMember: 4, Time: time.Now(), PodGroup: uid, Since: since}
	}
	for _, test := range []struct {
		name  string
		group func(podsAt, now time.Time) *unstructured.Unstructured // nil for none
		count int
	}{
		{
			"the PodGroup is older than they are",
			func(podsAt, _ time.Time) *unstructured.Unstructured { return born(podGroup("g", 4), "1", podsAt) }, 4,
		},
		{
			"it was created after them",
			func(_, now time.Time) *unstructured.Unstructured { return born(podGroup("g", 4), "1", now) }, 0,
		},
		{
			"it was created after them, and its start is recorded",
			func(podsAt, now time.Time) *unstructured.Unstructured {
				return recorded(born(podGroup("g", 4), "1", now), of(podsAt, "1"))
			}, 4,
		},
		{
			"the record is of the PodGroup before",
			func(podsAt, now time.Time) *unstructured.Unstructured {
				return recorded(born(podGroup("g", 4), "1", now), of(podsAt, "0"))
			}, 0,
		},
		{"there is none", func(_, _ time.Time) *unstructured.Unstructured { return nil }, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				change := func(*corev1.Pod) {}
				if test.group(time.Now(), time.Now()) == nil {
					change = func(pod *corev1.Pod) { pod.Annotations = map[string]string{"muster.dev/min-member": "4"} }
				}
				pods, podsAt := members("g", 8, "1", change), time.Now()
				for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
					p.finish(phase, pods[:3]...)
				}
				p.finish(corev1.PodSucceeded, pods[:4]...)
				p.after(life)
				if group := test.group(podsAt, time.Now()); group != nil {
					p.set(group)
				}
				p.set(node("a", "2"))
				for _, pod := range pods[4:] {
					pod.CreationTimestamp = metav1.Now()
					p.set(pod)
				}
				p.after(time.Second)
				want := "any"
				if test.count == 0 {
					want = core.ReasonNoPlace
				}
				if got := p.filter(pods[4]); got != want {
					t.Errorf("with room for two of four, one is told %q, want %q", got, want)
				}
				if got := p.Observer.Report()[0].Succeeded; got != test.count {
					t.Errorf("%d have succeeded, want %d", got, test.count)
				}
			})
		})
	}
}

func TestAPodGroupThatIsCreatedAnewStartsAnew(t *testing.T) {
	run(t, func(p *process) {
		group, pods := podGroup("g", 2, func(map[string]any) {}), members("g", 8, "1")
		annotate(group, "muster.dev/match-policy", "once-satisfied")
		p.set(node("a", "2"), born(group, "1", time.Now()))
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.start(pods[:2]...)
		p.after(time.Minute)
		p.finish(corev1.PodSucceeded, pods[:2]...)
		p.set(born(group, "2", time.Now()), node("a", "1"))
		for _, pod := range pods[2:4] {
			pod.CreationTimestamp = metav1.Now()
			p.set(pod)
		}
		p.after(time.Second)
		if got := p.filter(pods[2]); got != core.ReasonNoPlace {
			t.Errorf("with room for one of two, it is told %q", got)
		}
		if o, _ := p.Publisher.Observe(named("g")); o.Counts != (status.Counts{Pending: 2}) {
			t.Errorf("its pods: %+v", o.Counts)
		}
	})
}

func TestAPodGroupThatIsYoungerThanItsPodsStartsAndFinishes(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "3"))
		p.set(objects(pods)...)
		p.after(time.Minute)
		p.set(born(podGroup("g", 3), "1", time.Now()))
		p.after(time.Second)
		p.start(pods...)
		p.finish(corev1.PodSucceeded, pods...)
		p.after(time.Second)
		if o, _ := p.Publisher.Observe(named("g")); o.Counts != (status.Counts{Succeeded: 3}) {
			t.Errorf("its pods: %+v", o.Counts)
		}
	})
}
