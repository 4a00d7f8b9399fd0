package preview

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

// Policy is what to plan for.
type Policy string

// The policies.
const (
	MakeRoom Policy = "MakeRoom" // pending pods get a place
	Coalesce Policy = "Coalesce" // nodes become empty
)

// Policies are all there are.
func Policies() []Policy { return []Policy{MakeRoom, Coalesce} }

// Options say what to plan, about which cluster, and how to print it.
type Options struct {
	Config *v1alpha2.MusterConfiguration // required: its profiles are read
	// RESTConfig is the way to the API server, when there are no Files.
	RESTConfig *rest.Config
	// Files are dumps of a cluster; - is Stdin.
	Files []string
	Stdin io.Reader

	Policy  Policy
	Rules   planner.Rules
	Budgets planner.Budgets
	Limits  planner.Limits
	Seed    uint64
	// Nodes is how many nodes to empty at most, 0 for any number.
	Nodes int

	Format Format
	Out    io.Writer
	Logger *slog.Logger // required
	Clock  clock.PassiveClock
}

// Outcome is what a plan comes to.
type Outcome int

// Outcomes.
const (
	// Nothing is to be done: no pod waits that needs a move, or no node can be emptied.
	Nothing Outcome = iota
	// Found says that there are steps.
	Found
	// NoPlan says that pods wait, and moves would not help.
	NoPlan
)

// Run plans and prints.
func Run(ctx context.Context, o Options) (Outcome, error) {
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: o.Logger, Registerer: registry, AssumeTTL: time.Hour})
	load := loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(registry), ResourceNames: c.ResourceNames()}
	if err := look(ctx, o, c, registry); err != nil {
		return Nothing, err
	}
	problem := &planner.Problem{
		Snapshot: c.Snapshot(), Rules: o.Rules, Budgets: o.Budgets, Limits: o.Limits, Seed: o.Seed, Clock: o.Clock,
	}
	for i := range o.Config.Profiles {
		var plugins []predicates.Plugin
		if loadaware.Runs(&o.Config.Profiles[i]) {
			plugins = append(plugins, loadaware.New(&o.Config.Profiles[i], load).Plugin())
		}
		profile, err := predicates.NewProfile(&o.Config.Profiles[i], plugins...)
		if err != nil {
			return Nothing, fmt.Errorf("profiles[%d]: %w", i, err)
		}
		problem.Profiles = append(problem.Profiles, profile)
	}
	waiting := pending(c)
	problem.Held = nominated(problem.Snapshot, waiting)
	var plan *planner.Plan
	if o.Policy == Coalesce {
		plan = problem.Coalesce(nil, o.Nodes)
	} else {
		waiting = slices.DeleteFunc(waiting, func(pod *cluster.Pod) bool {
			return slices.ContainsFunc(problem.Held, func(held planner.Hold) bool { return held.Pod == pod })
		})
		plan = problem.MakeRoom(planner.Pending(problem.Snapshot, waiting))
	}
	d := newDocument(o.Policy, problem, plan, len(waiting))
	if err := d.print(o.Out, o.Format); err != nil {
		return Nothing, fmt.Errorf("print the plan: %w", err)
	}
	switch {
	case len(plan.Steps) > 0:
		return Found, nil
	case len(plan.Unplaced) > 0:
		return NoPlan, nil
	default:
		return Nothing, nil
	}
}

// look fills the view of the cluster, once.
func look(ctx context.Context, o Options, c *cluster.Cluster, registry prometheus.Registerer) error {
	if len(o.Files) > 0 {
		loaded, err := usage.Load(c, o.Logger, o.Files, o.Stdin)
		if err == nil {
			o.Logger.Info("planning for a dump", "summary", loaded.String())
		}
		return err
	}
	client, err := kubernetes.NewForConfig(cluster.ClientConfig(o.RESTConfig))
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	watch := cluster.WatchOptions{Client: client, Optional: v1alpha1.Resources()}
	if watch.Dynamic, err = dynamic.NewForConfig(o.RESTConfig); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if watch.Metadata, err = metadata.NewForConfig(o.RESTConfig); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	nodeMetrics := nodemetric.NewStore(c.ResourceNames())
	feed, err := usage.New(usage.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Registerer: registry, Cluster: c,
		Load: &o.Config.Load, Expirations: loadaware.Expirations(o.Config.Profiles), RESTConfig: o.RESTConfig, NodeMetrics: nodeMetrics,
	})
	if err != nil {
		return err
	}
	if feed.NodeMetrics {
		watch.Handled = map[schema.GroupVersionResource]cluster.CustomHandler{slov1alpha1.NodeMetrics(): nodeMetrics.Handler(feed.Watched)}
	}
	watcher, err := cluster.NewWatcher(c, watch)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { watcher.Run(watching) })
	if err := watcher.WaitForSync(ctx); err != nil {
		return err
	}
	feed.Look(ctx)
	return nil
}

// pending are the pods that wait, in the order of their names.
func pending(c *cluster.Cluster) []*cluster.Pod {
	var pods []*cluster.Pod
	stop := c.FollowPending(func(event cluster.PodEvent) {
		if event.Pod != nil {
			pods = append(pods, event.Pod)
		}
	})
	stop()
	return pods
}

// nominated are the places of pods that have one coming: that they are nominated to.
func nominated(snap *cluster.Snapshot, waiting []*cluster.Pod) []planner.Hold {
	var holds []planner.Hold
	for _, pod := range waiting {
		if node := snap.NodeByName(pod.Status.NominatedNodeName); node != nil {
			holds = append(holds, planner.Hold{Pod: pod, Node: node.Index})
		}
	}
	return holds
}
