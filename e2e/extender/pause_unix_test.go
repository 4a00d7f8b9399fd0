//go:build unix

package extender_test

import (
	"context"
	"errors"
	"testing"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// pauseAPIServer makes the API server hold every request until resume is called, which
// the end of the test does as well.
func (c *cluster) pauseAPIServer() (resume func()) {
	c.Helper()
	server := c.Process(binaries.APIServer)
	c.Must(server.Pause())
	resume = func() { c.Must(server.Resume()) }
	c.Cleanup(resume)
	return resume
}

func TestACallerThatLeavesWhileItsPodIsBoundHurtsNobody(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	c.createPods(workload.NewPod("p", "3", workload.ScheduledBy(byHand)))
	pod := c.Pod("p")
	s := c.serve(muster.Options{Text: "timeouts: {bind: 5s}\n" + ofByHand}) // which has seen the pod when it is ready
	c.Must(s.Offer(s.Context(), pod, "a"))
	resume := c.pauseAPIServer()

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- s.Bind(ctx, pod, "a") }()
	c.EventuallyIs("the pod is being bound", 1, func() int { return s.callsInFlight("bind") })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	c.EventuallyIs("the call is over", 1, func() int { return s.calls("bind", "canceled") })
	// Nobody knows yet whether the pod will be bound: its room is not given away.
	if got, err := s.Filter(s.Context(), workload.NewPod("q", "3"), "a"); err != nil || len(*got.NodeNames) != 0 {
		t.Errorf("filter answered %+v (error %v), want no room", got, err)
	}

	resume()
	if err := s.FilterAndBind(s.Context(), pod, "a"); err != nil {
		t.Errorf("the repeated binding failed: %v", err)
	}
	if got := c.Pod("p").Spec.NodeName; got != "a" {
		t.Errorf("the pod is on %q, want a", got)
	}
}
