package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// labelled makes a pod a member of nothing, with other labels and annotations.
func labelled(labels, annotations map[string]string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels, pod.Annotations = labels, annotations }
}

func TestAMarkThatIsIgnoredIsToldAndCounted(t *testing.T) {
	typo := map[string]string{"muster.dev/podgroup": "g"}
	least := map[string]string{v1alpha1.AnnotationMinMember: "3"}
	for name, test := range map[string]struct {
		change []func(*corev1.Pod)
		want   string // a part of it, "" for nothing
	}{
		"a typo": {
			[]func(*corev1.Pod){labelled(typo, nil)},
			"p-0 MarkIgnored p-0: label muster.dev/podgroup is ignored: muster knows no such label; muster.dev/pod-group may be meant",
		},
		"the controller is told": {
			[]func(*corev1.Pod){ownedBy(job("train", 1)), labelled(nil, least)},
			"train MarkIgnored p-0: annotation muster.dev/min-member is ignored",
		},
		"of Koordinator, without a name": {
			[]func(*corev1.Pod){labelled(nil, map[string]string{v1alpha1.AnnotationKoordinatorMinAvailable: "3"})},
			"annotation gang.scheduling.koordinator.sh/min-available is ignored",
		},
		"of Kueue, without a number": {
			[]func(*corev1.Pod){labelled(map[string]string{"kueue.x-k8s.io/pod-group-name": "g"}, nil)},
			"its annotation kueue.x-k8s.io/pod-group-total-count is no number from 1 on",
		},
		"a member":             {[]func(*corev1.Pod){withoutObject("g", "2")}, ""},
		"marks of others":      {[]func(*corev1.Pod){labelled(map[string]string{"app": "web"}, map[string]string{"example.com/a": "b"})}, ""},
		"of another scheduler": {[]func(*corev1.Pod){labelled(typo, nil), func(pod *corev1.Pod) { pod.Spec.SchedulerName = "another" }}, ""},
		"it runs":              {[]func(*corev1.Pod){labelled(typo, nil), func(pod *corev1.Pod) { pod.Spec.NodeName = "a" }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pod := members("p", 1, "1", test.change...)[0]
				told := func() (all []string) {
					for _, event := range p.Publisher.marks.look() {
						all = append(all, fmt.Sprintf("%s %s %s", event.About.GetName(), event.Reason, event.Words))
					}
					return all
				}
				p.set(node("a", "4"), pod)
				p.after(time.Second)
				got := told()
				if (test.want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "\n"), test.want) {
					t.Errorf("told: %q, want %q", got, test.want)
				}
				if more := told(); len(more) > 0 {
					t.Errorf("told again: %q", more)
				}
				count := float64(min(len(test.want), 1))
				if got := p.measured("muster_gang_mistakes"); got["mark"] != count {
					t.Errorf("counted: %v, want %v", got, count)
				}
				p.delete(pod)
				p.after(time.Second)
				if got := p.measured("muster_gang_mistakes"); got["mark"] != 0 {
					t.Errorf("counted once it is gone: %v", got)
				}
			})
		})
	}
}

func TestMembersThatDisagreeAreToldAndCounted(t *testing.T) {
	says := func(numbers ...string) (pods []runtime.Object) {
		for i, pod := range members("g", len(numbers), "1") {
			pod.Labels, pod.Annotations = map[string]string{v1alpha1.LabelMuster: "g"}, map[string]string{}
			if numbers[i] != "" {
				pod.Annotations[v1alpha1.AnnotationMinMember] = numbers[i]
			}
			pods = append(pods, pod)
		}
		return pods
	}
	withObject := says("", "3")
	for _, object := range withObject {
		object.(*corev1.Pod).Labels = map[string]string{v1alpha1.LabelX: "g"}
	}
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"with each other": {says("2", "3", "4"), "g-1 says that 3 must start together, and the 2 of the first member by name count"},
		"one is mistaken": {says("2", "two"), "g-1 says that nonsense must start together, and the 2 of the first member by name count"},
		"with their PodGroup": {
			append(withObject, podGroup("g", 2)), "g-1 says that 3 must start together, and the 2 of the PodGroup count",
		},
		"one says nothing": {says("2", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(test.objects...)
				p.after(time.Second)
				told := slices.DeleteFunc(p.toldToOwners(), func(told string) bool { return !strings.Contains(told, "MembersDisagree") })
				about := p.Observer.Report()[0]
				if test.want == "" {
					if len(told) > 0 || about.Note != "" {
						t.Errorf("told: %q, noted: %q", told, about.Note)
					}
					return
				}
				if want := "its members disagree: " + test.want; len(told) != 1 || !strings.Contains(told[0], want) || about.Note != want {
					t.Errorf("told: %q, noted %q, want %q", told, about.Note, want)
				}
				if got := p.measured("muster_gang_mistakes"); got["minimum"] != 1 {
					t.Errorf("counted: %v", got)
				}
			})
		})
	}
}

// An MPIJob with launcherCreationPolicy WaitForWorkersReady, and a PodGroup that counts the launcher.
func TestMembersThatComeOnlyOnceOthersHaveStartedAreWaitedForInVain(t *testing.T) {
	for name, test := range map[string]struct {
		late      string
		minMember int64
		want      string
	}{
		"the launcher is counted": {
			"makes its launcher later", 3,
			"MembersWithheld waiting for 1 more of 3 members to be created, in vain: its MPIJob pi makes its launcher later; " +
				"a minimum of 2 would do, or no mark of a group",
		},
		"it is made with the workers": {"", 3, "MembersMissing waiting for 1 more of 3 members to be created"},
		"it is not counted": {
			"makes its launcher later", 2, "Waiting 0 of 2 pods are bound, and 0 wait on their nodes for the others to come",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				kind := schema.GroupKind{Group: "kubeflow.org", Kind: "MPIJob"}
				pi := &metav1.ObjectMeta{Name: "pi", Namespace: "default", UID: "pi"}
				asks := cluster.Asks{Roles: []cluster.Role{{Min: 2, All: 3}}, Late: test.late}
				p.cluster.Owners.Handler(kind).Set(cluster.NewOwner(kind, pi, asks))
				p.set(node("a", "4"), podGroup("pi", test.minMember))
				p.set(objects(members("pi", 2, "1", func(pod *corev1.Pod) {
					pod.OwnerReferences = []metav1.OwnerReference{
						{APIVersion: "kubeflow.org/v2beta1", Kind: "MPIJob", Name: "pi", UID: "pi", Controller: new(true)},
					}
				}))...)
				p.after(time.Second)
				o, _ := p.Publisher.Observe(named("pi"))
				reason, words := o.Say()
				if got := reason.String() + " " + words; got != test.want {
					t.Errorf("told: %q, want %q", got, test.want)
				}
				withheld := 0.0
				if strings.HasPrefix(test.want, "MembersWithheld") {
					withheld = 1
				}
				if got := p.measured("muster_gang_mistakes"); got["withheld"] != withheld {
					t.Errorf("counted: %v", got)
				}
			})
		})
	}
}
