package record

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/bounded/boundedtest"
)

// FuzzOf reads records, which anybody may have written who may annotate a PodGroup.
func FuzzOf(f *testing.F) {
	for _, text := range append(boundedtest.Texts(),
		`{"members":3,"minMember":2,"time":"2026-01-02T03:04:05Z","epoch":{"lease":"2026-01-02T03:04:05Z",`+
			`"transitions":7}}`, `{"members":-1,"minMember":9223372036854775807,"time":"0000-01-01T00:00:00Z"}`,
		`{"time":"`+strings.Repeat("2", 2000)+`"}`,
	) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r *Record
		boundedtest.Bound{Beside: 64 << 10}.Check(t, 0, func() { r = Of(&metav1.ObjectMeta{Annotations: map[string]string{Annotation: text}}) })
		if r == nil {
			return
		}
		if len(text) > longest {
			t.Errorf("a record of %d bytes is read", len(text))
		}
		if later := (Epoch{Lease: r.Epoch.Lease, Transitions: r.Epoch.Transitions}); later.after(r.Epoch) || r.Epoch.after(later) {
			t.Errorf("epoch %+v is after itself", r.Epoch)
		}
	})
}
