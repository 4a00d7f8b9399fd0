package leasefaults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/workload"
)

const (
	// pods is how many pods wait in a run, and how many nodes there are, each with room for one.
	pods = 150
	// leadLimit is how long it may take, when nothing goes wrong any more, until somebody leads.
	leadLimit = 2 * time.Minute
)

// run is a run under way.
type run struct {
	*faultcampaign.Diary

	lane     *lane
	prober   *prober
	answers  *answers
	bindings *history.Bindings
}

// Perform plays the script of a seed and judges what came of it. The cluster is empty before and after.
func (l *lane) Perform(ctx context.Context, seed uint64) (*faultcampaign.Outcome, error) {
	s := write(seed)
	r := &run{Diary: faultcampaign.NewDiary(), lane: l, answers: newAnswers(), bindings: history.NewBindings()}
	r.prober = &prober{lane: l, replicas: l.replicas[:s.replicas], answers: r.answers, waiting: make(chan *corev1.Pod, pods)}
	sources, err := history.Core(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	var leaderless []string
	e := faultcampaign.Episode{
		Sources: sources,
		Observe: r.bindings.Observe,
		Prepare: func(ctx context.Context) error {
			if err := l.run(ctx, s.replicas); err != nil {
				return err
			}
			return r.fill(ctx, seed)
		},
		Beside: []func(context.Context) error{l.keepUp, func(ctx context.Context) error { return r.prober.run(ctx, seed) }},
		Play: func(ctx context.Context) (err error) {
			leaderless, err = r.play(ctx, s)
			return err
		},
		Clear: func(ctx context.Context, gone func() bool) error { return l.Clear(ctx, gone) },
	}
	if _, err := e.Run(ctx); err != nil {
		return nil, err
	}
	return r.judge(leaderless)
}

// Died is why a process ended that must not: of replicas that is a part of each run.
func (l *lane) Died() error {
	select {
	case err := <-l.ControlPlane.Failed():
		return err
	default:
		return nil
	}
}

// fill creates the nodes and the pods.
func (r *run) fill(ctx context.Context, seed uint64) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(8)
	for i := range pods {
		node := workload.NewNode(fmt.Sprintf("s%d-node-%d", seed, i), "1", workload.Room(64, 20))
		r.prober.free = append(r.prober.free, node.Name)
		all.Go(func() error { return r.lane.CreateNode(ctx, node) })
		all.Go(func() error {
			pod, err := r.create(ctx, fmt.Sprintf("s%d-pod-%d", seed, i), 600)
			if err == nil {
				r.prober.waiting <- pod
			}
			return err
		})
	}
	all.Go(func() (err error) {
		r.prober.hopeless, err = r.create(ctx, fmt.Sprintf("s%d-hopeless", seed), 1_000_000)
		return err
	})
	return all.Wait()
}

// create creates a pod and returns it as it is then.
func (r *run) create(ctx context.Context, name string, milliCPU int64) (*corev1.Pod, error) {
	pod := workload.NewPod(name, workload.Milli(milliCPU))
	created, err := r.lane.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, createOptions)
	if err != nil {
		return nil, fmt.Errorf("create pod %s: %w", name, err)
	}
	return created, nil
}

// leader is the replica that leads as far as its answers tell.
func (r *run) leader() *replica {
	by := r.answers.leader()
	for _, replica := range r.prober.replicas {
		if replica.now.Load() == by {
			return replica
		}
	}
	return r.prober.replicas[0] // between two
}

// errNobody is why a run cannot begin.
var errNobody = errors.New("nobody leads, though nothing went wrong")

// play does what the script says, and returns when all is done: with what is wrong when nobody leads
// then.
func (r *run) play(ctx context.Context, s *script) (leaderless []string, err error) {
	led := func(since time.Time) []string {
		if r.answers.since(since) {
			return nil
		}
		return []string{fmt.Sprintf("nobody leads %s after the last fault", leadLimit)}
	}
	_, because, err := faultcampaign.Settle(ctx, leadLimit, func() []string { return led(time.Time{}) })
	if err != nil {
		return nil, err
	}
	if len(because) > 0 {
		return nil, errNobody
	}
	var acts []faultcampaign.Act
	for _, e := range s.events {
		acts = append(acts, faultcampaign.Act{
			At: e.at, Await: func(context.Context) {}, What: e.what, Fault: e.fault, Do: func(ctx context.Context) error { return e.do(ctx, r) },
		})
	}
	if err := r.Play(ctx, window, fmt.Sprintf("%d replicas, %s leads", s.replicas, r.answers.leader().name), acts); err != nil {
		return nil, err
	}
	r.Note("no more faults")
	over := time.Now()
	_, leaderless, err = faultcampaign.Settle(ctx, leadLimit, func() []string { return led(over) })
	faultcampaign.Pause(ctx, renewDeadline/2) // perhaps there is another one
	return leaderless, err
}
