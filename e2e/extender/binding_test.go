package extender_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

func TestTwoThousandBindingsAtOnce(t *testing.T) {
	lab.Long(t)
	const count = 2000
	nodes := workload.NewNodes("node", 20, "110")
	c := newCluster(t, nodes...)
	c.createPods(workload.NewPods("pod", count, "1", workload.ScheduledBy(byHand))...)
	pods := c.Pods()
	s := c.serve(muster.Options{Text: ofByHand + "timeouts: {bind: 5m}\n"}) // a slow machine takes its time for this number
	place := map[string]string{}                                            // every pod's node
	for name := range pods {
		place[name] = nodes[len(place)%len(nodes)].Name
	}

	// On a machine that is busy the API server may close a connection on which nothing comes for two seconds, or take too long to
	// accept one. The scheduler tries such pods again.
	busy := regexp.MustCompile("unexpected EOF|TLS handshake timeout")
	bind := func(name, node string) (err error) {
		for again := true; again; again = err != nil && busy.MatchString(err.Error()) && t.Context().Err() == nil {
			err = s.FilterAndBind(t.Context(), pods[name], node)
		}
		return err
	}
	bindAll := func(places map[string]string) error {
		errs := make(chan error, count)
		var group sync.WaitGroup
		for name, node := range places {
			group.Go(func() {
				if err := bind(name, node); err != nil {
					errs <- fmt.Errorf("%s: %w", name, err)
				}
			})
		}
		group.Wait()
		close(errs)
		var all []error
		for err := range errs {
			all = append(all, err)
		}
		if len(all) > 3 {
			all = append(all[:3], fmt.Errorf("and %d more", len(all)-3))
		}
		return errors.Join(all...)
	}
	if err := bindAll(place); err != nil {
		t.Fatalf("bindings failed:\n%v", err)
	}
	c.wantPlaces(place)
	if got := s.calls("bind", "ok"); got != count {
		t.Errorf("%d calls were answered well, want %d", got, count)
	}

	some, elsewhere := map[string]string{}, map[string]string{}
	for name, node := range place {
		if len(some) == count/10 {
			break
		}
		some[name], elsewhere[name] = node, "elsewhere"
	}
	// A call is repeated when its answer was lost.
	if err := bindAll(some); err != nil {
		t.Errorf("repeated bindings failed:\n%v", err)
	}
	// Which of the reasons it is depends on how much of the bindings muster's watch has shown by then.
	refused := regexp.MustCompile("on another node already|the node is gone|may have been bound already|has not offered this node")
	if err := bindAll(elsewhere); err == nil || len(refused.FindAllString(err.Error(), -1)) != 3 ||
		!strings.HasSuffix(err.Error(), fmt.Sprintf("and %d more", len(some)-3)) {
		t.Errorf("bindings to another node, want an error of each:\n%v", err)
	}
	c.wantPlaces(place)
	if got := s.callsInFlight("bind"); got != 0 {
		t.Errorf("%d calls are in flight after the last answer", got)
	}
}

func (c *cluster) wantPlaces(place map[string]string) {
	c.Helper()
	pods := c.Pods()
	misplaced := 0
	for name, node := range place {
		if pods[name].Spec.NodeName != node {
			misplaced++
		}
	}
	if misplaced > 0 || len(pods) != len(place) {
		c.Errorf("%d of %d pods are not on the node they were bound to", misplaced, len(pods))
	}
}

func TestOfTwoBindingsToDifferentNodesOneWins(t *testing.T) {
	const count = 100
	c := newCluster(t, workload.NewNode("a", "110"), workload.NewNode("b", "110"))
	c.createPods(workload.NewPods("pod", count, "1", workload.ScheduledBy(byHand))...)
	pods := c.Pods()
	s := c.serve(muster.Options{Text: ofByHand})
	place := map[string]string{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for name, pod := range pods {
		c.Must(s.Offer(s.Context(), pod, "a", "b"))
		for _, node := range []string{"a", "b"} {
			group.Go(func() {
				if err := s.Bind(s.Context(), pod, node); err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if other := place[name]; other != "" {
					t.Errorf("pod %s was bound to %s and to %s", name, other, node)
				}
				place[name] = node
			})
		}
	}
	group.Wait()
	if len(place) != count {
		t.Errorf("%d of %d pods were bound", len(place), count)
	}
	c.wantPlaces(place)
}

// TestABindingThatFailedIsFreeOrBoundAtOnce has the API server answer 500, whether it has made the binding or not. The
// next call is told which of them it was.
func TestABindingThatFailedIsFreeOrBoundAtOnce(t *testing.T) {
	fails := relay.Failure(apierrors.NewInternalError(errors.New("etcd does not answer")))
	for name, made := range map[string]bool{"it was not made": false, "it was made": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, workload.NewNode("a", "1"))
			c.createPods(workload.NewPod("first", "1", workload.ScheduledBy(byHand)), workload.NewPod("second", "1", workload.ScheduledBy(byHand)))
			s := c.serve(muster.Options{Text: ofByHand, Kubeconfig: c.bindingsAnswered(func(pod string) relay.Decide {
				if pod != "first" {
					return nil
				}
				return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
					if made {
						pass.ServeHTTP(httptest.NewRecorder(), r)
					}
					fails(w, r, pass)
				}
			})})
			pods := c.Pods()
			first, second := s.FilterAndBind(t.Context(), pods["first"], "a"), s.FilterAndBind(t.Context(), pods["second"], "a")
			if (first == nil) != made || (second == nil) == made {
				t.Errorf("the first one: %v; the second one, without any other room: %v", first, second)
			}
			place := map[string]string{"first": "", "second": "a"}
			if made {
				place = map[string]string{"first": "a", "second": ""}
			}
			c.wantPlaces(place)
		})
	}
}

func TestAGatedPodIsNotBoundAndTheAnswerSaysSo(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{Text: ofByHand})
	c.createPods(workload.NewPod("web-0", "1", workload.ScheduledBy(byHand), func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
	}))
	err := s.FilterAndBind(s.Context(), c.Pod("web-0"), "a")
	if err == nil || !strings.Contains(err.Error(), "held back by scheduling gates") {
		t.Errorf("binding a gated pod: error %v", err)
	}
	if got := c.Pod("web-0").Spec.NodeName; got != "" {
		t.Errorf("it is on %s", got)
	}
}

func TestANamesakeIsNotBoundInstead(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{Text: ofByHand})
	c.createPods(workload.NewPod("web-0", "1", workload.ScheduledBy(byHand)))
	stale := c.Pod("web-0")
	stale.UID = "11111111-1111-1111-1111-111111111111" // of a pod that is gone
	if err := s.FilterAndBind(s.Context(), stale, "a"); err == nil || strings.Contains(err.Error(), string(c.Pod("web-0").UID)) {
		t.Errorf("binding a pod that is gone: error %v", err)
	}
	if got := c.Pod("web-0").Spec.NodeName; got != "" {
		t.Errorf("the pod that took its name is on %s", got)
	}
	missing := &corev1.Pod{}
	missing.Namespace, missing.Name, missing.UID = stale.Namespace, "nobody", stale.UID
	if err := s.FilterAndBind(s.Context(), missing, "a"); err == nil || !strings.Contains(err.Error(), "no pod of this name and UID waits") {
		t.Errorf("binding a pod that never was: error %v", err)
	}
}
