package v1alpha1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"
)

const head = "apiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeMetric\nmetadata: {name: n1}\n"

func TestDecode(t *testing.T) {
	identity := metav1.TypeMeta{APIVersion: "slo.koordinator.sh/v1alpha1", Kind: "NodeMetric"}
	updated := metav1.NewTime(time.Date(2022, 6, 8, 9, 53, 37, 0, time.UTC).Local())
	of := func(cpu, memory string) ResourceMap {
		return ResourceMap{Resources: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}}
	}
	tests := []struct {
		name, object string
		want         *NodeMetric
	}{
		{
			name: "everything",
			object: `
apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeMetric
metadata: {name: n1, uid: u, resourceVersion: "7"}
spec:
  metricCollectPolicy:
    aggregateDurationSeconds: 300
    reportIntervalSeconds: 60
    nodeAggregatePolicy: {durations: [5m, 10m0s]}
    nodeMemoryCollectPolicy: usageWithoutPageCache
status:
  updateTime: "2022-06-08T09:53:37Z"
  nodeMetric:
    nodeUsage: {resources: {cpu: 2, memory: 8Gi}, devices: []}
    systemUsage: {resources: {cpu: 500m, memory: 1Gi}}
    aggregatedNodeUsages:
    - duration: 5m0s
      usage: {p95: {resources: {cpu: 3, memory: 9Gi}}, p42: {resources: {cpu: 4}}}
    - {}
  podsMetric:
  - {name: p1, namespace: default, priority: koord-prod, qos: LS, podUsage: {resources: {cpu: 100m, memory: 1Mi}}}
  hostApplicationMetric: []`,
			want: &NodeMetric{
				TypeMeta: identity, ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u", ResourceVersion: "7"},
				Spec: NodeMetricSpec{CollectPolicy: &NodeMetricCollectPolicy{
					AggregateDurationSeconds: new(int64(300)), ReportIntervalSeconds: new(int64(60)),
					NodeAggregatePolicy: &AggregatePolicy{Durations: []metav1.Duration{{Duration: 5 * time.Minute}, {Duration: 10 * time.Minute}}},
				}},
				Status: NodeMetricStatus{
					UpdateTime: &updated,
					NodeMetric: &NodeMetricInfo{
						NodeUsage: of("2", "8Gi"), SystemUsage: of("500m", "1Gi"),
						AggregatedNodeUsages: []AggregatedUsage{
							{Duration: metav1.Duration{Duration: 5 * time.Minute}, Usage: map[AggregationType]ResourceMap{P95: of("3", "9Gi")}}, {},
						},
					},
					PodsMetric: []PodMetricInfo{{Name: "p1", Namespace: "default", Priority: "koord-prod", QoS: "LS", PodUsage: of("100m", "1Mi")}},
				},
			},
		},
		{
			name:   "nothing was reported",
			object: head + "spec: {metricCollectPolicy: {}}",
			want: &NodeMetric{
				TypeMeta: identity, ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: NodeMetricSpec{CollectPolicy: &NodeMetricCollectPolicy{}},
			},
		},
		{
			name:   "null is nothing",
			object: head + "spec: null\nstatus: {updateTime: null, nodeMetric: null, podsMetric: null}",
			want:   &NodeMetric{TypeMeta: identity, ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode(parse(t, test.object))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestDecodeNamesEachFieldAndItsValue(t *testing.T) {
	tests := []struct {
		name, object string
		want         []string
	}{
		{"another kind", "{apiVersion: slo.koordinator.sh/v1alpha1, kind: NodeSLO}", []string{
			`kind: Unsupported value: "NodeSLO": supported values: "NodeMetric"`,
		}},
		{"another version", "{apiVersion: slo.koordinator.sh/v1, kind: NodeMetric}", []string{
			`apiVersion: Unsupported value: "slo.koordinator.sh/v1": supported values: "slo.koordinator.sh/v1alpha1"`,
		}},
		{
			"everything of the spec",
			head + "spec: {metricCollectPolicy: {aggregateDurationSeconds: 0, reportIntervalSeconds: 60s, nodeAggregatePolicy: {durations: [5m, " +
				"-1s]}}}",
			[]string{
				`spec.metricCollectPolicy.aggregateDurationSeconds: Invalid value: 0: must be an integer of at least 1`,
				`spec.metricCollectPolicy.reportIntervalSeconds: Invalid value: "60s": must be an integer of at least 1`,
				`spec.metricCollectPolicy.nodeAggregatePolicy.durations[1]: Invalid value: "-1s": must be durations greater than zero, such as 5m`,
			},
		},
		{"durations that are none", head + "spec: {metricCollectPolicy: {nodeAggregatePolicy: {durations: [long]}}}", []string{
			`spec.metricCollectPolicy.nodeAggregatePolicy.durations: Invalid value: ["long"]: must be durations greater than zero, such as 5m`,
		}},
		{"a time that is none", head + "status: {updateTime: noon}", []string{
			`status.updateTime: Invalid value: "noon": must be a time such as 2006-01-02T15:04:05Z`,
		}},
		{"amounts", head + "status: {nodeMetric: {nodeUsage: {resources: {cpu: much, memory: NaN}}, systemUsage: {resources: 1}}}", []string{
			`status.nodeMetric.nodeUsage.resources[cpu]: Invalid value: "much": must be a quantity, such as 500m or 2Gi`,
			`status.nodeMetric.nodeUsage.resources[memory]: Invalid value: "NaN": must be a quantity, such as 500m or 2Gi`,
			`status.nodeMetric.systemUsage.resources: Invalid value: 1: must be a mapping`,
		}},
		{
			"statistics",
			head + "status: {nodeMetric: {aggregatedNodeUsages: [{duration: -5m, usage: {avg: {resources: {cpu: true}}}}]}}",
			[]string{
				`status.nodeMetric.aggregatedNodeUsages[0].duration: Invalid value: "-5m0s": must be a duration of at least 0, such as 5m`,
				`status.nodeMetric.aggregatedNodeUsages[0].usage[avg].resources[cpu]: Invalid value: true: must be a quantity, such as ` +
					`500m or 2Gi`,
			},
		},
		{"pods", head + "status: {podsMetric: [{name: 1, podUsage: 2}, 3]}", []string{
			`status.podsMetric[0].name: Invalid value: 1: must be text`,
			`status.podsMetric[0].podUsage: Invalid value: 2: must be a mapping`,
			`status.podsMetric[1]: Invalid value: 3: must be a mapping`,
		}},
		{
			"quantities that would take for ever",
			head + `status: {nodeMetric: {nodeUsage: {resources: {cpu: "1e-2147483648"}}}, podsMetric: [{podUsage: {resources: {cpu: ` +
				`"1e30000000", memory: "` + strings.Repeat(
				"1", 65,
			) + `"}}}]}`,
			[]string{
				`status.nodeMetric.nodeUsage.resources[cpu]: Invalid value: "1e-2147483648": must have at most 64 bytes, and an exponent of at most ` +
					`2 digits`,
				`status.podsMetric[0].podUsage.resources[cpu]: Invalid value: "1e30000000": must have at most 64 bytes, and an exponent of at most 2 ` +
					`digits`,
				`status.podsMetric[0].podUsage.resources[memory]: Invalid value: "` + strings.Repeat(
					"1", 64,
				) + `…": must have at most 64 bytes, and an exponent of at most 2 digits`,
			},
		},
		{"values that are long", head + "status: {podsMetric: [{name: [" + strings.Repeat("1,", 1000) + "]}]}", []string{
			`status.podsMetric[0].name: Invalid value: must be text`,
		}},
		{
			"more than anybody reads",
			head + "status: {podsMetric: [" + strings.Repeat("1,", 1000) + "]}",
			firstOf(20, `status.podsMetric[%d]: Invalid value: 1: must be a mapping`),
		},
		{"pods that are no list", head + "status: {podsMetric: {}}", []string{
			`status.podsMetric: Invalid value: {}: must be a list`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode(parse(t, test.object))
			all, ok := errors.AsType[utilerrors.Aggregate](err)
			if !ok {
				t.Fatalf("decoded %+v with error %v, want an Aggregate", got, err)
			}
			var lines []string
			for _, e := range all.Errors() {
				lines = append(lines, e.Error())
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

func firstOf(n int, format string) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf(format, i))
	}
	return lines
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object
}
