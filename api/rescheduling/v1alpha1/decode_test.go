package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const valid = `
apiVersion: rescheduling.muster.dev/v1alpha1
kind: ReschedulingPlan
metadata: {name: p1}
spec:
  policy: MakeRoom
  mode: Approve
  expires: "2030-01-01T00:00:00Z"
  beneficiaries:
  - {namespace: default, name: big, uid: u1, node: n1, why: it waits}
  steps:
  - pod: {namespace: default, name: small, uid: u2}
    controller: {kind: ReplicaSet, name: rs, uid: c1}
    replacement:
      metadata: {labels: {app: small}}
      spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
    from: n1
    to: n2
    why: makes room for default/big
    cost: 1000
status: {phase: Executing, moved: 0/1, steps: [{phase: Evicting}]}
`

func TestAPlanIsReadAndWrittenUnchanged(t *testing.T) {
	plan, err := Decode(parse(t, valid))
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Spec.Steps[0].Object(); got.Namespace != "default" || got.Labels["app"] != "small" ||
		got.Spec.Containers[0].Resources.Requests.Cpu().Value() != 2 {
		t.Errorf("the replacement is %v", got)
	}
	object, err := Encode(plan)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("plan (-read +written and read):\n%s", diff)
	}
}

func TestWhatIsWrongWithAPlanIsNamed(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"another group":        {"rescheduling.muster.dev/v1alpha1", "apps/v1", `apiVersion: Unsupported value: "apps/v1"`},
		"another kind":         {"kind: ReschedulingPlan", "kind: Plan", `kind: Unsupported value: "Plan"`},
		"a policy":             {"policy: MakeRoom", "policy: Mend", `spec.policy: Unsupported value: "Mend"`},
		"a mode":               {"mode: Approve", "mode: Maybe", `spec.mode: Unsupported value: "Maybe"`},
		"a field nobody knows": {"mode: Approve", "mode: Approve\n  hurry: true", `unknown field "spec.hurry"`},
		"a number for a text":  {"from: n1", "from: 7", "spec.steps[0].from: must be a string, and is number"},
		"a quantity that would take for ever": {
			`cpu: "2"`, `cpu: "1e-2147483648"`,
			`spec.steps[0].replacement.spec.containers[0].resources.requests[cpu]: "1e-2147483648" has an exponent of 10 digits`,
		},
		"no time to end":         {`expires: "2030-01-01T00:00:00Z"`, "", "spec.expires: Required value"},
		"a step to where it was": {"to: n2", "to: n1", `spec.steps[0].to: Invalid value: "n1"`},
		"a pod without a UID":    {"name: small, uid: u2", "name: small, uid: ''", "spec.steps[0].pod.uid: Required value"},
		"no controller":          {"uid: c1", "uid: ''", "spec.steps[0].controller.uid: Required value"},
		"a replacement of nothing": {
			"containers: [{name: c, resources: {requests: {cpu: \"2\"}}}]", "containers: []",
			"spec.steps[0].replacement.spec.containers: Required value",
		},
		"no place":          {"node: n1, why", "why", "spec.beneficiaries[0].node: Required value"},
		"a phase":           {"phase: Executing", "phase: Thinking", `status.phase: Unsupported value: "Thinking"`},
		"a phase of a step": {"phase: Evicting", "phase: Thinking", `status.steps[0].phase: Unsupported value: "Thinking"`},
		"too many steps":    {"[{phase: Evicting}]", "[{phase: Evicting}, {phase: Waiting}]", "status.steps: Too many: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, test.old) {
				t.Fatalf("there is no %q to replace", test.old)
			}
			_, err := Decode(parse(t, strings.Replace(valid, test.old, test.new, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestRoomIsKeptForAPlanThatIsOnItsWay(t *testing.T) {
	expires := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for phase, want := range map[Phase]bool{
		"": false, Pending: false, Approved: true, Executing: true, Succeeded: false, Failed: false, Expired: false,
	} {
		plan := &ReschedulingPlan{Spec: ReschedulingPlanSpec{Expires: metav1.NewTime(expires)}, Status: ReschedulingPlanStatus{Phase: phase}}
		if got := plan.Reserves(expires.Add(-time.Second)); got != want {
			t.Errorf("phase %q: reserves is %t, want %t", phase, got, want)
		}
		if plan.Reserves(expires) {
			t.Errorf("phase %q: it reserves after its end", phase)
		}
	}
}

func TestOnlyTrueApproves(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "True": false, "true": true} {
		plan := &ReschedulingPlan{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationApprove: value}}}
		if plan.IsApproved() != want {
			t.Errorf("%q: approved is %t", value, !want)
		}
	}
}

func TestAReplacementIsACopy(t *testing.T) {
	step := Step{Replacement: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}}}
	step.Object().Labels["app"] = "b"
	if step.Replacement.Labels["app"] != "a" {
		t.Error("to change the pod changes the plan")
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}
