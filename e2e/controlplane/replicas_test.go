package controlplane_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
)

func TestAnotherSchedulerGoesOnWhenTheLeaderDies(t *testing.T) {
	lab.Long(t)
	ctx := t.Context()
	cp := controlplane.ForTest(t, controlplane.Options{})
	if err := cp.StartKWOK(ctx); err != nil {
		t.Fatal(err)
	}
	replicas, err := cp.StartSchedulerReplicas(ctx, make([]controlplane.SchedulerOptions, 2)...)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node("worker"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	schedules := func(name string) {
		t.Helper()
		if _, err := pods.Create(ctx, pod(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "pod "+name+" is bound", func(ctx context.Context) error {
			p, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err == nil && p.Spec.NodeName == "" {
				err = fmt.Errorf("it is not")
			}
			return err
		})
	}
	schedules("first")
	leader, err := replicas.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	replicas.Kill(leader)
	if next, err := replicas.AwaitLeader(ctx); err != nil || next == leader {
		t.Fatalf("replica %d leads after %d is killed, error %v", next, leader, err)
	}
	schedules("second")
	if err := replicas.Start(ctx, leader); err != nil {
		t.Fatal(err)
	}
	if now, err := replicas.Leader(ctx); err != nil || now == leader {
		t.Errorf("replica %d leads, error %v: the one that came back is not to", now, err)
	}
}
