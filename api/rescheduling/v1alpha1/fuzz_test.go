package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
)

// FuzzDecode reads plans as the watch shows them. What is accepted is written as it was read.
func FuzzDecode(f *testing.F) {
	for _, text := range boundedtest.Texts() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"metadata":{"name":"p"},"spec":{"policy":"MakeRoom","mode":"Auto","expires":"2026-01-02T03:04:05Z","steps":[
		{"pod":{"namespace":"d","name":"p","uid":"u"},"controller":{"uid":"c"},"from":"a","to":"b",
			"replacement":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}}]},
		"status":{"phase":"Executing","steps":[{"phase":"Evicting"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil || fields == nil {
			return
		}
		fields["apiVersion"], fields["kind"] = Group+"/"+Version, Kind
		object := &unstructured.Unstructured{Object: fields}
		var plan *ReschedulingPlan
		var err error
		boundedtest.Bound{Times: 200, Beside: 2 * bounded.Memory(0)}.Check(t, len(text), func() { plan, err = Decode(object) })
		if err != nil {
			if len(err.Error()) > 256<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		if len(plan.Status.Steps) > len(plan.Spec.Steps) || plan.Spec.Expires.IsZero() {
			t.Errorf("accepted: %+v", plan)
		}
		again, err := Encode(plan)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("written again it is refused: %v", err)
		}
	})
}

// FuzzSeparation reads requests to separate pods, which are annotations.
func FuzzSeparation(f *testing.F) {
	f.Add("lab/noisy-1", "cache misses")
	f.Add("worker-a", "")
	for _, text := range boundedtest.Texts() {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, from, why string) {
		boundedtest.Bound{Times: 64, Beside: 64 << 10}.Check(t, len(from)+len(why), func() {
			separation, errs := NewSeparation(from, why, nil, nil)
			if err := errs.ToAggregate(); err != nil && len(err.Error()) > 2<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if len(errs) == 0 && (len(separation.Why) > longestWhy || (separation.Node == "") == (separation.Pod.Name == "")) {
				t.Errorf("%q is taken for %+v", from, separation)
			}
		})
	})
}
