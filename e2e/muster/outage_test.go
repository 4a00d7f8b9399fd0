package muster_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMain(m *testing.M) { lab.Main(m) }

func TestMusterOutlivesAnOutageOfTheAPIServer(t *testing.T) {
	lab.Long(t)
	l := lab.Take(t, lab.Options{})
	for _, node := range workload.NewNodes("node", 10, "4") {
		l.Create(node)
	}
	server := l.MusterWithScheduler(muster.Options{Selection: muster.Muster})
	schedule := func(name string) (pod *corev1.Pod) {
		t.Helper()
		l.Create(workload.NewPod(name, "1"))
		l.Eventually("the pod "+name+" is bound", func() error {
			if pod = l.Pod(name); pod.Spec.NodeName == "" {
				return fmt.Errorf("conditions %v", pod.Status.Conditions)
			}
			return nil
		})
		return pod
	}
	before := schedule("before")

	l.StopAPIServer()
	if err := server.Bind(t.Context(), before, before.Spec.NodeName); err != nil {
		t.Errorf("binding a pod to the node that it is on, without an API server: %s", err)
	}
	l.Must(l.StartAPIServer(t.Context()))

	schedule("after")
	if err := server.Bind(t.Context(), before, before.Spec.NodeName); err != nil {
		t.Errorf("binding a pod again to the node that it is bound to: %s", err)
	}
}
