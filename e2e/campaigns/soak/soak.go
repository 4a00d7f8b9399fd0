package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

const (
	// most is by how many bytes the heap may grow in an hour.
	most = 5e6
	// changes is more than muster's journal keeps of them (twice cluster.journalLength).
	changes = 140_000
	// pace is the time between two steps of the churn.
	pace = 100 * time.Millisecond
	// rest is how long the churn pauses before a reading, so that calls under way come to their end.
	rest = 3 * time.Second
)

// Options of a soak.
type Options struct {
	// Time is how long it lasts. The first third is the warm-up.
	Time time.Duration
	// Stir has the journal of changes filled before that, which takes some minutes. Until it is full it
	// grows.
	Stir bool
	// Every is the time between two readings, a sixtieth of Time and 10 s at least when 0.
	Every time.Duration
	// Profiles is a directory for the heap's profiles after the warm-up and at the end; none are written
	// when it is empty.
	Profiles string
	// Progress hears of each reading.
	Progress io.Writer
}

// Report tells of a soak.
type Report struct {
	Pods    int // that came and went
	warm    []reading
	warming int // readings that do not count
}

// Run soaks. It fails when something stands in the way of that, and not when muster grows: see
// [Report.Judge].
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{
		Progress: o.Progress, Controllers: []string{"namespace-controller"},
	})
	if err != nil {
		return nil, err
	}
	defer cp.Stop()
	c := churn{}
	if c.client, err = kubernetes.NewForConfig(cp.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(cp.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := muster.CreateCRDs(ctx, c.dynamic); err != nil {
		return nil, err
	}
	server, err := muster.Start(ctx, muster.Options{
		ControlPlane: cp, Selection: muster.Muster, Progress: o.Progress,
		Profile: map[string]any{"plugins": map[string]any{
			"filter": map[string]any{"enabled": []any{map[string]any{"name": "LoadAware"}}},
			"score":  map[string]any{"enabled": []any{map[string]any{"name": "LoadAware"}}},
		}},
	})
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	config, err := server.SchedulerConfig(ctx)
	if err != nil {
		return nil, err
	}
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config}); err != nil {
		return nil, err
	}
	c.stranger = newStranger(server.URL())
	report := &Report{}
	err = report.soak(ctx, &c, server, o)
	return report, errors.Join(err, server.Err())
}

// soak churns and reads until the time is over.
func (r *Report) soak(ctx context.Context, c *churn, server *muster.Server, o Options) error {
	if o.Every == 0 {
		o.Every = max(o.Time/60, 10*time.Second)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	if o.Stir {
		fmt.Fprintf(o.Progress, "filling the journal with %d changes of nodes\n", changes)
		if err := c.stir(ctx, changes); err != nil {
			return err
		}
	}
	began := time.Now()
	for due := o.Every; time.Since(began) < o.Time || len(r.warm) < 2; {
		if err := c.next(ctx); err != nil {
			return err
		}
		faultcampaign.Pause(ctx, pace)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(began) < due {
			continue
		}
		faultcampaign.Pause(ctx, rest)
		if err := r.read(ctx, c, server, time.Since(began), o); err != nil {
			return err
		}
		due = time.Since(began) + o.Every
	}
	return profile(ctx, server, o, "last")
}

// read takes a reading, and says so. Where the scheduler places nobody there is nothing to learn.
func (r *Report) read(ctx context.Context, c *churn, server *muster.Server, at time.Duration, o Options) error {
	now, err := read(ctx, server)
	if err != nil {
		return err
	}
	bound, err := c.bound(ctx)
	if err != nil {
		return err
	}
	if bound == 0 && at >= o.Time/3 {
		return errors.New("no pod is bound after the warm-up")
	}
	now.at, r.Pods = at, c.pods
	note := ""
	if at < o.Time/3 {
		r.warming++
		note = "  (warm-up)"
	} else {
		if len(r.warm) == 0 {
			if err := profile(ctx, server, o, "first"); err != nil {
				return err
			}
		}
		r.warm = append(r.warm, now)
	}
	_, err = fmt.Fprintf(o.Progress, "%8s  heap %6.2f MB  %3d goroutines  %6d pods have come, %d are bound%s\n",
		at.Round(time.Second), float64(now.heap)/1e6, now.goroutines, c.pods, bound, note)
	return err
}

// profile writes what is in the heap to a file, if anybody asked for that.
func profile(ctx context.Context, server *muster.Server, o Options, name string) error {
	if o.Profiles == "" {
		return nil
	}
	text, err := server.Page(ctx, "/debug/pprof/heap?gc=1")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Profiles, 0o755); err != nil {
		return fmt.Errorf("make a directory for profiles: %w", err)
	}
	return os.WriteFile(filepath.Join(o.Profiles, name+".pb.gz"), []byte(text), 0o644)
}

// Print prints the figures.
func (r *Report) Print(out io.Writer) {
	heap := make([]float64, len(r.warm))
	for i, reading := range r.warm {
		heap[i] = float64(reading.heap) / 1e6
	}
	fmt.Fprintf(out, "figure soak_pods=%d\n", r.Pods)
	fmt.Fprintf(out, "figure soak_readings=%d\n", len(r.warm))
	fmt.Fprintf(out, "figure soak_heap_mb=%.2f\n", median(slices.Clone(heap)))
	fmt.Fprintf(out, "figure soak_heap_slope_mb_per_h=%.2f\n", r.heapSlope()/1e6)
	fmt.Fprintf(out, "figure soak_goroutine_slope=%.2f\n", r.goroutineSlope())
}

// Judge says what grows that must not.
func (r *Report) Judge() error {
	var grows []error
	if slope := r.heapSlope(); slope > most {
		grows = append(grows, fmt.Errorf("the heap grows by %.2f MB an hour, by more than %.0f", slope/1e6, most/1e6))
	}
	if slope := r.goroutineSlope(); slope > 0 {
		grows = append(grows, fmt.Errorf("goroutines grow by %.2f an hour", slope))
	}
	return errors.Join(grows...)
}

func (r *Report) heapSlope() float64 {
	return slope(r.warm, func(r reading) int64 { return r.heap })
}

func (r *Report) goroutineSlope() float64 {
	return slope(r.warm, func(r reading) int64 { return r.goroutines })
}
