package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/reservation"
)

// world is a cluster with a plan: small moves from n1 to n2, so that big has room on n1. It is
// the API server, too.
type world struct {
	*testing.T
	clock        *clocktesting.FakeClock
	cluster      *cluster.Cluster
	reservations *reservation.Keeper
	options      Options
	executor     *Executor
	text         string // of the record of evictions, as the API server has it
	unwritten    error  // which cannot be

	stored   *v1alpha1.ReschedulingPlan
	conflict bool                    // the next write is refused
	crossed  bool                    // as is the one after an eviction
	refusal  error                   // of evictions
	unmarked error                   // of changes of nodes
	unseen   map[string]*corev1.Node // as the API server has them, and the watch has not shown
	evicted  []string

	nominated []string // pods and their nodes
}

func newWorld(t *testing.T, mode v1alpha1.Mode) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))}
	w.cluster = cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	profiles := predicates.NewProfiles(predicates.NewVerdictStore(profile, w.cluster, 1<<20, predicates.NewStoreMetrics(registry), w.clock))
	w.reservations = reservation.New(reservation.Options{Logger: log, Clock: w.clock, Cluster: w.cluster, Profiles: profiles})
	w.options = Options{
		Logger:       log,
		Clock:        w.clock,
		Cluster:      w.cluster,
		Profiles:     profiles,
		Reservations: w.reservations,
		Client:       w,
		Events:       events.NewFakeRecorder(100),
		Metrics:      NewMetrics(registry),
		Mode:         v1alpha1.Auto,
		PlanTTL:      10 * time.Minute,
		Rules:        planner.Rules{AllowSingleReplica: true},
		Limits:       Limits{ReplacementTimeout: time.Minute},
		ClosedFor:    time.Hour,
	}
	w.restart()
	w.node("n1", "4")
	w.node("n2", "2")
	w.set(w.small("small-1", "n1"))
	w.set(w.pod("big", "4"))
	anew := w.small("", "")
	w.stored = &v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "plan", CreationTimestamp: metav1.NewTime(w.clock.Now())},
		Spec: v1alpha1.ReschedulingPlanSpec{
			Policy: v1alpha1.MakeRoom, Mode: mode, Expires: metav1.NewTime(w.clock.Now().Add(10 * time.Minute)),
			Beneficiaries: []v1alpha1.Beneficiary{{PodReference: v1alpha1.PodReference{Namespace: "default", Name: "big", UID: "big"}, Node: "n1"}},
			Steps: []v1alpha1.Step{
				{
					Pod:        v1alpha1.PodReference{Namespace: "default", Name: "small-1", UID: "small-1"},
					Controller: v1alpha1.Controller{Kind: "ReplicaSet", Name: "rs", UID: "rs"},
					From:       "n1",
					To:         "n2",
					Replacement: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: anew.Labels, OwnerReferences: anew.OwnerReferences},
						Spec:       anew.Spec,
					},
				},
			},
		},
	}
	w.reserved(metav1.ConditionTrue, "")
	return w
}

// reserved is muster's condition about the room of the plan.
func (w *world) reserved(is metav1.ConditionStatus, why string) {
	next := w.stored.DeepCopy()
	meta.SetStatusCondition(
		&next.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReserved, Status: is, Reason: "Said", Message: why},
	)
	w.stored = next
	w.reservations.Set(next)
}

// restart has another executor go on, which knows what is stored and nothing else.
func (w *world) restart() {
	w.options.Record = evictions.New(evictions.Options{
		Logger: w.options.Logger, Clock: w.clock, Store: (*recordOf)(w), Remembers: w.options.Limits.Remembers,
	})
	w.options.Record.Sync(w.Context())
	w.executor = New(w.options)
}

// recordOf is the record of evictions in the API server of a world.
type recordOf world

func (l *recordOf) Load(context.Context) (text, version string, err error) {
	return l.text, l.text, l.unwritten
}

func (l *recordOf) Save(_ context.Context, text, version string) (string, error) {
	if version != l.text {
		l.Errorf("the record is written over one that was not read: %s", l.text)
	}
	if l.unwritten == nil {
		l.text = text
	}
	return text, l.unwritten
}

// evictedBefore has the record know an eviction.
func (w *world) evictedBefore(e evictions.Eviction) {
	w.Helper()
	if err := w.options.Record.Note(w.Context(), e); err != nil {
		w.Fatal(err)
	}
}

func (w *world) UpdateStatus(_ context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	if w.conflict {
		w.conflict = false
		return nil, apierrors.NewConflict(v1alpha1.ReschedulingPlans().GroupResource(), plan.Name, errors.New("changed"))
	}
	w.stored = plan.DeepCopy()
	return w.stored, nil
}

func (w *world) Evict(_ context.Context, pod v1alpha1.PodReference) error {
	if !strings.Contains(w.text, `"`+string(pod.UID)+`"`) {
		w.Errorf("an eviction was asked for that is not written down: %s", w.text)
	}
	for i, step := range w.stored.Spec.Steps {
		if step.Pod == pod && w.stored.Status.Steps[i].Phase != v1alpha1.StepEvicting {
			w.Errorf("an eviction was asked for in phase %s", w.stored.Status.Steps[i].Phase)
		}
	}
	if w.refusal == nil {
		w.evicted = append(w.evicted, pod.Name)
		w.conflict = w.crossed
	}
	return w.refusal
}

func (w *world) EditNode(_ context.Context, node *corev1.Node, edit func(*corev1.Node)) error {
	if w.unmarked != nil {
		return w.unmarked
	}
	next := w.cluster.Snapshot().NodeByName(node.Name).DeepCopy()
	if unseen := w.unseen[node.Name]; unseen != nil {
		next = unseen
		delete(w.unseen, node.Name)
	}
	edit(next)
	next.ManagedFields = nil // see cluster.Trim
	w.set(next)
	return nil
}

func (w *world) Nominate(_ context.Context, pod *corev1.Pod, node string) error {
	w.nominated = append(w.nominated, pod.Name+" "+node)
	return nil
}

func (w *world) node(name, cpu string) {
	w.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"),
	}}})
}

// change changes a node.
func (w *world) change(name string, how func(*corev1.Node)) {
	node := w.cluster.Snapshot().NodeByName(name).DeepCopy()
	how(node)
	w.set(node)
}

func (w *world) pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.clock.Now())},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
	}
}

// small is a pod of the ReplicaSet, ready if it is on a node.
func (w *world) small(name, node string) *corev1.Pod {
	pod := w.pod(name, "2")
	pod.Labels = map[string]string{"app": "small"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	if pod.Spec.NodeName = node; node != "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

func (w *world) set(object interface{ metav1.Object }) {
	w.Helper()
	if err := w.cluster.Set(object.(runtime.Object)); err != nil {
		w.Fatal(err)
	}
}

// moveAnother has the plan move a second pod, after the first; both are of that gang, "" for none.
func (w *world) moveAnother(gang string) {
	w.Helper()
	w.node("n2", "4")
	w.set(w.small("other-1", "n1"))
	next := w.stored.DeepCopy()
	second := next.Spec.Steps[0].DeepCopy()
	second.Pod.Name, second.Pod.UID = "other-1", "other-1"
	next.Spec.Steps = append(next.Spec.Steps, *second)
	for i := range next.Spec.Steps {
		next.Spec.Steps[i].Gang = gang
	}
	w.stored = next
	w.reservations.Set(next)
}

func (w *world) gone(name string) {
	w.Helper()
	if err := w.cluster.Delete(w.pod(name, "1")); err != nil {
		w.Fatal(err)
	}
}

// advance does so a few times, and says where the plan is then.
func (w *world) advance() (v1alpha1.Phase, v1alpha1.StepPhase, string) {
	for range 4 {
		w.executor.Advance(w.Context())
	}
	return w.stored.Status.Phase, w.stored.Step(0).Phase, w.stored.Status.Message
}

func (w *world) want(phase v1alpha1.Phase, step v1alpha1.StepPhase, message string) {
	w.Helper()
	gotPhase, gotStep, got := w.advance()
	if gotPhase != phase || gotStep != step || !strings.Contains(got, message) {
		w.Fatalf("the plan is %s, its step %s: %q; want %s, %s, %q", gotPhase, gotStep, got, phase, step, message)
	}
}

func TestAPlanIsCarriedOut(t *testing.T) {
	for name, restarts := range map[string]bool{"by one process": false, "by a new one for each thing": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			again := func() {
				if restarts {
					w.restart()
				}
			}
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place of default/small-1 yet")
			again()
			w.gone("small-1")
			w.set(w.small("small-2", ""))
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "default/small-2, which replaces default/small-1, has no node yet")
			again()
			w.set(w.small("small-2", "n2"))
			w.want(v1alpha1.Executing, v1alpha1.StepMoved, "waits until default/big is bound to n1")
			again()
			bound := w.pod("big", "4")
			bound.Spec.NodeName = "n1"
			w.set(bound)
			w.want(v1alpha1.Succeeded, v1alpha1.StepMoved, "all pods have moved")
			if !slices.Equal(w.evicted, []string{"small-1"}) || w.stored.Status.Moved != "1/1" ||
				w.stored.Status.Steps[0].Replacement.Name != "small-2" {
				t.Errorf("evicted %v, status %+v", w.evicted, w.stored.Status)
			}
		})
	}
}

func TestOnlyAPlanWithAYesIsCarriedOut(t *testing.T) {
	w := newWorld(t, v1alpha1.DryRun)
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "never carried out")
	w = newWorld(t, v1alpha1.Approve)
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for the annotation")
	approved := w.stored.DeepCopy()
	approved.Annotations = map[string]string{v1alpha1.AnnotationApprove: "true"}
	w.reservations.Set(approved)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAPlanFailsWhenTheWorldHasChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		want   string
	}{
		"the pod is gone": {func(w *world) { w.gone("small-1") }, "default/small-1 is not on n1 any more"},
		"the target is full": {
			func(w *world) { other := w.pod("o", "1"); other.Spec.NodeName = "n2"; w.set(other) },
			"n2 does not take what replaces default/small-1 any more: Insufficient cpu",
		},
		"the reservation is too small": {
			func(w *world) { other := w.pod("o", "1"); other.Spec.NodeName = "n1"; w.set(other) },
			"n1 would not take default/big any more: Insufficient cpu",
		},
		"the target is cordoned": {func(w *world) {
			w.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: corev1.NodeSpec{Unschedulable: true}})
		}, "n2 does not take"},
		"the pod is to be spared": {func(w *world) {
			p := w.small("small-1", "n1")
			p.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
			w.set(p)
		}, "may not be evicted any more: it is annotated not to be evicted"},
		"the pod is the only one that is ready by now": {
			func(w *world) { w.options.Rules.AllowSingleReplica = false; w.restart() },
			"may not be evicted any more: it is the only pod of its controller that is ready",
		},
		"its controller is scaled to none": {func(w *world) {
			if err := w.cluster.Set(&appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Name: "rs", Namespace: "default", UID: "rs"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0))},
			}); err != nil {
				w.Fatal(err)
			}
		}, "may not be evicted any more: its controller would not replace it"},
		"the target is about to be removed": {func(w *world) {
			w.change("n2", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "DeletionCandidateOfClusterAutoscaler", Effect: corev1.TaintEffectPreferNoSchedule}}
			})
		}, "n2 is no place for what replaces default/small-1 any more: the node is about to be removed"},
		"the node that is to have room is not ready": {func(w *world) {
			w.change("n1", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			})
		}, "n1 is no place for default/big any more: the node is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			test.change(w)
			w.want(v1alpha1.Failed, v1alpha1.StepWaiting, test.want)
			if len(w.evicted) > 0 {
				t.Errorf("evicted %v", w.evicted)
			}
			if len(w.reservations.Report()) > 0 {
				t.Errorf("room is kept: %v", w.reservations.Report())
			}
		})
	}
}

func TestAPlanFailsOnceItsControllerHasTooFewPods(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.options.Rules.MinReplicas = 2
	w.restart()
	w.reserved(metav1.ConditionFalse, "")
	w.node("n3", "2")
	twin := w.small("twin", "n3")
	w.set(twin)
	w.want(v1alpha1.Approved, v1alpha1.StepWaiting, awaitsRoom)
	twin = twin.DeepCopy() // the ReplicaSet is scaled down
	twin.DeletionTimestamp = new(metav1.NewTime(w.clock.Now()))
	w.set(twin)
	w.want(v1alpha1.Failed, v1alpha1.StepWaiting, "default/small-1 may not be evicted any more: its controller has too few pods")
}

func TestNobodyIsEvictedForWhomNobodyWaits(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.gone("big")
	w.want(v1alpha1.Succeeded, v1alpha1.StepWaiting, "nobody waits any more")
	if len(w.evicted) > 0 {
		t.Errorf("evicted %v", w.evicted)
	}
}

func TestAGangThatHasBegunToMoveMovesWhole(t *testing.T) {
	for name, test := range map[string]struct {
		gang  string
		phase v1alpha1.Phase
		want  []string
	}{
		"two pods of no gang": {"", v1alpha1.Succeeded, []string{"small-1"}},
		"two members":         {"default/gang", v1alpha1.Executing, []string{"small-1", "other-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.moveAnother(test.gang)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.gone("small-1")
			w.gone("big") // nobody waits any more
			w.set(w.small("small-2", "n2"))
			if phase, _, message := w.advance(); phase != test.phase || !slices.Equal(w.evicted, test.want) {
				t.Errorf("the plan is %s: %s; evicted %v", phase, message, w.evicted)
			}
		})
	}
}

func TestAnEvictionThatABudgetForbidsIsTriedMoreAndMoreRarely(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget allows to evict default/small-1")
	w.refusal = nil
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until")
	w.clock.Step(firstPause)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAnEvictionThatIsForbiddenForEverFailsThePlan(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.refusal = apierrors.NewForbidden(corev1.Resource("pods/eviction"), "small-1", errors.New("by a policy"))
	w.want(v1alpha1.Failed, v1alpha1.StepEvicting, "by a policy")
	if past := w.options.Record.Evictions(); len(past) > 0 {
		t.Errorf("it counts: %v", past)
	}
}

func TestAPodWithSeveralBudgetsIsNotEvicted(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	for _, name := range []string{"one", "two"} {
		if err := w.cluster.Set(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.want(v1alpha1.Failed, v1alpha1.StepWaiting, "it has more than one PodDisruptionBudget")
}

func TestAnEvictionOfUnknownEffectCountsAndKeepsTheRoomUntilItIsKnown(t *testing.T) {
	full := func(w *world) { other := w.pod("o", "1"); other.Spec.NodeName = "n2"; w.set(other) }
	for name, refusal := range map[string]error{
		"an error of the server": apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		"a lost answer":          errors.New("connection reset by peer"),
	} {
		unknown := func(t *testing.T) *world {
			w := newWorld(t, v1alpha1.Auto)
			w.refusal = refusal
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see what becomes of the eviction of default/small-1")
			full(w) // so that there is no use in asking again
			return w
		}
		t.Run(name+", and the pod goes", func(t *testing.T) {
			w := unknown(t)
			w.clock.Step(firstPause)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "n2 does not take what replaces default/small-1 any more")
			w.gone("small-1")
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place")
		})
		t.Run(name+", and the pod stays", func(t *testing.T) {
			w := unknown(t)
			w.clock.Step(settling - time.Second)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "n2 does not take")
			if !w.stored.Reserves(w.clock.Now()) {
				t.Error("its room is free")
			}
			w.clock.Step(maxPause)
			w.want(v1alpha1.Failed, v1alpha1.StepEvicting, "n2 does not take")
			if past := w.options.Record.Evictions(); len(past) > 0 {
				t.Errorf("it counts: %v", past)
			}
		})
		t.Run(name+", and a process that knows nothing of it goes on", func(t *testing.T) {
			w := unknown(t)
			w.restart()
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see what becomes of the eviction")
			w.clock.Step(settling)
			w.want(v1alpha1.Failed, v1alpha1.StepEvicting, "n2 does not take")
		})
		t.Run(name+", and the plan expires", func(t *testing.T) {
			w := unknown(t)
			w.restart()
			w.clock.SetTime(w.stored.Spec.Expires.Time)
			w.want(v1alpha1.Expired, v1alpha1.StepEvicted, "its time was up")
			if past := w.options.Record.Evictions(); len(past) != 1 {
				t.Errorf("evictions that count: %v", past)
			}
		})
	}
}

func TestAPlanExpires(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.advance()
	w.clock.Step(10 * time.Minute)
	w.want(v1alpha1.Expired, v1alpha1.StepEvicting, "its time was up: waits until a PodDisruptionBudget")
}

func TestNothingIsEvictedWhenThereIsNoTimeLeftForItsReplacement(t *testing.T) {
	const patience = 90 * time.Second // a minute, and the grace period
	for name, test := range map[string]struct {
		begun bool
		left  time.Duration
		phase v1alpha1.Phase
		step  v1alpha1.StepPhase
		want  string
	}{
		"a step is not begun": {
			false, patience - time.Second, v1alpha1.Expired, v1alpha1.StepWaiting,
			"too little time is left for what replaces default/small-1, which may take 1m30s: waits until muster keeps its room",
		},
		"an eviction is not tried again": {
			true, patience - time.Second, v1alpha1.Expired, v1alpha1.StepEvicting, "which may take 1m30s: waits until a PodDisruptionBudget",
		},
		"a step is begun that can be done":  {false, patience, v1alpha1.Executing, v1alpha1.StepEvicted, ""},
		"an eviction is tried while it can": {true, patience, v1alpha1.Executing, v1alpha1.StepEvicted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			if test.begun {
				w.refusal = apierrors.NewTooManyRequests("budget", 0)
				w.advance()
				w.refusal = nil
			}
			w.clock.SetTime(w.stored.Spec.Expires.Add(-test.left))
			w.want(test.phase, test.step, test.want)
			if evicted := len(w.evicted) > 0; evicted != (test.step == v1alpha1.StepEvicted) {
				t.Errorf("evicted %v", w.evicted)
			}
		})
	}
}

func TestAReplacementThatDoesNotDoFailsThePlan(t *testing.T) {
	for name, test := range map[string]struct {
		comes func(*world)
		want  string
	}{
		"none comes":             {func(*world) {}, "nothing has come in the place of default/small-1"},
		"it is bound to nowhere": {func(w *world) { w.set(w.small("small-2", "")) }, "has no node 1m30s after the eviction"},
		"it never gets ready": {
			func(w *world) { p := w.small("small-2", "n2"); p.Status.Conditions = nil; w.set(p) }, "is not ready 1m30s after",
		},
		"it comes back": {func(w *world) { w.set(w.small("small-2", "n1")) }, "has come back to n1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.advance()
			w.gone("small-1")
			test.comes(w)
			w.advance()
			w.clock.Step(2 * time.Minute)
			w.want(v1alpha1.Failed, v1alpha1.StepEvicted, test.want)
		})
	}
}

// The clock of the API server that creates pods is not that of the one that created the plan, nor of the rescheduler.
func TestAPodThatWasThereBeforeIsNoReplacementWhateverClocksSay(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		for _, node := range []string{"n1", "n2", "n3"} {
			t.Run(fmt.Sprintf("on %s, restarted: %t", node, restarts), func(t *testing.T) {
				w := newWorld(t, v1alpha1.Auto)
				for _, name := range []string{"n1", "n2", "n3"} {
					w.node(name, "8")
				}
				created := func(pod *corev1.Pod, ago time.Duration) *corev1.Pod {
					pod.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-ago))
					return pod
				}
				w.set(created(w.small("twin", node), -time.Minute))
				w.advance()
				w.gone("small-1")
				if restarts {
					w.restart()
				}
				w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place of default/small-1 yet")
				w.set(created(w.small("small-2", "n2"), time.Hour))
				w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
				step := w.stored.Status.Steps[0]
				if step.Replacement.Name != "small-2" || len(step.Siblings) > 0 {
					t.Errorf("%s is taken for the replacement, and %v are remembered still", step.Replacement.Name, step.Siblings)
				}
			})
		}
	}
}

func TestAPodThatCannotBeMistakenForTheReplacementIsNotWrittenDown(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.node("n1", "8")
	w.node("n3", "8")
	w.set(w.small("here", "n1"))
	w.set(w.small("elsewhere", "n3"))
	w.set(w.small("waits", ""))
	other := w.small("waits-otherwise", "")
	other.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	w.set(other)
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "")
	if got, want := w.stored.Step(0).Siblings, []types.UID{"here", "waits-otherwise"}; !slices.Equal(got, want) {
		t.Errorf("%v are written down, want %v", got, want)
	}
}

func TestAPodThatCameWhileABudgetForbadeTheEvictionIsNoReplacement(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.node("n3", "4")
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget")
	w.clock.Step(time.Minute)
	w.set(w.small("grown", "n3")) // the ReplicaSet has been scaled up
	w.refusal = nil
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place of default/small-1 yet")
	w.gone("small-1")
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
	if name := w.stored.Status.Steps[0].Replacement.Name; name != "small-2" {
		t.Errorf("%s is taken for the replacement", name)
	}
}

func TestWhoCannotWriteDownDoesNotAct(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.executor.Advance(t.Context()) // approved
	w.conflict = true
	w.executor.Advance(t.Context())
	if len(w.evicted) > 0 {
		t.Errorf("evicted %v after a conflict", w.evicted)
	}
}

func TestNothingIsEvictedBeforeMusterKeepsTheRoom(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.stored.Status.Conditions = nil
	w.want(v1alpha1.Approved, v1alpha1.StepWaiting, "waits until muster keeps its room")
	w.reserved(metav1.ConditionFalse, "n2 is taken")
	w.want(v1alpha1.Approved, v1alpha1.StepWaiting, "waits until muster keeps its room: n2 is taken")
	if len(w.evicted) > 0 {
		t.Errorf("evicted %v", w.evicted)
	}
	w.reserved(metav1.ConditionTrue, "")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAnEvictionThatWasGrantedIsWrittenDownWhateverComes(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.crossed = true
	w.executor.Advance(t.Context()) // approved
	w.executor.Advance(t.Context()) // evicted, though the watch does not show it yet
	w.node("n2", "1")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place of default/small-1 yet")
	if len(w.evicted) != 1 {
		t.Errorf("evicted %v", w.evicted)
	}
}

func TestAPodThatIsGoingIsNotEvictedOnceMore(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.refusal = errors.New("the answer was lost")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see what becomes of the eviction of default/small-1")
	going := w.small("small-1", "n1")
	going.DeletionTimestamp = new(metav1.NewTime(w.clock.Now()))
	w.set(going)
	w.restart()
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAStepWaitsForBudgets(t *testing.T) {
	app, _ := labels.Parse("app=small")
	before := func(w *world, from string, controller types.UID) {
		w.evictedBefore(evictions.Eviction{
			Pod: "before", Plan: "before", Controller: controller, Node: from, Budgets: []string{"/app=small"}, At: w.clock.Now(),
		})
	}
	for name, test := range map[string]struct {
		limits func(*Limits)
		set    func(*world)
		want   string
		passes time.Duration // after that it goes on
	}{
		"the rate": {
			func(l *Limits) { l.Rate = Rate{1, time.Minute} }, func(w *world) { before(w, "n9", "other") },
			"waits: there were 1 evictions in 1m0s", time.Minute,
		},
		"the rate of a selector": {func(l *Limits) {
			l.Selected = []Selected{{Name: "app=small", Selector: app, Rate: Rate{1, time.Minute}}}
		}, func(w *world) { before(w, "n9", "other") }, "waits: there were 1 evictions of pods with app=small in 1m0s", time.Minute},
		"the node cools down": {
			func(l *Limits) { l.NodeCoolDown = time.Minute }, func(w *world) { before(w, "n1", "other") }, "waits: node n1 cools down", time.Minute,
		},
		"the workload cools down": {
			func(l *Limits) { l.WorkloadCoolDown = time.Minute }, func(w *world) { before(w, "n9", "rs") },
			"waits: ReplicaSet default/rs cools down", time.Minute,
		},
		"enough are down": {
			func(l *Limits) {
				l.Selected = []Selected{{Name: "app=small", Selector: app, MaxDown: new(intstr.FromInt32(0))}}
			}, func(*world) {},
			"waits: of the pods with app=small, at most 0 may be down", 0,
		},
		"a part of them is down": {
			func(l *Limits) {
				l.Selected = []Selected{{Name: "app=small", Selector: app, MaxDown: new(intstr.FromString("50%"))}}
			},
			func(w *world) { w.set(w.small("sick", "")) }, "waits: of the pods with app=small, at most 1 may be down", 0,
		},
		"the rate of a policy": {func(l *Limits) {
			l.Selected = []Selected{
				{Selector: labels.Everything(), Policies: []v1alpha1.Policy{v1alpha1.Respread}, Rate: Rate{1, time.Hour}},
				{Selector: labels.Everything(), Policies: []v1alpha1.Policy{v1alpha1.MakeRoom}, Rate: Rate{1, time.Minute}},
			}
		}, func(w *world) {
			w.evictedBefore(evictions.Eviction{Pod: "b", Plan: "b", Budgets: []string{"/;Respread", "/;MakeRoom"}, At: w.clock.Now()})
		}, "waits: there were 1 evictions of pods with  in 1m0s", time.Minute},
		"a window of the pods is closed": {func(l *Limits) {
			closed := []Window{{From: 13 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}}
			l.Selected = []Selected{{Name: "app=small", Selector: app, Windows: closed}}
		}, func(*world) {}, "waits for a maintenance window of pods with app=small", 0},
		"no window is open": {
			func(l *Limits) { l.Windows = []Window{{From: 13 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}} }, func(*world) {},
			"waits for a maintenance window", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			test.limits(&w.options.Limits)
			w.restart()
			test.set(w)
			w.want(v1alpha1.Pending, v1alpha1.StepWaiting, test.want)
			if w.stored.Reserves(w.clock.Now()) || w.executor.Busy() {
				t.Error("it keeps its room though it may not begin")
			}
			if test.passes > 0 {
				w.clock.Step(test.passes)
				w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			}
		})
	}
}

func TestAnEvictionThatIsTriedAgainWaitsForBudgetsOnceMore(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	app, _ := labels.Parse("app=small")
	w.options.Limits.Selected = []Selected{{Name: "app=small", Selector: app, MaxDown: new(intstr.FromInt32(1))}}
	w.restart()
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget allows")
	w.refusal = nil
	w.set(w.small("sick", "")) // since
	w.clock.Step(firstPause)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits: of the pods with app=small, at most 1 may be down")
	if len(w.evicted) > 0 {
		t.Errorf("evicted %v", w.evicted)
	}
	w.gone("sick")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAPlanFailsWhenTheRoomIsLostThatItMade(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the node is cordoned": func(w *world) {
			w.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{Unschedulable: true}})
		},
		"somebody else has taken": func(w *world) { other := w.pod("o", "1"); other.Spec.NodeName = "n1"; w.set(other) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.gone("small-1")
			w.set(w.small("small-2", "n2"))
			w.want(v1alpha1.Executing, v1alpha1.StepMoved, "waits until default/big is bound to n1")
			change(w)
			w.want(v1alpha1.Failed, v1alpha1.StepMoved, "n1 would not take default/big any more")
		})
	}
}

// differing is small that requests so much.
func (w *world) differing(name, node, cpu string) *corev1.Pod {
	pod := w.small(name, node)
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	return pod
}

func TestAReplacementOfAnotherKind(t *testing.T) {
	of := func(name, node, cpu string) func(*world) *corev1.Pod {
		return func(w *world) *corev1.Pod { return w.differing(name, node, cpu) }
	}
	for name, test := range map[string]struct {
		before, comes func(*world) *corev1.Pod
		says          string // what muster says of the room
		phase         v1alpha1.Phase
		step          v1alpha1.StepPhase
		want          string
		differs       bool
	}{
		"has its room": {
			comes: of("small-2", "", "1"), phase: v1alpha1.Executing, step: v1alpha1.StepEvicted,
			want: "default/small-2, which replaces default/small-1, has no node yet",
		},
		"has moved": {comes: of("small-2", "n2", "1"), phase: v1alpha1.Executing, step: v1alpha1.StepMoved},
		"does not fit": {
			comes: of("small-2", "", "3"), phase: v1alpha1.Failed, step: v1alpha1.StepEvicted,
			want:    "n2 does not take default/small-2, which is of another kind and replaces default/small-1: Insufficient cpu",
			differs: true,
		},
		"went back, as its room was given up": {
			comes: of("small-2", "n1", "3"), phase: v1alpha1.Failed, step: v1alpha1.StepEvicted,
			want: "which is of another kind and replaces default/small-1, has come back to n1", differs: true,
		},
		"is not what waited before": {
			before: of("small-0", "", "3"), phase: v1alpha1.Executing, step: v1alpha1.StepEvicted,
			want: "nothing has come in the place of default/small-1 yet",
		},
		"whose room muster says it gave up": {
			says: "it differs", phase: v1alpha1.Failed, step: v1alpha1.StepEvicted, want: "it differs", differs: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			if test.before != nil {
				w.set(test.before(w))
			}
			w.advance()
			w.gone("small-1")
			if test.comes != nil {
				w.set(test.comes(w))
			}
			if test.says != "" {
				w.gaveUp(v1alpha1.ReasonReplacementDiffers, test.says)
			}
			w.want(test.phase, test.step, test.want)
			if got := w.stored.Step(0).Differs; got != test.differs {
				t.Errorf("it is written down that the replacement differs: %t", got)
			}
			if got := w.options.Record.Evictions()[0].Differs; got != test.differs {
				t.Errorf("it is remembered that the replacement differs: %t", got)
			}
		})
	}
}

// A pod that came as it was to come fails the plan at once as well, if the room is lost.
func TestAPlanFailsWhenTheRoomIsLostThatAReplacementIsToHave(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.advance()
	w.gone("small-1")
	w.set(w.small("small-2", ""))
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "has no node yet")
	w.node("n2", "1")
	w.want(v1alpha1.Failed, v1alpha1.StepEvicted, "n2 does not take default/small-2, which replaces default/small-1: Insufficient cpu")
	if w.stored.Step(0).Differs {
		t.Error("it is written down that the replacement differs")
	}
}

// The scheduler may bind it between two looks of one step.
func TestAReplacementThatIsBoundMeanwhileIsNotRefusedForTheRoomThatItTakes(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.advance()
	w.gone("small-1")
	w.set(w.small("small-2", ""))
	replacement := w.cluster.PendingPod("small-2")
	w.set(w.small("small-2", "n2"))
	if why := w.options.unfit(w.stored, 0, replacement); why != "" {
		t.Errorf("the plan would fail: %s", why)
	}
}

// gaveUp has muster say that it keeps the room of the plan no more.
func (w *world) gaveUp(reason, why string) {
	next := w.stored.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReserved, Status: metav1.ConditionFalse, Reason: reason, Message: why,
	})
	w.stored = next
	w.reservations.Set(next)
}

func TestAPlanFailsWhenMusterGaveItsRoomToThePodsOfTheSystem(t *testing.T) {
	for name, test := range map[string]struct {
		begun, moved bool
		phase        v1alpha1.Phase
		step         v1alpha1.StepPhase
	}{
		"before anything is evicted":               {phase: v1alpha1.Failed, step: v1alpha1.StepWaiting},
		"after that":                               {begun: true, phase: v1alpha1.Failed, step: v1alpha1.StepEvicted},
		"before those come for whom room was made": {begun: true, moved: true, phase: v1alpha1.Failed, step: v1alpha1.StepMoved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			if test.begun {
				w.advance()
				w.gone("small-1")
			}
			if test.moved {
				w.set(w.small("small-2", "n2"))
				w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
			}
			w.gaveUp(v1alpha1.ReasonSystemPodCame, "kube-system/ds needs the room")
			w.want(test.phase, test.step, "kube-system/ds needs the room")
			if evicted := len(w.evicted) > 0; evicted != test.begun {
				t.Errorf("evicted %v", w.evicted)
			}
			if w.stored.Step(0).Differs {
				t.Error("it is written down that the replacement differs")
			}
		})
	}
}

func TestWhatComesAboutAtOnceIsNotWritten(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.options.TellAfter = 2 * time.Second
	w.restart()
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "waits for what replaces default/small-1 on n2")
	w.gone("small-1")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "waits for what replaces default/small-1 on n2")
	w.clock.Step(2 * time.Second)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come in the place of default/small-1 yet")
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
}

func TestAStepIsDoneOnceItsPodHasEnded(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	ending := w.small("small-1", "n1")
	ending.DeletionTimestamp = new(metav1.NewTime(w.clock.Now()))
	w.set(ending)
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "default/small-1 has not ended yet")
	w.gone("small-1")
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
}

func TestAReplacementElsewhereIsKnownToWhoSawWhoWasThereBefore(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.node("n3", "8")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	w.gone("small-1")
	w.set(w.small("small-2", "n3"))
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
	if on := w.stored.Step(0).Node; on != "n3" {
		t.Errorf("it has moved to %q", on)
	}
}

func TestAStepWaitsForAWindowThatHasClosedSince(t *testing.T) {
	app, _ := labels.Parse("app=small")
	w := newWorld(t, v1alpha1.Auto)
	w.moveAnother("")
	now := w.clock.Now().UTC()
	since := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute
	w.options.Limits.Selected = []Selected{
		{Name: "app=small", Selector: app, Windows: []Window{{From: since, To: since + time.Minute, Zone: time.UTC}}},
	}
	w.restart()
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	w.clock.Step(time.Minute)
	w.gone("small-1")
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "waits for a maintenance window of pods with app=small")
}
