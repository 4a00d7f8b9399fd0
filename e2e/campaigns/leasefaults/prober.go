package leasefaults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// The verbs that are called.
const filter, bind = "filter", "bind"

const (
	// callTimeout is how long an answer is waited for: longer than anybody is frozen.
	callTimeout = 15 * time.Second
	// pulseEvery is the time between two calls of one who only looks whether there is an answer.
	pulseEvery = 10 * time.Millisecond
	// longestBody is how long a body may be on its way, less than muster waits for it.
	longestBody = 3 * time.Second
	// A scheduler asks about a few nodes, so that two that lead give the same one, and besides about the last
	// ones that are taken.
	offered, offeredTaken = 3, 4
)

// prober asks all replicas all the time, as schedulers would. Several pods wait for nodes with room for
// one each, and each scheduler has one replica that it asks, and binds with.
type prober struct {
	lane     *lane
	replicas []*replica
	answers  *answers

	hopeless *corev1.Pod // fits nowhere
	waiting  chan *corev1.Pod

	mu    sync.Mutex
	free  []string // nodes to which no pod is known to be bound, in the order in which they are offered
	taken []string // the others, the last one last
}

// run asks until the context ends.
func (p *prober) run(ctx context.Context, seed uint64) error {
	all, ctx := errgroup.WithContext(ctx)
	for i, r := range p.replicas {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for range 3 {
			all.Go(func() error { return p.pulse(ctx, r, func() time.Duration { return 0 }) })
		}
		all.Go(func() error {
			return p.pulse(ctx, r, func() time.Duration { return time.Duration(random.Int64N(int64(longestBody))) })
		})
		for range 2 {
			all.Go(func() error { return p.schedule(ctx, r) })
		}
	}
	return all.Wait()
}

// pulse asks a replica again and again about a pod that fits nowhere. The body takes its time.
func (p *prober) pulse(ctx context.Context, r *replica, body func() time.Duration) error {
	for ctx.Err() == nil {
		by := r.now.Load()
		given := answer{by: by, verb: filter}
		var result extenderv1.ExtenderFilterResult
		var err error
		given.from, given.to, err = call(ctx, by, filter, p.asks(p.hopeless, p.offer()), &result, body())
		if err == nil {
			p.answers.add(given)
		}
		faultcampaign.Pause(ctx, pulseEvery)
	}
	return nil
}

// schedule takes one pod after the other, and has a replica choose a node for it and bind it.
func (p *prober) schedule(ctx context.Context, r *replica) error {
	for {
		faultcampaign.Pause(ctx, 5*pulseEvery)
		var pod *corev1.Pod
		select {
		case <-ctx.Done():
			return nil
		case pod = <-p.waiting:
		}
		done, err := p.attempt(ctx, r.now.Load(), pod)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if !done {
			p.waiting <- pod // there is room for all
		}
	}
}

// attempt tries to schedule a pod, and says whether it is bound.
func (p *prober) attempt(ctx context.Context, by *incarnation, pod *corev1.Pod) (done bool, err error) {
	given := answer{by: by, verb: filter, pod: pod.UID}
	var result extenderv1.ExtenderFilterResult
	p.answers.release(pod.UID, time.Now())
	if given.from, given.to, err = call(ctx, by, filter, p.asks(pod, p.offer()), &result, 0); err != nil {
		return p.isBound(ctx, pod)
	}
	if result.NodeNames != nil && len(*result.NodeNames) == 1 {
		given.node = (*result.NodeNames)[0]
	}
	p.answers.add(given)
	if given.node == "" {
		return p.isBound(ctx, pod)
	}
	return p.bind(ctx, by, pod, given.node)
}

// bind has a replica bind a pod.
func (p *prober) bind(ctx context.Context, by *incarnation, pod *corev1.Pod, node string) (done bool, err error) {
	given := answer{by: by, verb: bind, pod: pod.UID, node: node}
	var result extenderv1.ExtenderBindingResult
	asked := time.Now()
	args := extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}
	given.from, given.to, err = call(ctx, by, bind, args, &result, 0)
	if err == nil && result.Error == "" {
		// The answer came after that of the API server.
		if at := by.way.boundAt(pod.Name); at.After(given.from) {
			given.from = at
		}
		p.answers.add(given)
		p.take(node)
		return true, nil
	}
	p.answers.release(pod.UID, asked)
	return p.isBound(ctx, pod)
}

// isBound asks the API server.
func (p *prober) isBound(ctx context.Context, pod *corev1.Pod) (bool, error) {
	now, err := p.lane.Client.CoreV1().Pods(workload.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("read pod %s: %w", pod.Name, err)
	}
	if now.Spec.NodeName != "" {
		p.take(now.Spec.NodeName)
	}
	return now.Spec.NodeName != "", nil
}

// offer are the nodes to ask about.
func (p *prober) offer() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.taken[max(0, len(p.taken)-offeredTaken):], p.free[:min(offered, len(p.free))])
}

// take has a node be known as taken.
func (p *prober) take(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.free, node); at >= 0 {
		p.free, p.taken = slices.Delete(p.free, at, at+1), append(p.taken, node)
	}
}

func (p *prober) asks(pod *corev1.Pod, nodes []string) extenderv1.ExtenderArgs {
	return extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes}
}

// errStatus says that a call was refused.
var errStatus = errors.New("another status than 200")

// call calls a verb, and says between which times the answer was given. The end of the body comes after a
// while.
func call(ctx context.Context, to *incarnation, verb string, args, result any, body time.Duration) (from, by time.Time, err error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return from, by, err
	}
	if body > 0 { // else nothing is sent before its end
		encoded = append(bytes.Repeat([]byte(" "), 16<<10), encoded...)
	}
	sent := &lateBody{rest: encoded, ctx: ctx, after: body, from: time.Now()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.server.URL()+"/"+verb, sent)
	if err != nil {
		return from, by, err
	}
	request.ContentLength = int64(len(encoded))
	request.Header.Set("Content-Type", "application/json")
	response, err := to.http.Do(request)
	if err != nil {
		return from, by, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	by = time.Now()
	switch {
	case err != nil:
		return from, by, err
	case response.StatusCode != http.StatusOK:
		return from, by, errStatus
	}
	sent.mu.Lock()
	defer sent.mu.Unlock()
	return sent.from, by, json.NewDecoder(bytes.NewReader(text)).Decode(result)
}

// lateBody is a body whose last byte comes after a while.
type lateBody struct {
	ctx   context.Context //nolint:containedctx // of the request that it is of
	after time.Duration

	mu   sync.Mutex
	rest []byte
	from time.Time // before which the body was not complete
}

// Read implements [io.Reader].
func (b *lateBody) Read(into []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch len(b.rest) {
	case 0:
		return 0, io.EOF
	case 1:
		if b.after > 0 {
			faultcampaign.Pause(b.ctx, b.after)
			b.from = time.Now()
		}
	}
	n := copy(into, b.rest[:max(1, len(b.rest)-1)])
	b.rest = b.rest[n:]
	return n, nil
}
