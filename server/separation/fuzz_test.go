package separation

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/cluster"
)

// FuzzSeparate posts requests. Only the annotation of the request's pod is written, once, and nothing when the
// request is refused.
func FuzzSeparate(f *testing.F) {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for _, object := range []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, pod("shop", "web-1", "a"), pod("lab", "noisy-1", "a"),
	} {
		if err := c.Set(object); err != nil {
			f.Fatal(err)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, nil })
	handler := New(Options{Logger: slog.New(slog.DiscardHandler), Snapshot: c.Snapshot, Client: client})
	for _, text := range append(boundedtest.Texts(),
		`{"pod":"shop/web-1","from":"lab/noisy-1","why":"cache `+
			`misses"}`, `{"pod":"shop/web-1"}`, `{"pod":"shop/web-1","from":"a",`+
			`"why":"\u001b[2J\n"}`, `{"pod":"shop/web-1","pod":"lab/noisy-1"}`, `{"pod":"/","from":"//"}`,
	) {
		f.Add("application/json", int64(len(text)), []byte(text))
	}
	f.Add("text/plain", int64(-1), []byte(`{"pod":"shop/web-1"}`))
	f.Add("application/json;;", int64(1)<<62, []byte(`{"pod":"shop/web-1"}`))
	f.Fuzz(func(t *testing.T, kind string, length int64, text []byte) {
		var answer *httptest.ResponseRecorder
		boundedtest.Bound{Times: 32, Beside: 2 * bounded.Memory(0)}.Check(t, len(text), func() {
			client.ClearActions()
			request := httptest.NewRequest(http.MethodPost, "/separate", bytes.NewReader(text))
			request.Header.Set("Content-Type", kind)
			request.ContentLength = length
			answer = httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
		})
		if held := handler.bodies.Budget.Held(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
		if !json.Valid(answer.Body.Bytes()) || answer.Code >= http.StatusInternalServerError {
			t.Errorf("answered %d %s", answer.Code, answer.Body)
		}
		written := client.Actions()
		if accepted := answer.Code == http.StatusAccepted; len(written) != map[bool]int{true: 1}[accepted] {
			t.Fatalf("answered %d, and wrote %v", answer.Code, written)
		}
		for _, action := range written {
			checkPatch(t, action.(clienttesting.PatchAction))
		}
	})
}

// checkPatch checks that a patch annotates one of the pods, and does nothing else.
func checkPatch(t *testing.T, patch clienttesting.PatchAction) {
	t.Helper()
	var written struct {
		Metadata struct {
			UID         types.UID      `json:"uid"`
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	decoder := json.NewDecoder(bytes.NewReader(patch.GetPatch()))
	decoder.DisallowUnknownFields()
	name := patch.GetNamespace() + "/" + patch.GetName()
	if err := decoder.Decode(
		&written,
	); err != nil || name != "shop/web-1" && name != "lab/noisy-1" || string(written.Metadata.UID) != patch.GetName() ||
		patch.GetSubresource() != "status" {
		t.Errorf("patches %s of %s with %s, %v", patch.GetSubresource(), name, patch.GetPatch(), err)
	}
	if len(written.Metadata.Annotations) != 2 {
		t.Errorf("writes %v", written.Metadata.Annotations)
	}
}
