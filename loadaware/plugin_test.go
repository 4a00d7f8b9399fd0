package loadaware

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

func TestAgesThatMatterAreThoseOfTheProfilesThatRunIt(t *testing.T) {
	profiles := []config.Profile{
		*configured(t, "nodeMetricExpirationSeconds: 300"), *configured(t, ""), *configured(t, "nodeMetricExpirationSeconds: 300"),
		config.Default().Profiles[0],
	}
	if diff := cmp.Diff([]time.Duration{180 * time.Second, 300 * time.Second}, Expirations(profiles)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAProfileThatRunsItHasIt(t *testing.T) {
	load, profile, _ := made(t, newCluster(), "")
	if Of(profile) != load {
		t.Error("it has another one")
	}
	none, err := predicates.NewProfile(&config.Default().Profiles[0], load.Plugin())
	if err != nil {
		t.Fatal(err)
	}
	if Of(none) != nil {
		t.Error("one that does not run it has one")
	}
}

func TestPodsThatItTreatsOtherwiseHaveAClassOfTheirOwn(t *testing.T) {
	c := newCluster()
	store := func(args string) *predicates.VerdictStore {
		_, profile, _ := made(t, c, args)
		return predicates.NewVerdictStore(profile, c, 1<<20, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	}
	without, err := predicates.NewProfile(&config.Profile{Equivalence: config.EquivalenceTemplate})
	if err != nil {
		t.Fatal(err)
	}
	blind := predicates.NewVerdictStore(without, c, 1<<20, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	for _, test := range []struct {
		name  string
		args  string
		other func(*corev1.Pod)
		apart bool
	}{
		{"pods of two priority classes", "", ofPriority(5000), true},
		{"not pods of two priorities of one", "", ofPriority(9001), false},
		{"a pod of a DaemonSet", "", ownedBy("DaemonSet"), true},
		{"not one of something else", "", ownedBy("Job"), false},
		{"a pod with factors of its own", customized, annotated(factorsAnnotation, `{"cpu":1}`), true},
		{"not where they do not count", "", annotated(factorsAnnotation, `{"cpu":1}`), false},
		{"not one with another annotation", customized, annotated(scheduledAnnotation, "9"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			one, other := cluster.NewPod(podObject("a")), cluster.NewPod(podObject("b", test.other))
			aware := store(test.args)
			if apart := aware.ClassOf(one) != aware.ClassOf(other); apart != test.apart {
				t.Errorf("they have two classes: %v", apart)
			}
			if apart := aware.Profile.AloneAs(one) != aware.Profile.AloneAs(other); apart != test.apart {
				t.Errorf("alone they are apart: %v", apart)
			}
			if blind.ClassOf(one) != blind.ClassOf(other) {
				t.Error("a profile that does not run it tells them apart")
			}
		})
	}
}

func TestAnAnnotationThatIsNotValidIsLoggedOnceForEachVersionOfItsNode(t *testing.T) {
	var log bytes.Buffer
	c, metrics, cfg := newCluster(), NewMetrics(prometheus.NewRegistry()), configured(t, "")
	cfg.SchedulerName = "busy"
	load := New(cfg, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Metrics: metrics})
	look := func() {
		node := c.Snapshot().NodeByName("node")
		load.Explain(node, nil)
		load.Explain(node.WithPod(cluster.NewPod(podObject("supposed"))), nil)
	}
	node := nodeObject(
		"node",
		annotatedNode(AnnotationUsageThresholds, `{"usageThresholds":{"cpu":101,"example.com/gpu":1}}`),
		annotatedNode(AnnotationRawAllocatable, "1"),
	)
	_ = c.Set(node)
	look()
	c.SetUsage("node", &cluster.Usage{})
	look()
	lines := func() int { return strings.Count(log.String(), "annotation of a node ignored, in whole or in part") }
	if lines() != 2 {
		t.Errorf("%d lines, want one for each annotation:\n%s", lines(), &log)
	}
	for _, want := range []string{
		"profile=busy node=node annotation=" + AnnotationUsageThresholds, AnnotationRawAllocatable,
		"usageThresholds[cpu]: Invalid value: 101: must be between 0 and 100",
		`usageThresholds[example.com/gpu]: Invalid value: \"1\": this resource must be named in supportedResources`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &log)
		}
	}
	next := node.DeepCopy()
	next.ResourceVersion, next.Labels = "2", map[string]string{"a": "b"}
	_ = c.Set(next)
	look()
	if lines() != 4 {
		t.Errorf("%d lines after a new version, want 4", lines())
	}
	if got := testutil.ToFloat64(metrics.ignored.WithLabelValues("busy", AnnotationUsageThresholds)); got != 2 {
		t.Errorf("counted %v times, want 2", got)
	}
}

func TestVerdictAndScoreOfANodeThatIsKnownTakeNoMemory(t *testing.T) {
	r := scene{usage: using("2", "3000"), pods: []*corev1.Pod{podObject("old")}, pod: podObject("new")}.raise(t)
	check := filter{r.load, 0}.For(r.pod, nil)
	rating := score{r.load}.For(r.pod, nil)
	if allocations := testing.AllocsPerRun(100, func() { check.Verdict(r.node); rating.Alone(r.node) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestSupportedResourcesAreAllThatTheArgumentsName(t *testing.T) {
	load, _, _ := made(t, newCluster(), `
resourceWeights: {a.io/weight: 1}
usageThresholds: {a.io/usage: 1}
prodUsageThresholds: {a.io/prod: 1}
estimatedScalingFactors: {a.io/weight: 1, a.io/factor: 1}
aggregated: {usageThresholds: {a.io/aggregated: 1}}
supportedResources: [a.io/more, cpu]`)
	want := []corev1.ResourceName{"a.io/aggregated", "a.io/factor", "a.io/more", "a.io/prod", "a.io/usage", "a.io/weight", "cpu", "memory"}
	if !slices.Equal(load.resources.names, want) {
		t.Errorf("%v, want %v", load.resources.names, want)
	}
}
