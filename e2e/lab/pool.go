package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// spare is how many control planes that nobody has are kept: one for each test that runs at a time. Each takes 400 MB.
const spare = 4

// planes lends the control planes of this process.
var planes pool

// Main runs the tests of a package, then stops the control planes that they took.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is [Main] for a package that has more to do before its process ends: it returns the exit status.
func Run(m *testing.M) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		planes.stop()
		os.Exit(130)
	}()
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue { // they wait more than they compute
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	planes.stop()
	return code
}

// pool keeps the control planes that no test has, the one given back last at the end.
type pool struct {
	mu    sync.Mutex
	idle  []*plane
	taken map[*plane]bool
}

// plane is a control plane of a pool.
type plane struct {
	*controlplane.ControlPlane
	options  Options
	key      string // of equal options
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	before   inventory // what is there while nobody has it
	numbered atomic.Int32
	served   sync.Map // the metav1.APIResource of kinds
	last     bool     // no other test gets it
}

// number gives a name that nothing of the control plane has had.
func (p *plane) number(name string) string { return fmt.Sprintf("%s-%d", name, p.numbered.Add(1)) }

// take returns an idle control plane with these options, or starts one. Controllers run until the test ends.
func (p *pool) take(ctx context.Context, o Options) (*plane, error) {
	taken := p.pick(o.key())
	if taken == nil {
		started, err := start(ctx, o.lasting())
		if err != nil {
			return nil, err
		}
		taken = started
	}
	if _, run := taken.Pids()[binaries.ControllerManager]; !run && len(o.Controllers) > 0 {
		if err := taken.StartControllerManager(ctx, o.Controllers); err != nil {
			taken.discard()
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[*plane]bool{}
	}
	p.taken[taken] = true
	return taken, nil
}

func (p *pool) pick(key string) *plane {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.idle, func(idle *plane) bool { return idle.key == key })
	if at < 0 {
		return nil
	}
	picked := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	return picked
}

// giveBack takes a control plane back from a test, and returns where its logs are kept, "" if they are not.
func (p *pool) giveBack(t testing.TB, given *plane) (kept string) {
	p.mu.Lock()
	delete(p.taken, given)
	p.mu.Unlock()
	select {
	case err := <-given.Failed():
		t.Error(err)
	default:
	}
	if t.Failed() {
		given.Stop()
		return given.Dir()
	}
	if given.last {
		given.discard()
		return ""
	}
	if err := given.reset(context.Background()); err != nil {
		t.Logf("the control plane can't be used again: %v", err)
		given.discard()
		return ""
	}
	p.mu.Lock()
	p.idle = append(p.idle, given)
	var surplus []*plane
	if len(p.idle) > spare {
		surplus = slices.Clone(p.idle[:len(p.idle)-spare])
		p.idle = slices.Delete(p.idle, 0, len(surplus))
	}
	p.mu.Unlock()
	for _, s := range surplus {
		s.discard()
	}
	return ""
}

// stop stops all control planes, lent ones included.
func (p *pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, idle := range p.idle {
		idle.discard()
	}
	for taken := range p.taken {
		taken.discard()
	}
	p.idle, p.taken = nil, nil
}

// lasting returns what the options say of what outlives a test: controllers only as far as the API server has to know of them.
func (o Options) lasting() Options {
	if !o.TaintsNodes() {
		o.Controllers = nil
	}
	return o
}

// key is the same for options that make the same control plane.
func (o Options) key() string {
	o = o.lasting()
	o.Progress, o.Dir = nil, ""
	return fmt.Sprintf("%+v", o)
}

// start starts a control plane and takes stock of it.
func start(ctx context.Context, o Options) (_ *plane, err error) {
	p := &plane{options: o, key: o.key()}
	if o.Dir, err = os.MkdirTemp("", "muster-e2e-"); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	if p.ControlPlane, err = controlplane.Start(ctx, o.Options); err != nil {
		return nil, err
	}
	if err := p.furnish(ctx); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// furnish makes the clients, creates what the options ask for and takes stock.
func (p *plane) furnish(ctx context.Context) (err error) {
	config := p.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // it takes stock of what is deprecated, too
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if p.metadata, err = metadata.NewForConfig(config); err != nil {
		return err
	}
	if p.options.CRDs {
		if err := muster.CreateCRDs(ctx, p.dynamic); err != nil {
			return err
		}
	}
	p.before, err = p.takeStock(ctx)
	return err
}

// discard stops a control plane and removes its files.
func (p *plane) discard() {
	p.Stop()
	_ = os.RemoveAll(p.Dir())
}

// errStopped says that a test stopped a component that the next one needs.
var errStopped = errors.New("the test stopped it")

// quiesce stops what a test has started, and the controllers, whose caches know the test's objects.
func (p *plane) quiesce() error {
	running := p.Pids()
	for _, needed := range []binaries.Binary{binaries.Etcd, binaries.APIServer} {
		if _, runs := running[needed]; !runs {
			return fmt.Errorf("%s does not run: %w", needed, errStopped)
		}
	}
	p.StopScheduler()
	p.StopKWOK()
	p.StopMetricsServer()
	p.StopPrometheus()
	p.StopControllerManager()
	for name := range p.Pids() {
		if name != binaries.Etcd && name != binaries.APIServer {
			return fmt.Errorf("%s still runs", name)
		}
	}
	return nil
}
