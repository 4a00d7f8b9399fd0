package config

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/strict"
)

// loadAware returns the default arguments as JSON, with some sections replaced.
func loadAware(expiration int, expired bool, weights, dominant, thresholds, more string) string {
	return fmt.Sprintf(`{"filterExpiredNodeMetrics":true,`+
		`"nodeMetricExpirationSeconds":%d,"enableScheduleWhenNodeMetricsExpired":%t,%s%s"usageThresholds":%s,%s}`,
		expiration, expired, weights, dominant, thresholds, more)
}

const (
	loadWeights    = `"resourceWeights":{"cpu":1,"memory":1},`
	loadThresholds = `{"cpu":65,"memory":95}`
	loadTail       = `"scoreAccordingProdUsage":false,"estimatedScalingFactors":{"cpu":85,"memory":70},` +
		`"estimatedSecondsAfterPodScheduled":0,"estimatedSecondsAfterInitialized":0`
)

func TestLoadAwareArgsAreDefaulted(t *testing.T) {
	args := func(yaml, want string) argsCase {
		return argsCase{args: new(LoadAwareSchedulingArgs), yaml: yaml, want: want}
	}
	named := func(name string, c argsCase) argsCase { c.name = name; return c }
	checkArgs(t, []argsCase{
		named("nothing is said", args("{}", loadAware(180, false, loadWeights, "", loadThresholds, loadTail))),
		named("every scalar is said", args(
			`
filterExpiredNodeMetrics: false
nodeMetricExpirationSeconds: 30
enableScheduleWhenNodeMetricsExpired: true
scoreAccordingProdUsage: true
prodUsageIncludeSys: true
allowCustomizeEstimation: true
estimatedSecondsAfterPodScheduled: 60
estimatedSecondsAfterInitialized: 90
dominantResourceWeight: 100
resourceWeights: {cpu: 100}
supportedResources: [ephemeral-storage]`,
			`{"filterExpiredNodeMetrics":false,"nodeMetricExpirationSeconds":30,"enableScheduleWhenNodeMetricsExpired":true,`+
				`"resourceWeights":{"cpu":100},"dominantResourceWeight":100,`+
				`"usageThresholds":{"cpu":65,"memory":95},"prodUsageIncludeSys":true,"scoreAccordingProdUsage":true,`+
				`"estimatedScalingFactors":{"cpu":85,"memory":70},"estimatedSecondsAfterPodScheduled":60,"estimatedSecondsAfterInitialized":90,`+
				`"allowCustomizeEstimation":true,"supportedResources":["ephemeral-storage"]}`,
		)),
		named("a dominant weight alone leaves no other weights",
			args("dominantResourceWeight: 1", loadAware(180, false, "", `"dominantResourceWeight":1,`, loadThresholds, loadTail))),
		named("thresholds that are said are all there are, and a 0 is said",
			args("usageThresholds: {cpu: 0}", loadAware(180, false, loadWeights, "", `{"cpu":0}`, loadTail))),
		named("an empty mapping of thresholds is the default",
			args("usageThresholds: {}", loadAware(180, false, loadWeights, "", loadThresholds, loadTail))),
		named("factors are defaulted one by one", args("estimatedScalingFactors: {cpu: 100, example.com/gpu: 50}",
			`{"filterExpiredNodeMetrics":true,`+
				`"nodeMetricExpirationSeconds":180,"enableScheduleWhenNodeMetricsExpired":false,"resourceWeights":{"cpu":1,"memory":1},`+
				`"usageThresholds":{"cpu":65,"memory":95},"scoreAccordingProdUsage":false,`+
				`"estimatedScalingFactors":{"cpu":100,"example.com/gpu":50,"memory":70},"estimatedSecondsAfterPodScheduled":0,`+
				`"estimatedSecondsAfterInitialized":0}`)),
		named("the header that Koordinator writes is taken",
			args("{apiVersion: kubescheduler.config.k8s.io/v1, kind: LoadAwareSchedulingArgs}",
				`{"kind":"LoadAwareSchedulingArgs","apiVersion":"kubescheduler.config.k8s.io/v1",`+
					loadAware(180, false, loadWeights, "", loadThresholds, loadTail)[1:])),
		named("statistics may have thresholds without a type, and any duration", args(`
aggregated:
  usageThresholds: {cpu: 70}
  usageAggregatedDuration: 0s
  scoreAggregationType: p50
  scoreAggregatedDuration: 5m`,
			loadAware(180, false, loadWeights, "", loadThresholds, loadTail+
				`,"aggregated":{"usageThresholds":{"cpu":70},"usageAggregatedDuration":"0s","scoreAggregationType":"p50",`+
				`"scoreAggregatedDuration":"5m0s"}`))),
	})
}

func TestLoadAwareArgsAreValidated(t *testing.T) {
	wrong := func(name, yaml string, errs ...string) argsCase {
		return argsCase{name: name, args: new(LoadAwareSchedulingArgs), yaml: yaml, errs: errs}
	}
	const between = "must be between %d and %d"
	share, weight, dominant := fmt.Sprintf(between, 0, 100), fmt.Sprintf(between, 1, 100), fmt.Sprintf(between, 0, 100)
	checkArgs(t, []argsCase{
		wrong("figures do not expire at once", "nodeMetricExpirationSeconds: 0",
			`args.nodeMetricExpirationSeconds: Invalid value: 0: must be greater than zero`),
		wrong("weights are 1 to 100", "resourceWeights: {cpu: 0, memory: 101}",
			`args.resourceWeights[cpu]: Invalid value: 0: `+weight, `args.resourceWeights[memory]: Invalid value: 101: `+weight),
		wrong("what has a weight has a factor", "resourceWeights: {example.com/gpu: 5}",
			`args.resourceWeights[example.com/gpu]: Invalid value: 5: a resource with a weight must have a factor in estimatedScalingFactors`),
		wrong("the dominant weight is not negative", "dominantResourceWeight: -1", `args.dominantResourceWeight: Invalid value: -1: `+dominant),
		wrong("the dominant weight is at most 100", "dominantResourceWeight: 101", `args.dominantResourceWeight: Invalid value: 101: `+dominant),
		wrong("thresholds are 0 to 100", "usageThresholds: {cpu: -1, memory: 101}",
			`args.usageThresholds[cpu]: Invalid value: -1: `+share, `args.usageThresholds[memory]: Invalid value: 101: `+share),
		wrong("those for prod too", "prodUsageThresholds: {cpu: 101}", `args.prodUsageThresholds[cpu]: Invalid value: 101: `+share),
		wrong("factors are 1 to 100", "estimatedScalingFactors: {cpu: 0, memory: 101}",
			`args.estimatedScalingFactors[cpu]: Invalid value: 0: `+weight, `args.estimatedScalingFactors[memory]: Invalid value: 101: `+weight),
		wrong("seconds are not negative", "{estimatedSecondsAfterPodScheduled: -1, estimatedSecondsAfterInitialized: -2}",
			`args.estimatedSecondsAfterPodScheduled: Invalid value: -1: must not be negative`,
			`args.estimatedSecondsAfterInitialized: Invalid value: -2: must not be negative`),
		wrong("each mistake in statistics is named", `
aggregated:
  usageThresholds: {cpu: 101}
  usageAggregationType: p42
  usageAggregatedDuration: -1s
  scoreAggregationType: max
  scoreAggregatedDuration: -5m`,
			`args.aggregated.usageThresholds[cpu]: Invalid value: 101: `+share,
			`args.aggregated.usageAggregationType: Unsupported value: "p42": supported values: "avg", "p50", "p90", "p95", "p99"`,
			`args.aggregated.usageAggregatedDuration: Invalid value: "-1s": must not be negative`,
			`args.aggregated.scoreAggregationType: Unsupported value: "max": supported values: "avg", "p50", "p90", "p95", "p99"`,
			`args.aggregated.scoreAggregatedDuration: Invalid value: "-5m0s": must not be negative`),
		wrong("names of resources are names, and each is said once",
			"{usageThresholds: {a/b/c: 1}, supportedResources: [ephemeral-storage, a/b/c, ephemeral-storage]}",
			`args.usageThresholds[a/b/c]: Invalid value: "a/b/c": `+notALabelKey,
			`args.supportedResources[1]: Invalid value: "a/b/c": `+notALabelKey,
			`args.supportedResources[2]: Duplicate value: "ephemeral-storage"`),
	})
}

func TestLoadAwareArgsOfTheWrongShapeAreRefused(t *testing.T) {
	for _, test := range []struct{ name, document, want string }{
		{"an unknown field of statistics", `{"aggregated":{"usage":1}}`, `args.aggregated.usage: Invalid value: 1: unknown field, known here ` +
			`are ` +
			`usageThresholds, usageAggregationType, usageAggregatedDuration, scoreAggregationType, scoreAggregatedDuration`},
		{
			"a threshold that is no number", `{"usageThresholds":{"cpu":"65%"}}`,
			`args.usageThresholds[cpu]: Invalid value: "65%": must be an integer of 64 bits`,
		},
		{"thresholds in a list", `{"usageThresholds":["cpu"]}`, `args.usageThresholds: Invalid value: ["cpu"]: must be a mapping`},
	} {
		t.Run(test.name, func(t *testing.T) {
			errs := strict.Decode(field.NewPath("args"), []byte(test.document), new(LoadAwareSchedulingArgs))
			if diff := cmp.Diff(test.want, errs.ToAggregate().Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
