package attack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// The namespace of the tenant who attacks, and that of everybody else.
const (
	tenantNamespace = "tenant"
	othersNamespace = "others"
)

// byHand is a scheduler that does not exist: its pods wait for a caller of muster. muster has a
// profile for it.
const byHand = "by-hand"

// Bounds that muster is given, so that attacks against them take seconds.
const (
	scheduleTimeout    = 2 * time.Second
	maxScheduleTimeout = 10 * scheduleTimeout
	bindTimeout        = 90 * time.Second // which ends what no other bound does
	maxHolding         = 2
)

// Bounds that muster has: how much bodies may take of its memory, and the largest minMember.
const (
	maxInFlight = 256 << 20
	maxMembers  = 10_000
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
	for _, prepare := range []func(context.Context) error{
		g.createNamespaces, g.defineOwners, g.admitTenant, g.admitAccount, g.startMuster, g.startGuarded,
	} {
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
		Selection: muster.Muster, Beside: map[string]muster.Selection{byHand: muster.Scheduler},
		// Nodes without a NodeMetric, as most attacks have them, take pods whatever is on them.
		Profile: map[string]any{"plugins": map[string]any{"filter": map[string]any{"enabled": []any{map[string]any{"name": "LoadAware"}}}}},
		Config: map[string]any{
			"timeouts": map[string]any{"bind": bindTimeout.String()},
			"gangs": map[string]any{
				"scheduleTimeout": scheduleTimeout.String(), "maxHoldingPerNamespace": maxHolding, "reserveAfter": reserveAfter.String(),
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
		if err := g.dynamic.Resource(explanationv1alpha1.Questions()).Namespace(namespace).DeleteCollection(ctx, now, all); err != nil {
			return fmt.Errorf("delete the Questions of %s: %w", namespace, err)
		}
		if err := g.dynamic.Resource(jobSets).Namespace(namespace).DeleteCollection(ctx, now, all); err != nil {
			return fmt.Errorf("delete the JobSets of %s: %w", namespace, err)
		}
		if err := g.client.CoreV1().Pods(namespace).DeleteCollection(ctx, now, all); err != nil {
			return fmt.Errorf("delete the pods of %s: %w", namespace, err)
		}
		for _, resource := range v1alpha1.Resources() {
			if err := g.dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, now, all); err != nil {
				return fmt.Errorf("delete the PodGroups of %s: %w", namespace, err)
			}
		}
	}
	if err := g.dynamic.Resource(slov1alpha1.NodeMetrics()).DeleteCollection(ctx, now, all); err != nil {
		return fmt.Errorf("delete the NodeMetrics: %w", err)
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

// guarded is a muster that only kube-scheduler may call, with a certificate, and that an API server
// may ask for gates. It answers from a dump, as nothing is asked of it that takes an API server.
type guarded struct {
	process *process.Process
	verbs   string // URLs
	webhook string
	roots   *x509.CertPool
}

// dump is a cluster of one node.
const dump = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
]}`

const guardedConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
serving:
  webhookListen: %s
  tls: {certFile: %s, keyFile: %s, clientCAFile: %s}
profiles: [{schedulerName: default-scheduler, gates: UntilMembers}]
`

func (g *ground) startGuarded(ctx context.Context) error {
	dir := g.cp.Dir()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("muster", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("make muster's certificate: %w", err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", g.cp.Kubeconfig())
	if err != nil {
		return err
	}
	var addresses []string
	for range 3 {
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	file := func(name string) string { return filepath.Join(dir, "guarded-"+name) }
	config := fmt.Sprintf(guardedConfig, addresses[2], file("tls.crt"), file("tls.key"), file("client-ca.crt"))
	for name, content := range map[string][]byte{
		"tls.crt": certificate, "tls.key": key, "client-ca.crt": admin.CAData, "muster.yaml": []byte(config), "dump.json": []byte(dump),
	} {
		if err := os.WriteFile(file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the files of a muster: %w", err)
		}
	}
	g.guarded = &guarded{verbs: "https://" + addresses[0], webhook: "https://" + addresses[2]}
	if g.guarded.roots, err = certutil.NewPoolFromBytes(certificate); err != nil {
		return err
	}
	g.guarded.process, err = process.Start(process.Spec{
		Name: "guarded",
		Path: g.binary,
		Log:  file("muster.log"),
		Args: []string{
			"serve",
			"--config=" + file("muster.yaml"),
			"--snapshot=" + file("dump.json"),
			"--listen=" + addresses[0],
			"--debug-listen=" + addresses[1],
		},
	})
	if err != nil {
		return err
	}
	g.closers = append(g.closers, func() { g.guarded.process.Stop(10 * time.Second) })
	return g.guarded.process.Await(ctx, func(ctx context.Context) error {
		if got := g.call(ctx, http.MethodGet, "http://"+addresses[1]+"/readyz", nil); got.status != http.StatusOK {
			return fmt.Errorf("it answers %s", got)
		}
		return nil
	})
}

// client shows a certificate, or none.
func (s *guarded) client(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: s.roots, Certificates: certificates, MinVersion: tls.VersionTLS12},
	}}
}

// crowd is how many connections are opened: more than the 10,000 that muster lets be open at a time.
const crowd = 12_000

// connectionAttacks are connections that are opened and kept.
func connectionAttacks() []Attack {
	return []Attack{
		crowdAttack("idle-connections", "that send nothing, or half a header", func(connection net.Conn, i int) error {
			if i%2 == 0 {
				return nil
			}
			_, err := fmt.Fprint(connection, "POST /filter HTTP/1.1\r\nHost: ")
			return err
		}),
		crowdAttack("livez-connections", "that ask for /livez once and stay", func(connection net.Conn, _ int) error {
			_, err := fmt.Fprint(connection, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			return err
		}),
	}
}

// crowdAttack opens more connections than may be open, says something on each and keeps them.
func crowdAttack(name, connections string, say func(connection net.Conn, i int) error) Attack {
	return delayAttack(
		Caller,
		name,
		fmt.Sprintf("to keep kube-scheduler out by %d connections %s", crowd, connections),
		func(ctx context.Context, g *ground) (d delay, err error) {
			if _, err := g.stage(ctx, newNodes("busy", 1, "4")); err != nil {
				return d, err
			}
			at, err := url.Parse(g.muster.URL())
			if err != nil {
				return d, err
			}
			var mu sync.Mutex
			var connections []net.Conn
			defer func() {
				for _, connection := range connections {
					connection.Close()
				}
			}()
			var opening sync.WaitGroup
			for worker := range 8 {
				opening.Go(func() {
					for i := range crowd / 8 {
						connection, dialErr := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, "tcp", at.Host)
						if dialErr == nil {
							_ = say(connection, worker+i) // muster may have closed it for another one
						}
						mu.Lock()
						if dialErr != nil {
							err = dialErr
						} else {
							connections = append(connections, connection)
						}
						mu.Unlock()
					}
				})
			}
			opening.Wait()
			if err != nil {
				return d, fmt.Errorf("open %d connections: %w", crowd, err)
			}
			d.about = "a pod"
			pods, err := g.create(ctx, newPod(othersNamespace, "unhurried", "1"))
			if err == nil {
				d.waited, d.bound = g.awaitBound(ctx, pods["unhurried"])
			}
			if err != nil || !d.bound {
				return d, err
			}
			// kube-scheduler may have had a connection before. A new caller has none.
			stranger := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: tolerable}
			d.about = "a pod, while a new caller was answered,"
			if got := send(ctx, stranger, http.MethodGet, g.muster.URL()+"/livez", nil); got.status != http.StatusOK {
				d.about, d.bound = "a pod, while a new caller got "+got.String()+",", false
			}
			return d, nil
		},
	)
}
