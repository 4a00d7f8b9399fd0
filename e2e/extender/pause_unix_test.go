//go:build unix

package extender_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/binaries"
)

// pauseAPIServer makes the API server hold every request until resume is called, which
// the end of the test does as well.
func (c *cluster) pauseAPIServer() (resume func()) {
	c.Helper()
	pid := shared.Pids()[binaries.APIServer]
	send := func(signal syscall.Signal) {
		if err := syscall.Kill(pid, signal); err != nil {
			c.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	resume = func() { send(syscall.SIGCONT) }
	c.Cleanup(resume)
	return resume
}

func TestACallerThatLeavesWhileItsPodIsBoundHurtsNobody(t *testing.T) {
	c := newCluster(t, newNode("a", "4"))
	c.createPods(newPod("p", "3", scheduledBy(byHand)))
	pod := c.pod("p")
	s := c.serve(serving{config: "timeouts: {bind: 5s}\n" + ofByHand}) // which has seen the pod when it is ready
	if err := s.offer(pod, "a"); err != nil {
		t.Fatal(err)
	}
	resume := c.pauseAPIServer()

	ctx, leave := context.WithCancel(t.Context())
	body, err := json.Marshal(extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/bind", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	left := make(chan error)
	go func() {
		response, err := s.http.Do(request)
		if err == nil {
			response.Body.Close()
		}
		left <- err
	}()
	c.eventually("the pod is being bound", func() error {
		if got := s.callsInFlight("bind"); got != 1 {
			return fmt.Errorf("%d calls are in flight, want 1", got)
		}
		return nil
	})
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	c.eventually("the call is over", func() error {
		if got := s.calls("bind", "canceled"); got != 1 {
			return fmt.Errorf("%d canceled calls are counted, want 1", got)
		}
		return nil
	})
	// Nobody knows yet whether the pod will be bound: its room is not given away.
	if got, err := s.filter(newPod("q", "3"), "a"); err != nil || len(*got.NodeNames) != 0 {
		t.Errorf("filter answered %+v (error %v), want no room", got, err)
	}

	resume()
	if err := s.bind(pod, "a"); err != nil {
		t.Errorf("the repeated binding failed: %v", err)
	}
	if got := c.pod("p").Spec.NodeName; got != "a" {
		t.Errorf("the pod is on %q, want a", got)
	}
}
