package bounded

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/json"

	"muster.dev/muster/api/bounded/boundedtest"
)

// decodable are the types that the fuzzer chooses from.
var decodable = []reflect.Type{
	reflect.TypeFor[corev1.Pod](),
	reflect.TypeFor[corev1.Node](),
	reflect.TypeFor[metricsv1beta1.PodMetrics](),
	reflect.TypeFor[map[string]any](),
	reflect.TypeFor[everything](),
}

func FuzzDecode(f *testing.F) {
	for i, text := range append(boundedtest.Texts(),
		`{"metadata":{"name":"p","labels":{"a":"b"},"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c",`+
			`"resources":{"requests":{"cpu":"1"}}}]}}`,
		`{"timestamp":"2026-01-02T03:04:05Z","window":"20s","containers":[{"name":"c","usage":{"cpu":"1500500001n"}}]}`,
		`{"any":{"a":[1,2.5,null,true,"x"]},"lists":[["a"]],"maps":{"a":{"bytes":"QUJD"}},"pointer":7,"Plain":true,"pods":[{}]}`,
	) {
		f.Add(byte(i), []byte(text))
		f.Add(byte(0), []byte(text))
	}
	f.Fuzz(func(t *testing.T, choice byte, text []byte) {
		into := decodable[int(choice)%len(decodable)]
		got, exact := reflect.New(into), reflect.New(into)
		var err, strict error
		boundedtest.Bound{Times: 8 * 5 / 4, Beside: Memory(0) * 5 / 4}.Check(t, len(text), func() { err = Decode(text, got.Interface()) })
		boundedtest.Bound{Times: 32, Beside: Memory(0) * 5 / 4}.Check(t, len(text), func() { strict = DecodeStrict(text, exact.Interface()) })
		if err != nil {
			if strict == nil {
				t.Errorf("refused, and not when strict: %v", err)
			}
			if len(err.Error()) > 8<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		want := reflect.New(into)
		if err := utiljson.Unmarshal(text, want.Interface()); err != nil {
			t.Fatalf("accepted, and not by the API machinery: %v", err)
		}
		if !equality.Semantic.DeepEqual(want.Interface(), got.Interface()) {
			t.Errorf("decoded as\n%+v\nthe API machinery has\n%+v", got, want)
		}
		wrong, err := json.UnmarshalStrict(text, reflect.New(into).Interface())
		if err != nil || len(wrong) > 0 != (strict != nil) {
			t.Errorf("strictly %v, and %v, %v by the API machinery", strict, wrong, err)
		}
	})
}

// The length of a value is where a decoder of a stream finds its end.
func FuzzLength(f *testing.F) {
	for _, text := range boundedtest.Texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var length int
		var err error
		boundedtest.Bound{}.Check(t, len(text), func() { length, err = Length(text) })
		if length < 0 || length > len(text) {
			t.Fatalf("the value has %d of %d bytes, %v", length, len(text), err)
		}
		if err == nil && utiljsonAccepts(text) && length != len(text) {
			t.Errorf("the value is all of the %d bytes, and not %d", len(text), length)
		}
	})
}

// utiljsonAccepts says that a text is one value, without white space around it.
func utiljsonAccepts(text []byte) bool {
	var value any
	return len(text) > 0 && text[0] > ' ' && text[len(text)-1] > ' ' && utiljson.Unmarshal(text, &value) == nil
}
