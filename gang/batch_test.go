package gang

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

var errNotBound = errors.New("the API server does not bind it")

// inBatches is a group whose members start in batches of minMember: with an object, or with what its members
// say.
func (p *process) inBatches(minMember int, object bool) (pods func(names string, count int) []*corev1.Pod) {
	if object {
		group := podGroup("g", int64(minMember))
		annotate(group, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnlyWaiting))
		p.set(group)
	}
	return func(names string, count int) []*corev1.Pod {
		return members(names, count, "1", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{v1alpha1.LabelX: "g"}
			if !object {
				pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
				pod.Annotations = map[string]string{
					v1alpha1.AnnotationMinMember: fmt.Sprint(minMember), v1alpha1.AnnotationMatchPolicy: string(v1alpha1.MatchOnlyWaiting),
				}
			}
		})
	}
}

// permit has pods counted and let go, and says nothing of what came of binding them.
func (p *process) permit(pods ...*corev1.Pod) {
	p.Helper()
	done := make(chan error)
	for _, pod := range pods {
		node := p.filter(pod)
		if p.cluster.Snapshot().NodeByName(node) == nil {
			p.Fatalf("%s is refused: %s", pod.Name, node)
		}
		go func() { done <- p.Verbs.Permit(p.Context(), pod.UID, node) }()
	}
	for range pods {
		if err := <-done; err != nil {
			p.Fatal(err)
		}
	}
}

func (p *process) bound(pod *corev1.Pod) {
	p.Helper()
	pod = pod.DeepCopy()
	pod.Spec.NodeName = p.cluster.Assumed(pod.UID)
	p.set(pod)
	p.Verbs.Bound(pod.UID, nil)
}

func (p *process) notBound(pod *corev1.Pod) {
	p.cluster.Release(pod.UID)
	p.Verbs.Bound(pod.UID, errNotBound)
}

func TestAMemberOfABatchThatWasLeftBehindFollowsTheOthers(t *testing.T) {
	for _, object := range []bool{true, false} {
		for _, batches := range []int{0, 1} {
			t.Run(fmt.Sprintf("a PodGroup: %t, batches before: %d", object, batches), func(t *testing.T) {
				run(t, func(p *process) {
					pods := p.inBatches(2, object)
					p.set(node("a", "8"))
					for i := range batches {
						before := pods(fmt.Sprint("before", i), 2)
						p.set(objects(before)...)
						p.after(time.Second)
						p.wantHeld("the batch before", false, p.start(before...)...)
					}
					batch := pods("batch", 2)
					p.set(objects(batch)...)
					p.after(time.Second)
					p.permit(batch...)
					newcomer := pods("newcomer", 1)[0]
					p.set(newcomer)
					if got := p.filter(newcomer); got != core.ReasonSiblings {
						t.Errorf("while the batch is on its way, a newcomer is told %q", got)
					}
					p.bound(batch[0])
					p.notBound(batch[1])
					p.delete(newcomer)
					p.after(time.Second)
					p.wantHeld("the one that was left behind", false, p.start(batch[1])...)
					next := pods("next", 1)[0]
					p.set(next)
					p.after(time.Second)
					if got := p.filter(next); got != core.ReasonSiblings {
						t.Errorf("once the batch is bound, one of the next is told %q", got)
					}
				})
			})
		}
	}
}

func TestABatchThatAFormerProcessLeftHalfBoundIsCompleted(t *testing.T) {
	for _, test := range []struct {
		name      string
		bound     int // of four
		members   int // in the record
		minMember int64
		left      int // that exist and are not bound
		want      string
	}{
		{"two of four were bound", 2, 4, 4, 2, "a"},
		{"one of two was bound after a batch of two", 3, 4, 2, 1, "a"},
		{"all were bound, and one of the next batch exists", 4, 4, 4, 1, core.ReasonSiblings},
		{"none was bound, and one of them is gone", 0, 2, 2, 1, core.ReasonSiblings},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				group := podGroup("g", test.minMember)
				annotate(group, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnlyWaiting))
				pods := members("g", test.bound+test.left, "1")
				for _, pod := range pods[:test.bound] {
					pod.Spec.NodeName = "a"
				}
				p.set(
					recorded(group, record.Record{Members: test.members, MinMember: int(test.minMember), Time: time.Now().Add(time.Second)}),
					node("a", "8"),
				)
				p.set(objects(pods)...)
				p.after(time.Second)
				for _, pod := range pods[test.bound:] {
					if got := p.filter(pod); got != test.want {
						t.Errorf("%s is told %q, want %q", pod.Name, got, test.want)
					}
				}
			})
		})
	}
}

// The clock of the machine that muster ran on may be wrong: members are told apart by the API server's.
func TestWhoWasLetGoByAFormerProcessIsToldByWhenItWasCreated(t *testing.T) {
	for name, test := range map[string]struct {
		clock time.Duration // of the former process, to the API server's
		later bool          // the member that waits was created after the start
		want  string
	}{
		"the clock was slow": {-30 * time.Second, false, "a"},
		"the clock was fast": {30 * time.Second, false, "a"},
		"the clock was fast, and the member is of the next batch": {30 * time.Second, true, core.ReasonSiblings},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				group := podGroup("g", 4)
				annotate(group, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnlyWaiting))
				pods := members("g", 4, "1")
				for _, pod := range pods[:3] {
					pod.Spec.NodeName = "a"
				}
				until := pods[0].CreationTimestamp.Time
				if test.later {
					pods[3].CreationTimestamp = metav1.NewTime(until.Add(5 * time.Second))
				}
				p.set(recorded(group, record.Record{Members: 4, MinMember: 4, Time: until.Add(test.clock), Until: until}), node("a", "8"))
				p.set(objects(pods)...)
				p.after(time.Second)
				if got := p.filter(pods[3]); got != test.want {
					t.Errorf("the fourth member is told %q, want %q", got, test.want)
				}
			})
		})
	}
}
