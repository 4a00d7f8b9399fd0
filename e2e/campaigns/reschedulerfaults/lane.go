package reschedulerfaults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

const (
	// planTTL is when a plan expires, replacementTimeout when one fails whose replacement does
	// not come: less than by default, so that runs are short.
	replacementTimeout = 6 * time.Second
	planTTL            = 5 * replacementTimeout
	// leaseDuration is how long the lease of the reschedulers lasts.
	leaseDuration = 6 * time.Second
	// most is how many reschedulers there may be.
	most = 2
)

// Where reschedulers have their lease by default, and remember evictions.
const (
	leaseNamespace = metav1.NamespaceSystem
	leaseName      = "muster-rescheduler"
	evictionsName  = leaseName + "-evictions"
)

// lane is one with relays between muster, the reschedulers and the API server.
type lane struct {
	processes

	program faultcampaign.Program
	traffic atomic.Pointer[traffic]
	// kubeconfigs lead to relays: muster's first, then the reschedulers'.
	kubeconfigs [1 + most]string
}

// open starts everything that stays.
func open(ctx context.Context, dir string, program faultcampaign.Program, progress io.Writer) (_ faultcampaign.Performer, err error) {
	l := &lane{program: program}
	l.Lane, err = faultcampaign.OpenLane(ctx, controlplane.Options{
		Dir: dir, Progress: progress, Controllers: []string{
			"replicaset-controller", "statefulset-controller", "deployment-controller", "job-controller", "disruption-controller",
		},
	}, map[string]int32{raised: 1000, lowered: -1000})
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.startResizer(ctx), l.createClaim(ctx)); err != nil {
		return nil, err
	}
	for i := range l.kubeconfigs {
		l.kubeconfigs[i], err = l.RelayToAPI(fmt.Sprintf("relay-%d", i), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if t := l.traffic.Load(); t != nil {
				t.toAPI(i-1, w, r, pass)
				return
			}
			pass.ServeHTTP(w, r)
		})
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// start starts muster and the reschedulers of a run, and the scheduler with the first.
func (l *lane) start(ctx context.Context, s *settings) error {
	o := muster.Options{
		ControlPlane: l.ControlPlane,
		Binary:       l.program.Path,
		Kubeconfig:   l.kubeconfigs[0],
		ClockSkew:    s.skew,
		Selection:    s.selection,
		Config: map[string]any{
			"leaderElection": map[string]any{"leaseDuration": leaseDuration.String()},
			"rescheduler":    s.config(s.mode),
			"gangs":          map[string]any{"scheduleTimeout": "4s"},
		},
	}
	if s.measured() {
		o.Load = map[string]any{"source": "NodeMetric"}
	}
	if err := l.StartMuster(ctx, o); err != nil {
		return err
	}
	if err := l.StartScheduler(ctx, func(w http.ResponseWriter, r *http.Request, pass http.Handler) { pass.ServeHTTP(w, r) }); err != nil {
		return err
	}
	for i := range s.replicas {
		o.Kubeconfig = l.kubeconfigs[i+1]
		r, err := startRescheduler(ctx, l.Muster, o, s.skewsOf(i))
		if err != nil {
			return err
		}
		l.reschedulers = append(l.reschedulers, r)
	}
	return nil
}

// sources are what a record follows.
func (l *lane) sources(ctx context.Context) ([]history.Source, error) {
	sources, err := history.Core(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	plans, err := history.Custom(ctx, l.Dynamic, v1alpha1.ReschedulingPlans())
	if err != nil {
		return nil, err
	}
	apps, namespace := l.Client.AppsV1(), workload.Namespace
	replicaSets, err := faultcampaign.Followed(ctx, apps.ReplicaSets(namespace))
	statefulSets, statefulErr := faultcampaign.Followed(ctx, apps.StatefulSets(namespace))
	jobs, jobErr := faultcampaign.Followed(ctx, l.Client.BatchV1().Jobs(namespace))
	budgets, budgetErr := faultcampaign.Followed(ctx, l.Client.PolicyV1().PodDisruptionBudgets(namespace))
	return append(sources, plans, replicaSets, statefulSets, jobs, budgets), errors.Join(err, statefulErr, jobErr, budgetErr)
}

// clear deletes everything of a run and returns when it is gone: also the lease, which the next run would wait for, and what
// was evicted, which would count in it.
func (l *lane) clear(ctx context.Context, gone func() bool) error {
	err := l.Client.CoreV1().ConfigMaps(leaseNamespace).Delete(ctx, evictionsName, metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		err = l.Client.CoordinationV1().Leases(leaseNamespace).Delete(ctx, leaseName, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("forget a run: %w", err)
	}
	return l.Clear(ctx, gone,
		l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).DeleteCollection,
		l.Dynamic.Resource(slov1alpha1.NodeMetrics()).DeleteCollection,
		l.Client.AppsV1().Deployments(workload.Namespace).DeleteCollection,
		l.Client.AppsV1().ReplicaSets(workload.Namespace).DeleteCollection,
		l.Client.AppsV1().ReplicaSets(metav1.NamespaceSystem).DeleteCollection,
		l.Client.CoreV1().Pods(metav1.NamespaceSystem).DeleteCollection,
		l.deleteJobs,
		l.Client.AppsV1().StatefulSets(workload.Namespace).DeleteCollection,
		l.Client.PolicyV1().PodDisruptionBudgets(workload.Namespace).DeleteCollection,
	)
}

// deleteJobs deletes all Jobs, with their pods.
func (l *lane) deleteJobs(ctx context.Context, o metav1.DeleteOptions, some metav1.ListOptions) error {
	o.PropagationPolicy = new(metav1.DeletePropagationBackground)
	return l.Client.BatchV1().Jobs(workload.Namespace).DeleteCollection(ctx, o, some)
}

// Close ends everything.
func (l *lane) Close() {
	l.stop()
	l.Lane.Close()
}

// processes run in a lane. Its methods are safe for concurrent use, except start and stop.
type processes struct {
	*faultcampaign.Lane

	reschedulers []*rescheduler // Killing is held to look at them, too
}

// rescheduler is one that is started again when it has ended.
type rescheduler struct {
	*muster.Rescheduler

	options muster.Options
	skews   [2]time.Duration // of its clock, and of the next one's
	down    bool             // it was killed, or is being started
}

func startRescheduler(ctx context.Context, beside *muster.Server, o muster.Options, skews [2]time.Duration) (*rescheduler, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	o.ClockSkew = skews[0]
	r := &rescheduler{options: o, skews: skews}
	r.Rescheduler, err = beside.Reschedule(ctx, o, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return r, err
}

// freezeMuster stops it for a time.
func (p *processes) freezeMuster(ctx context.Context, down time.Duration) error {
	p.Killing.Lock()
	defer p.Killing.Unlock()
	if err := p.Muster.Pause(); err != nil {
		return err
	}
	faultcampaign.Pause(ctx, down)
	return p.Muster.Resume()
}

// killRescheduler ends a rescheduler as a crash would, and starts it again after a time, on another machine, whose clock is
// another one. Others may be killed meanwhile.
func (p *processes) killRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.Killing.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.Killing.Unlock()
		return nil
	}
	r.down = true
	r.Crash()
	r.skews[0], r.skews[1] = r.skews[1], r.skews[0]
	r.SkewClock(r.skews[0])
	p.Killing.Unlock()
	faultcampaign.Pause(ctx, down)
	return p.restart(ctx, r)
}

// restart starts a rescheduler again that is down.
func (p *processes) restart(ctx context.Context, r *rescheduler) error {
	err := r.Restart(ctx)
	p.Killing.Lock()
	defer p.Killing.Unlock()
	r.down = false
	return err
}

// freezeRescheduler stops it for a time.
func (p *processes) freezeRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.Killing.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.Killing.Unlock()
		return nil
	}
	r.down = true
	err := r.Pause()
	p.Killing.Unlock()
	if err == nil {
		faultcampaign.Pause(ctx, down)
		if err = r.Resume(); errors.Is(err, os.ErrProcessDone) {
			err = nil // it was about to end when it was frozen
		}
	}
	p.Killing.Lock()
	defer p.Killing.Unlock()
	r.down = false
	return err
}

// leadershipLost is why a rescheduler may end by itself.
const leadershipLost = "leadership lost"

// keepUp starts reschedulers again that have ended as they have lost their lease, until the
// context ends. It fails when one ended for another reason.
func (p *processes) keepUp(ctx context.Context) error {
	tick := time.NewTicker(faultcampaign.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		p.Killing.Lock()
		var ended *rescheduler
		for _, r := range p.reschedulers {
			if !r.down && r.Err() != nil {
				ended = r
			}
		}
		if ended == nil {
			p.Killing.Unlock()
			continue
		}
		ended.down = true
		p.Killing.Unlock()
		if err := ended.Err(); !strings.Contains(err.Error(), leadershipLost) {
			return err
		}
		if err := p.restart(ctx, ended); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// stop ends muster and the reschedulers.
func (p *processes) stop() {
	p.Killing.Lock()
	defer p.Killing.Unlock()
	for _, r := range p.reschedulers {
		r.Crash()
	}
	p.reschedulers = nil
	if p.Muster != nil {
		_ = p.Muster.Crash() // it is looked at before
	}
}

// findings are what processes have logged since this was last asked that they must not.
func (p *processes) findings() ([]finding, error) {
	var logs []string
	for _, r := range p.reschedulers {
		logs = append(logs, r.Log())
	}
	return p.Logged(logs...)
}
