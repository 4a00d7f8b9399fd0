package conformance

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// apiServer is the API server of an [Interleaving], and the watch that shows muster what it has. It is safe for
// concurrent use, except the watch.
type apiServer struct {
	cluster *cluster.Cluster // which the watch fills

	mu      sync.Mutex
	version int
	pods    stock[types.UID, *corev1.Pod]
	nodes   stock[string, *corev1.Node]
	// bound are muster's bindings that the watch has not shown, by pod.
	bound map[types.UID]binding
}

// stock is the objects of a kind. What changes is news until the watch shows it, in its order.
type stock[K cmp.Ordered, T runtime.Object] struct {
	there, shown map[K]T
	news         []T // see gone
}

func newStock[K cmp.Ordered, T runtime.Object]() stock[K, T] {
	return stock[K, T]{there: map[K]T{}, shown: map[K]T{}}
}

func (s *stock[K, T]) set(key K, object T) {
	s.there[key] = object
	s.news = append(s.news, object)
}

func (s *stock[K, T]) remove(key K, last T) {
	delete(s.there, key)
	s.news = append(s.news, gone(last))
}

// next is the next news, which the watch is about to show.
func (s *stock[K, T]) next() (object T, is bool) {
	if len(s.news) == 0 {
		return object, false
	}
	object, s.news = s.news[0], s.news[1:]
	return object, true
}

// show notes that the watch shows some news.
func (s *stock[K, T]) show(key K, object T) {
	if s.shown[key] = object; isGone(object) {
		delete(s.shown, key)
	}
}

// binding is one that muster has made.
type binding struct {
	node string
	// until is when the watch must have shown it: as long does muster count on the pod to be there.
	until time.Time
}

func newAPIServer(c *cluster.Cluster) *apiServer {
	return &apiServer{
		cluster: c, pods: newStock[types.UID, *corev1.Pod](), nodes: newStock[string, *corev1.Node](), bound: map[types.UID]binding{},
	}
}

// setPod creates or changes a pod.
func (a *apiServer) setPod(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storePod(pod)
}

func (a *apiServer) storePod(pod *corev1.Pod) {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	a.pods.set(pod.UID, pod)
}

// deletePod makes a pod be gone.
func (a *apiServer) deletePod(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods.remove(pod.UID, &corev1.Pod{ObjectMeta: pod.ObjectMeta})
}

func (a *apiServer) setNode(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes.set(node.Name, node)
}

func (a *apiServer) deleteNode(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes.remove(node.Name, &corev1.Node{ObjectMeta: node.ObjectMeta})
}

// goneKind marks the news that an object is gone.
const goneKind = "gone"

func gone[T runtime.Object](object T) T {
	object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(goneKind))
	return object
}

func isGone(object runtime.Object) bool {
	return object.GetObjectKind().GroupVersionKind().Kind == goneKind
}

// podsThat returns the pods that satisfy a condition, ordered by UID.
func (a *apiServer) podsThat(holds func(*corev1.Pod) bool) []*corev1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(a.pods.there)) {
		if pod := a.pods.there[uid]; holds(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (a *apiServer) nodeNames() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.nodes.there))
}

func (a *apiServer) node(name string) *corev1.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes.there[name]
}

// bind binds a pod for muster, which counts on that the watch shows it within a while.
func (a *apiServer) bind(pod *corev1.Pod, node string, while time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := pod.DeepCopy()
	next.Spec.NodeName = node
	a.storePod(next)
	a.bound[pod.UID] = binding{node: node, until: time.Now().Add(while)}
}

// hasTold notes that muster was told that a pod is gone, before the watch shows it: a binding of it is none any more.
func (a *apiServer) hasTold(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.bound, types.UID(name)) // pods have their names for UIDs
}

// due reports whether the watch must show a binding before so much time has passed.
func (a *apiServer) due(within time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.bound {
		if !time.Now().Add(within).Before(b.until) {
			return true
		}
	}
	return false
}

// showPods has the watch show a number of the next news of pods. It calls before with each of them.
func (a *apiServer) showPods(many int, before func(*corev1.Pod)) error {
	for range many {
		a.mu.Lock()
		pod, is := a.pods.next()
		a.mu.Unlock()
		if !is {
			return nil
		}
		before(pod)
		a.notePod(pod)
		if err := a.tell(pod); err != nil {
			return err
		}
	}
	return nil
}

func (a *apiServer) notePod(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods.show(pod.UID, pod)
	if isGone(pod) || pod.Spec.NodeName != "" {
		delete(a.bound, pod.UID)
	}
}

// showNodes is showPods for nodes. It reports whether any node differs from before in more than its version.
func (a *apiServer) showNodes(many int) (changed bool, err error) {
	for range many {
		node, is := a.nodes.next()
		if !is {
			break
		}
		changed = changed || isGone(node) || !sameNode(a.nodes.shown[node.Name], node)
		a.nodes.show(node.Name, node)
		if err := a.tell(node); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

func sameNode(before, after *corev1.Node) bool {
	if before == nil {
		return false
	}
	undated := *after
	undated.ResourceVersion = before.ResourceVersion
	return equality.Semantic.DeepEqual(before, &undated)
}

func (a *apiServer) tell(object runtime.Object) error {
	if isGone(object) {
		return a.cluster.Delete(object)
	}
	return set(a.cluster, object)
}

// skipNews leaves out news that became outdated before the watch showed it, as when a watch restarts.
func (a *apiServer) skipNews() {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := map[types.UID]*corev1.Pod{}
	for _, pod := range a.pods.news {
		last[pod.UID] = pod
	}
	a.pods.news = slices.DeleteFunc(a.pods.news, func(pod *corev1.Pod) bool { return last[pod.UID] != pod })
}

// known is the cluster as muster can know it: as the watch has shown it, with muster's own bindings, and with other
// pods where they count. The pod that is asked about is pending.
func (a *apiServer) known(about types.UID, others map[types.UID]string) *Scenario {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &Scenario{}
	for _, name := range slices.Sorted(maps.Keys(a.nodes.shown)) {
		s.Nodes = append(s.Nodes, a.nodes.shown[name])
	}
	for _, uid := range slices.Sorted(maps.Keys(a.pods.shown)) {
		pod := a.pods.shown[uid]
		if uid == about {
			s.Pending = []*corev1.Pod{pod}
			continue
		}
		node := pod.Spec.NodeName
		if node == "" {
			if node = a.bound[uid].node; node == "" {
				node = others[uid]
			}
			on := *pod
			on.Spec.NodeName = node
			pod = &on
		}
		if a.nodes.shown[node] != nil {
			s.Placed = append(s.Placed, pod)
		}
	}
	return s
}
