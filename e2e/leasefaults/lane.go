package leasefaults

import (
	"context"
	"fmt"
	"io"
	"time"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/muster"
)

const (
	// The election, quicker than by default, so that runs are short.
	leaseDuration = 3 * time.Second
	renewDeadline = 2 * time.Second
	retryPeriod   = 400 * time.Millisecond
	// most is how many replicas there may be.
	most = 3
)

// lane is a control plane with replicas, which stay from run to run.
type lane struct {
	*faultcampaign.Lane

	replicas []*replica
	tally    *tally
	read     map[string]int64 // how far logs have been read
}

// wrong is by how much the clocks of replicas are ahead, if they may be wrong.
var wrong = []time.Duration{0, 30 * time.Second, -30 * time.Second}

// open starts everything that stays.
func open(
	ctx context.Context, dir string, program faultcampaign.Program, progress io.Writer, t *tally,
) (_ faultcampaign.Performer, err error) {
	l := &lane{tally: t, read: map[string]int64{}}
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
			ControlPlane: l.ControlPlane, Name: r.name, Binary: program.Path, Kubeconfig: kubeconfig, Selection: muster.Extender,
			ClockSkew: program.Skew(wrong[i%len(wrong)]),
			Config: map[string]any{
				"leaderElection": map[string]any{
					"leaderElect":   true,
					"leaseDuration": leaseDuration.String(),
					"renewDeadline": renewDeadline.String(),
					"retryPeriod":   retryPeriod.String(),
				},
				"timeouts": map[string]any{"filter": "5s", "bind": "10s", "shutdown": "3s"},
			},
		}
		l.replicas = append(l.replicas, r)
	}
	return l, nil
}

// run has so many replicas run, and no more.
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

// panics are what replicas have logged of panics since this was last asked.
func (l *lane) panics() (found []string, err error) {
	for _, r := range l.replicas {
		now := r.now.Load()
		if now == nil {
			continue
		}
		log := now.server.Log()
		size := muster.LogSize(log)
		lines, err := muster.Panics(log, l.read[log])
		if err != nil {
			return nil, err
		}
		l.read[log] = size
		for _, line := range lines {
			found = append(found, now.name+" panics: "+line)
		}
	}
	return found, nil
}

// Close ends everything.
func (l *lane) Close() {
	for _, r := range l.replicas {
		r.close()
	}
	l.Lane.Close()
}
