package nodemetric

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/slo/v1alpha1"
)

// said is a policy for a node, in short.
func said(p *v1alpha1.NodeMetricCollectPolicy) string {
	var durations []string
	for _, d := range p.NodeAggregatePolicy.Durations {
		durations = append(durations, d.Duration.String())
	}
	return fmt.Sprintf("%d %d %s", *p.AggregateDurationSeconds, *p.ReportIntervalSeconds, strings.Join(durations, " "))
}

func TestParsePolicy(t *testing.T) {
	const byDefault = "300 60 5m0s 10m0s 30m0s"
	tests := []struct {
		name, text string
		want       string // on a node of pool a
		wrong      string // what is said of wrong entries
	}{
		{name: "nothing said is the default", text: `{}`, want: byDefault},
		{name: "enable does not matter", text: `{"enable": false, "cpuReclaimThresholdPercent": 60}`, want: byDefault},
		{
			name: "the cluster's goes over the default, field by field",
			text: `{"metricReportIntervalSeconds": 20}`, want: "300 20 5m0s 10m0s 30m0s",
		},
		{
			name: "durations are replaced as a whole",
			text: `{"metricAggregateDurationSeconds": 30, "metricAggregatePolicy": {"durations": ["1h"]}}`, want: "30 60 1h0m0s",
		},
		{
			name: "a node's goes over the cluster's, field by field",
			text: `{"metricReportIntervalSeconds": 20, "nodeConfigs": [
				{"nodeSelector": {"matchLabels": {"pool": "a"}}, "metricAggregateDurationSeconds": 10}]}`,
			want: "10 20 5m0s 10m0s 30m0s",
		},
		{
			name: "the first that selects the node counts, and no other",
			text: `{"nodeConfigs": [
				{"nodeSelector": {"matchLabels": {"pool": "b"}}, "metricReportIntervalSeconds": 1},
				{"nodeSelector": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}, "metricReportIntervalSeconds": 2},
				{"nodeSelector": {}, "metricReportIntervalSeconds": 3, "metricAggregateDurationSeconds": 4}]}`,
			want: "300 2 5m0s 10m0s 30m0s",
		},
		{
			name: "a wrong value falls back to the cluster's, and not to the next that selects the node",
			text: `{"metricReportIntervalSeconds": 20, "nodeConfigs": [
				{"name": "fast", "nodeSelector": {"matchLabels": {"pool": "a"}},
					"metricReportIntervalSeconds": 0, "metricAggregateDurationSeconds": 10},
				{"nodeSelector": {}, "metricReportIntervalSeconds": 3}]}`,
			want:  "300 20 5m0s 10m0s 30m0s",
			wrong: `nodeConfigs[0][fast].metricReportIntervalSeconds: Invalid value: 0: must be greater than zero`,
		},
		{
			name: "a value of another type does so too",
			text: `{"nodeConfigs": [
				{"nodeSelector": {"matchLabels": {"pool": "a"}}, "metricReportIntervalSeconds": "20s"}]}`,
			want:  byDefault,
			wrong: `nodeConfigs[0]: metricReportIntervalSeconds: must be a number, and is string`,
		},
		{
			name: "an entry with a selector that selects nothing is passed over",
			text: `{"nodeConfigs": [
				{"name": "none", "metricReportIntervalSeconds": 1},
				{"nodeSelector": {"matchExpressions": [{"key": "pool", "operator": "Is"}]}},
				7,
				{"nodeSelector": {"matchLabels": {"pool": "a"}}, "metricReportIntervalSeconds": 2}]}`,
			want: "300 2 5m0s 10m0s 30m0s",
			wrong: "nodeConfigs[0][none].nodeSelector: Required value\n" +
				`nodeConfigs[1].nodeSelector: "Is" is not a valid label selector operator` + "\n" +
				"nodeConfigs[2]: must be a mapping, and is number",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy, wrong, err := ParsePolicy(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := said(policy.For(map[string]string{"pool": "a"})); got != test.want {
				t.Errorf("a node of the pool has %s, want %s", got, test.want)
			}
			got := ""
			if wrong != nil {
				got = wrong.Error()
			}
			if diff := cmp.Diff(test.wrong, got); diff != "" {
				t.Errorf("what is wrong, want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestAPolicyThatIsWrongForTheClusterIsNone(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "unexpected end of JSON input",
		`enable: true`:                          "invalid character 'e' looking for beginning of value",
		`{"metricReportIntervalSeconds": "20"}`: "metricReportIntervalSeconds",
		`{"metricReportIntervalSeconds": -20}`:  "metricReportIntervalSeconds: Invalid value: -20: must be greater than zero",
		`{"metricAggregateDurationSeconds": 0}`: "metricAggregateDurationSeconds: Invalid value: 0: must be greater than zero",
		`{"nodeConfigs": {}}`:                   "nodeConfigs: must be a list, and is object",
		`{"nodeConfigs": [` + strings.Repeat(
			`{"name":"a name as people give one"},`, 20_000,
		) + `{}]}`: "nodeConfigs[20000]: there are more than 20000 of them",
		`{"a": ` + strings.Repeat("[", 200): "nested more than 100 levels deep",
		`{"metricAggregatePolicy": {"durations": ["5m", "0s"]}}`: `metricAggregatePolicy.durations[1]: Invalid value: "0s": must be greater ` +
			`than zero`,
	} {
		policy, _, err := ParsePolicy(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %+v with error %v, want one with %q", text, policy, err, want)
		}
	}
}

func TestWhatIsWrongIsSaidOfSomeEntries(t *testing.T) {
	_, wrong, err := ParsePolicy(`{"nodeConfigs": [` + strings.Repeat(`{"name":"a name as people give one"},`, 1000) + `{}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Count(wrong.Error(), "Required value"); said != 20 {
		t.Errorf("%d entries are said to be wrong, want 20", said)
	}
}
