package gangfaults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
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

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

const (
	// bindTimeout is how long the scheduler waits for a bind call, gangTimeout how long a gang
	// without a PodGroup may take from its plan to quorum.
	bindTimeout, gangTimeout = 8 * time.Second, 4 * time.Second
	// deniedTTL is for how long a denied gang is refused, maxBackoff how long the scheduler
	// lets a pod rest that it could not place: less than by default, so that runs are short.
	deniedTTL, maxBackoff = time.Second, 2 * time.Second
)

// lane is a control plane of its own with all that belongs to it, on which one run follows
// another.
type lane struct {
	controlPlane *controlplane.ControlPlane
	client       kubernetes.Interface
	dynamic      dynamic.Interface
	traffic      atomic.Pointer[traffic]

	mu        sync.Mutex // of processes: one is killed at a time
	options   muster.Options
	policy    string // for gates
	verbs     relay.Target
	muster    *muster.Server
	scheduler string // its configuration
	relays    []*relay.Relay

	read map[string]int64 // how far logs have been read
}

// open starts everything. The caller must call close.
func open(ctx context.Context, dir, binary string, progress io.Writer) (l *lane, err error) {
	l = &lane{read: map[string]int64{}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.controlPlane, err = controlplane.Start(ctx, controlplane.Options{Dir: dir, Controllers: controlplane.PodCreation(), Progress: progress}); err != nil {
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
	for name, value := range map[string]int32{raised: 1000, urgent: 100_000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := l.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return l, fmt.Errorf("create priority class %s: %w", name, err)
		}
	}
	if err := l.controlPlane.StartKWOK(ctx); err != nil {
		return l, err
	}
	return l, l.startMuster(ctx, binary)
}

// startMuster starts muster and the scheduler, with a relay between them and one between
// muster and the API server.
func (l *lane) startMuster(ctx context.Context, binary string) error {
	config := l.controlPlane.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	api, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("address of the API server: %w", err)
	}
	back, err := l.relay(transport, func() *url.URL { return api }, (*traffic).toAPI)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(l.controlPlane.Dir(), "relay.kubeconfig")
	if err := back.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	l.options = muster.Options{ControlPlane: l.controlPlane, Binary: binary, Kubeconfig: kubeconfig}
	if err := l.keepGates(ctx, "Never"); err != nil {
		return err
	}
	front, err := l.relay(&l.verbs, l.verbs.URL, (*traffic).toMuster)
	if err != nil {
		return err
	}
	if l.scheduler, err = l.schedulerConfig(ctx, front.URL()); err != nil {
		return err
	}
	return l.startScheduler(ctx)
}

// keepGates runs a muster that keeps gates in a way, a value of gangs.gates.
func (l *lane) keepGates(ctx context.Context, policy string) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.policy == policy {
		return nil
	}
	if l.muster != nil {
		l.muster.Stop()
	}
	o := l.options
	if policy != "Never" {
		o.Gates, o.GatedBy = policy, muster.Webhook // which is away when muster is
	}
	o.Config = map[string]any{
		"timeouts": map[string]any{"bind": bindTimeout.String()},
		"gangs":    map[string]any{"scheduleTimeout": gangTimeout.String(), "deniedTTL": deniedTTL.String(), "gates": policy, "gatedBy": muster.Webhook},
	}
	if l.muster, err = muster.Start(ctx, o); err != nil {
		return err
	}
	l.policy = policy
	return l.verbs.LeadTo(l.muster.URL(), l.muster.Transport())
}

// relay makes the trouble of the run that there is.
func (l *lane) relay(transport http.RoundTripper, to func() *url.URL, decide func(*traffic, http.ResponseWriter, *http.Request, http.Handler)) (*relay.Relay, error) {
	r, err := relay.New(transport, to, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if t := l.traffic.Load(); t != nil {
			decide(t, w, r, pass)
			return
		}
		pass.ServeHTTP(w, r)
	})
	if err == nil {
		l.relays = append(l.relays, r)
	}
	return r, err
}

// schedulerConfig is what muster prints for a scheduler, which is to let pods rest for a short
// time only.
func (l *lane) schedulerConfig(ctx context.Context, url string) (string, error) {
	printed, err := l.muster.SchedulerConfigFor(ctx, url)
	if err != nil {
		return "", err
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(printed), &fields); err != nil {
		return "", fmt.Errorf("parse the scheduler's config: %w", err)
	}
	fields["podMaxBackoffSeconds"] = int64(maxBackoff / time.Second)
	config, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("encode the scheduler's config: %w", err)
	}
	return string(config), nil
}

func (l *lane) startScheduler(ctx context.Context) error {
	return l.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: l.scheduler})
}

// killScheduler ends the scheduler as a crash would, and starts it again after a time.
func (l *lane) killScheduler(ctx context.Context, down time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.controlPlane.StopScheduler()
	pause(ctx, down)
	return l.startScheduler(ctx)
}

// killMuster does so with muster.
func (l *lane) killMuster(ctx context.Context, down time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.muster.Crash(); err != nil {
		return err
	}
	pause(ctx, down)
	return l.muster.Restart(ctx)
}

// died is why a process ended that nobody killed.
func (l *lane) died() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-l.controlPlane.Failed():
		return err
	default:
		return l.muster.Err()
	}
}

// words are what the scheduler and muster have logged since this was last asked that they must
// not.
func (l *lane) words() (findings []finding, err error) {
	for _, log := range []struct {
		what, path string
		matches    func(log string, from int64) ([]string, error)
	}{
		{complained, l.controlPlane.Log(binaries.Scheduler), muster.Complaints},
		{panicked, l.muster.Log(), muster.Panics},
	} {
		size := muster.LogSize(log.path)
		lines, err := log.matches(log.path, l.read[log.path])
		if err != nil {
			return nil, err
		}
		l.read[log.path] = size
		for _, line := range lines {
			findings = append(findings, finding{log.what, line})
		}
	}
	return findings, nil
}

// sources are what a record follows.
func (l *lane) sources(ctx context.Context) ([]history.Source, error) {
	sources, err := history.Core(ctx, l.client)
	if err != nil {
		return nil, err
	}
	for _, resource := range v1alpha1.Resources() {
		source, err := history.Custom(ctx, l.dynamic, resource)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	events := l.client.CoreV1().Events(workload.Namespace)
	list, err := events.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return append(sources, history.Source{Version: list.ResourceVersion, Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return events.Watch(ctx, o)
	}}), nil
}

// page is what muster says of gangs.
func (l *lane) page(ctx context.Context) string {
	text, err := l.muster.Page(ctx, "/debug/gangs")
	if err != nil {
		return err.Error()
	}
	return text
}

// clear deletes everything of a run and returns when it is gone.
func (l *lane) clear(ctx context.Context, r *record) error {
	now, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}
	return wait.PollUntilContextTimeout(ctx, look, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, resource := range v1alpha1.Resources() {
			if err := l.dynamic.Resource(resource).Namespace(workload.Namespace).DeleteCollection(ctx, now, all); err != nil {
				return false, fmt.Errorf("delete the PodGroups: %w", err)
			}
		}
		if err := l.client.CoreV1().Pods(workload.Namespace).DeleteCollection(ctx, now, all); err != nil {
			return false, fmt.Errorf("delete the pods: %w", err)
		}
		if err := l.client.CoreV1().Nodes().DeleteCollection(ctx, now, all); err != nil {
			return false, fmt.Errorf("delete the nodes: %w", err)
		}
		return r.empty(), nil
	})
}

// close ends everything.
func (l *lane) close() {
	if l.controlPlane == nil {
		return
	}
	l.controlPlane.StopScheduler()
	if l.muster != nil {
		l.muster.Stop()
	}
	l.controlPlane.Stop()
	for _, r := range l.relays {
		r.Close()
	}
}
