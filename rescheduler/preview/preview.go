// Package preview plans for a cluster as it is at one moment, live or from a dump, and
// prints the plan. It changes nothing.
package preview

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/once"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// Options say what to plan, about which cluster, and how to print it.
type Options struct {
	// Config is required. Only the profiles and the arguments of policies are read of it.
	Config *config.Configuration
	// RESTConfig is the way to the API server, when there are no Files.
	RESTConfig *rest.Config
	// Files are dumps of a cluster; - is Stdin.
	Files []string
	Stdin io.Reader

	Policy  v1alpha1.Policy // one of policy.Names
	Rules   planner.Rules
	Budgets planner.Budgets
	Limits  planner.Limits
	Seed    uint64
	// ExplainExcluded has the printout tell of all pods that no plan moves.
	ExplainExcluded bool

	Format Format
	Out    io.Writer
	Logger *slog.Logger // required
	Clock  clock.PassiveClock
}

// Outcome is the outcome of a plan.
type Outcome int

// Outcomes.
const (
	// Nothing is to be done: no pod has to move.
	Nothing Outcome = iota
	// Found says that there are steps.
	Found
	// NoPlan says that pods wait and moves would not help, that pods should leave their
	// nodes and there is no other place for them, that nodes stay hot, or that no domain can be freed.
	NoPlan
)

// survey is a cluster, and what of it policies go by.
type survey struct {
	config    *config.Configuration
	situation policy.Situation
	measured  policy.Measured
}

// look looks at a cluster once.
func (o *Options) look(ctx context.Context) (*survey, error) {
	registry := prometheus.NewRegistry()
	owners := kinds.Set(o.Config.Gangs.Kinds)
	c := cluster.New(cluster.Options{Logger: o.Logger, Registerer: registry, AssumeTTL: time.Hour, Affiliator: owners})
	load := loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(registry)}
	source := once.Source{Logger: o.Logger, Registerer: registry, RESTConfig: o.RESTConfig, Files: o.Files, Stdin: o.Stdin}
	if err := source.Fill(ctx, o.Config, c, owners); err != nil {
		return nil, err
	}
	problem := planner.Problem{
		Gangs: membership.BoundsOf(&o.Config.Gangs), Rules: o.Rules, Budgets: o.Budgets, Limits: o.Limits, Seed: o.Seed, Clock: o.Clock,
	}
	for i := range o.Config.Profiles {
		cfg := o.Config.Profiles[i].WithSchedulerScores()
		var plugins []predicates.Plugin
		if loadaware.Runs(cfg) {
			plugins = append(plugins, loadaware.New(cfg, load).Plugin())
		}
		profile, err := predicates.NewProfile(cfg, plugins...)
		if err != nil {
			return nil, fmt.Errorf("profiles[%d]: %w", i, err)
		}
		problem.Profiles = append(problem.Profiles, profile)
	}
	meter := policy.NewMeter(o.Config, load)
	s := &survey{config: o.Config, situation: policy.Of(c, problem), measured: policy.Measured{
		Hot: policy.NewHot(&o.Config.Rescheduler.Relieve, meter, 1), Uneven: policy.NewUneven(&o.Config.Rescheduler.Balance, meter, 1),
	}}
	s.measured.Observe(s.situation.Problem.Snapshot, func(string) time.Time { return time.Time{} })
	return s, nil
}

// plan returns the plan that a policy would make.
func (s *survey) plan(name v1alpha1.Policy) (*printout, error) {
	chosen, err := policy.Named(&s.config.Rescheduler, s.measured, name)
	if err != nil {
		return nil, err
	}
	plan, why := chosen.Plan(s.situation)
	return newPrintout(name, s.situation, cmp.Or(plan, &planner.Plan{}), why), nil
}

// Run plans and prints.
func Run(ctx context.Context, o Options) (Outcome, error) {
	s, err := o.look(ctx)
	if err != nil {
		return Nothing, err
	}
	d, err := s.plan(o.Policy)
	if err != nil {
		return Nothing, err
	}
	if o.ExplainExcluded {
		d.exclude(s.situation.Problem.Exclusions())
	}
	if err := d.print(o.Out, o.Format); err != nil {
		return Nothing, fmt.Errorf("print the plan: %w", err)
	}
	switch {
	case len(d.Steps) > 0:
		return Found, nil
	case len(d.Unplaced)+len(d.Unmoved) > 0,
		slices.Contains([]v1alpha1.Policy{v1alpha1.Relieve, v1alpha1.Balance, v1alpha1.FreeDomains}, o.Policy) && len(d.Kept) > 0:
		return NoPlan, nil
	default:
		return Nothing, nil
	}
}
