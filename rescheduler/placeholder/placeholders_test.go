package placeholder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

const margin = time.Second

// world is a cluster in which x moves from n2 to n3, so that y may move from n1 to n2, so that big has room on n1. It
// is the API server, too.
type world struct {
	*testing.T
	*Placeholders
	clock   *clocktesting.FakeClock
	cluster *cluster.Cluster
	keeper  *reservation.Keeper
	plan    *v1alpha1.ReschedulingPlan
	pods    map[string]*corev1.Pod // the placeholder pods
	log     []string               // what was written
	created int
	refusal error
	// refusals are what single writes are answered.
	refusals map[string]error
}

func newWorld(t *testing.T, gates config.Gates) *world {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w := &world{T: t, pods: map[string]*corev1.Pod{}, clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))}
	w.cluster = cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	fields := config.Default().Profiles[0]
	fields.Gates = gates
	profile, err := predicates.NewProfile(&fields)
	if err != nil {
		t.Fatal(err)
	}
	profiles := predicates.NewProfiles(
		predicates.NewVerdictStore(profile, w.cluster, 1<<20, predicates.NewStoreMetrics(registry), clock.RealClock{}))
	w.keeper = reservation.New(reservation.Options{Logger: log, Clock: w.clock, Cluster: w.cluster, Profiles: profiles})
	w.Placeholders = New(Options{
		Logger: log, Clock: w.clock, Cluster: w.cluster, Profiles: profiles, Keeper: w.keeper, Client: w, Pods: w,
		Namespace: "muster-system", Margin: margin,
	})
	for name, cpu := range map[string]string{"n1": "4", "n2": "4", "n3": "4"} {
		w.set(newNode(name, cpu))
	}
	optedIn := map[string]string{schedulingv1alpha1.LabelAhead: "true"}
	w.set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: optedIn}})
	w.set(newPod("x", "4", on("n2")))
	w.set(newPod("y", "4", on("n1")))
	w.set(newPod("big", "4"))
	step := func(pod, from, to string) v1alpha1.Step {
		return v1alpha1.Step{
			Pod:        v1alpha1.PodReference{Namespace: "default", Name: pod, UID: types.UID(pod)},
			Controller: v1alpha1.Controller{Kind: "ReplicaSet", Name: pod, UID: types.UID("rs-" + pod)}, From: from, To: to,
			Replacement: corev1.PodTemplateSpec{Spec: newPod("", "4").Spec},
		}
	}
	w.plan = &v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "plan"},
		Spec: v1alpha1.ReschedulingPlanSpec{
			Expires:       metav1.NewTime(w.clock.Now().Add(time.Hour)),
			Beneficiaries: []v1alpha1.Beneficiary{{PodReference: v1alpha1.PodReference{Namespace: "default", Name: "big", UID: "big"}, Node: "n1"}},
			Steps:         []v1alpha1.Step{step("x", "n2", "n3"), step("y", "n1", "n2")},
		},
		Status: v1alpha1.ReschedulingPlanStatus{Phase: v1alpha1.Approved},
	}
	w.keeper.Set(w.plan)
	return w
}

func newNode(name, cpu string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"),
	}}}
}

func newPod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }
func nominated(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.NominatedNodeName = node }
}

func gated(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: schedulingv1alpha1.AheadGate}}
}

func replacing(who string) func(*corev1.Pod) {
	yes := true
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: who, UID: types.UID("rs-" + who), Controller: &yes}}
	}
}

func (w *world) set(object runtime.Object) {
	w.Helper()
	if err := w.cluster.Set(object); err != nil {
		w.Fatal(err)
	}
}

// to has the plan be that far.
func (w *world) to(phases ...v1alpha1.StepPhase) {
	next := w.plan.DeepCopy()
	next.Status.Phase, next.Status.Steps = v1alpha1.Executing, nil
	for _, phase := range phases {
		next.Status.Steps = append(next.Status.Steps, v1alpha1.StepStatus{Phase: phase, Evicted: new(metav1.NewTime(w.clock.Now()))})
	}
	w.plan = next
	w.keeper.Set(next)
}

func (w *world) did(what string) error {
	w.log = append(w.log, what)
	if err := w.refusals[what]; err != nil {
		return err
	}
	return w.refusal
}

// Pods implements [Pods].
func (w *world) Pods() map[string]*corev1.Pod { return w.pods }

// Create implements [Client].
func (w *world) Create(_ context.Context, pod *corev1.Pod) error {
	err := w.did("create " + pod.Name)
	if err == nil {
		created := pod.DeepCopy()
		w.created++
		created.UID = types.UID(fmt.Sprint("uid-", w.created))
		w.pods[pod.Name] = created
	}
	return err
}

// Delete implements [Client].
func (w *world) Delete(_ context.Context, pod *corev1.Pod) error {
	err := w.did("delete " + pod.Name)
	if err == nil {
		delete(w.pods, pod.Name)
	}
	return err
}

// Nominate implements [Client].
func (w *world) Nominate(_ context.Context, pod *corev1.Pod, node string) error {
	err := w.did("nominate " + pod.Name + " to " + node)
	if err != nil {
		return err
	}
	next := pod.DeepCopy()
	nominated(node)(next)
	if w.pods[pod.Name] == nil { // the watch shows it at once
		return w.cluster.Set(next)
	}
	w.pods[pod.Name] = next
	return nil
}

// Wake implements [Client].
func (w *world) Wake(_ context.Context, pod *corev1.Pod) error { return w.did("change " + pod.Name) }

// wrote fails unless that was written since it was last asked, in whatever order.
func (w *world) wrote(when string, want ...string) {
	w.Helper()
	slices.Sort(w.log)
	slices.Sort(want)
	if diff := cmp.Diff(want, w.log); diff != "" {
		w.Errorf("%s, writes (-want +got):\n%s", when, diff)
	}
	w.log = nil
}

func (w *world) look(times int) {
	for range times {
		w.keeper.Refresh()
		w.reconcile(w.Context())
	}
}

func (w *world) knows(want bool, why string) {
	w.Helper()
	if knows, because := w.Knows(w.plan); knows != want || because != why {
		w.Errorf("the scheduler knows: %t %q, want %t %q", knows, because, want, why)
	}
}

func TestAPlanIsToldOfBeforeItBegins(t *testing.T) {
	w := newWorld(t, config.GatesUntilPlace)
	w.knows(false, "")
	w.look(1)
	w.wrote("at first", "create p-step-0", "create p-step-1", "create p-for-big")
	w.look(1)
	w.wrote("then", "nominate p-step-0 to n3", "nominate p-step-1 to n2", "nominate p-for-big to n1")
	w.look(1)
	w.wrote("when all is there")
	w.knows(false, "")
	w.clock.Step(margin)
	w.knows(true, "")
	for name, pod := range w.pods {
		if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "4" {
			t.Errorf("%s asks for %s cores", name, got)
		}
		if err := w.cluster.Set(pod.DeepCopy()); err != nil || len(w.cluster.Nominated()) > 0 {
			t.Errorf("%s counts twice: %v %v", name, err, w.cluster.Nominated())
		}
	}
}

func TestRoomOfPodsThatAskMusterIsNotToldOf(t *testing.T) {
	w := newWorld(t, config.GatesNever)
	w.knows(true, "")
	w.look(2)
	w.wrote("of another nodeSelection")
}

func TestWhatIsInTheWayIsSaid(t *testing.T) {
	w := newWorld(t, config.GatesUntilPlace)
	w.refusal = errors.New("forbidden")
	w.look(1)
	if knows, why := w.Knows(w.plan); knows || why == "" {
		t.Errorf("the scheduler knows: %t %q", knows, why)
	}
}

// told is a world in which the scheduler knows of all room.
func told(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, config.GatesUntilPlace)
	w.look(3)
	w.log = nil
	return w
}

func TestAPlaceholderPodGoesWhenItsPodIsNominated(t *testing.T) {
	w := told(t)
	w.to(v1alpha1.StepEvicted, v1alpha1.StepWaiting)
	_ = w.cluster.Delete(newPod("x", "4"))
	w.takes(newPod("x2", "4", gated, replacing("x")))
	w.look(2)
	w.wrote("while it is not nominated")
	if !w.Blocks("x2") {
		t.Error("its gate may be lifted while its placeholder pod is there")
	}
	w.set(newPod("x2", "4", gated, replacing("x"), nominated("n3")))
	w.look(2)
	w.wrote("when it is", "delete p-step-0")
	if w.Blocks("x2") {
		t.Error("its gate may not be lifted")
	}
	w.set(newPod("x2", "4", replacing("x"))) // the scheduler has failed with it
	w.look(2)
	w.wrote("when the nomination is gone")
}

// takes has a pod come and take its room.
func (w *world) takes(come *corev1.Pod) {
	w.Helper()
	w.set(come)
	profile := w.Profiles.Of(corev1.DefaultSchedulerName).Profile
	pod := w.cluster.PendingPod(come.UID)
	places := w.keeper.Claim(pod, profile).Places
	if len(places) != 1 {
		w.Fatalf("it may go to %d places", len(places))
	}
	on, suits := places[0].Suits(pod, profile, w.cluster.Snapshot())
	if err := w.keeper.Take(&places[0], pod, on); err != nil || !suits {
		w.Fatal(err, suits)
	}
}

func TestAPodOfAnotherKindThatFitsHasTheRoomOfAPlaceholderPod(t *testing.T) {
	w := told(t)
	w.to(v1alpha1.StepEvicted, v1alpha1.StepWaiting)
	_ = w.cluster.Delete(newPod("x", "4"))
	w.takes(newPod("x2", "3", gated, replacing("x")))
	w.set(newPod("x2", "3", gated, replacing("x"), nominated("n3")))
	w.look(2)
	w.wrote("when it is nominated", "delete p-step-0")
}

func TestNoPlaceholderPodIsInTheWayOfAPodThatDoesNotFitItsRoom(t *testing.T) {
	w := told(t)
	w.to(v1alpha1.StepEvicted, v1alpha1.StepWaiting)
	_ = w.cluster.Delete(newPod("x", "4"))
	come := newPod("x2", "5", gated, replacing("x"))
	w.set(come)
	if places := w.keeper.Claim(w.cluster.PendingPod("x2"), w.Profiles.Of(corev1.DefaultSchedulerName).Profile).Places; len(places) > 0 {
		t.Errorf("it may go to %v", places)
	}
	w.look(2)
	w.wrote("when it has come", "delete p-for-big", "delete p-step-0", "delete p-step-1")
}

func TestNoPlaceholderPodIsInTheWayOfAPodOfADaemonSet(t *testing.T) {
	for name, test := range map[string]struct {
		kind string
		want []string
	}{
		"one that a DaemonSet has for the node": {"DaemonSet", []string{"delete p-for-big", "delete p-step-0", "delete p-step-1"}},
		"one that somebody else pinned":         {"ReplicaSet", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := told(t)
			w.set(newPod("ds", "1", func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: test.kind, Name: "ds", UID: "ds", Controller: new(true)}}
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchFields: []corev1.NodeSelectorRequirement{{
							Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"n3"},
						}},
					}}},
				}}
			}))
			w.look(2)
			w.wrote("when it waits", test.want...)
		})
	}
}

func TestRoomIsNotKeptFromThePodThatItIsFor(t *testing.T) {
	w := told(t)
	w.set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}) // its pods are not gated
	w.look(2)
	w.wrote("before its step")
	w.to(v1alpha1.StepEvicting, v1alpha1.StepWaiting)
	w.look(2)
	w.wrote("when it is about to come", "delete p-step-0")
}

func TestWhatFailsIsTriedMoreAndMoreRarely(t *testing.T) {
	w := newWorld(t, config.GatesUntilPlace)
	w.refusal = errors.New("forbidden")
	for range 600 { // a minute
		w.look(1)
		w.clock.Step(tick)
	}
	if tries := len(w.log) / 3; tries < 6 || tries > 10 {
		t.Errorf("each pod was created %d times in a minute", tries)
	}
	if knows, why := w.Knows(w.plan); knows || why == "" {
		t.Errorf("the scheduler knows: %t %q", knows, why)
	}
	w.refusal = nil
	w.clock.Step(time.Minute)
	w.look(2)
	w.clock.Step(margin)
	w.look(1)
	w.clock.Step(margin)
	w.knows(true, "")
}

func TestAPlaceholderPodOfLowerPriorityKeepsNobodyOut(t *testing.T) {
	w := told(t)
	w.clock.Step(margin)
	w.knows(true, "")
	w.pods["p-step-0"].Spec.Priority = new(int32(-1))
	w.knows(false, "the placeholder pod p-step-0 has the priority -1, less than 0")
}

func TestWhomRoomIsMadeForIsNominatedWhenAllHaveMoved(t *testing.T) {
	w := told(t)
	w.to(v1alpha1.StepMoved, v1alpha1.StepEvicted)
	w.look(2)
	w.wrote("before the last one has moved", "delete p-step-0")
	w.to(v1alpha1.StepMoved, v1alpha1.StepMoved)
	w.look(1)
	w.wrote("then", "nominate big to n1", "delete p-step-1")
	w.look(2)
	w.clock.Step(margin - 1)
	w.look(1)
	w.wrote("while an attempt that began before may take the nomination away")
	w.clock.Step(1)
	w.look(2)
	w.wrote("after it", "delete p-for-big")
}

func TestANominationThatAFailedAttemptTakesAwayIsMadeAgainBeforeThePlaceholderPodGoes(t *testing.T) {
	w := told(t)
	w.to(v1alpha1.StepMoved, v1alpha1.StepMoved)
	w.look(1)
	w.wrote("at first", "nominate big to n1", "delete p-step-0", "delete p-step-1")
	w.clock.Step(margin / 2)
	w.set(newPod("big", "4")) // the attempt failed, as the placeholder pod is there
	w.look(1)
	w.wrote("when it is gone", "nominate big to n1")
	w.clock.Step(margin / 2)
	w.look(1)
	w.wrote("it counts from the last time")
	w.clock.Step(margin)
	w.look(1)
	w.wrote("when it has lasted", "delete p-for-big")
	w.set(newPod("big", "4"))
	w.look(1)
	w.wrote("when it is gone again", "nominate big to n1")
	w.set(newPod("big", "4", on("n1")))
	w.look(2)
	w.wrote("when the pod runs")
}

func TestThePlaceholderPodGoesThoughWhomRoomIsMadeForCannotBeNominated(t *testing.T) {
	for name, test := range map[string]struct {
		refusal error
		stays   bool
	}{
		"nobody may":                     {errors.New("forbidden"), false},
		"the watch is late with the pod": {apierrors.NewConflict(corev1.Resource("pods"), "big", errors.New("changed")), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := told(t)
			w.refusals = map[string]error{"nominate big to n1": test.refusal}
			w.to(v1alpha1.StepMoved, v1alpha1.StepMoved)
			for range 100 {
				w.look(1)
				w.clock.Step(tick)
			}
			if stays := w.pods["p-for-big"] != nil; stays != test.stays {
				t.Errorf("it stays: %t", stays)
			}
		})
	}
}

func TestPlaceholderPodsGoWithTheirPlan(t *testing.T) {
	w := told(t)
	w.keeper.Delete("p")
	w.look(2)
	w.wrote("when the plan is gone", "delete p-step-0", "delete p-step-1", "delete p-for-big")
	other := w.plan.DeepCopy()
	other.UID = "other"
	w.plan = other
	w.keeper.Set(other)
	w.look(2)
	w.knows(false, "")
	w.look(1)
	w.clock.Step(margin)
	w.knows(true, "")
}

func TestASchedulerThatIsNewIsTold(t *testing.T) {
	w := told(t)
	w.touch(t.Context())
	w.wrote("when another one leads", "change p-step-0", "change p-step-1", "change p-for-big")
}

func TestRoomOfLaterStepsIsNotInTheWayOfEarlierOnes(t *testing.T) {
	room := func(name, node, cpu string) reservation.Room {
		return reservation.Room{Name: name, Node: node, For: cluster.NewPod(newPod(name, cpu))}
	}
	made := func(r reservation.Room) reservation.Room {
		r.Beneficiary = r.For.UID
		return r
	}
	come := func(r reservation.Room) reservation.Room {
		r.Taker = "there"
		return r
	}
	for name, test := range map[string]struct {
		rooms []reservation.Room
		want  []string
	}{
		"one that does not fit yet": {[]reservation.Room{room("a", "n1", "3")}, []string{"a"}},
		"two that fit":              {[]reservation.Room{room("a", "n1", "1"), room("b", "n1", "1")}, []string{"a", "b"}},
		"the second does not":       {[]reservation.Room{room("a", "n1", "1"), room("b", "n1", "2")}, []string{"a"}},
		"those after it wait":       {[]reservation.Room{room("a", "n1", "1"), room("b", "n1", "2"), room("c", "n1", "1")}, []string{"a"}},
		"it is on another node":     {[]reservation.Room{room("a", "n1", "1"), room("b", "n2", "2")}, []string{"a", "b"}},
		"its node is gone":          {[]reservation.Room{room("a", "n3", "1")}, nil},
		"all for whom room is made": {
			[]reservation.Room{made(room("a", "n1", "3")), made(room("b", "n1", "3"))}, []string{"a", "b"},
		},
		"none of them before a step": {[]reservation.Room{room("a", "n1", "1"), made(room("b", "n1", "3"))}, []string{"a"}},
		"who has come counts once": {
			[]reservation.Room{come(room("a", "n1", "2")), room("b", "n1", "2"), room("c", "n1", "1")}, []string{"a", "b"},
		},
		"its pod asks for nothing": {[]reservation.Room{room("a", "n1", "2"), room("b", "n1", "0")}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
			for _, object := range []runtime.Object{newNode("n1", "4"), newNode("n2", "4"), newPod("there", "2", on("n1"))} {
				if err := c.Set(object); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, r := range due(test.rooms, c.Snapshot()) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("told of (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlaceholderPodIsLikeThePodThatItStandsFor(t *testing.T) {
	object := newPod("a", "2", func(pod *corev1.Pod) {
		pod.Spec.PriorityClassName = "high"
		c := &pod.Spec.Containers[0]
		c.Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 80, HostPort: 8080}, {ContainerPort: 81}}
		pod.Spec.InitContainers = []corev1.Container{{
			Name: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}},
		}}
	})
	plan := &v1alpha1.ReschedulingPlan{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "plan"}}
	pod := newPlaceholderPod("muster-system", &reservation.Room{Plan: plan, Name: "step-0", Node: "n1", For: cluster.NewPod(object)})
	c := pod.Spec.Containers[0]
	if c.Resources.Requests.Cpu().String() != "3" || c.Resources.Limits.Name("example.com/gpu", resource.DecimalSI).String() != "1" {
		t.Errorf("it asks for %v", c.Resources)
	}
	if len(c.Ports) != 1 || c.Ports[0].HostPort != 8080 || pod.Spec.PriorityClassName != "high" {
		t.Errorf("it has ports %v and priority %s", c.Ports, pod.Spec.PriorityClassName)
	}
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.UID != "plan" || !cluster.IsPlaceholderPod(pod) {
		t.Errorf("it is owned by %v, with gates %v", owner, pod.Spec.SchedulingGates)
	}
}
