package separation

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/cluster"
)

func pod(namespace, name, on string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: on},
	}
}

func TestRequestsToSeparatePods(t *testing.T) {
	tests := []struct {
		name   string
		kind   string // application/json when ""
		body   string
		fails  error
		dryRun bool
		status int
		answer string
		from   string // as written down
	}{
		{
			name: "from another pod", body: `{"pod": "shop/web-1", "from": "lab/noisy-1", "why": "cache misses"}`,
			status: http.StatusAccepted, answer: `{"pod":"shop/web-1","node":"a","from":"lab/noisy-1"}`, from: "lab/noisy-1",
		},
		{
			name: "from its node, by default", body: `{"pod": "shop/web-1"}`,
			status: http.StatusAccepted, answer: `{"pod":"shop/web-1","node":"a","from":"a"}`, from: "a",
		},
		{
			name: "from its node, by name", body: `{"pod": "shop/web-1", "from": "a"}`,
			status: http.StatusAccepted, answer: `{"pod":"shop/web-1","node":"a","from":"a"}`, from: "a",
		},
		{
			name: "in a dry run", body: `{"pod": "shop/web-1", "from": "lab/noisy-1"}`, dryRun: true, status: http.StatusForbidden,
			answer: `{"errors":[{"error":"rescheduler.mode is DryRun, in which nothing is written on pods: annotate the pod with ` +
				`rescheduling.muster.dev/separate-from=lab/noisy-1 yourself, and a plan will show what would be done"}]}`,
		},
		{
			name: "that makes no sense, in a dry run", body: `{"pod": "shop/web-9"}`, dryRun: true,
			status: http.StatusUnprocessableEntity, answer: `{"errors":[{"field":"pod","error":"Not found: \"shop/web-9\""}]}`,
		},
		{
			name: "nothing that is JSON", kind: "text/plain", body: `{"pod": "shop/web-1"}`,
			status: http.StatusUnsupportedMediaType, answer: `{"errors":[{"error":"the request must be application/json"}]}`,
		},
		{
			name: "a field that nobody knows", body: `{"pod": "shop/web-1", "form": "lab/noisy-1"}`,
			status: http.StatusBadRequest, answer: `{"errors":[{"error":"unknown field \"form\""}]}`,
		},
		{
			name:   "more than anybody has to say",
			body:   `{"pod": "` + strings.Repeat("x", longest) + `"}`,
			status: http.StatusRequestEntityTooLarge,
			answer: `{"errors":[{"error":"the body is larger than 65536 bytes (which is enough for a request)"}]}`,
		},
		{
			name: "a pod that is not there", body: `{"pod": "shop/web-9"}`,
			status: http.StatusUnprocessableEntity, answer: `{"errors":[{"field":"pod","error":"Not found: \"shop/web-9\""}]}`,
		},
		{
			name: "from a pod that is not there", body: `{"pod": "shop/web-1", "from": "lab/noisy-9"}`,
			status: http.StatusUnprocessableEntity, answer: `{"errors":[{"field":"from","error":"Not found: \"lab/noisy-9\""}]}`,
		},
		{
			name:   "from a pod that is elsewhere",
			body:   `{"pod": "shop/web-1", "from": "lab/noisy-2"}`,
			status: http.StatusUnprocessableEntity,
			answer: `{"errors":[{"field":"from","error":"Invalid value: \"lab/noisy-2\": it is on node b, and the pod on a"}]}`,
		},
		{
			name: "from another node", body: `{"pod": "shop/web-1", "from": "b"}`,
			status: http.StatusUnprocessableEntity, answer: `{"errors":[{"field":"from","error":"Invalid value: \"b\": the pod is on node a"}]}`,
		},
		{
			name:   "from itself",
			body:   `{"pod": "shop/web-1", "from": "shop/web-1"}`,
			status: http.StatusUnprocessableEntity,
			answer: `{"errors":[{"field":"from","error":"Invalid value: \"shop/web-1\": must be another pod"}]}`,
		},
		{
			name:   "several fields that are wrong",
			body:   `{"pod": "web-1", "from": "lab/", "why": "` + strings.Repeat("x", 257) + `"}`,
			status: http.StatusUnprocessableEntity,
		},
		{
			name: "a pod that has just gone", body: `{"pod": "shop/gone-1"}`,
			status: http.StatusConflict, answer: `{"errors":[{"error":"the pod is gone or another one by now: pods \"gone-1\" not found"}]}`,
		},
		{
			name: "an API server that fails", body: `{"pod": "shop/web-1"}`, fails: errors.New("it is on fire"),
			status: http.StatusBadGateway, answer: `{"errors":[{"error":"it is on fire"}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
			web := pod("shop", "web-1", "a")
			for _, object := range []runtime.Object{
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
				web, pod("shop", "gone-1", "a"), pod("lab", "noisy-1", "a"), pod("lab", "noisy-2", "b"),
			} {
				if err := c.Set(object); err != nil {
					t.Fatal(err)
				}
			}
			client := fake.NewClientset(web)
			if test.fails != nil {
				client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.fails })
			}
			request := httptest.NewRequest(http.MethodPost, "/separate", strings.NewReader(test.body))
			request.Header.Set("Content-Type", map[bool]string{true: "application/json; charset=utf-8", false: test.kind}[test.kind == ""])
			answer := httptest.NewRecorder()
			New(Options{Logger: slog.New(slog.DiscardHandler), Snapshot: c.Snapshot, Client: client, DryRun: test.dryRun}).ServeHTTP(answer, request)
			if answer.Code != test.status {
				t.Errorf("answered %d, want %d", answer.Code, test.status)
			}
			if got := strings.TrimSpace(answer.Body.String()); test.answer != "" && got != test.answer {
				t.Errorf("answered %s\nwant     %s", got, test.answer)
			} else if test.answer == "" && strings.Count(got, `"field"`) != 3 {
				t.Errorf("answered %s, want three fields", got)
			}
			written, err := client.CoreV1().Pods("shop").Get(t.Context(), "web-1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, action := range client.Actions() {
				if action.GetVerb() == "patch" && action.GetSubresource() != "status" {
					t.Errorf("it patches the pod itself, and not its status: %v", action)
				}
			}
			if diff := cmp.Diff(test.from, written.Annotations["rescheduling.muster.dev/separate-from"]); diff != "" {
				t.Errorf("written down (-want +got):\n%s", diff)
			}
		})
	}
}
