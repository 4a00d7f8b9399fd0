package extender_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMusterOutlivesTheAPIServer(t *testing.T) {
	lab.Long(t)
	const backlog = 500
	c := newCluster(t, workload.NewNodes("node", 10, "110")...)
	s := c.serve(muster.Options{Text: ofByHand})
	c.createPods(workload.NewPod("pod-by-hand", "1", workload.ScheduledBy(byHand)))
	waiting := c.Pod("pod-by-hand")
	c.createPods(workload.NewPods("pod", backlog, "1")...)
	c.Schedule(s.schedulerConfig(nil, leavesByHand))
	c.Eventually("the scheduler is at work", func() error {
		if got := s.calls("bind", "ok"); got < 20 {
			return fmt.Errorf("%d pods are bound", got)
		}
		return nil
	})

	c.StopAPIServer()
	got, err := s.Filter(s.Context(), workload.NewPod("q", "1"), "node-00", "node-01", "ghost")
	if err != nil || len(*got.NodeNames) != 2 || len(got.FailedAndUnresolvableNodes) != 1 {
		t.Errorf("filter answered %+v (error %v), want the two nodes that are known", got, err)
	}
	if err := s.FilterAndBind(s.Context(), waiting, "node-00"); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("bind: error %v, want that there is no connection", err)
	}
	for _, page := range []string{"/livez", "/readyz"} {
		if err := s.status(page); err != nil {
			t.Error(err)
		}
	}

	c.Must(c.StartAPIServer(t.Context()))
	c.Eventually("bind works again", func() error { return s.FilterAndBind(s.Context(), waiting, "node-00") })
	c.awaitBound(backlog + 1)
	c.createPods(workload.NewPod("late", "1"))
	c.awaitBound(backlog + 2)
}

// leavesByHand has kube-scheduler leave the pods of byHand to the test.
func leavesByHand(config map[string]any) {
	config["profiles"] = slices.DeleteFunc(config["profiles"].([]any), func(profile any) bool {
		return profile.(map[string]any)["schedulerName"] == byHand
	})
}

func TestACallerThatLeavesInTheMiddleOfItsRequestHurtsNobody(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{})
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	c.Must(err)
	_, err = fmt.Fprint(
		connection, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"Pod\": {",
	)
	c.Must(err)
	connection.Close()
	c.EventuallyIs("the call is over", 1, func() int { return s.calls("filter", "bad_request") })
	if got, err := s.Filter(s.Context(), workload.NewPod("p", "1"), "a"); err != nil || len(*got.NodeNames) != 1 {
		t.Errorf("the next call was answered %+v (error %v)", got, err)
	}
}
