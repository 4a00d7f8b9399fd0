package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func TestAPodIsOfTheGroupThatItsLabelNames(t *testing.T) {
	group := "a"
	for _, test := range []struct {
		name string
		pod  corev1.Pod
		want string
	}{
		{"without a label", corev1.Pod{}, ""},
		{"of the API group of SIG Scheduling", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Labels: map[string]string{v1alpha1.LabelX: "a"},
		}}, v1alpha1.LabelX + " n/a"},
		{"without an object", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Labels: map[string]string{v1alpha1.LabelMuster: "a"},
		}}, v1alpha1.LabelMuster + " n/a"},
		{"by Koordinator's annotation", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Annotations: map[string]string{v1alpha1.AnnotationKoordinatorName: "a"},
		}}, v1alpha1.AnnotationKoordinatorName + " n/a"},
		{"a label comes before the annotation", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Labels: map[string]string{v1alpha1.LabelSigs: "b"},
			Annotations: map[string]string{v1alpha1.AnnotationKoordinatorName: "a"},
		}}, v1alpha1.LabelSigs + " n/b"},
		{"an annotation that cannot be a name", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Annotations: map[string]string{v1alpha1.AnnotationKoordinatorName: "a\x1b[2J"},
		}}, ""},
		{"left to kube-scheduler", corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelX: "a"}},
			Spec:       corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &group}},
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if key, member := Of(cluster.NewPod(&test.pod)); member {
				got = key.Label + " " + key.String()
			}
			if got != test.want {
				t.Errorf("it is of %q, want %q", got, test.want)
			}
		})
	}
}

// A mark does not count beside spec.schedulingGroup, whether that is served or not.
func TestAPodOfKubernetesOwnGroupIsServedOrLeft(t *testing.T) {
	name := "native"
	for _, test := range []struct {
		name    string
		belongs cluster.Affiliation
		want    string // the gang
		left    bool
		told    string
	}{
		{
			"nobody serves such groups",
			cluster.Affiliation{},
			"", true,
			"member of a group of Kubernetes' own (spec.schedulingGroup), left to kube-scheduler: muster serves none",
		},
		{
			"not this one",
			cluster.Affiliation{Why: "it is planned"},
			"", true,
			"member of a group of Kubernetes' own (spec.schedulingGroup), left to kube-scheduler: it is planned",
		},
		{
			"a gang",
			cluster.Affiliation{Kind: "KubernetesPodGroup", Gang: "native", Why: "it asks"},
			"native", false,
			"member of gang n/native: it asks",
		},
		{"no gang", cluster.Affiliation{Kind: "KubernetesPodGroup", Why: "it is basic"}, "", false, "member of no gang: it is basic"},
		{
			"not seen yet",
			cluster.Affiliation{Kind: "KubernetesPodGroup", Unseen: true, Why: "there is none yet"},
			unseen + "p", false,
			"member of a gang that is not known yet: there is none yet",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := cluster.NewPod(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: map[string]string{v1alpha1.LabelX: "a"}},
				Spec:       corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &name}},
			})
			pod.Affiliation = test.belongs
			if key, _ := Of(pod); key.Name != test.want || Left(pod) != test.left {
				t.Errorf("it is of %q and left: %t; want %q, %t", key.Name, Left(pod), test.want, test.left)
			}
			if got := Tell(pod); got != test.told {
				t.Errorf("told: %q, want %q", got, test.told)
			}
		})
	}
}

func TestPeopleAreToldWhatMakesAPodAMember(t *testing.T) {
	with := func(labels, annotations map[string]string, belongs cluster.Affiliation) *cluster.Pod {
		pod := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Labels: labels, Annotations: annotations}})
		pod.Affiliation = belongs
		return pod
	}
	for _, test := range []struct {
		name    string
		pod     *cluster.Pod
		want    string
		ignored []string
	}{
		{"by a label", with(map[string]string{v1alpha1.LabelMuster: "g"}, map[string]string{v1alpha1.AnnotationMinMember: "3"},
			cluster.Affiliation{Gang: "other"}), "member of gang n/g by its own mark muster.dev/pod-group", nil},
		{
			"by its owner", with(nil, nil, cluster.Affiliation{Gang: "train", Why: "its JobSet train: 7 of its 7 pods start together"}),
			"member of gang n/train: its JobSet train: 7 of its 7 pods start together", nil,
		},
		{
			"by its owner, with annotations that count and others that make no sense",
			with(nil, map[string]string{
				v1alpha1.AnnotationPreemptAfter: "2m", v1alpha1.AnnotationRequiredTopology: "rack", v1alpha1.AnnotationMinMember: "3",
				v1alpha1.AnnotationMinRuntime: "long", v1alpha1.AnnotationCheckpointedAt: "now",
			}, cluster.Affiliation{Gang: "train", Why: "its JobSet train: 7 of its 7 pods start together"}),
			"member of gang n/train: its JobSet train: 7 of its 7 pods start together",
			[]string{
				"annotation muster.dev/min-member is ignored: the pod has no label of a gang, such as muster.dev/pod-group",
				`annotation ignored: metadata.annotations[muster.dev/min-runtime]: Invalid value: "long": must be a duration such as "5m", or "0s"`,
				`annotation ignored: metadata.annotations[muster.dev/checkpointed-at]: Invalid value: "now": ` +
					`must be a time as RFC 3339 has it, such as "2026-11-30T12:00:00Z"`,
			},
		},
		{
			"by an owner that is not seen", with(nil, nil, cluster.Affiliation{Unseen: true, Why: "its Job j has not been seen yet"}),
			"member of a gang that is not known yet: its Job j has not been seen yet", nil,
		},
		{
			"its owner does not ask", with(nil, nil, cluster.Affiliation{Why: "its Job does not ask for it"}),
			"member of no gang: its Job does not ask for it", nil,
		},
		{
			"by its owner, and it says what counts then", with(nil, map[string]string{
				v1alpha1.AnnotationReserveAfter: "0", v1alpha1.AnnotationRequiredTopology: "rack", v1alpha1.AnnotationGangMode: "Strict",
			}, cluster.Affiliation{Gang: "train", Why: "why"}),
			"member of gang n/train: why",
			[]string{"annotation muster.dev/gang-mode is ignored: the pod has no label of a gang, such as muster.dev/pod-group"},
		},
		{"nothing says so, and marks are misspelled", with(
			map[string]string{"muster.dev/podgroup": "g", "muster.dev/min-member": "3", "muster.dev/colour": "red", "app": "web"},
			map[string]string{
				"muster.dev/pod-group": "g", v1alpha1.AnnotationMinMember: "3", v1alpha1.AnnotationWoken: "1", "muster.dev/group": "x",
			},
			cluster.Affiliation{},
		), "member of no gang: it has no mark of one, such as muster.dev/pod-group, and no owner that makes one", []string{
			"label muster.dev/colour is ignored: muster knows no such label",
			"label muster.dev/min-member is ignored: it is an annotation",
			"label muster.dev/podgroup is ignored: muster knows no such label; muster.dev/pod-group may be meant",
			"annotation muster.dev/group is ignored: muster knows no such annotation; muster.dev/groups may be meant",
			"annotation muster.dev/min-member is ignored: the pod has no label of a gang, such as muster.dev/pod-group",
			"annotation muster.dev/pod-group is ignored: it is a label",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Tell(test.pod); got != test.want {
				t.Errorf("told: %q, want %q", got, test.want)
			}
			if got := Ignored(test.pod); !slices.Equal(got, test.ignored) {
				t.Errorf("ignored: %q, want %q", got, test.ignored)
			}
		})
	}
}

func TestAMemberIsReadyOnceOnlyItsGateIsInTheWay(t *testing.T) {
	gates := func(names ...string) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, name := range names {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
		return pod
	}
	going := gates()
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for _, test := range []struct {
		name         string
		pod          *corev1.Pod
		ready, gated bool
	}{
		{"no gate", gates(), true, false},
		{"muster's gate", gates(v1alpha1.SchedulingGate), true, true},
		{"a gate of others", gates("other"), false, false},
		{"both", gates("other", v1alpha1.SchedulingGate), false, true},
		{"it is being deleted", going, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if Ready(test.pod) != test.ready || Gated(test.pod) != test.gated {
				t.Errorf("ready: %t, gated: %t", Ready(test.pod), Gated(test.pod))
			}
		})
	}
}

func TestWhatAMemberSaysIsBounded(t *testing.T) {
	bounds := Bounds{Timeout: time.Minute, MaxMembers: 3}
	saying := func(text string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationMinMember: text}}}
	}
	if Says(&corev1.Pod{}) {
		t.Error("a member says something, and has no annotation")
	}
	if s := bounds.Declared(saying("3")); s.Err != nil || s.MinMember != 3 || s.Timeout != time.Minute {
		t.Errorf("asked for: %+v", s)
	}
	for _, text := range []string{"4", "0", "many"} {
		if s := bounds.Declared(saying(text)); s.Err == nil {
			t.Errorf("minMember %s is taken: %+v", text, s)
		}
	}
}

// Nobody else is asked how large a group is: one that nobody says a number for would start with its first member.
func TestMarksSpeakForMarkedMembersAndOwnersForOthers(t *testing.T) {
	train := cluster.Affiliation{Kind: "JobSet", Gang: "train", MinMember: 5}
	member := func(name, mark, minMember string, belongs cluster.Affiliation) *cluster.Pod {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
		if mark != "" {
			object.Labels = map[string]string{mark: "g"}
		}
		if minMember != "" {
			object.Annotations = map[string]string{v1alpha1.AnnotationMinMember: minMember}
		}
		pod := cluster.NewPod(object)
		pod.Affiliation = belongs
		return pod
	}
	for name, test := range map[string]struct {
		members []*cluster.Pod
		want    int // 0 for nobody who speaks
	}{
		"of an owner":                            {[]*cluster.Pod{member("a", "", "", train)}, 5},
		"of an owner, and a stray annotation":    {[]*cluster.Pod{member("a", "", "2", train)}, 5},
		"marked, of an owner, without an object": {[]*cluster.Pod{member("a", v1alpha1.LabelX, "", train)}, 0},
		"marked, of an owner, and only one role says a number": {
			[]*cluster.Pod{member("a", v1alpha1.LabelMuster, "", train), member("b", v1alpha1.LabelMuster, "7", train)}, 7,
		},
		"its owner is unseen, and a stray annotation": {[]*cluster.Pod{member("a", "", "1", cluster.Affiliation{Unseen: true})}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bounds := Bounds{Timeout: time.Minute, MaxTimeout: time.Hour, MaxMembers: 10}
			got := 0
			if s := bounds.Said(slices.Values(test.members)); s != nil {
				if s.Err != nil || s.MinMember == 0 {
					t.Fatalf("asked for: %+v", s)
				}
				got = s.MinMember
			}
			if got != test.want {
				t.Errorf("%d members start together, want %d", got, test.want)
			}
		})
	}
}

func TestKoordinatorsAnnotationsAreTakenAsTheyAre(t *testing.T) {
	bounds := Bounds{Timeout: time.Minute, MaxTimeout: time.Hour, MaxMembers: 100}
	saying := func(more ...string) *corev1.Pod {
		annotations := map[string]string{v1alpha1.AnnotationKoordinatorName: "g", v1alpha1.AnnotationKoordinatorMinAvailable: "3"}
		for i := 0; i < len(more); i += 2 {
			annotations[more[i]] = more[i+1]
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	}
	asked := func(timeout time.Duration, match v1alpha1.MatchPolicy, mode v1alpha1.GangMode) *Spec {
		return &Spec{MinMember: 3, Timeout: timeout, Policy: v1alpha1.Policy{MatchPolicy: match, GangMode: mode}}
	}
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want *Spec // nil for an error
	}{
		{"its defaults", saying(), asked(time.Minute, v1alpha1.MatchOnceSatisfied, v1alpha1.GangStrict)},
		{
			"everything", saying(
				v1alpha1.AnnotationKoordinatorWaitingTime, "600s", v1alpha1.AnnotationKoordinatorMatchPolicy, "waiting-and-running",
				v1alpha1.AnnotationKoordinatorMode, "NonStrict", "gang.scheduling.koordinator.sh/total-number", "5",
			), asked(10*time.Minute, v1alpha1.MatchWaitingAndBound, v1alpha1.GangNonStrict),
		},
		{
			"muster's own words count",
			saying(v1alpha1.AnnotationMatchPolicy, "only-waiting", v1alpha1.AnnotationKoordinatorMatchPolicy, "once-satisfied"),
			asked(time.Minute, v1alpha1.MatchOnlyWaiting, v1alpha1.GangStrict),
		},
		{
			"no longer than may be", saying(v1alpha1.AnnotationKoordinatorWaitingTime, "2000h"),
			asked(time.Hour, v1alpha1.MatchOnceSatisfied, v1alpha1.GangStrict),
		},
		{"a time that is none", saying(v1alpha1.AnnotationKoordinatorWaitingTime, "soon"), nil},
		{"a mode that is none", saying(v1alpha1.AnnotationKoordinatorMode, "Lax"), nil},
		{"a match policy that is none", saying(v1alpha1.AnnotationKoordinatorMatchPolicy, "waiting-and-bound"), nil},
		{"a number that is none", saying(v1alpha1.AnnotationKoordinatorMinAvailable, "few"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !Says(test.pod) {
				t.Error("it says nothing")
			}
			got := bounds.Declared(test.pod)
			if test.want == nil {
				if got.Err == nil || !strings.Contains(got.Err.Error(), "gang.scheduling.koordinator.sh/") {
					t.Errorf("the error does not name the annotation: %v", got.Err)
				}
				return
			}
			if got.Err != nil || !got.AsksAsMuchAs(test.want) {
				t.Errorf("asked for: %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestGroupsThatStartTogetherNameTheSameOnes(t *testing.T) {
	named := func(name string) Key {
		return Key{v1alpha1.LabelX, types.NamespacedName{Namespace: "n", Name: name}}
	}
	naming := func(names ...string) *Spec {
		s := &Spec{}
		for _, name := range names {
			s.Policy.Groups = append(s.Policy.Groups, named(name).NamespacedName)
		}
		return s
	}
	for _, test := range []struct {
		name         string
		ours, theirs *Spec
		want         string // a part of it
	}{
		{"each names the other", naming("b"), naming("a"), ""},
		{"each names both", naming("a", "b"), naming("a", "b"), ""},
		{"the other names nobody", naming("b"), naming(), "n/b, with which it is to start together, does not name n/a"},
		{"the other names a third one", naming("b"), naming("a", "c"), "n/b, with which it is to start together, also names n/c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.ours.Disagreement(named("a"), test.theirs, named("b"))
			if got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want)) {
				t.Errorf("they disagree: %q, want %q", got, test.want)
			}
		})
	}
}

// Each of many groups that start together is held against all others, while calls wait.
func TestGroupsThatNameTheSameAreComparedAtOnce(t *testing.T) {
	const count = 100
	specs := make([]*Spec, count)
	for i := range specs {
		var names []string
		for j := range count {
			if j != i { // itself need not be named
				names = append(names, fmt.Sprintf("n/group-%03d", j))
			}
		}
		member := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "n", Labels: map[string]string{v1alpha1.LabelMuster: fmt.Sprintf("group-%03d", i)},
			Annotations: map[string]string{
				v1alpha1.AnnotationMinMember: "1", v1alpha1.AnnotationGroups: `["` + strings.Join(names, `","`) + `"]`,
			},
		}}
		if specs[i] = (Bounds{MaxMembers: 10}).Said(slices.Values([]*cluster.Pod{cluster.NewPod(member)})); specs[i].Err != nil {
			t.Fatal(specs[i].Err)
		}
	}
	named := func(i int) Key {
		return Key{v1alpha1.LabelMuster, types.NamespacedName{Namespace: "n", Name: fmt.Sprintf("group-%03d", i)}}
	}
	first, last := named(0), named(count-1)
	if allocations := testing.AllocsPerRun(10, func() {
		if why := specs[0].Disagreement(first, specs[count-1], last); why != "" {
			t.Error(why)
		}
	}); allocations > 0 {
		t.Errorf("to compare two of %d groups takes %v allocations", count, allocations)
	}
	other := *specs[1]
	other.Policy.Groups = specs[1].Policy.Groups[1:]
	other.name(named(1).NamespacedName)
	if why := specs[0].Disagreement(first, &other, named(1)); !strings.Contains(why, "does not name n/group-000") {
		t.Errorf("of a group that does not name the first one: %q", why)
	}
}

func TestALackIsBornUpToSomePercent(t *testing.T) {
	strict, lax := &Spec{MinMember: 20}, &Spec{MinMember: 20, Policy: v1alpha1.Policy{GangMode: v1alpha1.GangNonStrict}}
	for _, test := range []struct {
		of               *Spec
		missing, percent int
		want             bool
	}{
		{strict, 2, 10, true},
		{strict, 3, 10, false},
		{strict, 3, 15, true},
		{strict, 1, 0, false},
		{strict, 0, 0, true},
		{strict, 20, 100, true},
		{lax, 19, 0, true},
	} {
		if got := test.of.Bears(test.missing, test.percent); got != test.want {
			t.Errorf("%d of 20 are missing, %d %% may be (%v): %t", test.missing, test.percent, test.of.Policy, got)
		}
	}
}
