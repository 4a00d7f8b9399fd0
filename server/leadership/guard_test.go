package leadership

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// guarded is a client behind a fence, of an API server that is a function.
func guarded(t *testing.T, f *Fence, serve http.HandlerFunc) corev1client.PodInterface {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(f.Guard(&rest.Config{Host: server.URL, QPS: -1}))
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1().Pods("default")
}

// answerOne answers with a pod, or a list of none.
func answerOne(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	kind := "Pod"
	if r.URL.Path == "/api/v1/namespaces/default/pods" && r.Method == http.MethodGet {
		kind = "PodList"
	}
	_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "` + kind + `"}`))
}

// writes are all ways to change something.
func writes() map[string]func(corev1client.PodInterface, *testing.T) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	return map[string]func(corev1client.PodInterface, *testing.T) error{
		"POST": func(c corev1client.PodInterface, t *testing.T) error {
			return c.Bind(t.Context(), &corev1.Binding{ObjectMeta: pod.ObjectMeta}, metav1.CreateOptions{})
		},
		"PUT": func(c corev1client.PodInterface, t *testing.T) error {
			_, err := c.Update(t.Context(), pod, metav1.UpdateOptions{})
			return err
		},
		"PATCH": func(c corev1client.PodInterface, t *testing.T) error {
			_, err := c.Patch(t.Context(), "p", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"DELETE": func(c corev1client.PodInterface, t *testing.T) error {
			return c.Delete(t.Context(), "p", metav1.DeleteOptions{})
		},
	}
}

func TestOnlyTheLeaderWrites(t *testing.T) {
	for method, write := range writes() {
		t.Run(method, func(t *testing.T) {
			var sent atomic.Int32
			m := newMachine()
			client := guarded(t, m.fence, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					sent.Add(1)
				}
				answerOne(w, r)
			})
			if err := write(client, t); !errors.Is(err, ErrNotLeader) {
				t.Errorf("before it leads: %v", err)
			}
			if err := m.fence.renew(m.fence.now()); err != nil {
				t.Fatal(err)
			}
			if err := write(client, t); err != nil {
				t.Errorf("while it leads: %v", err)
			}
			m.ahead += good // to everybody who looks
			if err := write(client, t); !errors.Is(err, ErrLost) {
				t.Errorf("afterwards: %v", err)
			}
			if _, err := client.List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("to read is everybody's: %v", err)
			}
			if got := sent.Load(); got != 1 {
				t.Errorf("%d requests were sent, want that of the leader", got)
			}
			if got := testutil.ToFloat64(m.fence.metrics.refused); got != 2 {
				t.Errorf("%v refusals are counted, want 2", got)
			}
		})
	}
}

func TestARequestUnderWayIsGivenUpWhenTheFenceCloses(t *testing.T) {
	for name, silent := range map[string]bool{"before the answer": true, "in the middle of the answer": false} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			if err := m.fence.renew(m.fence.now()); err != nil {
				t.Fatal(err)
			}
			client := guarded(t, m.fence, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else it is not noticed when the client leaves
				if !silent {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"kind": `))
					_ = http.NewResponseController(w).Flush()
				}
				m.ahead += good
				_ = m.fence.Check()
				<-r.Context().Done() // the client has gone
			})
			err := writes()["POST"](client, t)
			if err == nil {
				t.Fatal("the request succeeded")
			}
			if silent && !errors.Is(err, ErrLost) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestOneAloneWritesWithoutAFence(t *testing.T) {
	client := guarded(t, Always(), answerOne)
	for method, write := range writes() {
		if err := write(client, t); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}
