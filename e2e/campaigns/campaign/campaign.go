// Package campaign looks for what nomination breaks. On a real control plane, with one
// kube-scheduler of two profiles, it lets pods come and go, nodes be lost and return,
// muster be killed and started again, and the cluster be too small for a while, and
// judges the whole history:
//
//   - No node is ever overcommitted. Every binding is held against what the API server
//     says was on the node at that very resource version.
//   - No nomination of muster's is left for longer than 30 s on a pod that muster has
//     no plan for, counted from when muster answers.
//   - kube-scheduler takes no answer of muster's for an error, unless it is about a victim
//     that had finished or gone: it tries again then.
//   - No process ends by itself or panics.
//
// What happens is a function of a seed. It has three seasons. In the calm one at most half
// of the cluster is asked for. In the crowded one more is asked for than there is, so that
// pods are preempted and others stay pending. In the outage muster is killed. By turns of
// seeds muster nominates as by default, whenever a pod waits, which is more than is good
// for it and finds more, and not at all.
package campaign

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// way is how muster chooses nodes in a run.
type way string

const (
	// nominating nominates while that saves kube-scheduler time.
	nominating way = "nominating"
	// without nominates nobody.
	without way = "without nomination"
	// eager nominates every pod.
	eager way = "eager"
)

// wayOf returns how muster chooses nodes for a seed.
func wayOf(seed uint64) way { return []way{eager, nominating, eager, without}[seed%4] }

func (w way) apply(o *muster.Options) {
	o.Selection = muster.Muster
	switch w {
	case eager:
		o.MinSaving = "0s"
	case without:
		o.MinSaving = "1h"
	}
}

// Figures of a campaign.
const (
	bindingsFigure      = "bindings"
	writtenFigure       = "nominations_written" // that the API server showed
	preemptedFigure     = "preempted"
	unschedulableFigure = "unschedulable"
	restartsFigure      = "restarts"
	strandedFigure      = "stranded" // pods that have room at the end and are not bound
)

// outcomeFigure is how many nominations ended so.
func outcomeFigure(outcome string) string { return "nominations_" + outcome }

// outcomes are how nominations end that tell whether much was tried.
func outcomes() []string {
	return []string{"confirmed", "elsewhere", "rejected", "superseded", "expired", "gone"}
}

// scale is how much happens in a run.
type scale struct {
	nodes  int
	length time.Duration // of the script
}

// Less than that proves nothing.
const (
	shortest = 10 * time.Second
	fewest   = 10
)

// Environment variables that shape the campaign, beside the variables of all campaigns.
const (
	lengthEnv = "CAMPAIGN_LENGTH"
	nodesEnv  = "CAMPAIGN_NODES"
)

// scaleFromEnv reads CAMPAIGN_LENGTH and CAMPAIGN_NODES.
func scaleFromEnv(getenv func(string) string) (s scale, err error) {
	s = scale{nodes: 120, length: 90 * time.Second}
	if text := getenv(lengthEnv); text != "" {
		if s.length, err = time.ParseDuration(text); err != nil || s.length < shortest {
			return s, fmt.Errorf("%s=%s: want a duration such as 2m, %s at least", lengthEnv, text, shortest)
		}
	}
	if text := getenv(nodesEnv); text != "" {
		if s.nodes, err = strconv.Atoi(text); err != nil || s.nodes < fewest {
			return s, fmt.Errorf("%s=%s: want a number from %d on", nodesEnv, text, fewest)
		}
	}
	return s, nil
}

// Campaign is the one for nomination, of the length and size that the environment says.
func Campaign() faultcampaign.Campaign {
	size, err := scaleFromEnv(os.Getenv)
	return ofScale(size, err)
}

// ofScale is a campaign of a size, if there is one.
func ofScale(size scale, wrong error) faultcampaign.Campaign {
	counts := []string{bindingsFigure, writtenFigure, preemptedFigure, unschedulableFigure, restartsFigure, strandedFigure}
	for _, outcome := range outcomes() {
		counts = append(counts, outcomeFigure(outcome))
	}
	return faultcampaign.Campaign{
		Name: "campaign", Target: "campaign", Counts: counts, Seeds: 8, Lanes: 1,
		Open: func(ctx context.Context, dir string, program faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			if wrong != nil {
				return nil, wrong
			}
			l := &lane{scale: size, program: program}
			var err error
			l.Lane, err = faultcampaign.OpenLane(ctx, controlplane.Options{
				Dir: dir, Progress: progress,
			}, map[string]int32{raised: 1000, urgent: 100_000})
			if err != nil {
				l.Close()
				return nil, err
			}
			return l, nil
		},
	}
}

// lane is where runs follow each other.
type lane struct {
	*faultcampaign.Lane
	scale

	program faultcampaign.Program
}

// Close ends everything.
func (l *lane) Close() {
	l.stop()
	l.Lane.Close()
}

// stop ends muster and the scheduler.
func (l *lane) stop() {
	if l.ControlPlane != nil {
		l.ControlPlane.StopScheduler()
	}
	if l.Muster != nil {
		l.Muster.Stop()
		l.Muster = nil
	}
}
