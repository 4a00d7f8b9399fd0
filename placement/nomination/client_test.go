package nomination

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestANominationIsAPatchOfTheVersionThatWasPlanned(t *testing.T) {
	for name, test := range map[string]struct {
		node, want string
	}{
		"a nomination": {"a", `{"metadata":{"resourceVersion":"1","uid":"p"},"status":{"nominatedNodeName":"a"}}`},
		"none":         {"", `{"metadata":{"resourceVersion":"1","uid":"p"},"status":{"nominatedNodeName":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = append(got, r.Method, r.URL.String(), r.Header.Get("Content-Type"), string(body))
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1"}`)
			})
			if err := client.Nominate(t.Context(), newPod("p", "1"), test.node); err != nil {
				t.Fatal(err)
			}
			want := []string{"PATCH", "/api/v1/namespaces/default/pods/p/status?fieldManager=muster", "application/merge-patch+json", test.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllAreWokenByANominationThatIsTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"a pod without one": {newPod("p", "1"), []string{
			`{"metadata":{"resourceVersion":"1","uid":"p"},"status":{"nominatedNodeName":"a"}}`,
			`{"metadata":{"uid":"p"},"status":{"nominatedNodeName":null}}`,
		}},
		"a pod with one": {newPod("p", "1", nominatedTo("b")), []string{
			`{"metadata":{"resourceVersion":"1","uid":"p"},"status":{"nominatedNodeName":null}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = append(got, string(body))
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1"}`)
			})
			if err := client.WakeAll(t.Context(), test.pod, "a"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodIsWokenByTheTime(t *testing.T) {
	var got []string
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method, r.URL.String(), string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1"}`)
	})
	if err := client.Wake(t.Context(), newPod("p", "1")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATCH", "/api/v1/namespaces/default/pods/p/status?fieldManager=muster",
		`{"metadata":{"annotations":{"muster.dev/woken":"2026-01-02T12:00:00.000000005Z"},"uid":"p"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestOneGateOfAPodIsLifted(t *testing.T) {
	var got []string
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method, r.URL.String(), r.Header.Get("Content-Type"), string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1"}`)
	})
	if err := client.LiftGate(t.Context(), newPod("p", "1"), "example.com/gate"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATCH", "/api/v1/namespaces/default/pods/p?fieldManager=muster", "application/strategic-merge-patch+json",
		`{"metadata":{"uid":"p"},"spec":{"schedulingGates":[{"$patch":"delete","name":"example.com/gate"}]}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAPodIsEvictedAsThePreemptionOfTheSchedulerDoes(t *testing.T) {
	var got []string
	answer := http.StatusOK
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method, r.URL.String(), string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1"}`)
	})
	if err := client.Evict(t.Context(), newPod("p", "1"), "default/g"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATCH", "/api/v1/namespaces/default/pods/p/status?fieldManager=muster",
		`{"metadata":{"uid":"p"},"status":{"conditions":[{"type":"DisruptionTarget","status":"True","lastProbeTime":null,` +
			`"lastTransitionTime":"2026-01-02T12:00:00Z","reason":"PreemptionByScheduler","message":"muster: preempting to accommodate ` +
			`default/g"}]}}`,
		"DELETE", "/api/v1/namespaces/default/pods/p", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"p"}}` + "\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	got, answer = nil, http.StatusNotFound
	if err := client.Evict(t.Context(), newPod("p", "1"), "default/g"); err != nil || len(got) != 3 {
		t.Errorf("a pod that is gone: error %v, requests %v", err, got)
	}
}

func TestAWriteThatFailedIsToldApart(t *testing.T) {
	tests := []struct {
		name       string
		answer     http.HandlerFunc
		unanswered bool
		want       Outcome
	}{
		{"the pod changed", status(http.StatusConflict), false, Changed},
		{"the pod is gone", status(http.StatusNotFound), false, Changed},
		{"the API server is busy", status(http.StatusTooManyRequests), false, Failed},
		{"muster has no right to", status(http.StatusForbidden), false, Failed},
		{"the API server gave up", status(http.StatusGatewayTimeout), true, Failed},
		{"etcd failed", status(http.StatusInternalServerError), true, Failed},
		{"the connection broke", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, Failed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requests := 0
			client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				test.answer(w, r)
			})
			err := client.Nominate(t.Context(), newPod("p", "1"), "a")
			if err == nil {
				t.Fatal("no error")
			}
			if got := unanswered(err); got != test.unanswered {
				t.Errorf("unanswered: %t, want %t: %v", got, test.unanswered, err)
			}
			if got := failure(err); got != test.want {
				t.Errorf("outcome %s, want %s: %v", got, test.want, err)
			}
			if status := apierrors.APIStatus(nil); errors.As(err, &status) && requests != 1 {
				t.Errorf("%d requests, want 1", requests)
			}
		})
	}
}

// status answers as the API server does: a busy one asks to come again.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no", code)
	}
}

// noon is the time of a client's clock.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

func newClient(t *testing.T, answer http.HandlerFunc) *RESTClient {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(clientset.CoreV1().RESTClient(), clocktesting.NewFakePassiveClock(noon))
}
