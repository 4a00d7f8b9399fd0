package watch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// behind is a watcher that the test has see pods.
type behind struct {
	*Watcher
	pods *reached

	mu      sync.Mutex
	listed  []string // versions of the pods that there are
	refuses bool     // lists fail
}

// set changes what a list shows.
func (b *behind) set(refuses bool, listed ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses, b.listed = refuses, listed
}

func newBehind() *behind {
	client := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	pods := &feed{resource: "pods"}
	b := &behind{Watcher: &Watcher{metadata: client, feeds: []*feed{{resource: "nodes"}, pods}}, pods: &pods.reached}
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.refuses {
			return true, nil, errors.New("away")
		}
		list := &metav1.List{}
		for _, version := range b.listed {
			list.Items = append(
				list.Items,
				runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}}},
			)
		}
		return true, list, nil
	})
	return b
}

// catches runs CatchUp until the test ends.
func (b *behind) catches(t *testing.T) (done *atomic.Bool, stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done, ended := new(atomic.Bool), make(chan error, 1)
	go func() {
		err := b.CatchUp(ctx)
		done.Store(true)
		ended <- err
	}()
	return done, func() error {
		cancel()
		return <-ended
	}
}

func TestTheViewCatchesUpWithThePodsThatThereAre(t *testing.T) {
	for name, test := range map[string]struct {
		seen, listed []string
		then         func(*behind) // after which it has caught up
	}{
		"there are none":              {},
		"all were seen":               {seen: []string{"9", "10"}, listed: []string{"10", "9"}},
		"later ones were seen":        {seen: []string{"9", "11"}, listed: []string{"9", "10"}},
		"the last one is seen":        {seen: []string{"9"}, listed: []string{"9", "10"}, then: func(b *behind) { b.pods.note("10") }},
		"one that came later is seen": {listed: []string{"9"}, then: func(b *behind) { b.pods.note("12") }},
		"the last one goes":           {seen: []string{"9"}, listed: []string{"9", "10"}, then: func(b *behind) { b.set(false, "9") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBehind()
				for _, version := range test.seen {
					b.pods.note(version)
				}
				b.set(false, test.listed...)
				done, stop := b.catches(t)
				synctest.Wait()
				if done.Load() != (test.then == nil) {
					t.Errorf("it has caught up at once: %t", done.Load())
				}
				<-time.After(10 * time.Second)
				if test.then != nil {
					if done.Load() {
						t.Error("it has caught up before")
					}
					test.then(b)
					<-time.After(2 * catchUpRelist)
				}
				if !done.Load() {
					t.Error("it has not caught up")
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestCatchingUpSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind()
		b.set(true)
		_, stop := b.catches(t)
		<-time.After(10 * time.Second)
		b.set(false, "10")
		<-time.After(10 * time.Second)
		if err := stop(); err == nil ||
			err.Error() != "catch up with the API server: the watch has not shown the pod of resource version 10 yet" {
			t.Errorf("error %v", err)
		}
		b.set(true)
		_, stop = b.catches(t)
		<-time.After(10 * time.Second)
		if err := stop(); err == nil || !strings.Contains(err.Error(), "list pods: away") {
			t.Errorf("error %v", err)
		}
	})
}

func TestVersionsAreNotedOnceObjectsAreInTheView(t *testing.T) {
	var r reached
	before := func(version string) {
		if !r.has(version) {
			return
		}
		t.Errorf("version %s is noted before its object is taken in", version)
	}
	h := r.after(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { before(object.(*corev1.Pod).ResourceVersion) },
		UpdateFunc: func(_, object any) { before(object.(*corev1.Pod).ResourceVersion) },
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				before(pod.ResourceVersion)
			}
		},
	})
	pod := func(version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	h.OnAdd(pod("9"), true)
	h.OnUpdate(pod("9"), pod("10"))
	h.OnDelete(pod("11"))
	h.OnDelete(cache.DeletedFinalStateUnknown{Obj: pod("12")})
	if !r.has("11") || r.has("12") {
		t.Errorf("version 11 is noted: %t; that of one that went unseen: %t", r.has("11"), r.has("12"))
	}
}

func TestAWatcherNotesTheVersionsOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		b := newBehind()
		w := follow(t, Options{Client: client, Metadata: b.metadata})
		synctest.Wait()
		b.set(false, "7")
		b.Watcher = w.Watcher
		done, stop := b.catches(t)
		<-time.After(10 * time.Second)
		if done.Load() {
			t.Error("it has caught up with a pod that was not shown")
		}
		seventh := podObject("p", func(p *corev1.Pod) { p.ResourceVersion = "7" })
		must(t)(client.CoreV1().Pods("default").Create(t.Context(), seventh, metav1.CreateOptions{}))
		<-time.After(2 * time.Second)
		if !done.Load() || w.PendingPod("pod-p") == nil {
			t.Errorf("it has caught up: %t", done.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
