package extender_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestMusterOutlivesTheAPIServer(t *testing.T) {
	const backlog = 500
	c := newCluster(t, newNodes(10, "110")...)
	s := c.serve(serving{config: ofByHand})
	c.createPods(newPod("pod-by-hand", "1", scheduledBy(byHand)))
	waiting := c.pod("pod-by-hand")
	c.createPods(newPods(backlog, "1")...)
	c.schedule(s.schedulerConfig(nil, leavesByHand))
	c.eventually("the scheduler is at work", func() error {
		if got := s.calls("bind", "ok"); got < 20 {
			return fmt.Errorf("%d pods are bound", got)
		}
		return nil
	})

	shared.StopAPIServer()
	got, err := s.filter(newPod("q", "1"), "node-00", "node-01", "ghost")
	if err != nil || len(*got.NodeNames) != 2 || len(got.FailedAndUnresolvableNodes) != 1 {
		t.Errorf("filter answered %+v (error %v), want the two nodes that are known", got, err)
	}
	if err := s.bind(waiting, "node-00"); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("bind: error %v, want that there is no connection", err)
	}
	for _, page := range []string{"/livez", "/readyz"} {
		if err := s.status(page); err != nil {
			t.Error(err)
		}
	}

	if err := shared.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.eventually("bind works again", func() error { return s.bind(waiting, "node-00") })
	c.awaitBound(backlog + 1)
	c.createPods(newPod("late", "1"))
	c.awaitBound(backlog + 2)
}

// leavesByHand has kube-scheduler leave the pods of byHand to the test.
func leavesByHand(config map[string]any) {
	config["profiles"] = slices.DeleteFunc(config["profiles"].([]any), func(profile any) bool {
		return profile.(map[string]any)["schedulerName"] == byHand
	})
}

func TestACallerThatLeavesInTheMiddleOfItsRequestHurtsNobody(t *testing.T) {
	c := newCluster(t, newNode("a", "4"))
	s := c.serve(serving{})
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(
		connection, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"Pod\": {",
	); err != nil {
		t.Fatal(err)
	}
	connection.Close()
	c.eventually("the call is over", func() error {
		if got := s.calls("filter", "bad_request"); got != 1 {
			return fmt.Errorf("%d bad requests are counted, want 1", got)
		}
		return nil
	})
	if got, err := s.filter(newPod("p", "1"), "a"); err != nil || len(*got.NodeNames) != 1 {
		t.Errorf("the next call was answered %+v (error %v)", got, err)
	}
}
