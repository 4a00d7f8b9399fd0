package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

func named(name string) membership.Key {
	return membership.Key{Label: v1alpha1.LabelX, NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

func TestAGroupIsObservedByTheStagesOfItsMembers(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 5, "1")
		p.set(node("a", "4"), podGroup("g", 3))
		p.set(objects(pods)...)
		p.after(time.Second)
		wants := func(when string, want status.Counts) {
			t.Helper()
			o, exists := p.Publisher.Observe(named("g"))
			if !exists || o.PodGroup.Spec.MinMember != 3 {
				t.Fatalf("%s: %+v, there is one: %t", when, o, exists)
			}
			if diff := cmp.Diff(want, o.Counts); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		p.start(pods[:2]...)
		wants("two are held", status.Counts{Pending: 3, Held: 2})
		p.start(pods[2])
		wants("three are bound", status.Counts{Pending: 2, Bound: 3})
		running := pods[0].DeepCopy()
		running.Spec.NodeName, running.Status.Phase = "a", corev1.PodRunning
		p.set(running)
		wants("one runs", status.Counts{Pending: 2, Bound: 2, Running: 1})
		if _, exists := p.Publisher.Observe(named("other")); exists {
			t.Error("a group without an object is observed")
		}
	})
}

func TestWhatChangesOfAGroupIsToldOnce(t *testing.T) {
	run(t, func(p *process) {
		changed := func(want ...string) {
			t.Helper()
			var got []string
			for _, key := range p.Publisher.Changed() {
				got = append(got, key.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		}
		p.set(node("a", "1"), podGroup("g", 2), podGroup("without-members", 1))
		changed("g", "without-members")
		pods := members("g", 2, "1")
		p.set(pods[0])
		p.after(time.Second)
		changed("g")
		changed()
		p.set(pods[1])
		p.after(time.Second)
		changed("g") // there is no place
		p.after(time.Second)
		changed()
		p.set(podGroup("without-members", 2))
		p.set(node("a", "2"))
		p.after(time.Second)
		changed("g", "without-members")
		p.delete(pods...)
		p.cluster.DeleteCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), podGroup("without-members", 2))
		p.after(time.Second)
		changed("g", "without-members")
	})
}

func TestMembersOfAGroupWithoutAnObjectAreToldWhyTheyWait(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "1"), podGroup("known", 5))
		p.set(objects(members("known", 2, "1"))...)
		p.set(objects(members("misspelt", mostTold+5, "1"))...)
		p.after(100 * time.Millisecond)
		for _, pod := range members("misspelt", 1, "1") {
			p.filter(pod)
		}
		if told := p.Publisher.unknown(); len(told) > 0 {
			t.Errorf("told at once: %+v", told)
		}
		p.after(2 * time.Second)
		told := p.Publisher.unknown()
		if len(told) != mostTold {
			t.Fatalf("%d members are told, want %d", len(told), mostTold)
		}
		for _, e := range told {
			if e.reason != status.PodGroupNotFound || !strings.Contains(e.why, "there is no PodGroup misspelt in namespace default") {
				t.Errorf("%s is told %s: %s", e.pod.Name, e.reason, e.why)
			}
		}
	})
}
