package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/e2e/workload"
)

const (
	hoursOfDay = 24
	// stepsOfDay is how often workloads are scaled in a day.
	stepsOfDay = hoursOfDay * 12
	services   = 40
	// firstNodes are there when the day begins.
	firstNodes = 12
)

// service is a workload of the day. It is scaled as its users come and go.
type service struct {
	set    *appsv1.ReplicaSet
	least  float64 // pods, at the quietest time
	most   float64
	peak   float64 // the hour of the most
	jitter []float64
}

// services draws the services of a day. Most have their peak in the afternoon, some at night.
func drawServices(seed uint64) []*service {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([]*service, services)
	for i := range all {
		s := &service{least: 2 + 2*r.Float64(), peak: 15 + 3*r.NormFloat64()}
		if i%5 == 0 {
			s.peak = 3 + r.Float64()
		}
		s.most = s.least * (2 + 4*r.Float64())
		milliCPU := []int64{250, 500, 1000, 1500, 2000}[r.IntN(5)]
		mebibytes := milliCPU * []int64{1, 2, 4, 8}[r.IntN(4)] / 2
		s.set = newSet(fmt.Sprintf("service-%d", i), 0, milliCPU, mebibytes)
		for range stepsOfDay {
			s.jitter = append(s.jitter, r.NormFloat64())
		}
		s.set.Spec.Replicas = new(s.replicas(0))
		all[i] = s
	}
	return all
}

// replicas is how many pods it is to have at a step of the day. Scaling follows demand in some distance, so that noise
// does not move it: half a pod of noise in an hour.
func (s *service) replicas(step int) int32 {
	hour := float64(step) * hoursOfDay / stepsOfDay
	wave := (1 + math.Cos((hour-s.peak)/hoursOfDay*2*math.Pi)) / 2
	noise := 0.0
	for _, j := range s.jitter[max(0, step-11) : step+1] {
		noise += j / 24
	}
	return int32(max(2, math.Round(s.least+(s.most-s.least)*wave+noise)))
}

// protect lets one pod in five be disrupted at a time.
func (g *ground) protect(ctx context.Context, set *appsv1.ReplicaSet) error {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: set.Name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromString("20%")), Selector: set.Spec.Selector},
	}
	if _, err := g.Client.PolicyV1().PodDisruptionBudgets(workload.Namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create PodDisruptionBudget %s: %w", budget.Name, err)
	}
	return nil
}

func (g *ground) scale(ctx context.Context, name string, replicas int32) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}
	_, err := g.Client.AppsV1().ReplicaSets(workload.Namespace).UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("scale %s: %w", name, err)
	}
	return nil
}

// pace is how much faster the day passes: a duration of the day takes that part of it.
type pace float64

func (p pace) of(d time.Duration) time.Duration { return time.Duration(float64(d) / float64(p)) }

// says is of as configurations have it.
func (p pace) says(d time.Duration) string { return p.of(d).Round(time.Millisecond).String() }

// automatic is the rescheduler of the day: muster's defaults in mode Auto, with Coalesce, at the pace of the day. What
// takes a control plane its time is not shortened: replacements, and plans.
func automatic(p pace) map[string]any {
	return map[string]any{
		"mode": "Auto", "interval": p.says(30 * time.Second), "replacementTimeout": "30s",
		"makeRoom": map[string]any{"pendingFor": p.says(30 * time.Second)},
		"coalesce": map[string]any{"enabled": true, "mark": "Taint", "closedFor": p.says(time.Hour)},
		"budgets": map[string]any{
			"rate":             map[string]any{"evictions": 60, "per": p.says(time.Hour)},
			"workloadCoolDown": p.says(10 * time.Minute),
		},
	}
}

// live lives a day, and says how it was.
func live(ctx context.Context, o options, withMuster bool, out io.Writer) (*diary, error) {
	p := pace(float64(hoursOfDay*time.Hour) / float64(o.day))
	g, err := newGround(ctx, automatic(p), out)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	all := drawServices(o.seed)
	if err := g.begin(ctx, all); err != nil {
		return nil, err
	}
	v, err := newView(ctx, g.Client)
	if err != nil {
		return nil, err
	}
	defer v.stop()
	scaler := newAutoscaler(g, v, p)
	var day *diary
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return scaler.run(ctx) })
	both.Go(func() error {
		defer cancel()
		if err := v.settle(ctx); err != nil {
			return err
		}
		if withMuster {
			if err := g.reschedule(ctx); err != nil {
				return err
			}
		}
		day = newDiary(v, p)
		return day.live(ctx, g, all, o, func(step int) {
			if step%12 == 11 {
				fmt.Fprintf(out, "hour %d of %d, with muster %t: %s\n", (step+1)/12, o.hours, withMuster, day)
			}
		})
	})
	if err := both.Wait(); err != nil {
		return nil, err
	}
	if g.rescheduler != nil {
		if err := g.rescheduler.Err(); err != nil {
			return nil, fmt.Errorf("the rescheduler ended: %w", err)
		}
	}
	day.removed = scaler.removed
	return day, nil
}

// begin makes the first nodes, and the services with their budgets.
func (g *ground) begin(ctx context.Context, all []*service) error {
	for i := range firstNodes {
		if err := g.createNode(ctx, newNode(fmt.Sprintf("first-%d", i))); err != nil {
			return err
		}
	}
	for _, s := range all {
		if err := g.protect(ctx, s.set); err != nil {
			return err
		}
		if err := g.createSet(ctx, s.set); err != nil {
			return err
		}
	}
	return nil
}

// live scales services as the day goes on, step by step.
func (d *diary) live(ctx context.Context, g *ground, all []*service, o options, after func(step int)) error {
	for step := range o.hours * stepsOfDay / hoursOfDay {
		for _, s := range all {
			want := s.replicas(step)
			if want == *s.set.Spec.Replicas {
				continue
			}
			*s.set.Spec.Replicas = want
			d.scaled(s.set.Name, want)
			if err := g.scale(ctx, s.set.Name, want); err != nil {
				return err
			}
		}
		if err := d.keep(ctx, o.day/stepsOfDay); err != nil {
			return err
		}
		after(step)
	}
	return nil
}

// compareDays prints how a day with the rescheduler was, against the same one without.
func compareDays(ctx context.Context, o options, out io.Writer) error {
	without, err := live(ctx, o, false, out)
	if err != nil {
		return err
	}
	with, err := live(ctx, o, true, out)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"pods_pending_more_than_without", float64(max(0, with.late()-without.late()))},
		{"pods_late", float64(with.late())},
		{"pods_late_without", float64(without.late())},
		{"pending_pod_minutes", with.pending()},
		{"pending_pod_minutes_without", without.pending()},
		{"slo_breaches", float64(with.breaches)},
		{"slo_breaches_without", float64(without.breaches)},
		{"node_hours", with.nodeHours()},
		{"node_hours_without", without.nodeHours()},
		{"nodes_saved", 1 - with.nodeHours()/without.nodeHours()},
		{"nodes_removed", float64(with.removed)},
		{"nodes_removed_without", float64(without.removed)},
		{"evictions", float64(with.evictions())},
		{"evictions_without", float64(without.evictions())},
	} {
		fmt.Fprintf(out, "figure auto_day_%s=%.3f\n", f.name, f.value)
	}
	return nil
}
