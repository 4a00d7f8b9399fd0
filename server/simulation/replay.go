package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation/trace"
)

// Input says which jobs are replayed, and where. Replays read it only.
type Input struct {
	Trace *trace.Trace
	Nodes *trace.Nodes
	// For is how long is simulated, 0 for as long as jobs come or wait for others to end.
	For time.Duration
}

// Progress tells how far a replay is, and ends it. It is safe for concurrent use, by goroutines of real time too.
type Progress struct {
	simulated, started atomic.Int64
	stop               atomic.Bool
}

// Stop ends the replay soon.
func (p *Progress) Stop() { p.stop.Store(true) }

// Now returns how long has been simulated, and how many jobs have started.
func (p *Progress) Now() (simulated time.Duration, started int) {
	return time.Duration(p.simulated.Load()), int(p.started.Load())
}

// ErrStopped says that a replay was ended before it was over.
var ErrStopped = fmt.Errorf("the simulation was ended: %w", context.Canceled)

// Record tells the fates of jobs.
type Record struct {
	Jobs []Fate        // by the numbers of the jobs
	End  time.Duration // when the replay ended, since the start
	// Idle is for how long room for pods stood empty as it was booked, over all such pods, and Booked for how long any room was booked.
	Idle, Booked time.Duration
	// Forecasts is how many gangs have started that had a booking, and Kept how many of them by the time that was forecast of nine in ten.
	Forecasts, Kept int
}

// Fate tells when a job started, and where its pods are.
type Fate struct {
	Started bool
	At      time.Duration // when its last pod was bound
	Pods    []Bound       // in the order in which they were bound
	Why     string        // it has not started
}

// Bound is a pod that was bound.
type Bound struct {
	Node string
	At   time.Duration
}

// Replay has jobs come to nodes, by a valid configuration. The same input has the same record.
func Replay(in Input, cfg *config.Configuration, progress *Progress) (record *Record, err error) {
	if err := in.check(cfg); err != nil {
		return nil, err
	}
	err = InVirtualTime(func() error {
		world, err := New(Options{Config: cfg, Learns: true})
		if err != nil {
			return err
		}
		defer world.Close()
		r := &replay{
			World: world, in: in, profile: cfg.Profiles[0].SchedulerName, began: time.Now(), coming: in.Trace.Jobs, of: map[types.UID]*trace.Job{},
			record: &Record{Jobs: make([]Fate, len(in.Trace.Jobs))}, progress: progress,
		}
		world.Started, world.Left = r.started, func(p *corev1.Pod) { delete(r.of, p.UID) }
		world.Stopped = progress.stop.Load
		if err := r.run(); err != nil {
			return err
		}
		record = r.record
		return nil
	})
	return record, err
}

// check says what keeps jobs from being replayed.
func (in *Input) check(cfg *config.Configuration) error {
	if len(in.Nodes.Nodes) == 0 {
		return errors.New("there are no nodes")
	}
	for _, j := range in.Trace.Jobs {
		known := func(p config.Profile) bool { return p.SchedulerName == j.Scheduler }
		if j.Scheduler != "" && !slices.ContainsFunc(cfg.Profiles, known) {
			return fmt.Errorf("%s: the configuration has no profile of its schedulerName %q", j.Name, j.Scheduler)
		}
	}
	return nil
}

// replay is one under way.
type replay struct {
	*World
	in       Input
	profile  string // of pods that name none
	began    time.Time
	coming   []*trace.Job
	of       map[types.UID]*trace.Job // of pods that have not ended
	busy     time.Time                // until when muster may be about to start something
	seen     int                      // how many pods had ended when others came last
	changed  time.Time                // when a job came, started or ended last
	record   *Record
	progress *Progress
}

const (
	// longestStep is how long no pod is tried though somebody else may have changed something.
	longestStep = 10 * time.Second
	// aboutTo is how long muster may take to start something after anything has happened.
	aboutTo = 5 * time.Second
	// hopeless is after what time without any event jobs are given up that wait on a cluster where nothing runs.
	hopeless = 5 * time.Minute
)

func (r *replay) now() time.Duration { return time.Since(r.began) }

func (r *replay) run() error {
	for _, node := range r.in.Nodes.Nodes {
		r.Set(node.DeepCopy())
	}
	for _, pod := range r.in.Nodes.Stay {
		r.Set(pod.DeepCopy())
	}
	r.changed = time.Now()
	for !r.isOver() {
		if r.progress.stop.Load() {
			return ErrStopped
		}
		long, booked := r.step(), r.Booker.Booked() != (backfill.Booked{})
		r.Step(long, r.come, func(p *corev1.Pod) time.Duration { return r.of[p.UID].Runs(trace.Ender{}) })
		if err := r.Err(); err != nil {
			return err
		}
		if booked {
			r.record.Booked += long
		}
		r.progress.simulated.Store(int64(r.now()))
	}
	r.record.End, r.record.Idle = r.now(), r.Idle()
	r.record.Forecasts, r.record.Kept = r.Forecasts()
	r.sayWhy()
	return r.Err()
}

// isOver reports whether nothing more happens, or the time is up.
func (r *replay) isOver() bool {
	if r.in.For > 0 && r.now() >= r.in.For {
		return true
	}
	if len(r.coming) > 0 {
		return false
	}
	_, runs := r.NextEnd()
	return !r.waits() || !runs && time.Since(r.changed) > hopeless
}

// step returns the time to the next moment when anything happens: a second while something has just happened.
func (r *replay) step() time.Duration {
	now := time.Now()
	next := trace.LongestSpan
	if r.waits() {
		next = longestStep
	}
	if now.Before(r.busy) {
		next = time.Second
	} else if at, found := r.event(); found {
		next = min(next, at.Sub(now))
	}
	if r.in.For > 0 {
		next = min(next, r.began.Add(r.in.For).Sub(now))
	}
	return max(next, time.Millisecond)
}

// event returns when the next pod ends or the next job comes.
func (r *replay) event() (at time.Time, found bool) {
	at, found = r.NextEnd()
	if len(r.coming) > 0 {
		if next := r.began.Add(r.coming[0].At); !found || next.Before(at) {
			at, found = next, true
		}
	}
	return at, found
}

// come has the jobs come whose time is there.
func (r *replay) come() {
	now, ended := time.Now(), r.Ended
	if r.seen != ended {
		r.seen, r.changed = ended, now
		r.busy = now.Add(aboutTo)
	}
	for len(r.coming) > 0 && !r.began.Add(r.coming[0].At).After(now) && !r.Stopped() {
		j := r.coming[0]
		r.coming = r.coming[1:]
		r.changed, r.busy = now, now.Add(aboutTo)
		pods := r.podsOf(j)
		for _, pod := range pods {
			r.of[pod.UID] = j
		}
		r.Queue(pods...)
	}
}

// gangOf is the group of the pods of a job.
func gangOf(j *trace.Job) string { return fmt.Sprint("job-", j.Number) }

// podsOf makes the pods of a job, as the controller of a Job does.
func (r *replay) podsOf(j *trace.Job) (pods []*corev1.Pod) {
	owner := metav1.OwnerReference{
		APIVersion: "batch/v1", Kind: "Job", Name: gangOf(j), UID: types.UID(gangOf(j)), Controller: new(true),
	}
	for i := range j.Pods {
		p := Pod(j.PodName(i), j.Says, func(p *corev1.Pod) {
			if j.Template != nil {
				p.Spec.NodeSelector, p.Spec.Affinity, p.Spec.Tolerations = j.Template.NodeSelector, j.Template.Affinity, j.Template.Tolerations
			}
			p.Namespace, p.OwnerReferences = j.Namespace, []metav1.OwnerReference{owner}
			p.Spec.SchedulerName, p.Spec.Priority = cmp.Or(j.Scheduler, r.profile), new(j.Priority)
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: j.Asks, Limits: j.Asks}
		})
		if j.Gang {
			InGang(gangOf(j), j.Pods)(p)
		}
		pods = append(pods, p.DeepCopy())
	}
	return pods
}

// started is told of each pod that is bound.
func (r *replay) started(p *corev1.Pod) {
	j := r.of[p.UID]
	fate := &r.record.Jobs[j.Number]
	fate.Pods = append(fate.Pods, Bound{p.Spec.NodeName, r.now()})
	r.changed = time.Now()
	if len(fate.Pods) == j.Pods {
		fate.Started, fate.At = true, r.now()
		r.progress.started.Add(1)
	}
}

// sayWhy says of the jobs that wait why they do.
func (r *replay) sayWhy() {
	for _, j := range r.in.Trace.Jobs {
		fate := &r.record.Jobs[j.Number]
		switch {
		case fate.Started:
		case j.At >= r.record.End:
			fate.Why = "it has not come"
		case j.Gang:
			for _, about := range r.gangs.Observer.About(types.NamespacedName{Namespace: j.Namespace, Name: gangOf(j)}) {
				fate.Why = cmp.Or(about.Wrong, about.Why)
			}
		case len(fate.Pods) > 0:
			fate.Why = fmt.Sprintf("%d of %d pods have a node", len(fate.Pods), j.Pods)
		default:
			fate.Why = "no node has room"
		}
	}
}
