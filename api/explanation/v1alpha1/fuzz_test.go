package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
)

// FuzzDecode reads questions as the watch shows them. What is accepted is about one pod or gang, and names no namespace.
func FuzzDecode(f *testing.F) {
	for _, text := range boundedtest.Texts() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"metadata":{"name":"q"},"spec":{"about":"pod/web-1"},"status":{"answeredAt":"2030-01-01T00:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil || fields == nil {
			return
		}
		fields["apiVersion"], fields["kind"] = Group+"/"+Version, Kind
		object := &unstructured.Unstructured{Object: fields}
		var question *Question
		var err error
		boundedtest.Bound{Times: 200, Beside: 2 * bounded.Memory(0)}.Check(t, len(text), func() { question, err = Decode(object) })
		if err != nil {
			return
		}
		if of, name := question.Spec.Subject(); name == "" || strings.Contains(name, "/") || About(of, name) != question.Spec {
			t.Errorf("accepted: %+v", question.Spec)
		}
	})
}
