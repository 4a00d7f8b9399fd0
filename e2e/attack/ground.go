package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// The namespace of the tenant who attacks, and that of everybody else.
const (
	tenantNamespace = "tenant"
	othersNamespace = "others"
)

// byHand is a scheduler that does not exist: its pods wait for whoever calls muster. muster has a
// profile for it.
const byHand = "by-hand"

// Bounds that muster is given, so that attacks against them take seconds.
const (
	maxScheduleTimeout = 6 * time.Second
	bindTimeout        = 90 * time.Second // which ends what no other bound does
	maxHolding         = 2
	maxMembers         = 50
	maxInFlight        = 128 << 20
)

// ground is where attacks take place: a control plane, and a muster with kube-scheduler.
type ground struct {
	cp       *controlplane.ControlPlane
	binary   string // of muster
	muster   *muster.Server
	guarded  *guarded
	progress io.Writer
	closers  []func()

	client  kubernetes.Interface // the administrator's
	dynamic dynamic.Interface    // likewise
	tenant  *user
	account *user // muster's own
	http    *http.Client
}

// open starts everything. The caller must close it.
func open(ctx context.Context, dir string, progress io.Writer) (_ *ground, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}
	g := &ground{progress: progress, http: &http.Client{Transport: transport}}
	g.closers = append(g.closers, transport.CloseIdleConnections)
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if g.cp, err = controlplane.Start(
		ctx, controlplane.Options{Dir: dir, Controllers: []string{"serviceaccount-controller"}, Progress: progress},
	); err != nil {
		return nil, err
	}
	g.closers = append(g.closers, g.cp.Stop)
	if g.binary, err = binaries.BuildMuster(ctx, progress); err != nil {
		return nil, err
	}
	admin := g.cp.RESTConfig()
	if g.client, err = kubernetes.NewForConfig(admin); err != nil {
		return nil, err
	}
	if g.dynamic, err = dynamic.NewForConfig(admin); err != nil {
		return nil, err
	}
	if err := muster.CreateCRDs(ctx, g.dynamic); err != nil {
		return nil, err
	}
	for _, prepare := range []func(context.Context) error{g.createNamespaces, g.admitTenant, g.admitAccount, g.startMuster, g.startGuarded} {
		if err := prepare(ctx); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// startMuster starts muster with the rights of its account, and kube-scheduler.
func (g *ground) startMuster(ctx context.Context) (err error) {
	g.muster, err = muster.Start(ctx, muster.Options{
		ControlPlane: g.cp, Binary: g.binary, Kubeconfig: g.account.kubeconfig,
		Selection: muster.Extender, Beside: map[string]muster.Selection{byHand: muster.Scheduler},
		Config: map[string]any{
			"serving":  map[string]any{"maxInFlightBytes": maxInFlight},
			"timeouts": map[string]any{"bind": bindTimeout.String()},
			"gangs": map[string]any{
				"scheduleTimeout": (maxScheduleTimeout / 2).String(), "maxScheduleTimeout": maxScheduleTimeout.String(),
				"maxHoldingPerNamespace": maxHolding, "maxMembers": maxMembers,
			},
		},
	})
	if err != nil {
		return err
	}
	g.closers = append(g.closers, g.muster.Stop)
	config, err := g.schedulerConfig(ctx)
	if err != nil {
		return err
	}
	return g.cp.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

// close stops everything.
func (g *ground) close() {
	for _, stop := range slices.Backward(g.closers) {
		stop()
	}
}

// ended is how a program has ended that should run, or panicked, nil while all is well.
func (g *ground) ended() error {
	panics, err := muster.Panics(g.muster.Log(), 0)
	if len(panics) > 0 {
		err = fmt.Errorf("muster panicked: %s", panics[0])
	}
	select {
	case <-g.muster.Done():
		err = errors.Join(err, fmt.Errorf("muster has ended: %w", g.muster.Err()))
	case failed := <-g.cp.Failed():
		err = errors.Join(err, failed)
	default:
	}
	return errors.Join(err, g.guarded.process.Err())
}

// clear deletes what an attack has left.
func (g *ground) clear(ctx context.Context) error {
	now, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}
	for _, namespace := range []string{tenantNamespace, othersNamespace} {
		if err := g.client.CoreV1().Pods(namespace).DeleteCollection(ctx, now, all); err != nil {
			return fmt.Errorf("delete the pods of %s: %w", namespace, err)
		}
		for _, resource := range v1alpha1.Resources() {
			if err := g.dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, now, all); err != nil {
				return fmt.Errorf("delete the PodGroups of %s: %w", namespace, err)
			}
		}
	}
	if err := g.client.CoreV1().Nodes().DeleteCollection(ctx, now, all); err != nil {
		return fmt.Errorf("delete the nodes: %w", err)
	}
	return eventually(ctx, "muster has forgotten the gangs", func() error {
		gangs, err := g.muster.Gangs(ctx)
		if err == nil && len(gangs) > 0 {
			err = fmt.Errorf("there are %v", gangs)
		}
		return err
	})
}
