// Package loadaware is the plugin LoadAware: it keeps pods off nodes that are busy, or are about to be, and
// prefers the least busy nodes. It looks at measurements of nodes, and adds an estimate of what they do not
// show yet. The rules, and the names of annotations and labels, are Koordinator's ("Load-aware Scheduling", a
// proposal of that project).
//
// The estimate of a node, if a pod goes there, is
//
//	base      what was measured: of the node, a statistic of it, or of its pods of class prod
//	+ delta   for each pod on it that the measurement does not show in full, what its
//	          estimate is above what it shows
//	+ pod     the estimate of the pod
//
// The estimate is a sum over pods, and everything in it is read off a [cluster.Node]: pods that are assumed, or
// supposed in a plan, count because they are on the node, and pods that kube-scheduler is about to put there
// count as well ([cluster.Node.Expected]). Time is read off the node too: as the age of the measurement when it
// was last looked at ([cluster.Usage.Age]). So the verdict store remembers the plugin's verdicts, and asks it
// again about nodes that changed.
//
// A [LoadAware] belongs to one profile. The resources that it looks at are fixed when it is made, and amounts
// of them are short vectors of integers: CPU in thousandths, memory in bytes. It keeps its results for a node
// until the node changes, so that a verdict and a score cost a few comparisons and divisions, and no memory.
package loadaware

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// LoadAware is the plugin for one profile. It is safe for concurrent use.
type LoadAware struct {
	profile    string
	log        *slog.Logger
	metrics    *Metrics
	complaints complaints

	resources          resources
	estimator          estimator
	thresholds         thresholds
	expiration         time.Duration
	expiry             expiry
	prodIncludesSystem bool

	scoreBase base
	scoreProd bool // pods of class prod have nodes scored by what their like use
	weights   vector
	dominant  int64 // the weight of the scarcest resource
	weightSum int64

	loads loads
}

// Options of a LoadAware. All are required.
type Options struct {
	Logger  *slog.Logger
	Metrics *Metrics
}

// Runs reports whether a profile filters or scores with LoadAware.
func Runs(profile *config.Profile) bool {
	return slices.Contains(profile.FilterPlugins(), config.LoadAware) ||
		slices.ContainsFunc(profile.ScorePlugins(), func(s config.ScorePlugin) bool { return s.Name == config.LoadAware })
}

// Expirations returns the ages at which figures expire for one of the profiles, the lowest first, each once. A
// node's Usage must be set again when its age comes to one of them.
func Expirations(profiles []config.Profile) []time.Duration {
	var ages []time.Duration
	for i := range profiles {
		if Runs(&profiles[i]) {
			ages = append(ages, expiration(profiles[i].LoadAwareSchedulingArgs()))
		}
	}
	slices.Sort(ages)
	return slices.Compact(ages)
}

// Durations returns the times that profiles want statistics over, each once. Sources that keep statistics themselves
// must have them.
func Durations(profiles []config.Profile) []time.Duration {
	var over []time.Duration
	for i := range profiles {
		if Runs(&profiles[i]) {
			over = append(over, profiles[i].LoadAwareSchedulingArgs().AggregatedDurations()...)
		}
	}
	slices.Sort(over)
	return slices.Compact(over)
}

func expiration(args *config.LoadAwareSchedulingArgs) time.Duration {
	return inSeconds(*args.NodeMetricExpirationSeconds)
}

// New makes the plugin for a profile of a validated configuration.
func New(profile *config.Profile, o Options) *LoadAware {
	return newLoadAware(profile.SchedulerName, profile.LoadAwareSchedulingArgs(), o)
}

func newLoadAware(profile string, args *config.LoadAwareSchedulingArgs, o Options) *LoadAware {
	l := &LoadAware{
		profile: profile, log: o.Logger, metrics: o.Metrics,
		complaints:         complaints{said: map[int32]nodeVersion{}},
		resources:          newResources(args),
		expiration:         expiration(args),
		expiry:             newExpiry(args),
		prodIncludesSystem: args.ProdUsageIncludeSys,
		scoreProd:          *args.ScoreAccordingProdUsage,
		dominant:           args.DominantResourceWeight,
	}
	l.estimator = newEstimator(args, &l.resources)
	l.thresholds = newThresholds(args, &l.resources)
	l.weights = l.resources.vector(args.ResourceWeights)
	l.weightSum = l.dominant
	for _, weight := range l.weights {
		l.weightSum += weight
	}
	if a := args.Aggregated; a != nil && a.ScoreAggregationType != "" {
		l.scoreBase = base{ofStatistic, newStatistic(a.ScoreAggregationType, a.ScoreAggregatedDuration)}
	}
	return l
}

// Plugin returns the plugin for making the profile with.
func (l *LoadAware) Plugin() predicates.Plugin {
	return predicates.Plugin{
		Name:    config.LoadAware,
		Filter:  func(first predicates.Verdict) predicates.Predicate { return filter{l, first} },
		Score:   score{l},
		Reasons: l.reasons(),
		Reads:   l.reads,
	}
}

// Of returns the plugin of a profile, nil when the profile does not run it.
func Of(profile *predicates.Profile) *LoadAware {
	plugin, runs := profile.Plugin(config.LoadAware)
	if !runs {
		return nil
	}
	return plugin.Score.(score).LoadAware
}

// reads returns what the plugin reads of a pod beside what every profile does.
func (l *LoadAware) reads(pod *cluster.Pod) string {
	return fmt.Sprint(classOf(pod), ofDaemonSet(pod), strconv.Quote(l.estimator.annotation(pod, AnnotationScalingFactors)))
}

func ofDaemonSet(pod *cluster.Pod) bool {
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].Kind == "DaemonSet" {
			return true
		}
	}
	return false
}

// aspects are the aspects of the cluster that the plugin reads.
const aspects = cluster.AspectUsage | cluster.AspectAllocatable | cluster.AspectAnnotations |
	cluster.AspectPods | cluster.AspectRequested | cluster.AspectPodStates | cluster.AspectExpected

// The places of its reasons: one for figures that have expired, then one for each resource, then
// one for each resource when it is a statistic that is too high.
const (
	reasonExpired = iota
	reasonUsage
)

func (l *LoadAware) reasons() []string {
	reasons := []string{reasonExpired: "node(s) nodeMetric expired"}
	for _, kind := range []string{"", "aggregated "} {
		for _, name := range l.resources.names {
			reasons = append(reasons, "node(s) "+string(name)+" "+kind+"usage exceed threshold")
		}
	}
	return reasons
}

type filter struct {
	*LoadAware
	first predicates.Verdict // of its reasons
}

func (filter) Name() string { return config.LoadAware }

func (filter) Aspects() cluster.Aspect { return aspects }

// For implements [predicates.Predicate]. The pods of a DaemonSet fit everywhere: they have
// nowhere else to go.
func (f filter) For(pod *cluster.Pod, _ *cluster.Snapshot) predicates.Check {
	if ofDaemonSet(pod) {
		return nil
	}
	adds, who := f.adds(pod)
	return &filterCheck{filter: f, namespace: pod.Namespace, adds: adds, who: who}
}

// filterCheck is the filter for a pod.
type filterCheck struct {
	filter

	namespace string
	adds      vector
	who       audience
}

// Concurrent implements [predicates.Concurrent].
func (*filterCheck) Concurrent() {}

// Verdict implements [predicates.Check].
func (c *filterCheck) Verdict(node *cluster.Node) predicates.Verdict {
	reason := c.of(node).filter[c.who].against(c.namespace, c.adds)
	if reason < 0 {
		return predicates.Fits
	}
	return c.verdict(reason)
}

// Verdicts implements [predicates.Plural].
func (c *filterCheck) Verdicts(node *cluster.Node, visit func(predicates.Verdict)) {
	b := &c.of(node).filter[c.who]
	if b.expired {
		visit(c.verdict(reasonExpired))
	}
	for i := range b.room {
		if b.exceeded(c.namespace, c.adds, i) {
			visit(c.verdict(b.reason(i)))
		}
	}
}

func (c *filterCheck) verdict(reason int) predicates.Verdict {
	verdict := c.first + predicates.Verdict(reason) //nolint:gosec // there are few
	if reason == reasonExpired {
		return verdict.Hopeless()
	}
	return verdict
}

// adds returns what a pod adds to a node, and the audience of the pod.
func (l *LoadAware) adds(pod *cluster.Pod) (vector, audience) {
	class, adds := classOf(pod), make(vector, len(l.resources.names))
	l.estimator.estimate(adds, pod, class)
	return adds, audienceOf(class)
}

// against returns the place of the reason against what a pod of a namespace adds, -1 when there is none.
func (b *bounds) against(namespace string, adds vector) int {
	if b.expired {
		return reasonExpired
	}
	for i := range b.room {
		if b.exceeded(namespace, adds, i) {
			return b.reason(i)
		}
	}
	return -1
}

// exceeded reports whether a pod of a namespace adds too much of a resource.
func (b *bounds) exceeded(namespace string, adds vector, i int) bool {
	if own := b.own[namespace]; own != nil {
		return plus(adds[i], own[i]) >= b.room[i]
	}
	return adds[i] >= b.room[i]
}

// reason returns the place of the reason that too much of a resource is used.
func (b *bounds) reason(i int) int {
	if b.aggregated {
		i += len(b.room)
	}
	return reasonUsage + i
}

type score struct{ *LoadAware }

func (score) Name() string { return config.LoadAware }

func (score) Aspects() cluster.Aspect { return aspects }

// For implements [predicates.Score].
func (s score) For(pod *cluster.Pod, _ *cluster.Snapshot) predicates.Rating {
	adds, who := s.adds(pod)
	return predicates.Rating{Alone: func(node *cluster.Node) int64 { return s.rate(s.of(node), who, pod.Namespace, adds) }}
}

// rate is 0 to predicates.MaxScore: the weighted mean of what is left of each resource, in
// percent of what the node offers, and of the least of these. It is 0 for a node that was not
// measured lately.
func (l *LoadAware) rate(w *load, who audience, namespace string, adds vector) int64 {
	if w.free[who] == nil {
		return 0
	}
	var total int64
	lowest := int64(predicates.MaxScore)
	own := w.own[who][namespace]
	for i, free := range w.free[who] {
		if own != nil {
			free -= own[i]
		}
		var left int64
		if free >= adds[i] && w.allocatable[i] > 0 {
			left = share(free-adds[i], w.allocatable[i])
		}
		total += l.weights[i] * left
		lowest = min(lowest, left)
	}
	return (total + l.dominant*lowest) / l.weightSum
}
