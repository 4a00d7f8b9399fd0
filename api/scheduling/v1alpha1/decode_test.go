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

func TestDecode(t *testing.T) {
	started := metav1.NewTime(time.Date(2021, 11, 21, 10, 0, 0, 0, time.UTC).Local())
	tests := []struct {
		name, object string
		want         *PodGroup
	}{
		{
			name: "a group of scheduler-plugins, with everything",
			object: `
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: nginx, namespace: default, uid: u, resourceVersion: "7", generation: 2, annotations: {a: b}}
spec: {minMember: 4, minResources: {cpu: 12, memory: 2Gi}, scheduleTimeoutSeconds: 10}
status:
  phase: Scheduling
  occupiedBy: default/nginx
  scheduled: 3
  running: 2
  succeeded: 1
  failed: 1
  scheduleStartTime: "2021-11-21T10:00:00Z"
  conditions: [{type: Scheduled, status: "False", reason: Unschedulable, message: m, lastTransitionTime: "2021-11-21T10:00:00Z"}]`,
			want: &PodGroup{
				TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "PodGroup"},
				ObjectMeta: metav1.ObjectMeta{
					Name: "nginx", Namespace: "default", UID: "u", ResourceVersion: "7", Generation: 2, Annotations: map[string]string{"a": "b"},
				},
				Spec: PodGroupSpec{
					MinMember: 4, ScheduleTimeoutSeconds: new(int32(10)),
					MinResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12"), corev1.ResourceMemory: resource.MustParse("2Gi")},
				},
				Status: PodGroupStatus{
					Phase:             PodGroupScheduling,
					OccupiedBy:        "default/nginx",
					Scheduled:         3,
					Running:           2,
					Succeeded:         1,
					Failed:            1,
					ScheduleStartTime: &started,
					Conditions: []metav1.Condition{
						{Type: "Scheduled", Status: metav1.ConditionFalse, Reason: "Unschedulable", Message: "m", LastTransitionTime: started},
					},
				},
			},
		},
		{
			name: "a group of the first PodGroups",
			object: `
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: nginx}
spec: {scheduleTimeoutSeconds: 10, minMember: 3}`,
			want: &PodGroup{
				TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.sigs.k8s.io/v1alpha1", Kind: "PodGroup"},
				ObjectMeta: metav1.ObjectMeta{Name: "nginx"},
				Spec:       PodGroupSpec{MinMember: 3, ScheduleTimeoutSeconds: new(int32(10))},
			},
		},
		{
			name: "what is missing has its default, and what is not known is left out",
			object: `
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: nginx}
spec: {minTaskMember: {a: 1}}
status: {phase: Unknown, members: 3}`,
			want: &PodGroup{
				TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "PodGroup"},
				ObjectMeta: metav1.ObjectMeta{Name: "nginx"},
				Spec:       PodGroupSpec{MinMember: 1},
				Status:     PodGroupStatus{Phase: "Unknown"},
			},
		},
		{
			name:   "a group without a spec",
			object: "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: nginx}}",
			want: &PodGroup{
				TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "PodGroup"},
				ObjectMeta: metav1.ObjectMeta{Name: "nginx"},
				Spec:       PodGroupSpec{MinMember: 1},
			},
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
	const head = "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: nginx}\n"
	tests := []struct {
		name, object string
		want         []string
	}{
		{"another kind", "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota}", []string{
			`kind: Unsupported value: "ElasticQuota": supported values: "PodGroup"`,
		}},
		{
			"another API group",
			"{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup}",
			[]string{
				`apiVersion: Unsupported value: "scheduling.volcano.sh/v1beta1": supported values: "scheduling.x-k8s.io/v1alpha1", ` +
					`"scheduling.sigs.k8s.io/v1alpha1"`,
			},
		},
		{
			"another version",
			"{apiVersion: scheduling.x-k8s.io/v1, kind: PodGroup}",
			[]string{
				`apiVersion: Unsupported value: "scheduling.x-k8s.io/v1": supported values: "scheduling.x-k8s.io/v1alpha1", ` +
					`"scheduling.sigs.k8s.io/v1alpha1"`,
			},
		},
		{"no minimum", head + "spec: {minMember: 0}", []string{
			`spec.minMember: Invalid value: 0: must be an integer from 1 to 2147483647`,
		}},
		{"a minimum that is not an integer", head + "spec: {minMember: four}", []string{
			`spec.minMember: Invalid value: "four": must be an integer from 1 to 2147483647`,
		}},
		{"a fraction", head + "spec: {minMember: 1.5}", []string{
			`spec.minMember: Invalid value: 1.5: must be an integer from 1 to 2147483647`,
		}},
		{"more than there are integers", head + "spec: {minMember: 2147483648}", []string{
			`spec.minMember: Invalid value: 2147483648: must be an integer from 1 to 2147483647`,
		}},
		{
			"everything of the spec",
			head + "spec: {minMember: -1, minResources: {cpu: much, memory: -1, pods: 4}, scheduleTimeoutSeconds: -10}",
			[]string{
				`spec.minMember: Invalid value: -1: must be an integer from 1 to 2147483647`,
				`spec.minResources[cpu]: Invalid value: "much": must be a quantity of at least 0, such as 500m or 2Gi`,
				`spec.minResources[memory]: Invalid value: -1: must be a quantity of at least 0, such as 500m or 2Gi`,
				`spec.scheduleTimeoutSeconds: Invalid value: -10: must be an integer from 0 to 2147483647`,
			},
		},
		{
			"quantities that would take for ever",
			head + `spec: {minResources: {cpu: "1e-2147483648", memory: "1e-30000000", pods: "` + strings.Repeat("1", 65) + `"}}`,
			[]string{
				`spec.minResources[cpu]: Invalid value: "1e-2147483648": must have at most 64 bytes, and an exponent of at most 2 digits`,
				`spec.minResources[memory]: Invalid value: "1e-30000000": must have at most 64 bytes, and an exponent of at most 2 digits`,
				`spec.minResources[pods]: Invalid value: "` + strings.Repeat(
					"1", 64,
				) + `…": must have at most 64 bytes, and an exponent of at most 2 digits`,
			},
		},
		{"a quantity that is a list", head + `spec: {minResources: {cpu: [1]}}`, []string{
			`spec.minResources[cpu]: Invalid value: [1]: must be a quantity of at least 0, such as 500m or 2Gi`,
		}},
		{"more resources than anybody has", head + "spec: {minResources: {" + entries(65, "r%d: 1") + "}}", []string{
			`spec.minResources: Too many: 65: must have at most 64 items`,
		}},
		{"a value that is long", head + "spec: {minMember: " + strings.Repeat("x", 1<<20) + "}", []string{
			`spec.minMember: Invalid value: "` + strings.Repeat("x", 64) + `…": must be an integer from 1 to 2147483647`,
		}},
		{"a mapping that is long", head + "spec: {minMember: {" + entries(100, "k%d: 1") + "}}", []string{
			`spec.minMember: Invalid value: must be an integer from 1 to 2147483647`,
		}},
		{"a timeout with its unit", head + "spec: {scheduleTimeoutSeconds: 10s}", []string{
			`spec.scheduleTimeoutSeconds: Invalid value: "10s": must be an integer from 0 to 2147483647`,
		}},
		{"resources that are no mapping", head + "spec: {minResources: 4}", []string{
			`spec.minResources: Invalid value: 4: must be a mapping`,
		}},
		{"a spec that is no mapping", head + "spec: 4", []string{
			`spec: Invalid value: 4: must be a mapping`,
		}},
		{"a status of another type", head + "status: Running", []string{
			`status: Invalid value: "Running": must be the status of a PodGroup`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode(parse(t, test.object))
			if got != nil {
				t.Errorf("decoded %v", got)
			}
			if diff := cmp.Diff(test.want, messages(err)); diff != "" {
				t.Errorf("errors, want (-) got (+):\n%s", diff)
			}
		})
	}
}

func entries(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ", ")
}

// parse reads an object as a watch does: integers are int64.
func parse(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object
}

// messages are the errors of an Aggregate.
func messages(err error) []string {
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return []string{"not an Aggregate: " + err.Error()}
	}
	var messages []string
	for _, e := range all.Errors() {
		messages = append(messages, e.Error())
	}
	return messages
}
