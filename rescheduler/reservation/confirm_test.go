package reservation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// world is a cluster with a plan that is approved: small moves from n1 to n2, so that big has room on n1. It is
// the API server, too.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	keeper  *Keeper
	plan    *v1alpha1.ReschedulingPlan

	mu      sync.Mutex
	written int
	refusal error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w := &world{T: t, cluster: cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})}
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	store := predicates.NewVerdictStore(profile, w.cluster, 1<<20, predicates.NewStoreMetrics(registry), clock.RealClock{})
	w.keeper = New(Options{Logger: log, Clock: clock.RealClock{}, Cluster: w.cluster, Profiles: predicates.NewProfiles(store)})
	w.node("n1", "4")
	w.node("n2", "2")
	small := w.pod("small", "2")
	small.Spec.NodeName = "n1"
	w.set(small)
	w.set(w.pod("big", "4"))
	w.plan = &v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "plan"},
		Spec: v1alpha1.ReschedulingPlanSpec{
			Expires:       metav1.NewTime(time.Now().Add(time.Hour)),
			Beneficiaries: []v1alpha1.Beneficiary{{PodReference: v1alpha1.PodReference{Namespace: "default", Name: "big", UID: "big"}, Node: "n1"}},
			Steps: []v1alpha1.Step{{
				Pod:        v1alpha1.PodReference{Namespace: "default", Name: "small", UID: "small"},
				Controller: v1alpha1.Controller{Kind: "ReplicaSet", Name: "rs", UID: "rs"}, From: "n1", To: "n2",
				Replacement: corev1.PodTemplateSpec{Spec: w.pod("", "2").Spec},
			}},
		},
		Status: v1alpha1.ReschedulingPlanStatus{Phase: v1alpha1.Approved},
	}
	return w
}

func (w *world) node(name, cpu string) {
	w.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"),
	}}})
}

func (w *world) pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
	}
}

func (w *world) set(object metav1.Object) {
	w.Helper()
	var err error
	switch o := object.(type) {
	case *corev1.Node:
		err = w.cluster.Set(o)
	case *corev1.Pod:
		err = w.cluster.Set(o)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// assume has a pod count on a node before the watch shows it.
func (w *world) assume(name, node string) {
	w.Helper()
	pod := cluster.NewPod(w.pod(name, "1"))
	if err := w.cluster.AssumeAll([]*cluster.Pod{pod}, w.cluster.Snapshot().NodeByName(node)); err != nil {
		w.Fatal(err)
	}
}

// UpdateStatus implements [Writer].
func (w *world) UpdateStatus(_ context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written++; w.refusal != nil {
		return nil, w.refusal
	}
	w.plan = plan
	return plan, nil
}

// refuse has writes fail from now on, unless it is nil.
func (w *world) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = err
}

// confirm is one look of Confirm at a plan.
func (w *world) confirm(scheduler Scheduler, plan *v1alpha1.ReschedulingPlan) {
	if condition := w.keeper.answer(scheduler, plan); condition != nil {
		w.keeper.say(w.Context(), w, plan, *condition)
	}
}

// said returns the plan's condition about its room, "" for nothing.
func (w *world) said() string {
	condition := meta.FindStatusCondition(w.plan.Status.Conditions, v1alpha1.ConditionReserved)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + ": " + condition.Message
}

// told is a scheduler that knows of all room, or what is in the way.
type told string

// Knows implements [Scheduler].
func (why told) Knows(*v1alpha1.ReschedulingPlan) (knows bool, because string) {
	return why == "", string(why)
}

// untold is a scheduler that does not know yet.
type untold struct{}

// Knows implements [Scheduler].
func (untold) Knows(*v1alpha1.ReschedulingPlan) (knows bool, why string) { return false, "" }

func TestNoRoomIsAnsweredForOfWhichTheSchedulerDoesNotKnow(t *testing.T) {
	for name, test := range map[string]struct {
		scheduler Scheduler
		want      string
	}{
		"it knows":             {told(""), "True: nobody else gets the room"},
		"it does not know yet": {untold{}, ""},
		"it cannot be told":    {told("forbidden"), "False: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.keeper.Set(w.plan)
			w.confirm(test.scheduler, w.plan)
			if got := w.said(); got != test.want {
				t.Errorf("%q is said of the room, want %q", got, test.want)
			}
		})
	}
}

func TestMusterAnswersForRoomThatIsThere(t *testing.T) {
	const kept = "True: nobody else gets the room"
	for name, test := range map[string]struct {
		change func(*world)
		want   string
	}{
		"that of a plan to carry out":     {func(*world) {}, kept},
		"not if the plan waits for a nod": {func(w *world) { w.plan.Status.Phase = v1alpha1.Pending }, ""},
		"not if it has failed":            {func(w *world) { w.plan.Status.Phase = v1alpha1.Failed }, ""},
		"not if its time is up":           {func(w *world) { w.plan.Spec.Expires = metav1.NewTime(time.Now()) }, ""},
		"not while a pod is on its way there": {
			func(w *world) { w.assume("late", "n2") }, "False: n2 does not take what replaces default/small any more: Insufficient cpu",
		},
		"not while one is on its way to where it leaves": {
			func(w *world) { w.node("n1", "5"); w.assume("late", "n1"); w.assume("later", "n1") },
			"False: n1 would not take default/big any more: Insufficient cpu",
		},
		"not once the pod is gone": {
			func(w *world) { _ = w.cluster.Delete(w.pod("small", "2")) }, "False: default/small is not on n1 any more",
		},
		"with room besides for the pod on its way": {func(w *world) { w.node("n2", "4"); w.assume("late", "n2") }, kept},
		"when whom it is for has a place already":  {func(w *world) { w.node("n3", "4"); w.assume("big", "n3") }, kept},
		"that of a plan that has begun, as it has taken its room": {func(w *world) {
			w.plan.Status.Phase, w.plan.Status.Steps = v1alpha1.Executing, []v1alpha1.StepStatus{{Phase: v1alpha1.StepEvicted}}
			_ = w.cluster.Delete(w.pod("small", "2"))
		}, kept},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			w.keeper.Set(w.plan)
			w.confirm(told(""), w.plan)
			if diff := cmp.Diff(test.want, w.said()); diff != "" {
				t.Errorf("what is said of the room (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThatRoomIsKeptIsSaidAsSoonAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assume("late", "n2")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go w.keeper.Confirm(ctx, w, told(""))
		synctest.Wait()
		w.keeper.Set(w.plan)
		synctest.Wait()
		if w.plan.IsReserved() || w.written != 1 {
			t.Errorf("%d times it was said: %s", w.written, w.said())
		}
		<-time.After(10 * tick)
		synctest.Wait()
		if w.written != 1 {
			t.Errorf("the same was said %d times", w.written)
		}
		w.cluster.Release("late")
		w.refuse(apierrors.NewConflict(v1alpha1.ReschedulingPlans().GroupResource(), "p", errors.New("it changed")))
		<-time.After(2 * tick)
		synctest.Wait()
		if w.plan.IsReserved() || w.written < 2 {
			t.Errorf("after a conflict %d times it was said: %s", w.written, w.said())
		}
		w.refuse(nil)
		w.keeper.Set(w.plan.DeepCopy())
		synctest.Wait()
		if !w.plan.IsReserved() {
			t.Errorf("it is not said that the room is kept: %s", w.said())
		}
		before := w.written
		<-time.After(10 * tick)
		synctest.Wait()
		if w.written != before {
			t.Errorf("the same was said %d times", w.written-before+1)
		}
	})
}

// Whether a pod fits is not known before its claims are made.
func TestRoomIsNotGivenUpForAPodThatLacksItsClaims(t *testing.T) {
	w := newWorld(t)
	w.plan.Status.Phase, w.plan.Status.Steps = v1alpha1.Executing, []v1alpha1.StepStatus{{Phase: v1alpha1.StepEvicted}}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}} // devices can be read
	if err := errors.Join(w.cluster.Delete(w.pod("small", "2")), w.cluster.Set(class)); err != nil {
		t.Fatal(err)
	}
	w.keeper.Set(w.plan)
	before := len(w.keeper.Report())
	came := w.pod("small-2", "3")
	came.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	came.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("claim")}}
	w.set(came)
	pod := w.cluster.PendingPod(came.UID)
	w.keeper.Claim(pod, w.keeper.profiles.Of(pod.Spec.SchedulerName).Profile)
	if kept := w.keeper.Report(); before == 0 || len(kept) != before {
		t.Errorf("kept was %d, and is %v", before, kept)
	}
}

// Room that is given up stays given up for every caller: the plan says so.
func TestAPlanIsToldThatItsRoomIsGivenUp(t *testing.T) {
	w := newWorld(t)
	reserved := metav1.Condition{Type: v1alpha1.ConditionReserved, Status: metav1.ConditionTrue, Reason: "Said"}
	meta.SetStatusCondition(&w.plan.Status.Conditions, reserved)
	w.plan.Status.Phase, w.plan.Status.Steps = v1alpha1.Executing, []v1alpha1.StepStatus{{Phase: v1alpha1.StepEvicted}}
	if err := w.cluster.Delete(w.pod("small", "2")); err != nil {
		t.Fatal(err)
	}
	w.keeper.Set(w.plan)
	came := w.pod("small-2", "3")
	came.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	w.set(came)
	pod := w.cluster.PendingPod(came.UID)
	if claim := w.keeper.Claim(pod, w.keeper.profiles.Of(pod.Spec.SchedulerName).Profile); len(claim.Places) > 0 || len(claim.Left) > 0 {
		t.Errorf("the claim is %+v", claim)
	}
	w.confirm(told(""), w.plan)
	const want = "False: default/small-2, which came in the place of another pod, differs from it, and does not fit the room on n2"
	if diff := cmp.Diff(want, w.said()); diff != "" {
		t.Errorf("what is said of the room (-want +got):\n%s", diff)
	}
	w.confirm(told(""), w.plan)
	if w.written != 1 {
		t.Errorf("it was written %d times", w.written)
	}
	another := newWorld(t)
	another.keeper.Set(w.plan)
	another.confirm(told(""), w.plan)
	if kept := another.keeper.Report(); len(kept) > 0 || another.written > 0 {
		t.Errorf("a restarted process keeps %v, and wrote %d times", kept, another.written)
	}
}
