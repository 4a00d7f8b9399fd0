package conformance

import (
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

// apiServer is the API server of an [Interleaving], and the watch that shows muster what it
// has. What changes is news until the watch shows it: news of pods in their order, and news of
// nodes in theirs. It is safe for concurrent use, but for show.
type apiServer struct {
	cluster *cluster.Cluster // which the watch fills

	mu       sync.Mutex
	version  int
	pods     map[types.UID]*corev1.Pod
	nodes    map[string]*corev1.Node
	podNews  []*corev1.Pod // see gone
	nodeNews []*corev1.Node
	shown    shown
	// bound are muster's bindings that the watch has not shown, by pod.
	bound map[types.UID]binding
}

// shown is what the watch has shown.
type shown struct {
	pods  map[types.UID]*corev1.Pod
	nodes map[string]*corev1.Node
}

// binding is one that muster has made.
type binding struct {
	node string
	// until is when the watch must have shown it: as long does muster count on the pod to be there.
	until time.Time
}

func newAPIServer(c *cluster.Cluster) *apiServer {
	return &apiServer{
		cluster: c, pods: map[types.UID]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, bound: map[types.UID]binding{},
		shown: shown{pods: map[types.UID]*corev1.Pod{}, nodes: map[string]*corev1.Node{}},
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
	a.pods[pod.UID] = pod
	a.podNews = append(a.podNews, pod)
}

// deletePod makes a pod be gone.
func (a *apiServer) deletePod(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, pod.UID)
	a.podNews = append(a.podNews, gone(&corev1.Pod{ObjectMeta: pod.ObjectMeta}))
}

func (a *apiServer) setNode(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[node.Name] = node
	a.nodeNews = append(a.nodeNews, node)
}

func (a *apiServer) deleteNode(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.nodes, node.Name)
	a.nodeNews = append(a.nodeNews, gone(&corev1.Node{ObjectMeta: node.ObjectMeta}))
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

// podsThat are the pods, by UID, of which something holds.
func (a *apiServer) podsThat(holds func(*corev1.Pod) bool) []*corev1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		if holds(a.pods[uid]) {
			pods = append(pods, a.pods[uid])
		}
	}
	return pods
}

func (a *apiServer) nodeNames() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.nodes))
}

func (a *apiServer) node(name string) *corev1.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[name]
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

// showPods has the watch show the next news of pods, so many. It calls before with each of them.
func (a *apiServer) showPods(many int, before func(*corev1.Pod)) error {
	for range many {
		a.mu.Lock()
		if len(a.podNews) == 0 {
			a.mu.Unlock()
			return nil
		}
		pod := a.podNews[0]
		a.podNews = a.podNews[1:]
		a.mu.Unlock()
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
	if isGone(pod) {
		delete(a.shown.pods, pod.UID)
	} else {
		a.shown.pods[pod.UID] = pod
	}
	if isGone(pod) || pod.Spec.NodeName != "" {
		delete(a.bound, pod.UID)
	}
}

// showNodes is showPods for nodes. It reports whether any is another one than before but for its version.
func (a *apiServer) showNodes(many int) (changed bool, err error) {
	for range many {
		if len(a.nodeNews) == 0 {
			return changed, nil
		}
		node := a.nodeNews[0]
		a.nodeNews = a.nodeNews[1:]
		changed = changed || isGone(node) || !sameNode(a.shown.nodes[node.Name], node)
		if isGone(node) {
			delete(a.shown.nodes, node.Name)
		} else {
			a.shown.nodes[node.Name] = node
		}
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

// skipNews leaves out what became outdated before it was shown, as when a watch is begun anew.
func (a *apiServer) skipNews() {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := map[types.UID]*corev1.Pod{}
	for _, pod := range a.podNews {
		last[pod.UID] = pod
	}
	a.podNews = slices.DeleteFunc(a.podNews, func(pod *corev1.Pod) bool { return last[pod.UID] != pod })
}

// known is the cluster as muster can know it: as the watch has shown it, with muster's own
// bindings, and with other pods where they count. The pod that is asked about is pending.
func (a *apiServer) known(about types.UID, others map[types.UID]string) *Scenario {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &Scenario{}
	for _, name := range slices.Sorted(maps.Keys(a.shown.nodes)) {
		s.Nodes = append(s.Nodes, a.shown.nodes[name])
	}
	for _, uid := range slices.Sorted(maps.Keys(a.shown.pods)) {
		pod := a.shown.pods[uid]
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
		if a.shown.nodes[node] != nil {
			s.Placed = append(s.Placed, pod)
		}
	}
	return s
}
