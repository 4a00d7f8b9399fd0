package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
)

// everyKoordinatorArg has what Koordinator's LoadAwareSchedulingArgs have, each other than by default.
const everyKoordinatorArg = `
filterExpiredNodeMetrics: false
nodeMetricExpirationSeconds: 30
enableScheduleWhenNodeMetricsExpired: true
resourceWeights: {cpu: 2}
dominantResourceWeight: 3
usageThresholds: {cpu: 0}
prodUsageThresholds: {cpu: 50}
prodUsageIncludeSys: true
scoreAccordingProdUsage: true
estimatedScalingFactors: {cpu: 90, memory: 80}
estimatedSecondsAfterPodScheduled: 60
estimatedSecondsAfterInitialized: 90
allowCustomizeEstimation: true
aggregated:
  usageThresholds: {cpu: 60}
  usageAggregationType: p95
  usageAggregatedDuration: 5m0s
  scoreAggregationType: avg
  scoreAggregatedDuration: 10m0s
supportedResources: [ephemeral-storage]
`

const koordinatorsHeader = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: LoadAwareSchedulingArgs, "

func TestKoordinatorsArgumentsAreTakenAsTheyAre(t *testing.T) {
	const path, none = "profiles[0].pluginConfig[0].args.", ": ignored: muster has no such argument"
	estimator := path + "estimator: ignored: muster estimates as Koordinator's defaultEstimator does"
	for _, test := range []struct {
		name, plugin, args string
		want               string // the same as muster's own arguments
		warnings           []string
	}{
		{"all that both know", "LoadAwareScheduling", everyKoordinatorArg, everyKoordinatorArg, nil},
		{"the estimator that muster has", "LoadAwareScheduling", "estimator: defaultEstimator", "{}", nil},
		{"no estimator", "LoadAwareScheduling", "estimator: null", "{}", nil},
		{"another one", "LoadAwareScheduling", "estimator: mine", "{}", []string{estimator}},
		{
			"arguments that only they have, wherever they are", "LoadAwareScheduling",
			"{later: {deep: 1}, usageThresholds: {cpu: 50}, aggregated: {more: true, usageAggregationType: p50}, UsageThresholds: {cpu: 1}}",
			"{usageThresholds: {cpu: 50}, aggregated: {usageAggregationType: p50}}",
			[]string{path + "UsageThresholds" + none, path + "aggregated.more" + none, path + "later" + none},
		},
		{
			"their header under muster's name", "LoadAware", koordinatorsHeader + "estimator: mine, nodeMetricExpirationSeconds: 5}",
			koordinatorsHeader + "nodeMetricExpirationSeconds: 5}",
			[]string{estimator},
		},
		{"nothing said", "LoadAwareScheduling", "{}", "{}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, warnings, err := Decode(withLoadAware(test.plugin, test.args))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			own, _, err := Decode(withLoadAware("LoadAware", test.want))
			if err != nil {
				t.Fatal(err)
			}
			profile := &cfg.Profiles[0]
			if diff := cmp.Diff(own.Profiles[0].LoadAwareSchedulingArgs(), profile.LoadAwareSchedulingArgs()); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if name := profile.PluginConfig[0].Name; name != config.LoadAware {
				t.Errorf("they are of %s", name)
			}
			if filters := profile.FilterPlugins(); filters[len(filters)-1] != config.LoadAware {
				t.Errorf("filters %v, want LoadAware among them", filters)
			}
			if cfg.Load.Source != config.LoadSourceNodeMetric {
				t.Errorf("usage is read from %s", cfg.Load.Source)
			}
		})
	}
}

func TestMustersOwnArgumentsOfLoadStayStrict(t *testing.T) {
	const unknown = "unknown field"
	for _, test := range []struct{ name, plugin, args, want string }{
		{"without a header", "LoadAware", "estimator: mine", "args.estimator: Invalid value: \"mine\": " + unknown},
		{
			"with the header of others", "LoadAware", "{apiVersion: example.com/v1, kind: LoadAwareSchedulingArgs, later: 1}",
			"args.later: Invalid value: 1: " + unknown,
		},
		{
			"with the header of other arguments", "LoadAware", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: OtherArgs, later: 1}",
			"args.later: Invalid value: 1: " + unknown,
		},
		{
			"other plugins, whatever the header", "NodeResourcesFit", koordinatorsHeader + "later: 1}",
			"args.later: Invalid value: 1: " + unknown,
		},
		{
			"Koordinator's, of the wrong type", "LoadAwareScheduling", "usageThresholds: {cpu: 65%}",
			`args.usageThresholds[cpu]: Invalid value: "65%": must be an integer`,
		},
		{"Koordinator's, of a wrong value", "LoadAwareScheduling", "nodeMetricExpirationSeconds: 0", "must be greater than zero"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := Decode(withLoadAware(test.plugin, test.args)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %s", err, test.want)
			}
		})
	}
}

// withLoadAware is a document whose profile runs LoadAware, under Koordinator's name of it, and
// has arguments of a plugin.
func withLoadAware(plugin, args string) []byte {
	return fmt.Appendf(nil, `
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- plugins:
    filter: {enabled: [{name: LoadAwareScheduling}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 5}]}
  pluginConfig:
  - name: %s
    args:
      %s
`, plugin, strings.ReplaceAll(strings.TrimSpace(args), "\n", "\n      "))
}
