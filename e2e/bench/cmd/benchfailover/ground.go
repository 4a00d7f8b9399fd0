package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

const (
	members = 3 // of the gang; each needs a node
	high    = "high"
	// patience is a limit for what takes seconds on an idle machine.
	patience = 2 * time.Minute
	poll     = 5 * time.Millisecond
)

// ground is a control plane with two schedulers, a muster that they know nothing of, and a gang whose room is reserved.
type ground struct {
	*lab.Lab
	schedulers *controlplane.SchedulerReplicas
}

// prepare starts everything on a lab, which ends it.
func prepare(ctx context.Context, l *lab.Lab, out io.Writer) (g *ground, err error) {
	g = &ground{Lab: l}
	server, err := muster.Start(ctx, muster.Options{
		ControlPlane: l.ControlPlane, Selection: muster.Muster, Gates: muster.UntilPlace, Progress: out,
		Config: map[string]any{"gangs": map[string]any{"scheduleTimeout": "10m"}},
	})
	if err != nil {
		return nil, err
	}
	l.OnClose(server.Stop)
	if g.schedulers, err = l.StartSchedulerReplicas(ctx, make([]controlplane.SchedulerOptions, 2)...); err != nil {
		return nil, err
	}
	l.OnClose(g.schedulers.Stop)
	return g, g.reserve(ctx)
}

// nodes returns a node for each member.
func nodes() (all []*corev1.Node) {
	for i := range members {
		all = append(all, workload.NewNode(fmt.Sprintf("node-%d", i), "4", workload.Room(16, 20)))
	}
	return all
}

// reserve has the gang come, and returns when its room is reserved.
func (g *ground) reserve(ctx context.Context) error {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: high}, Value: 1000}
	if _, err := g.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create priority class %s: %w", class.Name, err)
	}
	slow := workload.NewPod("slow", "3")
	slow.Spec.NodeName, slow.Spec.TerminationGracePeriodSeconds = "node-0", new(int64(3000))
	slow.Finalizers = []string{"example.com/takes-its-time"}
	pods := []*corev1.Pod{slow}
	for i := range members {
		pod := workload.NewPod(memberName(i), "3")
		pod.Spec.PriorityClassName = high
		pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: fmt.Sprint(members)}
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		if err := g.create(ctx, pod); err != nil {
			return err
		}
	}
	return g.Eventually(ctx, "the gang to be reserved", patience, func(ctx context.Context) error {
		kept, err := g.reserved(ctx)
		if err == nil && kept < members {
			err = fmt.Errorf("%d of %d members are nominated", kept, members)
		}
		return err
	})
}

func memberName(i int) string { return fmt.Sprintf("g-%d", i) }

// create creates a pod as soon as its priority class is known.
func (g *ground) create(ctx context.Context, pod *corev1.Pod) error {
	return g.Eventually(ctx, "pod "+pod.Name+" to be created", patience, func(ctx context.Context) error {
		_, err := g.Client.CoreV1().Pods(workload.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func (g *ground) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	return g.Client.CoreV1().Pods(workload.Namespace).Get(ctx, name, metav1.GetOptions{})
}

// versions returns the resourceVersions of the members.
func (g *ground) versions(ctx context.Context) (versions [members]string, err error) {
	for i := range versions {
		pod, err := g.pod(ctx, memberName(i))
		if err != nil {
			return versions, err
		}
		versions[i] = pod.ResourceVersion
	}
	return versions, nil
}

// awaitChanges returns when no member has the version that it had.
func (g *ground) awaitChanges(ctx context.Context, before [members]string) error {
	return g.Eventually(ctx, "all members to change", patience, func(ctx context.Context) error {
		now, err := g.versions(ctx)
		for i := range now {
			if err == nil && now[i] == before[i] {
				err = fmt.Errorf("%s has not", memberName(i))
			}
		}
		return err
	})
}

// reserved is how many members are gated and nominated.
func (g *ground) reserved(ctx context.Context) (kept int, err error) {
	for i := range members {
		pod, err := g.pod(ctx, memberName(i))
		if err != nil {
			return 0, err
		}
		if muster.Gated(pod) && pod.Status.NominatedNodeName != "" {
			kept++
		}
	}
	return kept, nil
}

// race has pods come that would fit where members are to go, one after the other, and says how many the scheduler
// puts there. They are gone when it returns.
func (g *ground) race(ctx context.Context, number int) (taken int, err error) {
	pods := g.Client.CoreV1().Pods(workload.Namespace)
	for i := range members {
		name := fmt.Sprintf("rival-%d-%d", number, i)
		rival := workload.NewPod(name, "2")
		rival.Spec.PriorityClassName = high
		if err := g.create(ctx, rival); err != nil {
			return taken, err
		}
		isBound := false
		err := g.Eventually(ctx, name+" to be tried", patience, func(ctx context.Context) error {
			pod, err := g.pod(ctx, name)
			if err != nil {
				return err
			}
			if isBound = pod.Spec.NodeName != ""; isBound || lab.IsRefused(pod) {
				return nil
			}
			return errors.New("it is not")
		})
		if err != nil {
			return taken, err
		}
		if isBound {
			taken++
		}
		if err := pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			return taken, fmt.Errorf("delete pod %s: %w", name, err)
		}
	}
	return taken, nil
}
