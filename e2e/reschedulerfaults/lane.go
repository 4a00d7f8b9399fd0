package reschedulerfaults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

const (
	// planTTL is when a plan expires, replacementTimeout when one fails whose replacement does
	// not come: less than by default, so that runs are short.
	planTTL, replacementTimeout = 15 * time.Second, 6 * time.Second
	// leaseDuration is that of the reschedulers' lease.
	leaseDuration = 3 * time.Second
	// maxBackoff is how long the scheduler lets a pod rest that it could not place.
	maxBackoff = 2 * time.Second
	// most is how many reschedulers there may be.
	most = 2
)

// lane is a control plane of its own with all that belongs to it, on which one run follows
// another.
type lane struct {
	processes

	client  kubernetes.Interface
	dynamic dynamic.Interface
	traffic atomic.Pointer[traffic]
	verbs   relay.Target
	relays  []*relay.Relay
	// kubeconfigs lead to relays: that of muster first, then those of reschedulers.
	kubeconfigs [1 + most]string
}

// open starts everything that stays. The caller must call close.
func open(ctx context.Context, dir, binary string, progress io.Writer) (l *lane, err error) {
	l = &lane{processes: processes{binary: binary, read: map[string]int64{}}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	l.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: dir, Progress: progress, Controllers: append(controlplane.PodCreation(), "replicaset-controller", "disruption-controller"),
	})
	if err != nil {
		return l, err
	}
	if l.client, err = kubernetes.NewForConfig(l.controlPlane.RESTConfig()); err != nil {
		return l, fmt.Errorf("connect to the control plane: %w", err)
	}
	if l.dynamic, err = dynamic.NewForConfig(l.controlPlane.RESTConfig()); err != nil {
		return l, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := muster.CreateCRDs(ctx, l.dynamic); err != nil {
		return l, err
	}
	for name, value := range map[string]int32{raised: 1000, lowered: -1000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := l.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return l, fmt.Errorf("create priority class %s: %w", name, err)
		}
	}
	if err := l.controlPlane.StartKWOK(ctx); err != nil {
		return l, err
	}
	return l, l.connect()
}

// connect makes the relays between muster and the API server.
func (l *lane) connect() error {
	config := l.controlPlane.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	api, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("address of the API server: %w", err)
	}
	for i := range l.kubeconfigs {
		back, err := relay.New(transport, func() *url.URL { return api }, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if t := l.traffic.Load(); t != nil {
				t.toAPI(i-1, w, r, pass)
				return
			}
			pass.ServeHTTP(w, r)
		})
		if err != nil {
			return err
		}
		l.relays = append(l.relays, back)
		l.kubeconfigs[i] = filepath.Join(l.controlPlane.Dir(), fmt.Sprintf("relay-%d.kubeconfig", i))
		if err := back.WriteKubeconfig(l.kubeconfigs[i]); err != nil {
			return err
		}
	}
	return nil
}

// start starts muster and the reschedulers of a run, and the scheduler with the first.
func (l *lane) start(ctx context.Context, s *settings) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := muster.Options{ControlPlane: l.controlPlane, Binary: l.binary, Kubeconfig: l.kubeconfigs[0], Selection: s.selection, Config: map[string]any{
		"leaderElection": map[string]any{"leaseDuration": leaseDuration.String(), "renewDeadline": "2s", "retryPeriod": "500ms"},
		"rescheduler":    s.config(),
		"gangs":          map[string]any{"scheduleTimeout": "4s", "deniedTTL": "1s"},
	}}
	if l.muster, err = muster.Start(ctx, o); err != nil {
		return err
	}
	if err := l.verbs.LeadTo(l.muster.URL(), l.muster.Transport()); err != nil {
		return err
	}
	if l.scheduler == "" {
		if err := l.startSchedulerFor(ctx); err != nil {
			return err
		}
	}
	for i := range s.replicas {
		o.Kubeconfig = l.kubeconfigs[i+1]
		r, err := startRescheduler(ctx, l.muster, o)
		if err != nil {
			return err
		}
		l.reschedulers = append(l.reschedulers, r)
	}
	return nil
}

// startSchedulerFor starts the scheduler, which talks to whichever muster there is.
func (l *lane) startSchedulerFor(ctx context.Context) error {
	front, err := relay.New(&l.verbs, l.verbs.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) { pass.ServeHTTP(w, r) })
	if err != nil {
		return err
	}
	l.relays = append(l.relays, front)
	printed, err := l.muster.SchedulerConfigFor(ctx, front.URL())
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(printed), &fields); err != nil {
		return fmt.Errorf("parse the scheduler's config: %w", err)
	}
	fields["podMaxBackoffSeconds"] = int64(maxBackoff / time.Second)
	config, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode the scheduler's config: %w", err)
	}
	l.scheduler = string(config)
	return l.startScheduler(ctx)
}

// sources are what a record follows.
func (l *lane) sources(ctx context.Context) ([]history.Source, error) {
	sources, err := history.Core(ctx, l.client)
	if err != nil {
		return nil, err
	}
	plans, err := history.Custom(ctx, l.dynamic, v1alpha1.ReschedulingPlans())
	if err != nil {
		return nil, err
	}
	sets := l.client.AppsV1().ReplicaSets(workload.Namespace)
	setList, setErr := sets.List(ctx, metav1.ListOptions{Limit: 1})
	budgets := l.client.PolicyV1().PodDisruptionBudgets(workload.Namespace)
	budgetList, budgetErr := budgets.List(ctx, metav1.ListOptions{Limit: 1})
	if err := errors.Join(setErr, budgetErr); err != nil {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	return append(sources, plans,
		history.Source{Version: setList.ResourceVersion, Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return sets.Watch(ctx, o) }},
		history.Source{Version: budgetList.ResourceVersion, Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return budgets.Watch(ctx, o)
		}},
	), nil
}

// clear deletes everything of a run and returns when it is gone.
func (l *lane) clear(ctx context.Context, r *record) error {
	now, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}
	return wait.PollUntilContextTimeout(ctx, look, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := errors.Join(
			l.dynamic.Resource(v1alpha1.ReschedulingPlans()).DeleteCollection(ctx, now, all),
			l.client.AppsV1().ReplicaSets(workload.Namespace).DeleteCollection(ctx, now, all),
			l.client.PolicyV1().PodDisruptionBudgets(workload.Namespace).DeleteCollection(ctx, now, all),
			l.client.CoreV1().Pods(workload.Namespace).DeleteCollection(ctx, now, all),
			l.client.CoreV1().Nodes().DeleteCollection(ctx, now, all),
		)
		return r.empty(), err
	})
}

// close ends everything.
func (l *lane) close() {
	l.stop()
	if l.controlPlane != nil {
		l.controlPlane.Stop()
	}
	for _, r := range l.relays {
		r.Close()
	}
}
