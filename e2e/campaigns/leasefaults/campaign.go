// Package leasefaults looks for times at which two muster act as the leader. On real control planes it
// has two or three of them elect one by a Lease, each with a relay of its own to the API server, while
// relays and processes are in trouble: ways are cut, slow or lose answers, processes are frozen, killed
// or stopped in the middle of bindings. All the time it asks every replica, as schedulers would,
// about real pods for nodes that have room for one each. It judges what they answered:
//
//   - No replica answers a call with 200 while another one leads. A process leads for one time: from
//     before the end of its first answer until after its last one could be given first. Nothing here
//     takes the time at which an answer is read for the one at which it was given.
//   - No node is given twice: by two that lead at a time, by one to two pods while the first has its
//     place still, or by bindings that the API server tells of.
//   - When nothing goes wrong any more, somebody leads within a time.
//   - No process panics, or ends by itself for another reason than that it lost its lease.
//
// A run is the script of a seed, in a window of seconds. The command has the clocks of replicas differ by half a minute; the tests,
// which build nothing for that, leave them right.
package leasefaults

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// Campaign is the one for leadership.
func Campaign() faultcampaign.Campaign {
	t := &tally{}
	return faultcampaign.Campaign{
		Name: "lease", Counts: []string{answersFigure, bindingsFigure, leadersFigure}, Figures: t.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return open(ctx, dir, muster, progress, t)
		},
	}
}

// tally counts over all runs. Its methods are safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	worst   time.Duration // the time that two led
	doubles int           // nodes that were given twice
	gaps    []time.Duration
}

func (t *tally) add(worst time.Duration, doubles int, gaps []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worst, t.doubles, t.gaps = max(t.worst, worst), t.doubles+doubles, append(t.gaps, gaps...)
}

// figures prints the figures.
func (t *tally) figures(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(out, "figure two_leaders_ms_max=%d\n", t.worst.Milliseconds())
	fmt.Fprintf(out, "figure double_given_nodes=%d\n", t.doubles)
	if len(t.gaps) > 0 {
		slices.Sort(t.gaps)
		fmt.Fprintf(out, "figure nobody_leads_ms_median=%d\n", t.gaps[len(t.gaps)/2].Milliseconds())
		fmt.Fprintf(out, "figure nobody_leads_ms_max=%d\n", t.gaps[len(t.gaps)-1].Milliseconds())
	}
}

const (
	// The election, quicker than by default, so that runs are short.
	leaseDuration = 6 * time.Second
	renewDeadline = leaseDuration * 2 / 3
	// most is how many replicas there may be.
	most = 3
)

// lane is a control plane with replicas, which stay from run to run.
type lane struct {
	*faultcampaign.Lane

	replicas []*replica
	tally    *tally
}

// wrong is by how much the clocks of replicas are ahead, if they may be wrong.
var wrong = []time.Duration{0, 30 * time.Second, -30 * time.Second}

// open starts everything that stays.
func open(
	ctx context.Context, dir string, program faultcampaign.Program, progress io.Writer, t *tally,
) (_ faultcampaign.Performer, err error) {
	l := &lane{tally: t}
	l.Lane, err = faultcampaign.OpenLane(ctx, controlplane.Options{Dir: dir, Progress: progress}, nil)
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	for i := range most {
		r := &replica{name: fmt.Sprintf("muster-%d", i), way: newWay(), off: true}
		kubeconfig, err := l.RelayToAPI(r.name, r.way.decide)
		if err != nil {
			return nil, err
		}
		r.options = muster.Options{
			ControlPlane: l.ControlPlane, Name: r.name, Binary: program.Path, Kubeconfig: kubeconfig, Selection: muster.Muster,
			ClockSkew: program.Skew(wrong[i%len(wrong)]),
			Config: map[string]any{
				"leaderElection": map[string]any{
					"leaderElect":   true,
					"leaseDuration": leaseDuration.String(),
				},
				"timeouts": map[string]any{"filter": "5s", "bind": "10s"},
			},
		}
		l.replicas = append(l.replicas, r)
	}
	return l, nil
}

// run keeps a number of replicas running, and no more.
func (l *lane) run(ctx context.Context, count int) error {
	for i, r := range l.replicas {
		r.doing.Lock()
		var err error
		switch running := !r.off; {
		case i < count:
			err = r.start(ctx)
		case running:
			r.off = true
			stop(r.now.Load().server)
		}
		r.doing.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Close ends everything.
func (l *lane) Close() {
	for _, r := range l.replicas {
		r.close()
	}
	l.Lane.Close()
}
