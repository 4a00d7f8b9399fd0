package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/preview"
)

// What the exit status of 'muster plan' tells.
const (
	exitPlanFound = 2
	exitNoPlan    = 3
)

func newPlanCommand() *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show which pods to move so that pending ones get a place; change nothing",
		Long: `plan looks at a cluster once, works out which pods to move, and prints that. It
changes nothing.

With --policy MakeRoom, the default, pods are moved so that pending pods and gangs
get a place. With --policy Coalesce, nodes become empty, so that they can be
removed; with FreeDomains, nodes of one rack, zone or the like become empty together,
as --domain-key and --domain-nodes or the configuration say; with Relieve, pods leave
nodes that are measured to use too much; with Balance, nodes that use much more than
the others; with Respread, they go onto nodes that have joined lately; with Separate,
pods leave what they are annotated to be separated from; with Repair, pods leave nodes that would not
take them any more. Every step has a place to go to by all predicates of the pod's
profile when it is its turn, and no step breaks a PodDisruptionBudget or one of the
budgets below. Each step says why; so does each pod that gets no place.

` + whichCluster + ` With --filename
it is that of files which kubectl wrote. Such a dump needs all that ties pods to nodes: nodes, pods, and of persistentvolumes,
persistentvolumeclaims, storageclasses, namespaces, services, replicasets,
statefulsets, jobs, poddisruptionbudgets and, for LoadAware, Relieve and Balance, nodemetrics what
there is.

Never moved are static pods, pods of DaemonSets, critical ones, pods that are being
deleted, pods that nothing would replace and pods that are annotated not to be
evicted. Pods with local storage or claims, pods of kube-system, of Jobs that might
fail, of controllers of other kinds, and the only one of a controller that is ready are
moved only when a flag or the annotation rescheduling.muster.dev/movable allows it.
--explain-excluded tells how many pods that are, of this cluster, and why.

The exit status is 0 when there is nothing to do, 2 when there is a plan, 3 when pods
wait and there is none, and 1 after an error, a wrong command line included.`,
		Example: `  # What would have to move in this cluster for the pods that wait?
  muster plan --context production

  # The same for a dump, with two evictions at most.
  kubectl get nodes,pods,replicasets,poddisruptionbudgets -A -o yaml | muster plan -f - --max-evictions 2

  # Which pods may not be moved, and why?
  muster plan -f dump.yaml --explain-excluded

  # Which nodes could be removed?
  muster plan -f dump.yaml --policy Coalesce -o json | jq .emptied

  # How would eight nodes of one rack become empty?
  muster plan -f dump.yaml --policy FreeDomains --domain-key topology.kubernetes.io/rack --domain-nodes 8`,
		Args: func(cmd *cobra.Command, args []string) error { return asFailure(noArguments(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			outcome, err := flags.run(cmd)
			switch {
			case err != nil:
				return err
			case outcome == preview.Found:
				return statusError(exitPlanFound)
			case outcome == preview.NoPlan:
				return statusError(exitNoPlan)
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return asFailure(flagError(cmd, err))
	})
	flags.register(cmd.Flags())
	return cmd
}

type planFlags struct {
	clusterFlags
	config   string
	files    []string
	policy   string
	output   string
	nodes    int32
	domains  planner.Domains
	seed     uint64
	excluded bool
	limits   planner.Limits
	budgets  planner.Budgets
	rules    planner.Rules

	belowPriority    int32
	selector         string
	nodeSelector     string
	namespaces       []string
	exceptNamespaces []string
	controllers      []string
}

func (f *planFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(
		&f.config,
		"config",
		"",
		"configuration `FILE`, read for the profiles and the arguments of policies (default: what 'muster config default' prints)",
	)
	f.clusterFlags.register(flags)
	flags.StringArrayVarP(
		&f.files,
		"filename",
		"f",
		nil,
		"`FILE` written by 'kubectl get ... -A -o yaml' or -o json, instead of an API server; - is standard input; may be repeated",
	)
	flags.StringVar(&f.policy, "policy", string(v1alpha1.MakeRoom), fmt.Sprintf("what to plan for, one of %v", policy.Names()))
	flags.StringVarP(&f.output, "output", "o", string(preview.Table), fmt.Sprintf("`FORMAT` of the plan, one of %v", preview.Formats()))
	flags.BoolVar(
		&f.excluded, "explain-excluded", false,
		"tell of the pods that no plan moves, too: how many by reason, or each with -o yaml or json",
	)
	flags.Int32Var(&f.nodes, "max-nodes", 0, "empty, with Coalesce, or relieve at most this number of nodes, 0 for any number")
	flags.StringVar(
		&f.domains.Key, "domain-key", "", "with FreeDomains, the label of nodes that names their domain (default: freeDomains.key)",
	)
	flags.IntVar(
		&f.domains.Nodes, "domain-nodes", 0, "with FreeDomains, how many nodes of a domain are to be empty (default: freeDomains.nodes)",
	)
	flags.Uint64Var(&f.seed, "seed", 0, "the same seed gives the same plan, as long as time suffices")
	flags.IntVar(&f.limits.Hops, "hops", 3, "how many moves may hang on one another; with 1, pods only move to room that is free already")
	flags.DurationVar(&f.limits.Time, "time", 10*time.Second, "how long to search")

	flags.IntVar(&f.budgets.Total, "max-evictions", 0, "evict at most this number of pods, 0 for any number, as for the next three")
	flags.IntVar(&f.budgets.PerNode, "max-evictions-per-node", 0, "evict at most this number of pods of one node")
	flags.IntVar(&f.budgets.PerNamespace, "max-evictions-per-namespace", 0, "evict at most this number of pods of one namespace")
	flags.IntVar(&f.budgets.PerWorkload, "max-evictions-per-workload", 0, "evict at most this number of pods of one controller")

	flags.BoolVar(
		&f.rules.AllowLocalStorage, "allow-local-storage", false, "move pods with an emptyDir or a hostPath, too: what is in there is lost",
	)
	flags.BoolVar(&f.rules.AllowClaims, "allow-claims", false, "move pods with persistent volume claims, too")
	flags.BoolVar(&f.rules.AllowHigherPriority, "allow-higher-priority", false, "move pods for the sake of lower-priority pods, too")
	flags.BoolVar(&f.rules.AllowSingleReplica, "allow-single-replica", false, "move the only pod of a controller that is ready, too")
	flags.BoolVar(&f.rules.AllowKubeSystem, "allow-kube-system", false, "move pods of kube-system, too")
	flags.StringSliceVar(
		&f.controllers, "controllers", nil, "move pods of these kinds of controllers, too, such as CloneSet.apps.kruise.io",
	)
	flags.Int32Var(&f.belowPriority, "below-priority", math.MaxInt32, "move only pods of lower priority than this")
	flags.StringVarP(&f.selector, "selector", "l", "", "move only pods whose labels match")
	flags.StringVar(&f.nodeSelector, "node-selector", "", "move only pods on nodes whose labels match")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "move only pods of these namespaces")
	flags.StringSliceVar(&f.exceptNamespaces, "except-namespaces", nil, "move no pods of these namespaces")
	flags.DurationVar(&f.rules.MinAge, "min-age", 0, "move only pods that have run for so long")
	flags.IntVar(&f.rules.MinReplicas, "min-replicas", 0, "move only pods whose controller has at least this number of pods on nodes")
}

// run prints a plan.
func (f *planFlags) run(cmd *cobra.Command) (preview.Outcome, error) {
	logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := preview.Options{
		Files: f.files, Stdin: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Logger: logger, Clock: clock.RealClock{},
		Policy: v1alpha1.Policy(f.policy), Format: preview.Format(f.output), Seed: f.seed, ExplainExcluded: f.excluded,
		Limits: f.limits, Budgets: f.budgets,
	}
	if err := f.check(); err != nil {
		return preview.Nothing, asFailure(usagef(cmd, "%w", err))
	}
	var err error
	if options.Rules, err = f.evictability(); err != nil {
		return preview.Nothing, asFailure(usagef(cmd, "%w", err))
	}
	cfg, err := loadConfigWarning(cmd, f.config)
	if err != nil {
		return preview.Nothing, err
	}
	cfg.Rescheduler.Budgets.NodesPerPlan = f.nodes
	if err := f.chooseDomains(&cfg.Rescheduler.FreeDomains); err != nil {
		return preview.Nothing, asFailure(usagef(cmd, "%w", err))
	}
	if !cfg.Rescheduler.Repair.Enabled() {
		cfg.Rescheduler.Repair.Checks = config.UsualRepairs()
	}
	if (options.Policy == v1alpha1.Relieve || options.Policy == v1alpha1.Balance) && cfg.Load.Source == config.LoadSourceNone {
		cfg.Load.Source = config.LoadSourceNodeMetric // as where it is enabled
	}
	options.Config = cfg
	if len(f.files) == 0 {
		if options.RESTConfig, err = f.connect(cmd, cfg.ClientConnection, options.Format != preview.Table); err != nil {
			return preview.Nothing, err
		}
	}
	return preview.Run(cmd.Context(), options)
}

// check names the first flag that makes no sense.
func (f *planFlags) check() error {
	switch {
	case len(f.files) > 0 && f.given():
		return errors.New("--filename stands in for the API server: leave --kubeconfig and --context out")
	case !slices.Contains(policy.Names(), v1alpha1.Policy(f.policy)):
		return fmt.Errorf("--policy: %q is none of %v", f.policy, policy.Names())
	case !slices.Contains(preview.Formats(), preview.Format(f.output)):
		return fmt.Errorf("--output: %q is none of %v", f.output, preview.Formats())
	case f.limits.Hops < 1:
		return fmt.Errorf("--hops: %d is less than 1", f.limits.Hops)
	case f.limits.Time <= 0:
		return fmt.Errorf("--time: %s is no time", f.limits.Time)
	case f.rules.MinAge < 0:
		return fmt.Errorf("--min-age: %s is less than 0", f.rules.MinAge)
	}
	for name, bound := range map[string]int{
		"--max-nodes": int(f.nodes), "--max-evictions": f.budgets.Total, "--max-evictions-per-node": f.budgets.PerNode,
		"--max-evictions-per-namespace": f.budgets.PerNamespace, "--max-evictions-per-workload": f.budgets.PerWorkload,
		"--min-replicas": f.rules.MinReplicas, "--domain-nodes": f.domains.Nodes,
	} {
		if bound < 0 {
			return fmt.Errorf("%s: %d is less than 0", name, bound)
		}
	}
	return nil
}

// chooseDomains has flags go before what is configured.
func (f *planFlags) chooseDomains(c *config.FreeDomainsPolicy) error {
	c.Key = cmp.Or(f.domains.Key, c.Key)
	if f.domains.Nodes > 0 {
		c.Nodes = int32(min(f.domains.Nodes, math.MaxInt32))
	}
	if c.Key == "" && f.policy == string(v1alpha1.FreeDomains) {
		return errors.New("--policy FreeDomains: --domain-key says which label of nodes names their domain, as does freeDomains.key")
	}
	return nil
}

// evictability are the rules that the flags make.
func (f *planFlags) evictability() (rules planner.Rules, err error) {
	rules = f.rules
	rules.Namespaces, rules.ExceptNamespaces = sets.New(f.namespaces...), sets.New(f.exceptNamespaces...)
	rules.Controllers = sets.New(f.controllers...)
	if f.belowPriority != math.MaxInt32 {
		rules.BelowPriority = &f.belowPriority
	}
	for _, s := range []struct {
		flag, text string
		to         *labels.Selector
	}{{"--selector", f.selector, &rules.Selector}, {"--node-selector", f.nodeSelector, &rules.Nodes}} {
		if strings.TrimSpace(s.text) == "" {
			continue
		}
		if *s.to, err = labels.Parse(s.text); err != nil {
			return rules, fmt.Errorf("%s: %q: %w", s.flag, s.text, err)
		}
	}
	return rules, nil
}
