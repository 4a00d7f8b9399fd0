package loop

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/executor"
)

func (w *world) UpdateStatus(_ context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	w.written = append(w.written, plan.DeepCopy())
	return plan, nil
}

func (w *world) Evict(context.Context, v1alpha1.PodReference) error {
	panic("nothing is to be evicted")
}

func (w *world) Nominate(context.Context, *corev1.Pod, string) error {
	panic("nothing is to be nominated")
}

func (w *world) EditNode(context.Context, *corev1.Node, func(*corev1.Node)) error {
	panic("no node is to be marked")
}

func TestAPlanOfADryRunIsMadeAnewOnceTheModeIsAnother(t *testing.T) {
	for mode, want := range map[v1alpha1.Mode]int{v1alpha1.DryRun: 1, v1alpha1.Approve: 2, v1alpha1.Auto: 2} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.executor = executor.New(executor.Options{
				Logger: w.log, Clock: w.clock, Cluster: w.cluster, Profiles: w.profiles, Reservations: w.reservations, Record: w.record, Client: w,
				Metrics: executor.NewMetrics(prometheus.NewRegistry()), Mode: v1alpha1.DryRun, Rules: w.rules,
			})
			w.config.Mode = v1alpha1.DryRun
			w.set(w.pod("big", "4"))
			w.clock.Step(time.Minute)
			w.want(v1alpha1.MakeRoom, "made a plan")
			w.executor.Advance(t.Context())
			w.config.Mode, w.executor.Mode = mode, mode
			w.plan(t.Context(), w.policies[0])
			if len(w.created) != want || w.created[len(w.created)-1].Spec.Mode != mode {
				t.Errorf("made %d plans, want %d, the last one of mode %s", len(w.created), want, w.created[len(w.created)-1].Spec.Mode)
			}
			if last := w.written[len(w.written)-1]; (last.Status.Phase == v1alpha1.Expired) != (want == 2) {
				t.Errorf("the first plan is %s: %s", last.Status.Phase, last.Status.Message)
			}
		})
	}
}

func TestAPlanThatWaitsForApprovalIsMadeAnewWhenItDoesNotWorkAnyMore(t *testing.T) {
	w := newWorld(t)
	w.config.Mode = v1alpha1.Approve
	w.executor = executor.New(executor.Options{
		Logger: w.log, Clock: w.clock, Cluster: w.cluster, Profiles: w.profiles, Reservations: w.reservations, Record: w.record, Client: w,
		Metrics: executor.NewMetrics(prometheus.NewRegistry()), Mode: v1alpha1.Approve, Rules: w.rules,
	})
	w.set(w.pod("big", "4"))
	w.clock.Step(time.Minute)
	w.want(v1alpha1.MakeRoom, "made a plan")
	if waits := w.created[0].Spec.Expires.Sub(w.clock.Now()); waits != 24*time.Hour {
		t.Errorf("it waits for %s", waits)
	}
	w.executor.Advance(t.Context())
	w.clock.Step(time.Hour)
	w.want(v1alpha1.MakeRoom, "there is a plan that has not ended")
	full := w.pod("full", "1")
	full.Spec.NodeName = "n2"
	w.set(full, node("n3", "2"))
	w.want(v1alpha1.MakeRoom, "made a plan")
	if last := w.written[len(w.written)-1]; last.Status.Phase != v1alpha1.Expired || last.Spec.Steps[0].To != "n2" {
		t.Errorf("the first plan is %s: %s", last.Status.Phase, last.Status.Message)
	}
	if len(w.created) != 2 || w.created[1].Spec.Steps[0].To != "n3" {
		t.Errorf("made %+v", w.created)
	}
}
