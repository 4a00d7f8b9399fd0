package gangfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

// small says what small pods keep a cluster busy. Each runs for some seconds and ends.
type small struct {
	seed uint64
	load int64 // thousandths of a core that the ones that are there ask for together, 0 for none
	// liars says that some tell another time than they run for, and slow is how many come first that say truly that they run for long.
	liars bool
	slow  int
}

// The ways in which small pods say how long they run, which are in their names.
const (
	saysTruly                  = "true"
	hasDeadline                = "deadline"
	saysNothing                = "silent"
	asksForNoCPU               = "light"
	saysTooLittle, saysTooMuch = "hasty", "lazy"
	runsLong                   = "slow"
)

// wayOf draws how a pod says how long it runs.
func (s *small) wayOf(number int, r *rand.Rand) string {
	ways := []string{saysTruly, saysTruly, saysTruly, saysTruly, hasDeadline, hasDeadline, saysNothing, saysNothing, asksForNoCPU, saysTruly}
	if s.liars {
		ways = append(ways, saysTooLittle, saysTooMuch)
	}
	drawn := ways[r.IntN(len(ways))]
	if number < s.slow {
		return runsLong
	}
	return drawn
}

// pod makes the number-th small pod.
func (s *small) pod(number int) *corev1.Pod {
	r := rand.New(rand.NewPCG(s.seed, uint64(number)+1<<32))
	way, milliCPU := s.wayOf(number, r), []int64{500, 500, 1000}[r.IntN(3)]
	runs := time.Duration(1000+r.IntN(3000)) * time.Millisecond
	says := runs
	switch way {
	case runsLong:
		milliCPU, runs = 1000, 20*time.Second+3*runs
		says = runs
	case saysTooLittle:
		runs += 2 * time.Second
		says = runs / 4
	case saysTooMuch:
		says = time.Minute
	case asksForNoCPU:
		milliCPU, says = 0, 0
	case saysNothing, hasDeadline:
		says = 0
	}
	pod := workload.NewPod(fmt.Sprintf("s%d-%s-%d", s.seed, way, number), workload.Milli(milliCPU),
		workload.Annotated(controlplane.RunsForAnnotation, runs.String()))
	if says > 0 {
		workload.Annotated(v1alpha1.AnnotationExpectedRuntime, says.String())(pod)
	}
	if way == hasDeadline {
		pod.Spec.ActiveDeadlineSeconds = new(int64((runs + time.Second - 1) / time.Second))
	}
	if way == asksForNoCPU {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("64Mi")
	}
	return pod
}

// isWay reports whether a small pod says in a way how long it runs.
func isWay(pod *corev1.Pod, way string) bool { return strings.Contains(pod.Name, "-"+way+"-") }

// isSmall reports whether a pod is one that keeps the cluster busy.
func isSmall(pod *corev1.Pod) bool {
	return keyOf(pod).name == "" && pod.Annotations[controlplane.RunsForAnnotation] != ""
}

// runsFor is how long a pod runs.
func runsFor(pod *corev1.Pod) time.Duration {
	runs, err := time.ParseDuration(pod.Annotations[controlplane.RunsForAnnotation])
	if err != nil {
		return 0 // until it is deleted
	}
	return runs
}

// churn creates the next small pod when one ends. Its methods are safe for concurrent use.
type churn struct {
	small

	mu    sync.Mutex
	live  map[string]int64 // thousandths of a core, by the names of pods that have not ended
	count int              // of pods that were created
	ends  int
	binds int // of pods that ask for CPU
	bound map[string]bool
	over  bool
}

func newChurn(s small) *churn {
	return &churn{small: s, live: map[string]int64{}, bound: map[string]bool{}}
}

// observe takes in what became of a pod.
func (c *churn) observe(event watch.Event) {
	pod, is := event.Object.(*corev1.Pod)
	if !is || !isSmall(pod) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod.Spec.NodeName != "" && !c.bound[pod.Name] && !isWay(pod, asksForNoCPU) {
		c.bound[pod.Name] = true
		c.binds++
	}
	if _, lives := c.live[pod.Name]; lives && (event.Type == watch.Deleted || hasEnded(pod)) {
		delete(c.live, pod.Name)
		c.ends++
	}
}

// counts are how many pods have ended, and been bound that ask for CPU.
func (c *churn) counts() (ends, binds int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends, c.binds
}

// end has no more pods come.
func (c *churn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// next returns the next pod if it is time for one.
func (c *churn) next() (next *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	load := int64(0)
	for _, milliCPU := range c.live {
		load += milliCPU
	}
	if c.over || load >= c.load {
		return nil
	}
	next = c.pod(c.count)
	c.live[next.Name] = next.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	c.count++
	return next
}

// run creates pods until the context ends.
func (c *churn) run(ctx context.Context, create func(context.Context, *corev1.Pod) error) error {
	for ctx.Err() == nil {
		pod := c.next()
		if pod == nil {
			faultcampaign.Pause(ctx, faultcampaign.Look)
			continue
		}
		if err := create(ctx, pod); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
