package gang

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// gatedByOthers has a pod wait for somebody else as well.
func gatedByOthers(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "later"})
}

// wrote fails the test unless this was written since the last call, to any nodes.
func (p *process) wrote(when string, want ...string) {
	p.Helper()
	var got []string
	for _, write := range p.written() {
		words := strings.Fields(write)
		got = append(got, words[0]+" "+words[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("%s, writes (-want +got):\n%s", when, diff)
	}
}

func TestTheGatesOfAGangAreLiftedTogetherWhenItsMembersExist(t *testing.T) {
	runGated(t, config.GatesUntilMembers, func(p *process) {
		pods := members("g", 4, "1", gated)
		p.set(podGroup("g", 3), pods[0], pods[1]) // and no node
		p.after(time.Minute)
		p.wrote("while a member is missing")
		if got, want := p.why("g"), "waiting for 1 more of 3 members to be created"; got != want {
			t.Errorf("it waits because: %s, want: %s", got, want)
		}
		p.set(pods[2])
		p.after(100 * time.Millisecond)
		p.wrote("with enough members to start together", "lift g-0", "lift g-1", "lift g-2")
		p.set(pods[3])
		p.after(100 * time.Millisecond)
		p.wrote("with another member", "lift g-3")
		p.set(node("a", "3"))
		p.after(5 * time.Second)
		p.wrote("when there is room, of pods that the scheduler has not tried",
			"nominate g-0", "nominate g-1", "nominate g-2")
	})
}

func TestThePageOfAGangSaysWhichMembersAreGated(t *testing.T) {
	runGated(t, config.GatesUntilMembers, func(p *process) {
		pods := members("g", 2, "1", gated)
		p.set(podGroup("g", 4), pods[0], pods[1], members("g", 3, "1")[2])
		p.after(time.Second)
		var got []string
		for _, member := range p.Observer.About(types.NamespacedName{Namespace: "default", Name: "g"})[0].Members {
			got = append(got, member.Pod+" "+member.Stage)
		}
		if diff := cmp.Diff([]string{"g-0 gated", "g-1 gated", "g-2 pending"}, got); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	})
}

func TestNoPodIsLeftGatedWithoutReason(t *testing.T) {
	unlabelled := func(pod *corev1.Pod) { pod.Labels = nil }
	for name, test := range map[string]struct {
		gates config.Gates
		pod   *corev1.Pod
		then  func(pod *corev1.Pod)
	}{
		"gates are not wanted any more":        {config.GatesNever, members("g", 1, "1", gated)[0], nil},
		"nor are they, and others have theirs": {config.GatesNever, members("g", 1, "1", gated, gatedByOthers)[0], nil},
		"the pod is of no gang":                {config.GatesUntilPlace, members("g", 1, "1", gated, unlabelled)[0], nil},
		"it is of none any more":               {config.GatesUntilPlace, members("g", 1, "1", gated)[0], unlabelled},
		"it is of a group of Kubernetes": {
			config.GatesUntilPlace,
			members("g", 1, "1", gated, func(pod *corev1.Pod) { pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} })[0], nil,
		},
		"it is for another scheduler": {
			config.GatesUntilPlace, members("g", 1, "1", gated, func(pod *corev1.Pod) { pod.Spec.SchedulerName = "another" })[0],
			nil,
		},
		"its gang has started, room or no room":  {config.GatesUntilPlace, members("started", 2, "1", gated)[1], nil},
		"its gang says that one is enough of it": {config.GatesUntilMembers, members("alone", 1, "1", gated)[0], nil},
	} {
		t.Run(name, func(t *testing.T) {
			runGated(t, test.gates, func(p *process) {
				p.set(podGroup("g", 2), podGroup("alone", 1), podGroup("started", 1), node("a", "1"))
				p.set(members("started", 1, "1", func(pod *corev1.Pod) { pod.Spec.NodeName = "a" })[0], test.pod)
				p.after(time.Second)
				if test.then != nil {
					p.wrote("before")
					test.then(test.pod)
					p.set(test.pod)
					p.after(time.Second)
				}
				p.wrote("then", "lift "+test.pod.Name)
			})
		})
	}
}

func TestAGateOfSomebodyElseKeepsAMemberAsItWas(t *testing.T) {
	runGated(t, config.GatesUntilMembers, func(p *process) {
		pods := members("g", 2, "1", gated)
		gatedByOthers(pods[1])
		p.set(podGroup("g", 2), node("a", "2"))
		p.set(objects(pods)...)
		p.after(time.Minute)
		p.wrote("while somebody else keeps a member back")
		if got, want := p.why("g"), "waiting for 1 more of 2 members: 1 held back by gates of others"; got != want {
			t.Errorf("it waits because: %s, want: %s", got, want)
		}
		pods[1].Spec.SchedulingGates = pods[1].Spec.SchedulingGates[:1]
		p.set(pods[1])
		p.after(time.Second)
		p.wrote("when they do not", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
	})
}

// A gate is put on by what a pod says of its controller, which nobody has checked.
func TestTheGateOfAPodIsLiftedByWhatItsControllerIs(t *testing.T) {
	ray := schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}
	owned := func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"ray.io/group": "headgroup"}
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "ray.io/v1", Kind: ray.Kind, Name: "r", UID: "r", Controller: new(true)},
		}
	}
	object := func(uid types.UID, roles ...cluster.Role) *cluster.Owner {
		return cluster.NewOwner(ray, &metav1.ObjectMeta{Namespace: "default", Name: "r", UID: uid}, cluster.Asks{Roles: roles})
	}
	denied := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	both := cluster.Role{Name: "headgroup", Min: 2, All: 2}
	head, worker := cluster.Role{Name: "headgroup", Min: 1, All: 1}, cluster.Role{Name: "gpu", Min: 1, All: 1}
	for name, test := range map[string]struct {
		tell func(cluster.CustomHandler)
		want []string
	}{
		"it may be shown yet":           {func(cluster.CustomHandler) {}, nil},
		"it starts a gang":              {func(h cluster.CustomHandler) { h.Set(object("r", head, worker)) }, nil},
		"it starts one pod":             {func(h cluster.CustomHandler) { h.Set(object("r", head)) }, []string{"lift r-0"}},
		"nobody may say whether it is":  {func(h cluster.CustomHandler) { h.Watched(denied) }, []string{"lift r-0"}},
		"it is the gang of all of them": {func(h cluster.CustomHandler) { h.Set(object("r", both)) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			runGated(t, config.GatesUntilMembers, func(p *process) {
				p.set(members("r", 1, "1", gated, owned)[0])
				test.tell(p.cluster.Owners.Handler(ray))
				p.after(time.Minute)
				p.wrote("when that is known", test.want...)
			})
		})
	}
}

func TestTheGatesOfGangsThatStartTogetherAreLiftedTogether(t *testing.T) {
	runGated(t, config.GatesUntilMembers, func(p *process) {
		for _, name := range []string{"masters", "workers"} {
			group := podGroup(name, 2)
			group.SetAnnotations(map[string]string{v1alpha1.AnnotationGroups: `["default/masters", "default/workers"]`})
			p.set(group)
		}
		masters, workers := members("masters", 2, "1", gated), members("workers", 2, "1", gated)
		p.set(masters[0], masters[1], workers[0])
		p.after(time.Minute)
		p.wrote("while a worker is missing")
		p.set(workers[1], node("a", "8"))
		p.after(time.Second)
		p.wrote("when all are there", "lift masters-0", "lift masters-1", "lift workers-0", "lift workers-1",
			"nominate masters-0", "nominate masters-1", "nominate workers-0", "nominate workers-1")
	})
}

func TestAGateThatCouldNotBeLiftedIsTriedAgain(t *testing.T) {
	runGated(t, config.GatesUntilMembers, func(p *process) {
		p.refuse(errors.New("the API server is away"))
		p.set(podGroup("g", 2))
		p.set(objects(members("g", 2, "1", gated))...)
		p.after(3*time.Second + core.LiftRetry/2)
		if tries := strings.Count(strings.Join(p.written(), " "), "lift g-0"); tries < 2 || tries > 4 {
			t.Errorf("tried %d times in three seconds, want about once a second", tries)
		}
		p.refuse(nil)
		p.after(2 * core.LiftRetry)
		p.wrote("when it is back", "lift g-0", "lift g-1")
	})
}

func TestAGateThatMustNotBeLiftedHoldsUpNobodyElse(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("pods"), "g-0", errors.New("denied by somebody's policy"))
	for _, test := range []struct {
		name   string
		err    error
		pauses bool
		lifts  int // in a minute
	}{
		{"by somebody's policy", refused, false, 6},
		{"as the pod is not valid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "g-0", nil), false, 6},
		{"as the API server is away", errors.New("the API server is away"), true, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			runGated(t, config.GatesUntilMembers, func(p *process) {
				p.refuse(test.err)
				p.set(podGroup("g", 1), members("g", 1, "1", gated)[0])
				p.after(time.Second / 2)
				if got := p.machine.writes.writer.Pausing(); got != test.pauses {
					t.Errorf("planning pauses: %t, want %t", got, test.pauses)
				}
				p.after(time.Minute)
				if got := len(p.written()); got < test.lifts-1 || got > test.lifts+1 {
					t.Errorf("%d tries in a minute, want about %d", got, test.lifts)
				}
				p.refuse(nil)
				p.after(mostLift)
				if p.written(); membership.Gated(p.latest(members("g", 1, "1")[0])) {
					t.Error("it is still gated")
				}
			})
		})
	}
}

// mostLift is how long it takes until a gate is tried again.
const mostLift = 31 * time.Second
