// Package loop looks for something to plan every so often, and when a pod has been pending for long
// enough or a node has come; makes plans into objects; and has them carried out (package executor).
package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/rescheduler/scaleup"
)

// tick is how often it is looked what can be done about plans, besides when one changes, or a pod that it waits for.
const tick = time.Second

// tellAfter is how long after an eviction a plan begins to say what it waits for.
const tellAfter = 2 * time.Second

// keep is how long a plan that has ended can be read.
const keep = time.Hour

// writer writes plans.
type writer interface {
	Create(ctx context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error)
	Delete(ctx context.Context, plan *v1alpha1.ReschedulingPlan) error
	AnnotateNode(ctx context.Context, node *corev1.Node, annotations map[string]string) error
}

// Options of a Loop. All are required.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Config     *config.Configuration
	Cluster    *cluster.Cluster
	Profiles   *predicates.Profiles
	// Load is how the policies that even out load read it.
	Load loadaware.Options
	// Core and Objects write, and only while this process leads.
	Core    kubernetes.Interface
	Objects dynamic.Interface
	Events  events.EventRecorder
	// Lease is the name of the Lease by which a process leads. What is remembered of evictions stands beside it.
	Lease string
}

// Loop makes plans and has them carried out. Run is for one goroutine.
type Loop struct {
	log          *slog.Logger
	clock        clock.WithTicker
	config       *config.Rescheduler
	cluster      *cluster.Cluster
	profiles     *predicates.Profiles
	reservations *reservation.Keeper
	executor     *executor.Executor
	record       *evictions.Record
	writer       writer
	teller       *scaleup.Teller
	metrics      *metrics
	alarm        *alarm
	policies     []policy.Policy
	measured     policy.Measured
	limits       executor.Limits
	rules        planner.Rules
	gangs        membership.Bounds

	journal  *journal
	waits    waits
	removals removals
}

// New returns a Loop that does nothing before Run.
func New(o Options) *Loop {
	settings, namespace := &o.Config.Rescheduler, o.Config.LeaderElection.ResourceNamespace
	dry := settings.Mode == v1alpha1.DryRun
	l := &Loop{
		log:      o.Logger,
		clock:    o.Clock,
		config:   settings,
		cluster:  o.Cluster,
		profiles: o.Profiles,
		metrics:  newMetrics(o.Registerer),
		alarm:    newAlarm(),
		measured: policy.NewMeasured(o.Config, o.Load),
		limits:   limits(settings),
		rules:    policy.RulesOf(settings),
		gangs:    membership.BoundsOf(&o.Config.Gangs),
		journal:  newJournal(),
	}
	l.policies = policy.All(settings, l.measured)
	l.reservations = reservation.New(reservation.Options{
		Logger: o.Logger, Clock: o.Clock, Cluster: o.Cluster, Profiles: o.Profiles, Changed: l.alarm.ring,
	})
	l.record = evictions.New(evictions.Options{
		Logger: o.Logger, Clock: o.Clock, Remembers: l.limits.Remembers, ReadOnly: dry,
		Store: evictions.NewConfigMap(o.Core.CoreV1().ConfigMaps(namespace), o.Lease+"-evictions"),
	})
	client := executor.NewClient(o.Core, o.Objects)
	l.writer = client
	l.executor = executor.New(executor.Options{
		Logger:       o.Logger,
		Clock:        o.Clock,
		Cluster:      o.Cluster,
		Profiles:     o.Profiles,
		Reservations: l.reservations,
		Record:       l.record,
		Client:       client,
		Events:       o.Events,
		Metrics:      executor.NewMetrics(o.Registerer),
		Rules:        l.rules,
		Limits:       l.limits,
		Mode:         settings.Mode,
		PlanTTL:      settings.PlanTTL(),
		Mark:         settings.Coalesce.Mark,
		ClosedFor:    settings.Coalesce.ClosedFor.Duration,
		TellAfter:    tellAfter,
	})
	telling := scaleup.Options{Logger: o.Logger, Registerer: o.Registerer, Clock: o.Clock, Cluster: o.Cluster, Events: o.Events}
	if !dry {
		telling.Client, telling.Requests = scaleup.NewClient(o.Core.CoreV1().RESTClient()), requests(&o)
	}
	l.teller = scaleup.New(telling)
	o.Registerer.MustRegister(newPlansByPhase(l.reservations), executor.NewBudgetLeft(l.executor))
	return l
}

// requests ask for nodes, if that is configured.
func requests(o *Options) *scaleup.Requests {
	settings := o.Config.Rescheduler.ScaleUp.ProvisioningRequest
	if settings.ClassName == "" {
		return nil
	}
	return scaleup.NewRequests(scaleup.RequestOptions{
		Logger: o.Logger, Clock: o.Clock, Core: o.Core, Objects: o.Objects, ClassName: settings.ClassName, Parameters: settings.Parameters,
	})
}

// Plans keeps the room of the plans that there are, and hears of them from the watch.
func (l *Loop) Plans() *reservation.Keeper { return l.reservations }

// Expirations returns the ages at which the use of a node matters no more to a policy.
func (l *Loop) Expirations() []time.Duration { return l.measured.Expirations() }

// Run makes plans and has them carried out until the context ends.
func (l *Loop) Run(ctx context.Context) {
	ticker := l.clock.NewTicker(tick)
	defer ticker.Stop()
	defer l.cluster.FollowPods(l.alarm.hear)()
	var looked time.Time
	nodes := 0
	for {
		l.executor.Advance(ctx)
		l.alarm.await(l.reservations.Plans())
		l.observe()
		count := l.cluster.Snapshot().NodeCount()
		ripens := l.waits.ripens(looked, l.clock.Now(), l.config.MakeRoom.PendingFor.Duration)
		if l.clock.Since(looked) >= l.config.Interval.Duration || count > nodes && nodes > 0 || ripens {
			looked = l.clock.Now()
			l.look(ctx)
			l.assess(ctx)
			l.annotate(ctx)
			l.clean(ctx)
		}
		nodes = count
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-l.alarm.bell:
		}
	}
}

// observe looks at the waiting pods, and at the measured use of nodes.
func (l *Loop) observe() {
	l.waits.see(planner.Waiting(l.cluster), l.clock.Now())
	if !l.measured.Any() {
		return
	}
	last := map[string]time.Time{}
	for _, eviction := range l.record.Evictions() {
		if eviction.At.After(last[eviction.Node]) {
			last[eviction.Node] = eviction.At
		}
	}
	l.measured.Observe(l.cluster.Snapshot(), func(node string) time.Time { return last[node] })
}

// look makes a plan by each policy, one at a time: none while one is being carried out, and
// none while there is one of the policy that has not ended.
func (l *Loop) look(ctx context.Context) {
	for _, p := range l.policies {
		if !p.Enabled {
			continue
		}
		started := l.clock.Now()
		last := l.plan(ctx, p)
		last.At, last.Took = started, l.clock.Since(started)
		l.journal.note(p.Name, last)
	}
}

// plan makes a plan by one policy into an object, and reports the result.
func (l *Loop) plan(ctx context.Context, p policy.Policy) run {
	if l.executor.Busy() {
		return run{What: "a plan is being carried out"}
	}
	for _, plan := range l.reservations.Plans() {
		if plan.Spec.Policy == p.Name && !plan.Ended() && !l.executor.Supersede(ctx, plan) {
			return run{What: "there is a plan that has not ended", Plan: plan.Name}
		}
	}
	if why := l.mustWait(l.record.Evictions()); why != "" {
		return run{What: why}
	}
	plan, why := p.Plan(l.situation(p.Name))
	var refused []planner.Refusal
	if plan != nil {
		l.metrics.planning.WithLabelValues(string(p.Name)).Observe(plan.Took.Seconds())
		refused = slices.Concat(plan.Unplaced, plan.Kept, plan.Unmoved)
	}
	if why != "" {
		return run{What: why, Refused: refused}
	}
	created, err := l.writer.Create(ctx, object(p.Name, l.config.Mode, plan, l.clock.Now().Add(l.lasts())))
	if err != nil {
		what := "the plan could not be created: " + err.Error()
		if l.journal.last(p.Name).What != what { // it may go on for long
			l.log.Warn("cannot create a plan", "policy", p.Name, "err", err)
		}
		return run{What: what, Refused: refused}
	}
	l.log.Info(
		"plan made", "plan", created.Name, "policy", p.Name, "mode", created.Spec.Mode, "steps", len(created.Spec.Steps), "beneficiaries",
		len(created.Spec.Beneficiaries),
	)
	l.reservations.Set(created)
	return run{What: "made a plan", Plan: created.Name, Refused: refused}
}

// approvalTTL is how long a plan waits for somebody to approve of it, if it does not stop working before: a working day has
// passed then. No room is kept for it meanwhile, and one that still helps is made again.
const approvalTTL = 24 * time.Hour

// lasts returns how long a plan that is made now may wait and take, until somebody has approved of it.
func (l *Loop) lasts() time.Duration {
	if l.config.Mode == v1alpha1.Approve {
		return approvalTTL
	}
	return l.config.PlanTTL()
}

// clean deletes plans that ended some time ago.
func (l *Loop) clean(ctx context.Context) {
	for _, plan := range l.reservations.Plans() {
		if !plan.Ended() || plan.Status.Finished == nil || l.clock.Since(plan.Status.Finished.Time) < keep {
			continue
		}
		if err := l.writer.Delete(ctx, plan); err != nil && !apierrors.IsNotFound(err) {
			l.log.Warn("cannot delete a plan that has ended", "plan", plan.Name, "err", err)
		}
	}
}

// assess finds the waiting pods that moving others would not help, and has that told. The room of a plan
// that is being carried out looks taken, so it is not asked meanwhile.
func (l *Loop) assess(ctx context.Context) {
	if l.executor.Busy() {
		return
	}
	verdict := scaleup.Verdict{}
	if situation := l.situation(v1alpha1.MakeRoom); l.config.MakeRoom.Enabled && len(situation.Waiting) > 0 {
		lasting(situation.Problem)
		verdict = scaleup.VerdictOf(situation.Problem.MakeRoom(situation.Problem.Pending(situation.Waiting)))
	}
	l.teller.Tell(ctx, verdict)
}

// lasting takes out of a problem what forbids an eviction for the time being only: cool-downs, the age of pods,
// our own budgets, and PodDisruptionBudgets with a pod down already.
func lasting(problem *planner.Problem) {
	problem.Budgets = planner.Budgets{WhenHealthy: true}
	problem.Rules.Unless, problem.Rules.MinAge = nil, 0
}

// situation describes the cluster now to a policy. Pods that have been pending for long enough count as waiting.
func (l *Loop) situation(of v1alpha1.Policy) policy.Situation {
	past := l.record.Evictions()
	cooling, rules := l.limits.Cooling(past), l.rules
	rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
		return cooling.Why(pod, node.Name, l.clock.Now())
	}
	problem := planner.Problem{
		Gangs: l.gangs, Rules: rules, Budgets: l.budgets(of, past), Limits: planner.Limits{Time: l.config.PlanTime()}, Clock: l.clock,
	}
	for _, store := range l.profiles.Stores() {
		problem.Profiles = append(problem.Profiles, store.Profile)
	}
	s := policy.Of(l.cluster, problem)
	s.Waiting = l.waits.ripe(s.Waiting, l.clock.Now(), l.config.MakeRoom.PendingFor.Duration)
	return s
}
