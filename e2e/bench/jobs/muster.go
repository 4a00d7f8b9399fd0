package jobs

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/server/simulation"
)

// musterConfig has gangs go to the fullest nodes. By the other rules all go to the first ones, as single pods do here.
const musterConfig = `
apiVersion: ` + v1alpha2.APIVersion + `
kind: ` + v1alpha2.Kind + `
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        enabled: [{name: NodeResourcesFit}]
        disabled: [{name: "*"}]
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
`

// Forecasts counts the gangs that had a booking, by whether they started by the time that was forecast of nine in ten.
type Forecasts struct{ Kept, All int }

// Muster replays a workload with muster's own parts and room in time after a wait, 0 for never. Jobs of one pod are plain pods.
func Muster(t *testing.T, w *Workload, after time.Duration) (starts []Start, forecasts Forecasts) {
	t.Helper()
	cfg, err := v1alpha2.Decode([]byte(musterConfig))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Gangs.ReserveAfter.Duration = after
	inWorld(t, simulation.Options{Config: cfg, FirstFit: true, Learns: true}, func(world *simulation.World) {
		r := &replay{World: world, began: time.Now(), coming: w.Jobs, jobs: map[string]*waiting{}}
		world.Started = r.started
		world.Nodes(w.Nodes, int(w.Size/unit))
		for len(r.coming) > 0 || len(world.Waiting()) > 0 {
			world.Step(r.step(), r.come, func(p *corev1.Pod) time.Duration { return r.jobs[p.Name].Runs(Ender{}) })
		}
		starts = r.starts
		forecasts.All, forecasts.Kept = r.Forecasts()
	})
	return starts, forecasts
}

// inWorld does something in a world of muster's parts, in virtual time.
func inWorld(t *testing.T, o simulation.Options, do func(*simulation.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		world, err := simulation.New(o)
		if err != nil {
			t.Fatal(err)
		}
		do(world)
		world.Close()
		if err := world.Err(); err != nil {
			t.Fatal(err)
		}
	})
}

// replay is a replay with muster's parts.
type replay struct {
	*simulation.World
	began  time.Time
	coming []*Job
	jobs   map[string]*waiting // by the names of their pods
	busy   time.Time           // until when muster may be about to start something
	starts []Start
}

// waiting is a job, and how many of its pods are not bound.
type waiting struct {
	*Job
	left int
}

// longestStep is how long no pod is tried though somebody else may have changed something.
const longestStep = 10 * time.Second

// step returns the time to the next moment when anything happens: a second while something has just happened.
func (r *replay) step() time.Duration {
	now := time.Now()
	if now.Before(r.busy) {
		return time.Second
	}
	next := longestStep
	if end, runs := r.NextEnd(); runs {
		next = min(next, end.Sub(now))
	}
	if len(r.coming) > 0 {
		next = min(next, r.began.Add(r.coming[0].At).Sub(now))
	}
	return max(next, time.Millisecond)
}

// come has the jobs come whose time is there.
func (r *replay) come() {
	const about = 5 * time.Second
	now := time.Now()
	if r.step() < longestStep {
		r.busy = now.Add(about)
	}
	for len(r.coming) > 0 && !r.began.Add(r.coming[0].At).After(now) {
		j := r.coming[0]
		r.coming = r.coming[1:]
		of := &waiting{j, j.Pods}
		for i := range j.Pods {
			change := []func(*corev1.Pod){func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests["cpu"] = *resource.NewMilliQuantity(j.Size, resource.DecimalSI)
			}}
			if j.Pods > 1 {
				change = append(change, simulation.InGang(fmt.Sprint("job-", j.ID), j.Pods))
			}
			p := simulation.Pod(fmt.Sprintf("app%d-%d-%d", j.App, j.ID, i), j.Says, change...)
			r.jobs[p.Name] = of
			r.Queue(p)
		}
	}
}

// started is told of each pod that is bound.
func (r *replay) started(pod *corev1.Pod) {
	of := r.jobs[pod.Name]
	if of.left--; of.left == 0 {
		r.starts = append(r.starts, Start{of.Job, time.Since(r.began)})
	}
}
