package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const valid = `
apiVersion: explanation.muster.dev/v1alpha1
kind: Question
metadata: {name: why-x7k2p, namespace: lab}
spec: {about: gang/train}
status:
  answeredAt: "2030-01-01T00:00:00Z"
  generation: 7
  outcome: Waits
  summary: "gang lab/train waits: places for 3 of 4 members that need one"
  text: it waits
  nodes: {all: 3, fit: 0, yield: 1, full: 1, refuse: 1}
  refusals: [{predicate: NodeResourcesFit, reason: Insufficient cpu, nodes: 1}]
  places: {wanted: 4, found: 3}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestAQuestionIsReadAndWrittenUnchanged(t *testing.T) {
	question, err := Decode(parse(t, valid))
	if err != nil {
		t.Fatal(err)
	}
	if of, name := question.Spec.Subject(); of != Gang || name != "train" || question.Spec != About(of, name) {
		t.Errorf("it is about %q %q", of, name)
	}
	object, err := Encode(question)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(question, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("question (-read +written and read):\n%s", diff)
	}
}

func TestAQuestionOfALaterReleaseIsRead(t *testing.T) {
	if _, err := Decode(parse(t, strings.Replace(valid, "status:", "status:\n  later: {a: b}", 1))); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoQuestionIsNamed(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"another version":   {"/v1alpha1", "/v2", `apiVersion: Unsupported value: "explanation.muster.dev/v2"`},
		"another kind":      {"kind: Question", "kind: Order", `kind: Unsupported value: "Order"`},
		"another subject":   {"gang/train", "node/a", `spec.about: Invalid value: "node/a": must be pod/NAME or gang/NAME`},
		"another namespace": {"gang/train", "gang/others/train", "spec.about: Invalid value"},
		"no name":           {"gang/train", "gang/", "spec.about: Invalid value"},
		"no subject":        {"gang/train", "train", "spec.about: Invalid value"},
		"a number":          {"gang/train", "7", "about"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(parse(t, strings.Replace(valid, test.old, test.new, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
