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
	"k8s.io/apimachinery/pkg/types"
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
	listed  []string // the pods that there are, as in a@9: of a UID and a version
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
	pods := &feed{resource: "pods", reached: newReached()}
	b := &behind{Watcher: &Watcher{metadata: client, feeds: []*feed{{resource: "nodes"}, pods}}, pods: pods.reached}
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.refuses {
			return true, nil, errors.New("away")
		}
		list := &metav1.List{}
		for _, pod := range b.listed {
			list.Items = append(list.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: versioned(pod).ObjectMeta}})
		}
		return true, list, nil
	})
	return b
}

// versioned is a pod as in a@9.
func versioned(pod string) *corev1.Pod {
	uid, version, _ := strings.Cut(pod, "@")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: uid, UID: types.UID(uid), ResourceVersion: version}}
}

// see has the view take pods in.
func (b *behind) see(pods ...string) {
	for _, pod := range pods {
		b.pods.note(versioned(pod))
	}
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
		"all were seen":               {seen: []string{"a@9", "b@10"}, listed: []string{"b@10", "a@9"}},
		"later ones were seen":        {seen: []string{"a@9", "b@11"}, listed: []string{"a@9", "b@10"}},
		"the last one is seen":        {seen: []string{"a@9"}, listed: []string{"a@9", "b@10"}, then: func(b *behind) { b.see("b@10") }},
		"one that came later is seen": {listed: []string{"a@9"}, then: func(b *behind) { b.see("a@12") }},
		"the last one goes":           {seen: []string{"a@9"}, listed: []string{"a@9", "b@10"}, then: func(b *behind) { b.set(false, "a@9") }},
		// As when all are listed again: they come in any order.
		"the latest one is seen before others": {
			seen: []string{"a@9", "b@12"}, listed: []string{"a@11", "b@12"}, then: func(b *behind) { b.see("a@11") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBehind()
				b.see(test.seen...)
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
		b.set(false, "a@10")
		<-time.After(10 * time.Second)
		if err := stop(); err == nil ||
			err.Error() != "catch up with the API server: the watch has not shown the pod default/a of resource version 10 yet, nor 0 others" {
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
	r := newReached()
	before := func(object any) {
		pod := object.(*corev1.Pod)
		if r.has(pod.UID, pod.ResourceVersion) {
			t.Errorf("version %s is noted before its object is taken in", pod.ResourceVersion)
		}
	}
	h := r.after(cache.ResourceEventHandlerFuncs{AddFunc: before, UpdateFunc: func(_, object any) { before(object) }})
	h.OnAdd(versioned("a@9"), true)
	h.OnUpdate(versioned("a@9"), versioned("a@10"))
	h.OnAdd(versioned("b@11"), false)
	h.OnAdd(versioned("c@12"), false)
	h.OnUpdate(versioned("c@12"), versioned("namesake@13"))
	for pod, want := range map[string]bool{"a@10": true, "a@11": false, "b@11": true, "c@12": false, "namesake@13": true} {
		if wanted := versioned(pod); r.has(wanted.UID, wanted.ResourceVersion) != want {
			t.Errorf("that %s is in the view: %t", pod, !want)
		}
	}
	h.OnDelete(versioned("a@14"))
	h.OnDelete(cache.DeletedFinalStateUnknown{Obj: versioned("b@11")})
	h.OnDelete(versioned("namesake@15"))
	if len(r.versions) > 0 {
		t.Errorf("%v are known of pods that are gone", r.versions)
	}
}

func TestAWatcherNotesTheVersionsOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		b := newBehind()
		w := follow(t, Options{Client: client, Metadata: b.metadata})
		synctest.Wait()
		b.set(false, "pod-p@7")
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
