package loop

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/rescheduler/scaleup"
)

// world is a loop over a cluster in which big fits n1 once small has moved to n2.
type world struct {
	*testing.T
	*Loop
	clock     *clocktesting.FakeClock
	created   []*v1alpha1.ReschedulingPlan
	written   []*v1alpha1.ReschedulingPlan // their status
	deleted   []string
	refuses   error    // why no plan is created, nil for nothing
	annotated []string // nodes, and the annotations that were set or taken off
	needs     []string // pods reported as helped only by more nodes, and why
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	cfg := config.Default()
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	profiles := predicates.NewProfiles(predicates.NewVerdictStore(profile, c, 1<<20, predicates.NewStoreMetrics(registry), w.clock))
	settings := &cfg.Rescheduler
	bell := newAlarm()
	keeper := reservation.New(
		reservation.Options{Logger: log, Clock: w.clock, Cluster: c, Profiles: profiles, Changed: bell.ring},
	)
	w.Loop = &Loop{
		log: log, clock: w.clock, config: settings, cluster: c, profiles: profiles, writer: w, metrics: newMetrics(registry),
		alarm: bell, limits: limits(settings), rules: policy.RulesOf(settings), journal: newJournal(),
		policies: policy.All(settings, policy.Measured{}), reservations: keeper, gangs: membership.BoundsOf(&config.Default().Gangs),
		teller: scaleup.New(scaleup.Options{
			Logger: log, Registerer: registry, Clock: w.clock, Cluster: c, Client: w, Events: events.NewFakeRecorder(10),
		}),
	}
	w.record = evictions.New(evictions.Options{Logger: log, Clock: w.clock, Store: &stored{}, Remembers: w.limits.Remembers})
	w.record.Sync(t.Context())
	w.executor = executor.New(executor.Options{
		Clock: w.clock, Cluster: c, Profiles: profiles, Reservations: keeper, Record: w.record, Mode: v1alpha1.DryRun,
	})
	w.set(node("n1", "4"), node("n2", "2"))
	small := w.pod("small", "2")
	small.Spec.NodeName = "n1"
	small.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	w.set(small)
	return w
}

// stored is where the ledger is.
type stored struct{ text string }

func (s *stored) Load(context.Context) (text, version string, err error) { return s.text, "1", nil }

func (s *stored) Save(_ context.Context, text, _ string) (string, error) {
	s.text = text
	return "1", nil
}

func (w *world) Create(_ context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	if w.refuses != nil {
		return nil, w.refuses
	}
	plan.Name, plan.UID = "made", "made"
	object, err := v1alpha1.Encode(plan)
	if err != nil {
		return nil, err
	}
	read, err := v1alpha1.Decode(object)
	w.created = append(w.created, read)
	return read, err
}

func (w *world) Delete(_ context.Context, plan *v1alpha1.ReschedulingPlan) error {
	w.deleted = append(w.deleted, plan.Name)
	return nil
}

func (w *world) AnnotateNode(_ context.Context, node *corev1.Node, annotations map[string]string) error {
	next := node.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	for name, value := range annotations {
		w.annotated = append(w.annotated, node.Name+" "+name+"="+value)
		if next.Annotations[name] = value; value == "" {
			delete(next.Annotations, name)
		}
	}
	slices.Sort(w.annotated)
	return w.cluster.Set(next)
}

func (w *world) SetCondition(_ context.Context, pod *corev1.Pod, condition corev1.PodCondition) error {
	w.needs = append(w.needs, pod.Name+" "+condition.Reason)
	return nil
}

func (w *world) RemoveCondition(_ context.Context, pod *corev1.Pod, _ corev1.PodConditionType) error {
	w.needs = append(w.needs, pod.Name+" -")
	return nil
}

func (w *world) set(objects ...runtime.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.cluster.Set(object); err != nil {
			w.Fatal(err)
		}
	}
	w.observe()
}

func node(name, cpu string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"),
	}}}
}

// pod is one that the scheduler has found no place for, if it has no node.
func (w *world) pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.clock.Now())},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
		},
	}
}

func (w *world) want(policy v1alpha1.Policy, what string) {
	w.Helper()
	w.look(w.Context())
	if got := w.journal.last(policy).What; got != what {
		w.Errorf("%s: %q, want %q", policy, got, what)
	}
}

func TestAPlanIsMadeForAPodThatHasWaitedForLongEnough(t *testing.T) {
	w := newWorld(t)
	ahead := w.pod("big", "4") // the API server's clock is an hour behind
	ahead.CreationTimestamp.Time = ahead.CreationTimestamp.Add(-time.Hour)
	w.set(ahead)
	w.want(v1alpha1.MakeRoom, "no pod waits for long enough")
	looked := w.clock.Now()
	w.clock.Step(time.Minute)
	if !w.waits.ripens(looked, w.clock.Now(), time.Minute) {
		t.Error("nobody notices that the pod has waited for a minute")
	}
	w.want(v1alpha1.MakeRoom, "made a plan")
	w.want(v1alpha1.MakeRoom, "there is a plan that has not ended")
	if len(w.created) != 1 {
		t.Fatalf("%d plans", len(w.created))
	}
	spec := w.created[0].Spec
	step, beneficiary := spec.Steps[0], spec.Beneficiaries[0]
	got := []string{
		string(spec.Mode),
		step.Pod.String(),
		step.From,
		step.To,
		string(step.Controller.UID),
		beneficiary.String(),
		beneficiary.Node,
		beneficiary.Gang,
	}
	if diff := cmp.Diff([]string{"DryRun", "default/small", "n1", "n2", "rs", "default/big", "n1", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if step.Replacement.Spec.NodeName != "" || !spec.Expires.Time.Equal(w.clock.Now().Add(10*time.Minute)) {
		t.Errorf("the replacement is on %q, the plan expires at %s", step.Replacement.Spec.NodeName, spec.Expires)
	}
}

func TestThatNoPlanCanBeCreatedIsLoggedOnce(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.log = slog.New(slog.NewTextHandler(&log, nil))
	w.set(w.pod("big", "4"))
	w.clock.Step(time.Minute)
	w.refuses = errors.New("no definition")
	for range 3 {
		w.want(v1alpha1.MakeRoom, "the plan could not be created: no definition")
	}
	if got := strings.Count(log.String(), "cannot create a plan"); got != 1 {
		t.Errorf("it is logged %d times:\n%s", got, &log)
	}
}

func TestNoPlanIsMade(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		want   string
	}{
		"for a pod that nobody has tried": {
			func(w *world) { p := w.pod("big", "4"); p.Status.Conditions = nil; w.set(p) }, "no pod waits for long enough",
		},
		"for a pod that has room coming": {
			func(w *world) { p := w.pod("big", "4"); p.Status.NominatedNodeName = "n1"; w.set(p) }, "no pod waits for long enough",
		},
		"for a pod that has room anyway": {func(w *world) { w.set(w.pod("tiny", "1")) }, "the waiting pods have room"},
		"for a pod that no move helps": {
			func(w *world) { w.set(w.pod("huge", "8")) },
			"no plan for 1 of the waiting pods; of default/huge: no node could take the pod, whatever pods were moved",
		},
		"while another one is carried out": {
			func(w *world) { w.set(w.pod("big", "4")); w.before(v1alpha1.Executing, 0) }, "a plan is being carried out",
		},
		"while what would move is cooling down": {
			func(w *world) { w.set(w.pod("big", "4")); w.before(v1alpha1.Succeeded, 0) },
			"no plan for 1 of the waiting pods; of default/big: where the pod could run, too little may be moved",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			w.clock.Step(time.Minute)
			w.want(v1alpha1.MakeRoom, test.want)
			if len(w.created) > 0 {
				t.Errorf("a plan was made: %+v", w.created[0].Spec)
			}
		})
	}
}

// before has there be a plan that evicted a pod of the controller of small.
func (w *world) before(phase v1alpha1.Phase, ago time.Duration) {
	at := metav1.NewTime(w.clock.Now().Add(-ago))
	example := w.pod("x", "1")
	if err := w.record.Note(w.Context(), evictions.Eviction{
		Pod: "x", Plan: "before", Controller: "rs", Node: "n8", Budgets: []string{"/"}, At: at.Time,
	}); err != nil {
		w.Fatal(err)
	}
	w.reservations.Set(&v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "before", UID: "before"},
		Spec: v1alpha1.ReschedulingPlanSpec{Expires: metav1.NewTime(at.Add(time.Hour)), Steps: []v1alpha1.Step{{
			Pod: v1alpha1.PodReference{Namespace: "default", Name: "x", UID: "x"}, Controller: v1alpha1.Controller{UID: "rs"}, From: "n8", To: "n9",
			Replacement: corev1.PodTemplateSpec{Spec: example.Spec},
		}}},
		Status: v1alpha1.ReschedulingPlanStatus{
			Phase:    phase,
			Finished: &at,
			Steps:    []v1alpha1.StepStatus{{Phase: v1alpha1.StepMoved, Evicted: &at}},
		},
	})
}

func TestPlansThatCountNoMoreAreDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		phase v1alpha1.Phase
		ago   time.Duration
		want  []string
	}{
		"it has just ended": {v1alpha1.Succeeded, time.Minute, nil},
		"it ended long ago": {v1alpha1.Failed, time.Hour, []string{"before"}},
		"it has not ended":  {v1alpha1.Executing, 2 * time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.before(test.phase, test.ago)
			w.clean(t.Context())
			if diff := cmp.Diff(test.want, w.deleted); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesAreEmptiedWhenThatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.set(node("n2", "4"))
	w.config.Coalesce.Enabled = true
	w.policies = policy.All(w.config, policy.Measured{})
	other := w.pod("stays", "1")
	other.Spec.NodeName = "n2"
	w.set(other)
	w.want(v1alpha1.Coalesce, "made a plan")
	if diff := cmp.Diff([]string{"n1"}, w.created[0].Spec.Empties); diff != "" {
		t.Errorf("nodes that become empty (-want +got):\n%s", diff)
	}
}

func TestARackIsFreedWhenThatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"n1", "n3"} {
		racked := node(name, "4")
		racked.Labels = map[string]string{"rack": "r"}
		w.set(racked)
	}
	w.set(node("n2", "4"))
	w.config.FreeDomains = config.FreeDomainsPolicy{Key: "rack", Nodes: 2, Domains: 1}
	w.policies = policy.All(w.config, policy.Measured{})
	w.want(v1alpha1.FreeDomains, "made a plan")
	// It counts on the node that is empty already, too.
	if diff := cmp.Diff([]string{"n1", "n3"}, w.created[0].Spec.Empties); diff != "" {
		t.Errorf("nodes that become empty (-want +got):\n%s", diff)
	}
}
