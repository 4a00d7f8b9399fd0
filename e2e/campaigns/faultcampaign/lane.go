package faultcampaign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

// maxBackoff is how long the scheduler lets a pod rest that it could not place: less than by
// default, so that runs are short.
const maxBackoff = 2 * time.Second

// Lane is a control plane of its own with all that belongs to it, on which one run follows another.
type Lane struct {
	ControlPlane *controlplane.ControlPlane
	Client       kubernetes.Interface
	Dynamic      dynamic.Interface
	Muster       *muster.Server // nil before StartMuster
	// Killing is held while a process is down: one is killed at a time.
	Killing sync.Mutex

	verbs     relay.Target                    // the muster that there is
	scheduler string                          // its configuration
	replicas  *controlplane.SchedulerReplicas // that know nothing of muster, nil when there is one that does
	relays    []*relay.Relay
	read      map[string]int64 // how far logs have been read
}

// OpenLane starts a control plane, with KWOK for machines and with priority classes. It never returns
// nil, and the caller must call Close.
func OpenLane(ctx context.Context, o controlplane.Options, classes map[string]int32) (l *Lane, err error) {
	l = &Lane{read: map[string]int64{}}
	if l.ControlPlane, err = controlplane.Start(ctx, o); err != nil {
		return l, err
	}
	if l.Client, err = kubernetes.NewForConfig(l.ControlPlane.RESTConfig()); err != nil {
		return l, fmt.Errorf("connect to the control plane: %w", err)
	}
	if l.Dynamic, err = dynamic.NewForConfig(l.ControlPlane.RESTConfig()); err != nil {
		return l, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := muster.CreateCRDs(ctx, l.Dynamic); err != nil {
		return l, err
	}
	for name, value := range classes {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := l.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return l, fmt.Errorf("create priority class %s: %w", name, err)
		}
	}
	return l, l.ControlPlane.StartKWOK(ctx)
}

// RelayToAPI makes a relay to the API server, and returns the path of a kubeconfig that leads to it.
func (l *Lane) RelayToAPI(name string, decide relay.Decide) (kubeconfig string, err error) {
	config := l.ControlPlane.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", fmt.Errorf("connect to the control plane: %w", err)
	}
	api, err := url.Parse(config.Host)
	if err != nil {
		return "", fmt.Errorf("address of the API server: %w", err)
	}
	back, err := l.relay(transport, func() *url.URL { return api }, decide)
	if err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(l.ControlPlane.Dir(), name+".kubeconfig")
	return kubeconfig, back.WriteKubeconfig(kubeconfig)
}

func (l *Lane) relay(transport http.RoundTripper, to func() *url.URL, decide relay.Decide) (*relay.Relay, error) {
	r, err := relay.New(transport, to, decide)
	if err == nil {
		l.relays = append(l.relays, r)
	}
	return r, err
}

// StartMuster starts a muster, to which the scheduler talks from then on. There must be no other.
func (l *Lane) StartMuster(ctx context.Context, o muster.Options) (err error) {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if l.Muster, err = muster.Start(ctx, o); err != nil {
		return err
	}
	return l.verbs.LeadTo(l.Muster.URL(), l.Muster.Transport())
}

// StartScheduler starts the scheduler, if it has not been yet: with what muster prints for it, and
// with a relay to whichever muster there is.
func (l *Lane) StartScheduler(ctx context.Context, decide relay.Decide) error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if l.scheduler != "" {
		return nil
	}
	front, err := l.relay(&l.verbs, l.verbs.URL, decide)
	if err != nil {
		return err
	}
	printed, err := l.Muster.SchedulerConfigFor(ctx, front.URL())
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

func (l *Lane) startScheduler(ctx context.Context) error {
	return l.ControlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: l.scheduler})
}

// StartPlainSchedulers has a number of schedulers run for election with their default configuration, which knows
// nothing of muster.
func (l *Lane) StartPlainSchedulers(ctx context.Context, count int) (err error) {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if l.replicas != nil && l.replicas.Count() == count {
		return nil
	}
	if l.replicas != nil {
		l.replicas.Stop()
	}
	l.replicas, err = l.ControlPlane.StartSchedulerReplicas(ctx, make([]controlplane.SchedulerOptions, count)...)
	return err
}

// KillScheduler ends the scheduler as a crash would, and starts it again after a time. Of replicas it is the leader,
// and another one leads when it is there again, if there is one.
func (l *Lane) KillScheduler(ctx context.Context, down time.Duration) error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if l.replicas == nil {
		l.ControlPlane.StopScheduler()
		Pause(ctx, down)
		return l.startScheduler(ctx)
	}
	leader, err := l.replicas.AwaitLeader(ctx)
	if err != nil {
		return err
	}
	l.replicas.Kill(leader)
	Pause(ctx, down)
	if l.replicas.Count() > 1 {
		if _, err := l.replicas.AwaitLeader(ctx); err != nil {
			return err
		}
	}
	if err := l.replicas.Start(ctx, leader); err != nil {
		return err
	}
	_, err = l.replicas.AwaitLeader(ctx)
	return err
}

// KillMuster does so with muster. It comes again on another machine, whose clock is as wrong in the other direction.
func (l *Lane) KillMuster(ctx context.Context, down time.Duration) error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if err := l.Muster.Crash(); err != nil {
		return err
	}
	Pause(ctx, down)
	l.Muster.SkewClock(-l.Muster.ClockSkew())
	return l.Muster.Restart(ctx)
}

// FreezeMuster stops muster where it is, for a time: it answers nothing, and does not know.
func (l *Lane) FreezeMuster(ctx context.Context, length time.Duration) error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	if err := l.Muster.Pause(); err != nil {
		return err
	}
	Pause(ctx, length)
	return l.Muster.Resume()
}

// OvertakeMuster has another muster take over from the one that there is, which runs for election like it. First
// silence keeps the old one from its lease, and then end has it act again, though another one leads: it is on its
// own for a time, and is killed then if it has not ended by itself.
func (l *Lane) OvertakeMuster(ctx context.Context, o muster.Options, silence, end func(*muster.Server) error, alone time.Duration) error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	next, err := muster.Launch(ctx, o)
	if err != nil {
		return err
	}
	old := l.Muster
	err = silence(old)
	if err == nil {
		err = next.AwaitReady(ctx)
	}
	if err != nil {
		next.Stop()
		return err
	}
	l.Muster = next
	if err := l.verbs.LeadTo(next.URL(), next.Transport()); err != nil {
		return err
	}
	if err := end(old); err != nil {
		return err
	}
	Pause(ctx, alone)
	_ = old.Crash() // it may have ended by itself, as it must
	return nil
}

// Died is why a process ended that nobody killed and that must not end.
func (l *Lane) Died() error {
	l.Killing.Lock()
	defer l.Killing.Unlock()
	select {
	case err := <-l.ControlPlane.Failed():
		return err
	default:
	}
	if l.Muster == nil {
		return nil
	}
	return l.Muster.Err()
}

// words are complaints of the scheduler, and panics of muster and in other logs, since this was last asked.
func (l *Lane) words(others ...string) (complaints, panics []string, err error) {
	look := func(at string, matches func(string, int64) ([]string, error)) []string {
		size := muster.LogSize(at)
		if size == l.read[at] {
			return nil
		}
		lines, failed := matches(at, l.read[at])
		err = errors.Join(err, failed)
		l.read[at] = size
		return lines
	}
	complaints = look(l.ControlPlane.Log(binaries.Scheduler), muster.Complaints)
	if l.Muster != nil {
		others = append(others, l.Muster.Log())
	}
	for _, log := range others {
		panics = append(panics, look(log, muster.Panics)...)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read logs: %w", err)
	}
	return complaints, panics, nil
}

// Clear deletes all nodes and pods, and other collections before these, and returns when all is gone.
func (l *Lane) Clear(
	ctx context.Context, gone func() bool, others ...func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error,
) error {
	all := append(others, l.Client.CoreV1().Pods(workload.Namespace).DeleteCollection, l.Client.CoreV1().Nodes().DeleteCollection)
	return wait.PollUntilContextTimeout(ctx, Look, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, deleteAll := range all {
			if err := deleteAll(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}); err != nil {
				return false, fmt.Errorf("clear the cluster: %w", err)
			}
		}
		return gone(), nil
	})
}

// Close ends the control plane, with the scheduler, and the relays.
func (l *Lane) Close() {
	if l.ControlPlane != nil {
		l.ControlPlane.Stop()
	}
	for _, r := range l.relays {
		r.Close()
	}
}
