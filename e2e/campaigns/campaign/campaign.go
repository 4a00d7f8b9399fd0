package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// way is how muster chooses nodes in a run.
type way string

const (
	// nominating is nodeSelection: Nominate.
	nominating way = "nominating"
	// without is nodeSelection: Extender, which differs in nothing but nomination.
	without way = "without"
	// eager nominates whenever a pod waits, which is more than is good for it.
	eager way = "eager"
)

func (w way) apply(o *muster.Options) {
	switch w {
	case nominating:
		o.Selection = muster.Nominate
	case eager:
		o.Selection, o.MinBacklog = muster.Nominate, 1
	case without:
		o.Selection = muster.Extender
	}
}

// runsOfARound are such that a machine that slows down is fair.
var runsOfARound = []way{nominating, without, without, nominating, eager}

// Run runs a campaign and tells on out how it goes and what came of it. The error says
// what was violated, and where logs are then, or why there is no telling.
func Run(ctx context.Context, o Options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "muster-campaign-")
	if err != nil {
		return fmt.Errorf("make a directory for the control plane: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nlogs: %s", err, dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: dir, Controllers: controlplane.PodCreation(), Progress: out})
	if err != nil {
		return err
	}
	defer cp.Stop()
	l, err := equip(ctx, cp, o.Muster, out)
	if err != nil {
		return err
	}
	c, err := l.campaign(ctx, o, runsOfARound, out)
	if err != nil {
		return err
	}
	c.print(out)
	return errors.Join(c.violation(), c.complaint(), c.slower(), c.idle(false))
}

// campaign runs all rounds.
func (l laboratory) campaign(ctx context.Context, o Options, ways []way, out io.Writer) (c campaign, err error) {
	for i := range o.Rounds {
		seed := o.Seed + uint64(i)
		round := round{script: write(seed, o.Nodes, o.Length)}
		for n, way := range ways {
			outcome, err := l.perform(ctx, round.script, way)
			if err != nil {
				return nil, fmt.Errorf("seed %d, run %d (%s): %w", seed, n+1, way, err)
			}
			round.outcomes = append(round.outcomes, outcome)
			fmt.Fprintf(out, "seed %d  run %d/%d  %s\n", seed, n+1, len(ways), outcome)
		}
		c = append(c, round)
	}
	return c, nil
}

// equip prepares a control plane for runs.
func equip(ctx context.Context, cp *controlplane.ControlPlane, binary string, progress io.Writer) (l laboratory, err error) {
	l = laboratory{controlPlane: cp, binary: binary}
	if l.binary == "" {
		if l.binary, err = binaries.BuildMuster(ctx, cp.Dir(), progress); err != nil {
			return l, err
		}
	}
	if l.client, err = kubernetes.NewForConfig(cp.RESTConfig()); err != nil {
		return l, fmt.Errorf("connect to the control plane: %w", err)
	}
	for _, class := range priorityClasses() {
		if _, err := l.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return l, fmt.Errorf("create priority class %s: %w", class.Name, err)
		}
	}
	return l, nil
}
