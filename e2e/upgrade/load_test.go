package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/workload"
)

const (
	// every is the time between two pods without a gang.
	every = 40 * time.Millisecond
	// gangEvery is after how many of them a gang comes.
	gangEvery = 12
	// ofGang is how many members a gang has.
	ofGang = 5
	// again is the time after which what could not be created is tried again.
	again = 100 * time.Millisecond
)

// load creates pods all the while, whatever becomes of the API server. Its methods may be called from any goroutine.
type load struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface

	mu      sync.Mutex
	created []string
	gangs   map[string]int // members of each
	failed  int            // calls
}

// run creates pods until ctx ends. It does not leave a gang incomplete.
func (l *load) run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		cpu := fmt.Sprintf("%dm", 100*(1+i%9))
		if err := l.createPod(context.WithoutCancel(ctx), newPod(fmt.Sprintf("pod-%05d", i), cpu)); err != nil {
			return err
		}
		if i%gangEvery != gangEvery-1 {
			continue
		}
		if err := l.createGang(context.WithoutCancel(ctx), fmt.Sprintf("gang-%03d", i/gangEvery), ofGang); err != nil {
			return err
		}
	}
}

// createGang creates a PodGroup and its pods, each changed a little.
func (l *load) createGang(ctx context.Context, gang string, members int, change ...func(*corev1.Pod)) error {
	l.mu.Lock()
	l.gangs[gang] = members
	l.mu.Unlock()
	err := l.persist(ctx, "PodGroup "+gang, func(ctx context.Context) error {
		_, err := l.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(workload.Namespace).
			Create(ctx, workload.NewPodGroup(gang, members), metav1.CreateOptions{})
		return err
	})
	for i := 0; i < members && err == nil; i++ {
		p := newMember(gang, i, "500m")
		for _, f := range change {
			f(p)
		}
		err = l.createPod(ctx, p)
	}
	return err
}

func (l *load) createPod(ctx context.Context, p *corev1.Pod) error {
	err := l.persist(ctx, "pod "+p.Name, func(ctx context.Context) error {
		_, err := l.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.created = append(l.created, p.Name)
	}
	return err
}

// persist tries to create something until it is there.
func (l *load) persist(ctx context.Context, what string, create func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, await.Patience, fmt.Errorf("gave up after %s", await.Patience))
	defer cancel()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		err := create(ctx)
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		l.mu.Lock()
		l.failed++
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("create %s: %w: %w", what, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// progress is how many pods were created, and how many calls failed.
func (l *load) progress() (created, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.created), l.failed
}

// done are the pods that were created, and how many members each gang has.
func (l *load) done() ([]string, map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.created), maps.Clone(l.gangs)
}
