package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/lab"
)

// churn creates and deletes objects until the context ends. It returns the remaining objects.
type churn func(ctx context.Context, g *ground) (left []*corev1.Pod, err error)

const (
	recreateEvery = time.Second
	addEvery      = 200 * time.Millisecond
)

// add creates a pod of a shape every fifth of a second.
func add(shapes ...shape) churn {
	return func(ctx context.Context, g *ground) (left []*corev1.Pod, err error) {
		ticks := time.NewTicker(addEvery)
		defer ticks.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return left, nil
			case <-ticks.C:
			}
			added := pods(plainNamespace, fmt.Sprintf("churn-%d", i), 1, shapes...)
			left = append(left, added...)
			if err := g.create(added); err != nil {
				return left, err
			}
		}
	}
}

// recreate creates a node without room, a pod that fits nowhere and a service, and deletes them, in turn, every second.
func recreate(ctx context.Context, g *ground) (left []*corev1.Pod, err error) {
	ticks := time.NewTicker(recreateEvery)
	defer ticks.Stop()
	large := pods(plainNamespace, "churn", 1, wants("9", "500Mi"), important)
	node := machines(1)[0]
	node.Name = "churn"
	node.Labels = map[string]string{corev1.LabelHostname: node.Name}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	node.Status.Allocatable = node.Status.Capacity
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "churn", Namespace: plainNamespace},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "churn"}, Ports: []corev1.ServicePort{{Port: 8080}}},
	}
	create := func() error {
		_, err := g.Client.CoreV1().Nodes().Create(g.ctx, node, metav1.CreateOptions{})
		_, other := g.Client.CoreV1().Services(service.Namespace).Create(g.ctx, service, metav1.CreateOptions{})
		return errors.Join(err, other, g.create(large))
	}
	remove := func() error {
		err := g.Client.CoreV1().Nodes().Delete(g.ctx, node.Name, metav1.DeleteOptions{})
		other := g.Client.CoreV1().Services(service.Namespace).Delete(g.ctx, service.Name, metav1.DeleteOptions{})
		return errors.Join(lab.Ignoring(err, apierrors.IsNotFound), lab.Ignoring(other, apierrors.IsNotFound), g.remove(large))
	}
	for there := false; ; there = !there {
		select {
		case <-ctx.Done():
			return nil, remove()
		case <-ticks.C:
		}
		change := create
		if there {
			change = remove
		}
		if err := change(); err != nil {
			return large, err
		}
	}
}
