package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/e2e/bench/loadreplay"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// loadAware has nodes preferred that use the least.
const loadAware = `
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        enabled: [{name: LoadAware}]
        disabled: [{name: "*"}]
    pluginConfig:
      - name: LoadAware
        args: {resourceWeights: {cpu: 1}}
`

// balancing is a day with muster.
type balancing struct {
	day      *loadedDay
	cluster  *cluster.Cluster
	settings *config.Rescheduler
	profile  *predicates.Profile
	clock    *clocktesting.FakePassiveClock
	measured policy.Measured
	policies []policy.Policy
	limits   executor.Limits
	past     []evictions.Eviction
	names    map[types.UID]int // pods
	lives    []int             // how often each pod was moved
	came     []int             // the minute in which it did last
	window   time.Duration     // of the source of usage
	history  [][]int64         // what each node used, by minute
}

func newBalancing(day *loadedDay, window time.Duration) (*balancing, error) {
	cfg, _, err := document.Decode([]byte(loadAware))
	if err != nil {
		return nil, err
	}
	cfg.Rescheduler.Relieve.Enabled, cfg.Rescheduler.Balance.Enabled = true, true
	log := slog.New(slog.DiscardHandler)
	load := loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(prometheus.NewRegistry())}
	own := cfg.Profiles[0].WithSchedulerScores()
	profile, err := predicates.NewProfile(own, loadaware.New(own, load).Plugin())
	if err != nil {
		return nil, err
	}
	b := &balancing{
		day: day, settings: &cfg.Rescheduler, profile: profile, names: map[types.UID]int{}, lives: make([]int, len(day.pods)),
		came: make([]int, len(day.pods)), window: window, history: make([][]int64, loadedNodes),
		clock:   clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		cluster: cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour}),
	}
	budgets := &cfg.Rescheduler.Budgets
	b.limits = executor.Limits{
		Rate:             executor.Rate{Evictions: int(budgets.Rate.Evictions), Per: budgets.Rate.Per.Duration},
		WorkloadCoolDown: budgets.WorkloadCoolDown.Duration, NodeCoolDown: budgets.NodeCoolDown(),
	}
	meter := policy.NewMeter(cfg, load)
	b.measured = policy.Measured{
		Hot:    policy.NewHot(&cfg.Rescheduler.Relieve, meter, policy.HotSamples),
		Uneven: policy.NewUneven(&cfg.Rescheduler.Balance, meter, policy.UnevenSamples),
	}
	b.policies = policy.All(&cfg.Rescheduler, b.measured)
	for n := range loadedNodes {
		node := shape{loadedCores * 1000, loadedCores << 12, 0}.node(nodeName(n))
		node.UID = types.UID(node.Name)
		if err := b.cluster.Set(node); err != nil {
			return nil, err
		}
	}
	for pod := range day.pods {
		if err := b.cluster.Set(b.pod(pod)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func nodeName(n int) string { return fmt.Sprintf("node-%04d", n) }

func (b *balancing) pod(at int) *corev1.Pod {
	pod := shape{b.day.pods[at].request, 1024, 0}.pod(fmt.Sprintf("pod-%04d-%d", at, b.lives[at]), nodeName(b.day.on[at]))
	owner := fmt.Sprint("workload-", b.day.pods[at].workload)
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)},
	}
	bound := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(b.clock.Now())}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	pod.Status.Conditions = []corev1.PodCondition{bound, ready}
	pod.UID = types.UID(pod.Name)
	b.names[pod.UID] = at
	return pod
}

// minute has all nodes measured, and then each policy make a plan and carry it out. It returns how many pods have moved.
func (b *balancing) minute(minute int) (moved int, err error) {
	b.clock.SetTime(b.clock.Now().Add(time.Minute))
	b.measure(minute)
	last := map[string]time.Time{}
	for _, eviction := range b.past {
		last[eviction.Node] = eviction.At
	}
	b.measured.Observe(b.cluster.Snapshot(), func(node string) time.Time { return last[node] })
	for _, p := range b.policies {
		if !p.Enabled || p.Name == v1alpha1.MakeRoom {
			continue
		}
		plan, _ := p.Plan(b.situation())
		if plan == nil {
			continue
		}
		for _, planned := range plan.Steps {
			if err := b.carryOut(planned, minute); err != nil {
				return moved, err
			}
			moved++
		}
		if len(plan.Steps) > 0 {
			return moved, nil // one plan at a time
		}
	}
	return moved, nil
}

// measure has a source tell of all nodes and pods: means of the time of its window, of pods from when they came.
func (b *balancing) measure(minute int) {
	now, perStep := b.clock.Now(), int(loadreplay.Step/time.Minute)
	usages := make([]*cluster.Usage, loadedNodes)
	for n := range usages {
		b.history[n] = append(b.history[n], int64(b.day.used[n][minute/perStep]))
		usages[n] = &cluster.Usage{
			Updated: now, Seen: now, Interval: b.window, Node: cluster.Resources{MilliCPU: b.meanOf(minute, 0, func(at int) int64 {
				return b.history[n][at]
			})},
			Pods: map[types.NamespacedName]cluster.PodUsage{},
		}
	}
	for uid, at := range b.names {
		name := types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: string(uid)}
		used := b.meanOf(minute, b.came[at], func(minute int) int64 { return b.day.pods[at].uses[minute/perStep] })
		usages[b.day.on[at]].Pods[name] = cluster.PodUsage{Used: cluster.Resources{MilliCPU: used}}
	}
	for n := range usages {
		b.cluster.SetUsage(nodeName(n), usages[n])
	}
}

// meanOf is the mean of the minutes of the window that ends with a minute, from another one on.
func (b *balancing) meanOf(minute, from int, use func(minute int) int64) int64 {
	from = max(from, minute+1-int(b.window/time.Minute))
	sum := int64(0)
	for at := from; at <= minute; at++ {
		sum += use(at)
	}
	return sum / int64(minute+1-from)
}

// situation returns what the loop of the rescheduler would ask about.
func (b *balancing) situation() policy.Situation {
	now, cooling := b.clock.Now(), b.limits.Cooling(b.past)
	problem := planner.Problem{
		Profiles: []*predicates.Profile{b.profile}, Clock: b.clock, Gangs: membership.BoundsOf(&config.Default().Gangs),
		Budgets: planner.Budgets{Total: int(b.settings.Budgets.PerPlan), PerWorkload: b.settings.Budgets.PerWorkload.IntValue()},
		Limits:  planner.Limits{Patience: 20},
	}
	if left := b.limits.RateLeft(b.past, now); left >= 0 {
		problem.Budgets.Total = min(problem.Budgets.Total, left)
	}
	problem.Rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
		if b.limits.RateLeft(b.past, now) == 0 {
			return "the rate is used up"
		}
		return cooling.Why(pod, node.Name, now)
	}
	return policy.Of(b.cluster, problem)
}

func (b *balancing) carryOut(step planner.Step, minute int) error {
	at := b.names[step.Pod.UID]
	b.past = append(b.past, evictions.Eviction{
		Pod: step.Pod.UID, Controller: metav1.GetControllerOf(step.Pod.Pod).UID, Node: step.From.Name, At: b.clock.Now(),
	})
	if err := b.cluster.Delete(step.Pod.Pod); err != nil {
		return err
	}
	delete(b.names, step.Pod.UID)
	var to int
	if _, err := fmt.Sscanf(step.To.Name, "node-%d", &to); err != nil {
		return fmt.Errorf("node %s: %w", step.To.Name, err)
	}
	b.day.move(at, to)
	b.lives[at]++
	b.came[at] = minute + 1
	return b.cluster.Set(b.pod(at))
}
